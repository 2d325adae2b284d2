"""During training FACT correlates little with W^T W for most epochs and then rises to near 1.

sqrt(FACT FACT^T) correlates more than FACT. The first three layers of ReLU networks of five hidden layers. "Little"
means below 0.5, "near 1" above 0.9.
"""

from functools import partial

from tasks.papers.fact.claims.shared.correlation_figures import draw_epochs
from tasks.papers.fact.claims.shared.correlations import HYPOTHESES as HYPOTHESES
from tasks.papers.fact.claims.shared.correlations import epochs_statements

ID = "C.fig8"
KIND = "statistical"
TITLE = "FACT during training: low, then near 1"
PRINTED = "“low correlation for most epochs”, “sharply increasing to near-perfect correlation”, Figure 8"
MATH = (
    r"\rho\left( \text{FACT}_l,\; W_l^\top W_l \right) < \frac{1}{2} \text{ for most epochs}, \quad "
    r"\approx 1 \text{ at the end}"
)
DATA_SETS = ("CIFAR-10", "digits")  # digits at the quick scale
STATEMENTS = epochs_statements("", "Figure 8", layers={"0", "2", "4"})

draw = partial(draw_epochs, side="")
