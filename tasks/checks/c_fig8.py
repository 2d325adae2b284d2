"""In training FACT correlates little with W^T W for most epochs and then rises to near 1, sqrt(FACT FACT^T) more.

The first three layers of networks of five hidden ReLU layers. "Little", "near 1": below 0.5, above 0.9.
"""

from tasks.judge import Finding, Rows
from tasks.rules.c import rise

ID = "C.fig8"
KIND = "statistical"
TITLE = "FACT during training: low, then near 1"
PRINTED = "“low correlation for most epochs”, “sharply increasing to near-perfect correlation”, Figure 8"
QUANTITIES = ("pearson/fact", "pearson/symmetric fact", "pearson/root agop", "pearson/root enfa", "null/fact")


def rule(rows: Rows) -> Finding:
    """Means over the layers shown, by Student's t over seeds."""
    return rise(rows.where(layer={"0", "2", "4"}))
