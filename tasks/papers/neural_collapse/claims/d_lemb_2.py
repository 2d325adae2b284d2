"""The collapsed Gram A* = yy^T + lambda I has the inverse (A*)^-1 = (I - yy^T / (lambda + n)) / lambda.

y is one-hot with n samples in every class. The proof of Theorem 4.3 uses the lemma for the product of A*^-1 and yy^T,
and writes yy^T A*^-1 = A*^-1 yy^T = (1 + lambda^-1) yy^T.
"""

from tasks.drawing.exact import draw as draw
from tasks.judging.rules import exact
from tasks.judging.statement import Statement

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
CORRECTION = (
    f"The inverse is as printed. The product is yyᵀ(A*)⁻¹ = (λ_Φ+n)⁻¹yyᵀ and not {PRINTED_PRODUCT}, whose factor "
    "exceeds ‖(A*)⁻¹‖ = 1/λ_Φ. Both statements need classes of equal size and 0/1 labels; they fail with the ±1 labels "
    "of the experiments."
)
STATEMENTS = (
    Statement(
        name="the inverse",
        quote="the collapsed data gram matrix following an application of the non-linear random feature map",
        place="Lemma B.2",
        rule=exact,
        reads=("lemB2/inverse",),
        printed="(A*)⁻¹ = λ_Φ⁻¹I − λ_Φ⁻¹(λ_Φ+n)⁻¹yyᵀ",
        cases=6,
        rows=60,
    ),
    Statement(
        name="the product with yyᵀ",
        quote="Fixed point of collapse",
        place="Lemma B.2, as the proof of Theorem 4.3 uses it",
        rule=exact,
        reads=("lemB2/product",),
        printed=f"yyᵀ(A*)⁻¹ = {PRINTED_PRODUCT}",
        derived="yyᵀ(A*)⁻¹ = (λ_Φ+n)⁻¹yyᵀ",
        cases=6,
        rows=120,
    ),
)
