"""A.fig9: surrogate and Target Linearity of every hidden layer along training by Adam, and of random features."""

from tasks.papers.weight_gram.experiments.shared.networks import growth as measure

__all__ = ["measure"]
