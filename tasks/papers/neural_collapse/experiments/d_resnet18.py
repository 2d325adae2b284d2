"""D.fig2, D.fig8, D.fig11: NC1 through the parts of the head of ResNet-18, and the NFA, along training."""

from tasks.papers.neural_collapse.experiments.shared.collapse import collapse as measure

__all__ = ["measure"]
