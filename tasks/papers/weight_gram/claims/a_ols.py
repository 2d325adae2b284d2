"""The labels and their best linear prediction coincide in the K-norm.

The K-norm of v is ||H v||. It is only a seminorm: y and f_OLS may differ by any v with H v = 0. If H H^T has no
inverse, f_OLS is the least-squares fit of least norm.
"""

from tasks.drawing.exact import draw as draw
from tasks.judging.rules import exact
from tasks.judging.statement import BOTH_PRECISIONS, Control, Grid, Statement

ID = "A.ols"
KIND = "exact"
TITLE = "The labels and their linear fit coincide in the K-norm"
PRINTED = "‖y − f_OLS‖_K = 0, Section 4.2"
MATH = (
    r"\| y - f_{\text{OLS}} \|_K = 0, \quad \| v \|_K^2 = v^\top K v",
    r"f_{\text{OLS}} = H^\top (H H^\top)^{-1} H y, \quad K = H^\top H",
)
METHODS = ("least squares", "printed inverse")


def methods_of(case: str, _: int = 0) -> tuple[str, ...]:
    """The methods that a case must have. The printed inverse needs HHᵀ of full rank d.

    Of the wide H (n < d, but n at least 2) those with d = 2 have this rank. Chance decides which do: d is drawn.
    """
    return METHODS[:1] if case.startswith(("rank-deficient", "wide")) else METHODS


GRIDS = {"ols/residual": Grid(BOTH_PRECISIONS, layers=METHODS, layers_of=methods_of)}
CONTROLS = {
    "ridge instead of OLS": Control(
        text="A ridge regression takes the place of least squares; its ridge is a tenth of H's largest squared "
        "singular value.",
        lacks=("y outside it",),
        parts_because="Outside the span every ridge predicts 0, as OLS does.",
    ),
}
STATEMENTS = (
    Statement(
        name="zero distance",
        quote="Let f_OLS = Hᵀ(HHᵀ)⁻¹Hy be the best linear predictor from current features. A direct calculation"
        " gives ‖y − f_OLS‖_K = 0, so y and f_OLS coincide under the K-norm.",
        place="Section 4.2",
        rule=exact,
        reads=("ols/residual",),
        printed="‖y − f_OLS‖_K = 0",
        cases=13,
    ),
)
