"""Target Linearity depends on the features H through H^T H alone.

Target Linearity (Definition 2) is the R^2 of the ridge regression of the target Y on the features, with the ridge
lambda. Samples are H's columns. The paper says that it recovers the R^2 of ordinary least squares at lambda = 0. Its
least squares have no intercept, as in Proposition 3, so this is Definition 2 at lambda = 0. A statement of ours asks
when this number is also the R^2 of a fit with an intercept, which lies in [0, 1]. Target Linearity can be negative, as
Definition 2 divides by the squared deviations from the mean. The two are equal if and only if the residuals of the fit
without an intercept have the mean 0. For centred features and labels they are always equal.
"""

from tasks.drawing.exact import draw as draw
from tasks.judging.rules import exact
from tasks.judging.statement import BOTH_PRECISIONS, Control, Grid, Statement

ID = "A.tl"
KIND = "exact"
TITLE = "Target Linearity depends on the features through HᵀH alone"
PRINTED = "‖Y − Ŷ_λ‖² = λ² Yᵀ(λI + HᵀH)⁻²Y; 𝒯₀ is the R² of ordinary least squares, Section 4.1"
MATH = (
    (
        r"\| Y - \hat Y_\lambda \|_2^2 = \lambda^2\, Y^\top \left( \lambda I + H^\top H \right)^{-2} Y, \quad "
        r"\hat Y_\lambda = H^\top \left( H H^\top + \lambda I \right)^{-1} H Y"
    ),
    r"\mathcal{T}_0(H, Y) = 1 - \frac{\| Y - \hat Y_0 \|_2^2}{\| Y - \bar Y \|_2^2} = R^2_{\text{OLS}}(H, Y)",
)
MATH_CORRECTED = (
    r"\mathcal{T}_0(H - \bar H, Y - \bar Y) = R^2_{\text{OLS}}(H, Y) = 1 - \frac{\min_{w, b} \| Y - H^\top w - b "
    r"\mathbf{1} \|_2^2}{\| Y - \bar Y \|_2^2}"
)
CORRECTS = "our statement"
CORRECTION = (
    "The formula with the Gram matrix holds as printed. The paper's ordinary least squares have no intercept, and 𝒯₀ "
    "is their R² by Definition 2. 𝒯₀ is the R² of a fit with an intercept for all features and labels that are both "
    "centred, and for all that have a constant among the features. To centre one of the two is not enough. Otherwise "
    "𝒯₀ can be negative, because Definition 2 has no intercept and divides by the squared deviations from the mean. "
    "For given features and labels 𝒯₀ is this R² if and only if the residuals of the fit without an "
    "intercept have the mean 0."
)
DRAWN_NAMES = r"(dead)?.*n \d+.*"  # the sizes and lambda of the others are drawn
GRIDS = {"tl/residual": Grid(BOTH_PRECISIONS), "tl0/residual": Grid(BOTH_PRECISIONS)}
CONTROLS = {
    "lambda of one side changed by a tenth": Control(
        text="The closed form has 1.1 λ in place of λ; the ridge regression keeps λ.", has=("tl/residual",)
    ),
    "only the features centred": Control(
        text="Target Linearity is that of centred features and of labels that are not centred.", has=("tl0/residual",)
    ),
    "only the labels centred": Control(
        text="Target Linearity is that of centred labels and of features that are not centred.", has=("tl0/residual",)
    ),
}
STATEMENTS = (
    Statement(
        name="R² of a fit with an intercept",
        quote="At λ = 0 (and assuming HHᵀ is invertible), TL recovers the R² of ordinary least squares.",
        place="Section 4.1",
        rule=exact,
        reads=("tl0/residual",),
        kind="ours",
        printed="𝒯₀(H, Y) = R² of least squares with an intercept",
        derived="𝒯₀(H − H̄, Y − Ȳ) = R² of least squares with an intercept",
        cases=4,
    ),
    Statement(
        name="error through the Gram",
        quote="Applying the Woodbury identity yields ‖Y − Ŷ_λ‖₂² = λ² Yᵀ(λI + HᵀH)⁻²Y, which collapses the "
        "dependence on H into a single Gram-like term HᵀH.",
        place="Section 4.1",
        rule=exact,
        reads=("tl/residual",),
        printed="‖Y − Ŷ_λ‖² = λ² Yᵀ(λI + HᵀH)⁻²Y",
        cases=8,
        forms=("claim",),
    ),
)
