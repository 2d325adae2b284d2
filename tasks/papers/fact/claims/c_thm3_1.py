"""Features at Convergence Theorem: at a critical point of L + (lambda/2) ||theta||^2, W^T W = FACT at every layer.

FACT = -(1 / (n lambda)) sum_i grad_h l_i h(x_i)^T, with the gradient through the layer; also with skip
connections. Near the critical point the distance falls as the gradient's norm does, and at every point it is at
most ||W||_op ||grad_W L_lambda|| / lambda.
"""

from tasks.judging.rules import Finding, Rows, below, bound, every, order
from tasks.papers.fact.claims.shared.c_thm3_1_figure import draw as draw

ID = "C.thm3.1"
KIND = "exact"
TITLE = "Features at Convergence: WᵀW = FACT"
PRINTED = "WᵀW = FACT at critical points, Theorem 3.1"
QUANTITIES = ("fact/error", "fact/ratio")


def rule(rows: Rows) -> Finding:
    """The error falls as the gradient's norm (slope 1), ends below 1e-9 of ||W^T W||, and keeps its bound."""
    errors = rows.where(quantity="fact/error")
    line = bound(rows.where(quantity="fact/ratio"), 1e-6)
    return every(slope=order(errors, 1), end=below(errors, 1e-9), line=line)
