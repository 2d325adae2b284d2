"""D.fig9, D.fig12: NC1 through the parts of the head of VGG-11, and the NFA, along training."""

from tasks.papers.neural_collapse.experiments.shared.collapse import collapse as measure

__all__ = ["measure"]
