"""The dual weights of kernel regression are the loss's slopes: alpha_i = -(1 / (n lambda)) l'(f(x_i), y_i).

The loss is 1/2 ||f - y||^2. The lemma prints alpha = (K + lambda I)^-1 Y, Algorithm 1 (K + n lambda I)^-1 Y, and the
proof uses both.
"""

from tasks.drawing.exact import draw as draw
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, exact

ID = "C.lemF.2"
KIND = "exact"
TITLE = "Dual weights are slopes of the loss"
PRINTED = "αᵢ = −(1/(nλ)) ℓ′(ŷᵢ, yᵢ) for α = (K + λI)⁻¹Y, Lemma F.2"
CORRECTION = (
    "α = (K + nλI)⁻¹Y, as in Algorithm 1. With the printed ridge −ℓ′ᵢ = λαᵢ, so that the right side is αᵢ/n. The "
    "proof's third line, −nλ(K + λI)⁻¹y, lacks the same n."
)
QUANTITIES = ("lemF2/residual",)


def rule(rows: Rows) -> Finding:
    """Both sides agree to round-off times the solve's condition number, for five kernels and four shapes of data."""
    return exact(rows)
