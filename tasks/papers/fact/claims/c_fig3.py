"""After training five hidden ReLU layers FACT correlates with W^T W more than AGOP and eNFA, on every layer.

Against the square roots of AGOP and eNFA too, on hidden layers. Pearson correlations, mean squared error. On MNIST
and on CIFAR-10; at the quick scale digits stand for the latter alone.
"""

from tasks.judging.rules import Finding, Rows
from tasks.papers.fact.claims.shared.c_correlations_figure import draw as draw
from tasks.papers.fact.claims.shared.rules import NAMES, ahead

ID = "C.fig3"
KIND = "statistical"
TITLE = "Every layer's FACT is ahead of AGOP and eNFA"
PRINTED = "FACT above AGOP, eNFA and √eNFA at every layer, on MNIST and CIFAR-10, Figure 3"
QUANTITIES = (*(f"pearson/{name}" for name in NAMES), "null/fact")


def rule(rows: Rows) -> Finding:
    """Ahead of each of them on the worst layer, paired by seed in Fisher's z, in every data set."""
    return ahead(rows, "")
