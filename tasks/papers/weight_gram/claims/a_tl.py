"""The squared error in the definition of Target Linearity depends on the features H through H^T H alone.

Target Linearity (Definition 2) is the R^2 of the ridge regression of the target Y on the features, with the ridge
lambda. Samples are columns of H here.
"""

from tasks.drawing.exact import draw as draw
from tasks.judging.rules import exact
from tasks.judging.statement import BOTH_PRECISIONS, Control, Grid, Statement

ID = "A.tl"
KIND = "exact"
TITLE = "Target Linearity's error through the Gram matrix"
PRINTED = "‖Y − Ŷ_λ‖² = λ² Yᵀ(λI + HᵀH)⁻²Y, Section 4.1"
MATH = (
    r"\| Y - \hat Y_\lambda \|_2^2 = \lambda^2\, Y^\top \left( \lambda I + H^\top H \right)^{-2} Y",
    r"\hat Y_\lambda = H^\top \left( H H^\top + \lambda I \right)^{-1} H Y",
)
DRAWN_NAMES = r"(dead)?.*n \d+.*"  # the sizes and lambda of the others are drawn
GRIDS = {"tl/residual": Grid(BOTH_PRECISIONS)}
CONTROLS = {
    "lambda of one side changed by a tenth": Control(),
}
STATEMENTS = (
    Statement(
        name="error through the Gram",
        quote="Applying the Woodbury identity yields ‖Y − Ŷ_λ‖₂² = λ² Yᵀ(λI + HᵀH)⁻²Y, which collapses the "
        "dependence on H into a single Gram-like term HᵀH.",
        place="Section 4.1",
        rule=exact,
        reads=("tl/residual",),
        printed="‖Y − Ŷ_λ‖² = λ² Yᵀ(λI + HᵀH)⁻²Y",
        cases=8,
    ),
)
