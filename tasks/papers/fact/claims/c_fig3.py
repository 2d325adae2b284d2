"""After training, FACT correlates more with W^T W than AGOP, eNFA and their square roots, on every hidden layer.

ReLU networks of five hidden layers, mean squared error, on MNIST and on CIFAR-10. The correlation is Pearson's. At the
quick scale digits replace CIFAR-10, and MNIST is left out.
"""

from functools import partial

from tasks.judging.rows import Rows
from tasks.judging.rules import Finding
from tasks.papers.fact.claims.shared.correlations import NAMES, ahead, draw_layers

ID = "C.fig3"
KIND = "statistical"
TITLE = "FACT is ahead of AGOP and eNFA on every layer"
PRINTED = "FACT above AGOP, eNFA and √eNFA at every layer, on MNIST and CIFAR-10, Figure 3"
QUANTITIES = (*(f"pearson/{name}" for name in NAMES), "null/fact")
SIDE = ""  # of the layer: its input


def rule(rows: Rows) -> Finding:
    """In every data set FACT is above each of them on the worst layer, in Fisher's z, paired by seed."""
    return ahead(rows, SIDE)


draw = partial(draw_layers, side=SIDE)
