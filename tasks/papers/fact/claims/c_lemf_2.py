"""The dual weights of kernel regression are the loss's slopes: alpha_i = -(1 / (n lambda)) l'(f(x_i), y_i).

The loss is 1/2 ||f - y||^2. The lemma prints alpha = (K + lambda I)^-1 Y, Algorithm 1 (K + n lambda I)^-1 Y, and the
proof uses both.
"""

from tasks.drawing.exact import draw as draw
from tasks.judging.rules import exact
from tasks.judging.statement import Statement

ID = "C.lemF.2"
KIND = "exact"
TITLE = "Dual weights are slopes of the loss"
PRINTED = "αᵢ = −(1/(nλ)) ℓ′(ŷᵢ, yᵢ) for α = (K + λI)⁻¹Y, Lemma F.2"
MATH = r"\alpha_i = - \frac{1}{n \lambda}\, \ell'(\hat y_i, y_i) \quad\text{for } \alpha = (K + \lambda I)^{-1} Y"
MATH_CORRECTED = (
    r"\alpha_i = - \frac{1}{n \lambda}\, \ell'(\hat y_i, y_i) \quad\text{for } \alpha = (K + n \lambda I)^{-1} Y"
)
CORRECTION = (
    "α = (K + nλI)⁻¹Y, as in Algorithm 1. With the printed ridge −ℓ′ᵢ = λαᵢ, so that the right side is αᵢ/n. The "
    "proof's third line, −nλ(K + λI)⁻¹y, lacks the same n."
)
STATEMENTS = (
    Statement(
        name="slopes of the loss",
        quote="A statement of this form relating the representer coefficients to the loss derivatives at optimality",
        place="Lemma F.2 and Remark F.3",
        rule=exact,
        reads=("lemF2/residual",),
        printed="αᵢ = −(1/(nλ)) ℓ′(ŷᵢ, yᵢ) for α = (K + λI)⁻¹Y",
        derived="the same for α = (K + nλI)⁻¹Y",
        cases=40,  # five kernels, four shapes of data, three instances: 60
        rows=80,
    ),
)
