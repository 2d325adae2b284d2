"""With W = U S V^T, tr(S_W)/tr(S_B) of U S V^T h is that of S V^T h: U leaves it alone.

So only S V^T and the activation can change it; that they do is seen in the controls. Both sides are compared as
shares of the total variance, with wide, square, tall and rank-deficient W and with classes of one size and of several.
"""

from tasks.drawing.exact import draw as draw
from tasks.judging.rules import Finding, Rows, exact

ID = "D.svd"
KIND = "exact"
TITLE = "The left singular vectors leave NC1 alone"
PRINTED = "tr(Σ̂_W) tr(Σ̂_B)⁻¹ = tr(UΣ_WUᵀ) tr(UΣ_BUᵀ)⁻¹ = tr(Σ_W) tr(Σ_B)⁻¹, Section 5"
QUANTITIES = ("svd/residual",)


def rule(rows: Rows) -> Finding:
    """Residuals over (the longest sum) x (the total variance of the features times the squared norm of W)."""
    return exact(rows)
