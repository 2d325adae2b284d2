"""Backward form: at a critical point of L + (lambda/2) ||theta||^2, W W^T = bFACT at every layer.

bFACT = -(1 / (n lambda)) sum_i (W h(x_i)) (grad_{Wh} l_i)^T, where Wh is the layer's output without its bias; also
W W^T = sqrt(bFACT bFACT^T), as the text after the theorem says.
"""

from tasks.judging.rules import Finding, Rows, below, every, order
from tasks.papers.fact.claims.shared.c_thm3_1_figure import draw as draw

ID = "C.thmA.1"
KIND = "exact"
TITLE = "Backward Features at Convergence: WWᵀ = bFACT"
PRINTED = "WWᵀ = bFACT = √(bFACT bFACTᵀ) at critical points, Theorem A.1"
QUANTITIES = ("back_fact/error", "back_fact/root/error")


def rule(rows: Rows) -> Finding:
    """Both errors fall as the gradient's norm (slope 1) and end below 1e-9 of ||W^T W||, on every layer."""
    parts: dict[str, Finding] = {}
    for name, quantity in zip(("bFACT", "root"), QUANTITIES, strict=True):
        one = rows.where(quantity=quantity)
        parts |= {f"slope of {name}": order(one, 1), f"end of {name}": below(one, 1e-9)}
    return every(**parts)
