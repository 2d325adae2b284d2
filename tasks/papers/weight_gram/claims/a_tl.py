"""Definition 2's squared error has one Gram-like term: ||Y - Y_lambda||^2 = lambda^2 Y^T (lambda I + H^T H)^-2 Y.

Target Linearity is the R^2 of the ridge regression of the target on the features (samples are columns of H here).
"""

from tasks.drawing.exact import draw as draw
from tasks.judging.rules import exact
from tasks.judging.statement import Statement

ID = "A.tl"
KIND = "exact"
TITLE = "Target Linearity's error through the Gram matrix"
PRINTED = "‖Y − Ŷ_λ‖² = λ² Yᵀ(λI + HᵀH)⁻²Y, Section 4.1"
MATH = (
    r"\| Y - \hat Y_\lambda \|_2^2 = \lambda^2\, Y^\top \left( \lambda I + H^\top H \right)^{-2} Y",
    r"\hat Y_\lambda = H^\top \left( H H^\top + \lambda I \right)^{-1} H Y",
)
STATEMENTS = (
    Statement(
        name="error through the Gram",
        quote="Applying the Woodbury identity yields …, which collapses the dependence on … into a single Gram-like "
        "term",
        place="Section 4.1",
        rule=exact,
        reads=("tl/residual",),
        printed="‖Y − Ŷ_λ‖² = λ² Yᵀ(λI + HᵀH)⁻²Y",
        cases=110,
        rows=240,
    ),
)
