"""On 5,000 and 60,000 digits FACT and sqrt(FACT FACT^T) correlate more with W_1^T W_1 than sqrt(AGOP) and sqrt(eNFA).

The columns n = 5K and 60K of Table 2: the networks of C.tab2 on more samples, so with more steps.
"""

from tasks.judging.rules import Finding, Rows
from tasks.papers.fact.claims.shared.c_correlations_figure import draw as draw
from tasks.papers.fact.claims.shared.rules import table_2

ID = "C.tab2.MNIST"
KIND = "statistical"
TITLE = "FACT against NFA and eNFA after training on more of MNIST"
PRINTED = "n = 5K / 60K: FACT .995 / .999, √(FACT FACTᵀ) 1.000 / 1.000, √AGOP .924 / .909, √eNFA .917 / .903, Table 2"
TABLE = {  # name -> columns
    "fact": {"5K": 0.995, "60K": 0.999},
    "symmetric fact": {"5K": 1.000, "60K": 1.000},
    "root agop": {"5K": 0.924, "60K": 0.909},
    "root enfa": {"5K": 0.917, "60K": 0.903},
}
QUANTITIES = (*(f"pearson/{name}" for name in TABLE), "null/fact", "null/symmetric fact")


def rule(rows: Rows) -> Finding:
    """Paired by seed in Fisher's z, each column and each of the two others by itself."""
    return table_2(rows, TABLE)
