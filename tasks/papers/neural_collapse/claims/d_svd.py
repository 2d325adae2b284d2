"""With W = U S V^T, U does not change NC1; only S V^T and the activation can.

NC1 = tr(Sigma_W)/tr(Sigma_B). We compare the fractions tr(Sigma_W)/tr(Sigma_T) of the total variance, Sigma_T = Sigma_W
+ Sigma_B, before and after U. W is wide, square, tall or rank-deficient, and the classes are of equal or of unequal
sizes. The controls include S V^T or the ReLU, or have a U that is not orthogonal.
"""

from tasks.drawing.exact import draw as draw
from tasks.judging.rules import exact
from tasks.judging.statement import BOTH_PRECISIONS, Control, Grid, Statement

ID = "D.svd"
KIND = "exact"
TITLE = "The left singular vectors do not change NC1"
PRINTED = "tr(Σ̂_W) tr(Σ̂_B)⁻¹ = tr(UΣ_WUᵀ) tr(UΣ_BUᵀ)⁻¹ = tr(Σ_W) tr(Σ_B)⁻¹, Section 5"
MATH = (
    r"\frac{\operatorname{tr}(\hat \Sigma_W)}{\operatorname{tr}(\hat \Sigma_B)} = "
    r"\frac{\operatorname{tr}(U \Sigma_W U^\top)}{\operatorname{tr}(U \Sigma_B U^\top)} = "
    r"\frac{\operatorname{tr}(\Sigma_W)}{\operatorname{tr}(\Sigma_B)}"
)
GRIDS = {"svd/residual": Grid(BOTH_PRECISIONS)}
CONTROLS = {
    "ReLU counted in": Control(text="NC1 before U is compared with NC1 after U and the ReLU instead of after U alone."),
    "S V^T counted in": Control(
        text="NC1 before U, which is NC1 after SVᵀ, is compared with NC1 of the layer's input."
    ),
    "U not orthogonal": Control(text="U is replaced by a random matrix that is not orthogonal."),
}
STATEMENTS = (
    Statement(
        name="U leaves NC1 alone",
        quote="if W were unitary, then the common metric of within-class variability for X (the neural "
        "representations that are multiplied by W and WX are equal.",
        place="Section 1; the formula in Section 5",
        rule=exact,
        reads=("svd/residual",),
        printed="tr(Σ̂_W) tr(Σ̂_B)⁻¹ = tr(Σ_W) tr(Σ_B)⁻¹",
        cases=5,
    ),
)
