"""After training, sqrt(FACT FACT^T) correlates more with W_1^T W_1 than sqrt(AGOP) and sqrt(eNFA), at every n.

FACT does so too, except at n = 1K. ReLU networks of depth 3, mean squared error, n training samples of MNIST; the other
columns of Table 2 are C.tab2.MNIST and C.tab2.CIFAR10. At the printed settings n = 1K ends far from the critical point
of Theorem 3.1: in directions that no sample has, FACT is 0, and 200 epochs of weight decay leave e^-0.16 of the initial
weights.
"""

from functools import partial

from tasks.papers.fact.claims.shared.correlation_figures import draw_table_2
from tasks.papers.fact.claims.shared.correlations import HYPOTHESES as HYPOTHESES
from tasks.papers.fact.claims.shared.correlations import printed, table_statements

ID = "C.tab2"
KIND = "statistical"
TITLE = "FACT against NFA and eNFA after training, first layer"
TABLE = {  # name -> column -> printed correlation
    "fact": {"1K": 0.890, "2K": 0.988},
    "symmetric fact": {"1K": 0.956, "2K": 0.998},
    "root agop": {"1K": 0.899, "2K": 0.923},
    "root enfa": {"1K": 0.903, "2K": 0.923},
}
PRINTED = printed(TABLE, "n = 1K / 2K")
MATH = (
    (
        r"\rho\left( \sqrt{\text{FACT}\; \text{FACT}^\top},\; W_1^\top W_1 \right) > \rho\left( "
        r"\sqrt{\text{AGOP}},\; W_1^\top W_1 \right),\; \rho\left( \sqrt{\text{eNFA}},\; W_1^\top W_1 "
        r"\right)"
    ),
    r"\text{weight decay } \lambda = 10^{-4}",
)
MATH_CORRECTED = r"\text{the same at weight decay } \lambda = 10^{-3}"
CORRECTION = (
    "Weight decay 1e-3 instead of 1e-4. With the printed decay, 3,200 steps at n = 1K leave e^-0.16 of the "
    "initial weights in directions that no sample has, where FACT is 0, and the network is far from a critical point."
)
STATEMENTS = table_statements(TABLE, behind=("1K", "700 digits"))

draw = partial(draw_table_2, table=TABLE)
