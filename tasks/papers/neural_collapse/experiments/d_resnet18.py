"""D.fig2, D.fig8, D.fig11: NC1 through the parts of the head of ResNet-18, and the NFA, along training.

The initialisation is g = 0.2. The quick scale has g = 0.5 on digits, and 1,024 steps instead of CIFAR-10's 117,300,
with larger steps and an eighth of the width.
"""

from tasks.papers.neural_collapse.experiments.shared.collapse import collapse as measure

__all__ = ["measure"]
