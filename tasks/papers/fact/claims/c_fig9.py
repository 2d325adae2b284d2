"""After training five hidden ReLU layers bFACT correlates with W W^T more than bAGOP and beNFA, on every layer.

Against the square roots of AGOP and eNFA too, on hidden layers. Pearson correlations, mean squared error. On MNIST
and on CIFAR-10; at the quick scale digits stand for the latter alone.
"""

from tasks.judging.rules import Finding, Rows
from tasks.papers.fact.claims.shared.c_correlations_figure import draw as draw
from tasks.papers.fact.claims.shared.rules import NAMES, ahead

ID = "C.fig9"
KIND = "statistical"
TITLE = "Every layer's bFACT is ahead of bAGOP and beNFA"
PRINTED = "bFACT above bAGOP, beNFA at every layer, on MNIST and CIFAR-10, Figure 9"
QUANTITIES = (*(f"pearson/back_{name}" for name in NAMES), "null/back_fact")


def rule(rows: Rows) -> Finding:
    """Ahead of each of them on the worst layer, paired by seed in Fisher's z, in every data set."""
    return ahead(rows, "back_")
