"""D.fig7, D.fig10: NC1 through the parts of an MLP, and the NFA, along training."""

from tasks.papers.neural_collapse.experiments.shared.collapse import collapse as measure

__all__ = ["measure"]
