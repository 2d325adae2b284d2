"""A.fig6: a CNN's test accuracy along training by SGD, by its whitened update, and by what that takes away."""

from tasks.paper_a import whitening as measure

__all__ = ["measure"]
