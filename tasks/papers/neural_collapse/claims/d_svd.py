"""With W = U S V^T, tr(S_W)/tr(S_B) of the features U S V^T h equals that of S V^T h.

U does not change NC1; only S V^T and the activation can, which the controls confirm. The two sides are compared as
shares tr(S_W)/tr(S_T) of the total variance, for wide, square, tall and rank-deficient W, and for classes of equal and
unequal sizes.
"""

from tasks.drawing.exact import draw as draw
from tasks.judging.rules import exact
from tasks.judging.statement import Statement

ID = "D.svd"
KIND = "exact"
TITLE = "The left singular vectors leave NC1 alone"
PRINTED = "tr(Σ̂_W) tr(Σ̂_B)⁻¹ = tr(UΣ_WUᵀ) tr(UΣ_BUᵀ)⁻¹ = tr(Σ_W) tr(Σ_B)⁻¹, Section 5"
MATH = (
    r"\frac{\operatorname{tr}(\hat \Sigma_W)}{\operatorname{tr}(\hat \Sigma_B)} = "
    r"\frac{\operatorname{tr}(U \Sigma_W U^\top)}{\operatorname{tr}(U \Sigma_B U^\top)} = "
    r"\frac{\operatorname{tr}(\Sigma_W)}{\operatorname{tr}(\Sigma_B)}"
)
STATEMENTS = (
    Statement(
        name="U leaves NC1 alone",
        quote="if … were unitary, then the common metric of within-class variability for … (the neural representations "
        "that are multiplied by … and … are equal",
        place="Section 1; the formula in Section 5",
        rule=exact,
        reads=("svd/residual",),
        printed="tr(Σ̂_W) tr(Σ̂_B)⁻¹ = tr(Σ_W) tr(Σ_B)⁻¹",
        cases=20,
        rows=40,
    ),
)
