"""A.fig9: surrogate and Target Linearity of every hidden layer along training by Adam, and of random features.

As a_fig4, but with Adam. Appendix B.5 prints no setting but the optimizer: depth, width, activation and epochs are
those of Figure 4. Learning rate and batch size are those of the authors' code, which uses 0.0005 for both optimizers.

Quick scale: 460 steps instead of CIFAR-10's 78,200, with four times the learning rate and a quarter of the width.
"""

from tasks.papers.weight_gram.experiments.shared.growth import growth as measure

__all__ = ["measure"]
