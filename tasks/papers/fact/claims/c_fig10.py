"""In training bFACT correlates little with W W^T for most epochs and then rises to near 1, sqrt(bFACT bFACT^T) more.

The hidden layers of networks of five hidden ReLU layers. "Little", "near 1": below 0.5, above 0.9.
"""

from tasks.judging.rules import Finding, Rows
from tasks.papers.fact.claims.shared.c_correlations_figure import draw as draw
from tasks.papers.fact.claims.shared.rules import HIDDEN, rise

ID = "C.fig10"
KIND = "statistical"
TITLE = "bFACT during training: low, then near 1"
PRINTED = "the same for the backward versions, Figure 10"
DATA_SETS = ("CIFAR-10",)  # those of the run that the claim is about
QUANTITIES = ("pearson/back_fact", "pearson/back_symmetric fact", "pearson/back_root agop", "pearson/back_root enfa",
              "null/back_fact")  # fmt: skip


def rule(rows: Rows) -> Finding:
    """Means over the layers, by Student's t over seeds."""
    return rise(rows.where(layer=HIDDEN), "back_")
