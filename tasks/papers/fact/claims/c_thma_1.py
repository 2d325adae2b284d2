"""Backward form: at a critical point of L + (lambda/2) ||theta||^2, W W^T = bFACT at every layer.

bFACT = -(1 / (n lambda)) sum_i (W h(x_i)) (grad_{Wh} l_i)^T, where Wh is the layer's output without its bias. As the
text after the theorem says, W W^T = sqrt(bFACT bFACT^T) too.
"""

from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of
from tasks.papers.fact.claims.shared.critical_points import convergence
from tasks.papers.fact.claims.shared.critical_points import draw as draw

ID = "C.thmA.1"
KIND = "exact"
TITLE = "Backward Features at Convergence: WWᵀ = bFACT"
PRINTED = "WWᵀ = bFACT = √(bFACT bFACTᵀ) at critical points, Theorem A.1"
QUANTITIES = ("back_fact/error", "back_fact/root/error")


def rule(rows: Rows) -> Finding:
    """Both errors are proportional to the gradient's norm (slope 1) and end at most at END, on every layer."""
    return all_of(**convergence(rows, dict(zip(("bFACT", "root"), QUANTITIES, strict=True))))
