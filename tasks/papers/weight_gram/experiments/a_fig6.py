"""A.fig6: a CNN's test accuracy along training by SGD, by its whitened update, and by what that takes away."""

from tasks.papers.weight_gram.experiments.shared.networks import whitening as measure

__all__ = ["measure"]
