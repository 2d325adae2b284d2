"""The collapsed Gram A* = yy^T + lambda I has (A*)^-1 = (I - yy^T / (lambda + n)) / lambda.

y is one-hot with n samples in every class. From it the proof of Theorem 4.3 takes what A*^-1 does to yy^T, and
writes yy^T A*^-1 = A*^-1 yy^T = (1 + lambda^-1) yy^T.
"""

from tasks.drawing.exact import draw as draw
from tasks.judging.rules import Finding, Rows, every, exact

ID = "D.lemB.2"
KIND = "exact"
TITLE = "The inverse of the collapsed Gram"
PRINTED = "(A*)⁻¹ = λ_Φ⁻¹I − λ_Φ⁻¹(λ_Φ+n)⁻¹yyᵀ, Lemma B.2; yyᵀ(A*)⁻¹ = (1+λ_Φ⁻¹)yyᵀ, proof of Theorem 4.3"
CORRECTION = (
    "The inverse is as printed; the product is yyᵀ(A*)⁻¹ = (λ_Φ+n)⁻¹yyᵀ and not (1+λ_Φ⁻¹)yyᵀ, whose factor exceeds "
    "‖(A*)⁻¹‖ = 1/λ_Φ. Both need classes of one size and 0/1 labels: with the experiments' ±1 labels they fail."
)
QUANTITIES = ("lemB2/inverse", "lemB2/product")


def rule(rows: Rows) -> Finding:
    """The inverse, and its products with yy^T from both sides, each to round-off."""
    return every(
        inverse=exact(rows.where(quantity="lemB2/inverse")),
        product=exact(rows.where(quantity="lemB2/product")),
    )
