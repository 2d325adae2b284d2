"""Y^T (lambda I + G)^-2 Y <= kappa ||Y||^4 / (Y^T (lambda I + G) Y) for symmetric psd G and lambda > 0.

kappa = (2 lambda + lambda_max + lambda_min)^2 / (4 (lambda + lambda_min)^3) with G's extreme eigenvalues, by
Kantorovich's inequality. It is far from the best constant: with r = (lambda + lambda_max) / (lambda + lambda_min),
the best is (r^2 + r + 1)^2 / (4 r^2 (r + 1) (lambda + lambda_min)) for r of at least the golden ratio, about 1/r of the
printed kappa.
"""

from dataclasses import replace

from tasks.drawing.bound import draw as draw
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, bound

ID = "A.lem2"
KIND = "bound"
TITLE = "Squared inverse bounded by the surrogate (Kantorovich)"
PRINTED = "Yᵀ(λI+G)⁻²Y ≤ κ‖Y‖⁴[Yᵀ(λI+G)Y]⁻¹, Lemma 2"
QUANTITIES = ("lem2/ratio", "lem2/sharp")


def rule(rows: Rows) -> Finding:
    """The inequality with the printed kappa; the ratio with the best kappa is reported."""
    finding = bound(rows.where(quantity="lem2/ratio"))
    best = rows.where(quantity="lem2/sharp")
    if not len(best):
        return finding
    return replace(finding, numbers={**finding.numbers, "worst left / right with the best κ": float(best.value.max())})
