"""A.fig4: surrogate and Target Linearity of every hidden layer along training, and of random features."""

from tasks.paper_a import growth as measure

__all__ = ["measure"]
