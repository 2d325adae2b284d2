"""The Gram A* of collapsed data has an inverse in closed form, and so has the product of this inverse with yy^T.

A* = yy^T + lambda_Phi I, with one-hot labels y and n samples in every class. The proof of Theorem 4.3 takes the product
from this lemma. The controls have classes of two sizes, or labels of ±1.
"""

from tasks.drawing.exact import draw as draw
from tasks.judging.rules import exact
from tasks.judging.statement import BOTH_PRECISIONS, Control, Grid, Statement

ID = "D.lemB.2"
KIND = "exact"
TITLE = "The inverse of the collapsed Gram"
PRINTED_PRODUCT = "(1+λ_Φ⁻¹)yyᵀ"
PRINTED = f"(A*)⁻¹ = λ_Φ⁻¹I − λ_Φ⁻¹(λ_Φ+n)⁻¹yyᵀ, Lemma B.2; yyᵀ(A*)⁻¹ = {PRINTED_PRODUCT}, proof of Theorem 4.3"
MATH = (
    (
        r"(A^\star)^{-1} = \lambda_\Phi^{-1} I - \lambda_\Phi^{-1} (\lambda_\Phi + n)^{-1} y y^\top, \quad "
        r"A^\star = y y^\top + \lambda_\Phi I"
    ),
    r"y y^\top (A^\star)^{-1} = \left( 1 + \lambda_\Phi^{-1} \right) y y^\top",
)
MATH_CORRECTED = r"y y^\top (A^\star)^{-1} = (\lambda_\Phi + n)^{-1}\, y y^\top"
CORRECTS = "a formula"
CORRECTION = (
    "The inverse is as printed. The product is yyᵀ(A*)⁻¹ = (λ_Φ+n)⁻¹yyᵀ. If yyᵀ(A*)⁻¹ = c·yyᵀ, then c is an "
    "eigenvalue of (A*)⁻¹, so that c ≤ 1/λ_Φ; the printed 1 + 1/λ_Φ is larger. Both statements need classes of equal "
    "size and 0/1 labels; they fail with the ±1 labels of the experiments."
)
GRIDS = {
    "lemB2/inverse": Grid(BOTH_PRECISIONS),
    "lemB2/product": Grid(BOTH_PRECISIONS, layers=("left", "right")),
}
CONTROLS = {
    "classes of two sizes": Control(
        text="The last class lacks about half of its n samples.",
        lacks=("one sample each",),
        parts_because="Classes of one sample each have no second size.",
    ),
    "labels ±1": Control(
        text="The labels are 1 and −1 instead of 1 and 0.",
        lacks=("one class",),
        parts_because="The labels of a single class are all 1, as in the claim.",
    ),
}
STATEMENTS = (
    Statement(
        name="the inverse",
        quote="the collapsed data gram matrix following an application of the non-linear random feature map",
        place="Lemma B.2",
        rule=exact,
        reads=("lemB2/inverse",),
        printed="(A*)⁻¹ = λ_Φ⁻¹I − λ_Φ⁻¹(λ_Φ+n)⁻¹yyᵀ",
        cases=6,
    ),
    Statement(
        name="the product with yyᵀ",
        quote="In this case, using that yyᵀ(A*)⁻¹ = (A*)⁻¹yyᵀ = (1 + λ_Φ⁻¹)yyᵀ (Lemma B.2)",
        place="Appendix B.1, proof of Theorem 4.3",
        rule=exact,
        reads=("lemB2/product",),
        printed=f"yyᵀ(A*)⁻¹ = {PRINTED_PRODUCT}",
        derived="yyᵀ(A*)⁻¹ = (λ_Φ+n)⁻¹yyᵀ",
        cases=6,
    ),
)
