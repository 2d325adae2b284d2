"""D.fig9, D.fig12: NC1 through the parts of the head of VGG-11, and the NFA, along training."""

from tasks.heads import collapse as measure

__all__ = ["measure"]
