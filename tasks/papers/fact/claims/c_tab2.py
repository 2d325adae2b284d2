"""After training, sqrt(FACT FACT^T) correlates more with W_1^T W_1 than sqrt(AGOP) and sqrt(eNFA), at every n.

FACT does so too, except at n = 1K. ReLU networks of depth 3, mean squared error, n training samples of MNIST; the other
columns of Table 2 are C.tab2.MNIST and C.tab2.CIFAR10. At the printed settings n = 1K ends far from the critical point
of Theorem 3.1: in directions that no sample has, FACT is 0, and 200 epochs of weight decay leave e^-0.16 of the initial
weights.
"""

from functools import partial

from tasks.judging.rows import Rows
from tasks.judging.rules import Finding
from tasks.papers.fact.claims.shared.correlations import draw_table_2, printed, table_2

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
QUANTITIES = (*(f"pearson/{name}" for name in TABLE), "null/fact", "null/symmetric fact")


def rule(rows: Rows) -> Finding:
    """Each column and each of the two others separately, in Fisher's z, paired by seed."""
    return table_2(rows, TABLE, behind=("1K",))


draw = partial(draw_table_2, table=TABLE)
