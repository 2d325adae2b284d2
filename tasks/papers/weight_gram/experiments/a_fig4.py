"""A.fig4: surrogate and Target Linearity of every hidden layer along training by SGD, and of random features.

Four hidden layers of 256 GELU units, SGD 0.005, 100 epochs. The batch size is not printed and comes from the authors'
code, which trains with a learning rate of 0.0005 and a momentum of 0.8 (see a_differences).

Quick scale: 1438 digits give 23 steps an epoch instead of CIFAR-10's 782, so the steps are fewer and larger.
"""

from tasks.papers.weight_gram.experiments.shared.growth import growth as measure

__all__ = ["measure"]
