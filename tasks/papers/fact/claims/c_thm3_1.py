"""Features at Convergence Theorem: at a critical point of L + (lambda/2) ||theta||^2, W^T W = FACT at every layer.

FACT = -(1 / (n lambda)) sum_i grad_h l_i h(x_i)^T, where grad_h l_i goes through this layer alone; the network may have
skip connections. Near the critical point ||W^T W - FACT|| is proportional to the gradient's norm, and at every point it
is at most ||W||_op ||grad_W L_lambda|| / lambda.
"""

from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, below, bound, order
from tasks.papers.fact.claims.shared.critical_points import END
from tasks.papers.fact.claims.shared.critical_points import draw as draw

ID = "C.thm3.1"
KIND = "exact"
TITLE = "Features at Convergence: WᵀW = FACT"
PRINTED = "WᵀW = FACT at critical points, Theorem 3.1"
QUANTITIES = ("fact/error", "fact/ratio")


def rule(rows: Rows) -> Finding:
    """The error is proportional to the gradient's norm (slope 1), ends at most at END, and keeps its bound."""
    errors = rows.where(quantity="fact/error")
    line = bound(rows.where(quantity="fact/ratio"), 1e-6)
    return all_of(slope=order(errors, 1), end=below(errors, END), line=line)
