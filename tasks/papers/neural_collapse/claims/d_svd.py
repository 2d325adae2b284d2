"""With W = U S V^T, tr(S_W)/tr(S_B) of the features U S V^T h equals that of S V^T h.

U does not change NC1; only S V^T and the activation can, which the controls confirm. The two sides are compared as
shares tr(S_W)/tr(S_T) of the total variance, for wide, square, tall and rank-deficient W, and for classes of equal and
unequal sizes.
"""

from tasks.drawing.exact import draw as draw
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, exact

ID = "D.svd"
KIND = "exact"
TITLE = "The left singular vectors leave NC1 alone"
PRINTED = "tr(Σ̂_W) tr(Σ̂_B)⁻¹ = tr(UΣ_WUᵀ) tr(UΣ_BUᵀ)⁻¹ = tr(Σ_W) tr(Σ_B)⁻¹, Section 5"
QUANTITIES = ("svd/residual",)


def rule(rows: Rows) -> Finding:
    """To round-off, relative to (the longest sum) x (the total variance of the features) x (the squared norm of W)."""
    return exact(rows)
