"""D.fig7, D.fig10: NC1 through the parts of an MLP, and the NFA, along training.

The initialisation is g = 0.3, on MNIST 0.2. The quick scale has g = 0.3 on digits, and 4,500 steps instead of MNIST's
195,500, with larger steps and an eighth of the width.
"""

from tasks.papers.neural_collapse.experiments.shared.collapse import collapse as measure

__all__ = ["measure"]
