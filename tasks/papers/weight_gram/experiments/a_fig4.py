"""A.fig4: surrogate and Target Linearity of every hidden layer along training, and of random features."""

from tasks.papers.weight_gram.experiments.shared.networks import growth as measure

__all__ = ["measure"]
