"""Features at Convergence Theorem: at a critical point of L + (lambda/2) ||theta||^2, W^T W = FACT at every layer.

FACT = -(1 / (n lambda)) sum_i grad_h l_i h(x_i)^T, with the gradient through the layer; also with skip
connections. Near the critical point the distance falls as the gradient's norm does.
"""

from tasks.judge import Finding, Rows, below, every, order

ID = "C.thm3.1"
KIND = "exact"
TITLE = "Features at Convergence: WᵀW = FACT"
PRINTED = "WᵀW = FACT at critical points, Theorem 3.1"
QUANTITIES = ("fact/error",)


def rule(rows: Rows) -> Finding:
    """The error falls as the gradient's norm (slope 1) and ends below 1e-9 of ||W^T W||, on every layer."""
    return every(slope=order(rows, 1), end=below(rows, 1e-9))
