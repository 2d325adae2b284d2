"""A.fig2: test accuracy along training by gradient descent, by its whitened update, and by the removed part.

Two hidden layers of 256 units, SGD, 20 epochs. The width is not printed for this figure; 256 is that of the paper's
other fully connected networks. The activation, the learning rates and the batch size are not printed either; they are
those of the authors' code, whose figure shows the learning rate 0.01. The last three arms follow the authors'
code instead of the text, for the report's table of differences: a momentum of 0.85 (in a comment of the code 0.95, and
0.8 for CIFAR-100), and ten Newton–Schulz steps in place of the exact polar factor.

Quick scale: 3,375 steps instead of MNIST's 18,760, and an eighth of the width. All arms train at 0.1, the largest rate,
where both updates stop improving within these steps. At 0.01 the networks learn nothing, and at 0.5 the whitened update
diverges.
"""

from tasks.papers.weight_gram.experiments.shared.whitening import whitening as measure

__all__ = ["measure"]
