"""During training FACT correlates little with W^T W for most epochs and then rises to near 1.

sqrt(FACT FACT^T) correlates more than FACT. The first three layers of ReLU networks of five hidden layers. "Little"
means below 0.5, "near 1" above 0.9.
"""

from functools import partial

from tasks.judging.rows import Rows
from tasks.judging.rules import Finding
from tasks.papers.fact.claims.shared.correlations import draw_epochs, rise

ID = "C.fig8"
KIND = "statistical"
TITLE = "FACT during training: low, then near 1"
PRINTED = "“low correlation for most epochs”, “sharply increasing to near-perfect correlation”, Figure 8"
DATA_SET = "CIFAR-10"
DATA_SETS = (DATA_SET,)
QUANTITIES = ("pearson/fact", "pearson/symmetric fact", "pearson/root agop", "pearson/root enfa", "null/fact")


def rule(rows: Rows) -> Finding:
    """Means over the first three layers, Student's t over seeds."""
    return rise(rows.where(case=DATA_SET, layer={"0", "2", "4"}), side="")


draw = partial(draw_epochs, side="", data_set=DATA_SET)
