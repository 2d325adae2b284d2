"""During training bFACT correlates little with W W^T for most epochs and then rises to near 1.

sqrt(bFACT bFACT^T) correlates more than bFACT. The hidden layers of ReLU networks of five hidden layers. "Little" means
below 0.5, "near 1" above 0.9.
"""

from functools import partial

from tasks.judging.rows import Rows
from tasks.judging.rules import Finding
from tasks.papers.fact.claims.shared.correlations import HIDDEN, draw_epochs, rise

ID = "C.fig10"
KIND = "statistical"
TITLE = "bFACT during training: low, then near 1"
PRINTED = "the same for the backward versions, Figure 10"
DATA_SET = "CIFAR-10"
DATA_SETS = (DATA_SET,)
QUANTITIES = ("pearson/back_fact", "pearson/back_symmetric fact", "pearson/back_root agop", "pearson/back_root enfa",
              "null/back_fact")  # fmt: skip


def rule(rows: Rows) -> Finding:
    """Means over the hidden layers, Student's t over seeds."""
    return rise(rows.where(case=DATA_SET, layer=HIDDEN), side="back_")


draw = partial(draw_epochs, side="back_", data_set=DATA_SET)
