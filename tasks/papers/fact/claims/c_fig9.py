"""After training, bFACT correlates more with W W^T than bAGOP, beNFA and their square roots, on every hidden layer.

ReLU networks of five hidden layers, mean squared error, on MNIST and on CIFAR-10. The correlation is Pearson's. At the
quick scale digits replace CIFAR-10, and MNIST is left out.
"""

from functools import partial

from tasks.judging.rows import Rows
from tasks.judging.rules import Finding
from tasks.papers.fact.claims.shared.correlations import NAMES, ahead, draw_layers

ID = "C.fig9"
KIND = "statistical"
TITLE = "bFACT is ahead of bAGOP and beNFA on every layer"
PRINTED = "bFACT above bAGOP, beNFA at every layer, on MNIST and CIFAR-10, Figure 9"
SIDE = "back_"  # of the layer: its output
QUANTITIES = (*(f"pearson/{SIDE}{name}" for name in NAMES), f"null/{SIDE}fact")


def rule(rows: Rows) -> Finding:
    """In every data set bFACT is above each of them on the worst layer, in Fisher's z, paired by seed."""
    return ahead(rows, SIDE)


draw = partial(draw_layers, side=SIDE)
