"""On 5,000 and 60,000 digits FACT and sqrt(FACT FACT^T) correlate more with W_1^T W_1 than sqrt(AGOP) and sqrt(eNFA).

The columns n = 5K and 60K of Table 2: the networks of C.tab2, trained on more samples and so with more steps.
"""

from functools import partial

from tasks.judging.rows import Rows
from tasks.judging.rules import Finding
from tasks.papers.fact.claims.shared.correlations import draw_table_2, printed, table_2

ID = "C.tab2.MNIST"
KIND = "statistical"
TITLE = "FACT against NFA and eNFA after training on more of MNIST"
TABLE = {  # name -> column -> printed correlation
    "fact": {"5K": 0.995, "60K": 0.999},
    "symmetric fact": {"5K": 1.000, "60K": 1.000},
    "root agop": {"5K": 0.924, "60K": 0.909},
    "root enfa": {"5K": 0.917, "60K": 0.903},
}
PRINTED = printed(TABLE, "n = 5K / 60K")
QUANTITIES = (*(f"pearson/{name}" for name in TABLE), "null/fact", "null/symmetric fact")


def rule(rows: Rows) -> Finding:
    """Each column and each of the two others separately, in Fisher's z, paired by seed."""
    return table_2(rows, TABLE)


draw = partial(draw_table_2, table=TABLE)
