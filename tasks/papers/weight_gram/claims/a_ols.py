"""The labels and their best linear prediction coincide in the K-norm: ||y - f_OLS||_K = 0.

K = H^T H, so that ||v||_K = (v^T K v)^(1/2) = ||H v||, and f_OLS = H^T (H H^T)^-1 H y. The K-norm is a seminorm: y and
f_OLS may differ by any v with H v = 0. Where H H^T has no inverse, f_OLS is the least-squares fit of least norm.
"""

from tasks.drawing.exact import draw as draw
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, exact

ID = "A.ols"
KIND = "exact"
TITLE = "Labels and their linear fit coincide in K-norm"
PRINTED = "‖y − f_OLS‖_K = 0, Section 4.2"
QUANTITIES = ("ols/residual",)


def rule(rows: Rows) -> Finding:
    """Zero to round-off times the conditioning, by the printed inverse and by least squares, for H of all ranks."""
    return exact(rows, cases=5)
