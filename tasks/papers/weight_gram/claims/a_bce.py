"""Binary cross-entropy, summed over samples with y in {0, 1}, has the residual g = -grad_f L = y - sigmoid(f), and

y^T K g = < sum_{S1} h, sum_{S1} (1 - sigmoid(f)) h - sum_{S0} sigmoid(f) h >, where K = H^T H and S0 and S1 are the
samples with y = 0 and y = 1.
"""

from tasks.drawing.exact import draw as draw
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, exact

ID = "A.bce"
KIND = "exact"
TITLE = "Residual and kernel of binary cross-entropy, by class"
PRINTED = "yᵀKg = ⟨Σ_S₁ h, Σ_S₁(1−ŷ)h − Σ_S₀ ŷh⟩, Section 4.2"
QUANTITIES = ("bce/residual", "bce/gradient")


def rule(rows: Rows) -> Finding:
    """Both equal to round-off, for balanced, imbalanced, one-class, separated and saturated predictions."""
    return all_of(
        gradient=exact(rows.where(quantity="bce/gradient")),
        classes=exact(rows.where(quantity="bce/residual")),
    )
