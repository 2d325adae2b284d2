"""During training bFACT correlates little with W W^T for most epochs and then rises to near 1.

sqrt(bFACT bFACT^T) correlates more than bFACT. The hidden layers of ReLU networks of five hidden layers. "Little" means
below 0.5, "near 1" above 0.9.
"""

from functools import partial

from tasks.papers.fact.claims.shared.correlation_figures import draw_epochs
from tasks.papers.fact.claims.shared.correlations import HIDDEN, epochs_statements
from tasks.papers.fact.claims.shared.correlations import HYPOTHESES as HYPOTHESES

ID = "C.fig10"
KIND = "statistical"
TITLE = "bFACT during training: low, then near 1"
PRINTED = "the same for the backward versions, Figure 10"
MATH = (
    r"\rho\left( \text{bFACT}_l,\; W_l W_l^\top \right) < \frac{1}{2} \text{ for most epochs}, \quad "
    r"\approx 1 \text{ at the end}"
)
DATA_SETS = ("CIFAR-10", "digits")  # digits at the quick scale
STATEMENTS = epochs_statements("back_", "Figure 10", layers=HIDDEN)

draw = partial(draw_epochs, side="back_")
