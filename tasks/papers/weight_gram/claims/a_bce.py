"""Binary cross-entropy, summed over samples with y in {0, 1}, has g = -grad_f L = y - sigmoid(f), and by classes

y^T K g = < sum_{S1} h, sum_{S1} (1 - sigmoid(f)) h - sum_{S0} sigmoid(f) h > with K = H^T H.
"""

from tasks.drawing.exact import draw as draw
from tasks.judging.rules import Finding, Rows, every, exact

ID = "A.bce"
KIND = "exact"
TITLE = "Residual and kernel of binary cross-entropy, by class"
PRINTED = "yᵀKg = ⟨Σ_S₁ h, Σ_S₁(1−ŷ)h − Σ_S₀ ŷh⟩, Section 4.2"
QUANTITIES = ("bce/residual", "bce/gradient")


def rule(rows: Rows) -> Finding:
    """Both to round-off: balanced, imbalanced, one-class, separated and saturated predictions."""
    return every(
        gradient=exact(rows.where(quantity="bce/gradient")),
        classes=exact(rows.where(quantity="bce/residual")),
    )
