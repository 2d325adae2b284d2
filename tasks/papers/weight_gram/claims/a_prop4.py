"""The first-order Taylor errors over all pairs of points sum to zero if f is m-homogeneous and x and f are centred.

sum_ij [f(x_i) - f(x_j) - (x_i - x_j)^T grad f(x_j)] = 0 for sum_i x_i = 0 and sum_i f(x_i) = 0.
"""

from tasks.drawing.exact import draw as draw
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, exact

ID = "A.prop4"
KIND = "exact"
TITLE = "Pairwise Taylor errors of homogeneous functions cancel"
PRINTED = "Σᵢⱼ [f(xᵢ) − f(xⱼ) − (xᵢ−xⱼ)ᵀ∇f(xⱼ)] = 0, Proposition 4"
QUANTITIES = ("prop4/residual",)


def rule(rows: Rows) -> Finding:
    """Zero to round-off for ReLU networks of one to three layers, powers of ReLU, and degrees 1/2, 1, 2, 3 and 4."""
    return exact(rows, cases=5)
