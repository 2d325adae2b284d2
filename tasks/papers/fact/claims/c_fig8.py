"""In training FACT correlates little with W^T W for most epochs and then rises to near 1, sqrt(FACT FACT^T) more.

The first three layers of networks of five hidden ReLU layers. "Little", "near 1": below 0.5, above 0.9.
"""

from tasks.judging.rules import Finding, Rows
from tasks.papers.fact.claims.shared.c_correlations_figure import draw as draw
from tasks.papers.fact.claims.shared.rules import rise

ID = "C.fig8"
KIND = "statistical"
TITLE = "FACT during training: low, then near 1"
PRINTED = "“low correlation for most epochs”, “sharply increasing to near-perfect correlation”, Figure 8"
DATA_SETS = ("CIFAR-10",)  # those of the run that the claim is about
QUANTITIES = ("pearson/fact", "pearson/symmetric fact", "pearson/root agop", "pearson/root enfa", "null/fact")


def rule(rows: Rows) -> Finding:
    """Means over the layers shown, by Student's t over seeds."""
    return rise(rows.where(layer={"0", "2", "4"}))
