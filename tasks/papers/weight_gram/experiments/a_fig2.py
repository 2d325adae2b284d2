"""A.fig2: test accuracy along training by gradient descent, by its whitened update, and by what that takes away."""

from tasks.papers.weight_gram.experiments.shared.networks import whitening as measure

__all__ = ["measure"]
