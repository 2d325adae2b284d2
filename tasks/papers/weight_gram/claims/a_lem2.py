"""Y^T (lambda I + G)^-2 Y <= kappa ||Y||^4 / (Y^T (lambda I + G) Y) for symmetric psd G and lambda > 0.

kappa = (2 lambda + lambda_max + lambda_min)^2 / (4 (lambda + lambda_min)^3) with G's extreme eigenvalues, by
Kantorovich's inequality. It is far from the best constant: with r = (lambda + lambda_max) / (lambda + lambda_min)
that is (r^2 + r + 1)^2 / (4 r^2 (r + 1) (lambda + lambda_min)) for r from the golden ratio on, about 1/r of the print.
"""

from dataclasses import replace

from tasks.drawing.bound import draw as draw
from tasks.judging.rules import Finding, Rows, bound

ID = "A.lem2"
KIND = "bound"
TITLE = "Squared inverse against the surrogate, by Kantorovich"
PRINTED = "Yᵀ(λI+G)⁻²Y ≤ κ‖Y‖⁴[Yᵀ(λI+G)Y]⁻¹, Lemma 2"
QUANTITIES = ("lem2/ratio", "lem2/sharp")


def rule(rows: Rows) -> Finding:
    """With the printed kappa; the same with the best one is reported beside it."""
    found = bound(rows.where(quantity="lem2/ratio"))
    sharp = rows.where(quantity="lem2/sharp")
    if not len(sharp):
        return found
    return replace(found, numbers={**found.numbers, "worst left / right with the best κ": float(sharp.value.max())})
