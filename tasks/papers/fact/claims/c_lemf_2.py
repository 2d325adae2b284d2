"""The dual weights of kernel regression are proportional to the derivatives of the loss at the samples.

The loss of a sample is 1/2 ||f - y||^2, and l' is its derivative in the prediction f. The lemma has the ridge lambda,
Algorithm 1 has n lambda, and the proof has both. The control has the ridge 2 n lambda.
"""

from tasks.drawing.exact import draw as draw
from tasks.judging.rules import exact
from tasks.judging.statement import BOTH_PRECISIONS, Control, Grid, Statement

ID = "C.lemF.2"
KIND = "exact"
TITLE = "Dual weights are derivatives of the loss"
PRINTED = "αᵢ = −(1/(nλ)) ℓ′(ŷᵢ, yᵢ) for α = (K + λI)⁻¹Y, Lemma F.2"
MATH = r"\alpha_i = - \frac{1}{n \lambda}\, \ell'(\hat y_i, y_i) \quad\text{for } \alpha = (K + \lambda I)^{-1} Y"
MATH_CORRECTED = (
    r"\alpha_i = - \frac{1}{n \lambda}\, \ell'(\hat y_i, y_i) \quad\text{for } \alpha = (K + n \lambda I)^{-1} Y"
)
CORRECTS = "a formula"
CORRECTION = (
    "The dual weights are α = (K + nλI)⁻¹Y, as in Algorithm 1. With the printed ridge λ we have −ℓ′ᵢ = λαᵢ, so that "
    "the right side is αᵢ/n. The proof's second line has the ridge nλ; its third line, −nλ(K + λI)⁻¹y, lacks the n."
)
GRIDS = {"lemF2/residual": Grid(BOTH_PRECISIONS)}
CONTROLS = {
    "ridge 2 n lambda": Control(
        text="The dual weights have the ridge 2nλ instead of λ, as printed, or nλ, as in the corrected form."
    ),
}
STATEMENTS = (
    Statement(
        name="slopes of the loss",
        quote="Alternative expression for representer coefficients for kernel regression",
        place="Lemma F.2",
        rule=exact,
        reads=("lemF2/residual",),
        printed="αᵢ = −(1/(nλ)) ℓ′(ŷᵢ, yᵢ) for α = (K + λI)⁻¹Y",
        derived="the same for α = (K + nλI)⁻¹Y",
        cases=20,
    ),
)
