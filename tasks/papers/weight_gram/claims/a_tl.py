"""Definition 2's squared error has one Gram-like term: ||Y - Y_lambda||^2 = lambda^2 Y^T (lambda I + H^T H)^-2 Y.

Target Linearity is the R^2 of the ridge regression of the target on the features (samples are columns of H here).
"""

from tasks.drawing.exact import draw as draw
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, exact

ID = "A.tl"
KIND = "exact"
TITLE = "Target Linearity's error through the Gram matrix"
PRINTED = "‖Y − Ŷ_λ‖² = λ² Yᵀ(λI + HᵀH)⁻²Y, Section 4.1"
QUANTITIES = ("tl/residual",)


def rule(rows: Rows) -> Finding:
    """Equal to round-off times the conditioning of the solve, for tall, wide and rank-one features."""
    return exact(rows, cases=5)
