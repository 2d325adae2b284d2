"""On CIFAR-10 FACT and sqrt(FACT FACT^T) correlate more with W_1^T W_1 than sqrt(AGOP) and sqrt(eNFA).

The columns of Table 2 with weight decay 1e-3 and 1e-4, otherwise the networks of C.tab2.
"""

from tasks.judging.rules import Finding, Rows
from tasks.papers.fact.claims.shared.c_correlations_figure import draw as draw
from tasks.papers.fact.claims.shared.rules import table_2

ID = "C.tab2.CIFAR10"
KIND = "statistical"
TITLE = "FACT against NFA and eNFA after training on CIFAR-10"
PRINTED = (
    "weight decay 1e-3 / 1e-4: FACT .830 / .896, √(FACT FACTᵀ) .929 / .943,"
    " √AGOP .793 / .722, √eNFA .797 / .714, Table 2"
)
TABLE = {  # name -> columns
    "fact": {"decay-1e-3": 0.830, "decay-1e-4": 0.896},
    "symmetric fact": {"decay-1e-3": 0.929, "decay-1e-4": 0.943},
    "root agop": {"decay-1e-3": 0.793, "decay-1e-4": 0.722},
    "root enfa": {"decay-1e-3": 0.797, "decay-1e-4": 0.714},
}
QUANTITIES = (*(f"pearson/{name}" for name in TABLE), "null/fact", "null/symmetric fact")


def rule(rows: Rows) -> Finding:
    """Paired by seed in Fisher's z, each column and each of the two others by itself."""
    return table_2(rows, TABLE)
