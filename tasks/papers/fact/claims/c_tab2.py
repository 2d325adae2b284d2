"""After training, Pearson correlations with W_1^T W_1: FACT's are ahead of sqrt(AGOP)'s and sqrt(eNFA)'s.

Of sqrt(FACT FACT^T) on every number of samples n, of FACT itself on all but n = 1K. ReLU, depth 3, MSE. Its other
columns are C.tab2.MNIST and C.tab2.CIFAR10. At the printed settings n = 1K is far from Theorem 3.1's critical point:
FACT is 0 in directions that no sample has, where W only decays, in 200 epochs to e^-0.16 of what it was at first.
"""

from tasks.judging.rules import Finding, Rows
from tasks.papers.fact.claims.shared.c_correlations_figure import draw as draw
from tasks.papers.fact.claims.shared.rules import table_2

ID = "C.tab2"
KIND = "statistical"
TITLE = "FACT against NFA and eNFA after training, first layer"
PRINTED = "n = 1K / 2K: FACT .890 / .988, √(FACT FACTᵀ) .956 / .998, √AGOP .899 / .923, √eNFA .903 / .923, Table 2"
TABLE = {  # name -> MNIST's columns
    "fact": {"1K": 0.890, "2K": 0.988},
    "symmetric fact": {"1K": 0.956, "2K": 0.998},
    "root agop": {"1K": 0.899, "2K": 0.923},
    "root enfa": {"1K": 0.903, "2K": 0.923},
}
QUANTITIES = (*(f"pearson/{name}" for name in TABLE), "null/fact", "null/symmetric fact")


def rule(rows: Rows) -> Finding:
    """Paired by seed in Fisher's z, each column and each of the two others by itself."""
    return table_2(rows, TABLE, behind=("1K",))
