"""A.fig2: test accuracy along training by gradient descent, by its whitened update, and by what that takes away."""

from tasks.paper_a import whitening as measure

__all__ = ["measure"]
