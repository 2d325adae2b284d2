"""k* = I_C x 11^T is the optimal limit of relaxed parametrised kernel ridge regression; its value is -Cn n/(n + mu).

Problem (3), L(A, k) = tr A (k^2 + mu k) A^T - 2 tr A k Y^T, is minimised over A and kernel matrices k of unit diagonal
and positive entries: no feasible k has a lower minimum over A, and k near k* comes near to it, within
Cn ||k - k*|| / mu. Printed is L(A*, k*) = +Cn n/(n + mu), which is what the proof maximises, -L. The proof needs trace
and positive semi-definiteness alone: signs of the entries make no difference. It says that x/(x + mu) is convex where
it means concave.
"""

from collections.abc import Callable
from dataclasses import replace

from tasks.drawing.bound import draw as draw
from tasks.judging.rules import Finding, Rows, bound, every, exact

ID = "D.thm4.4"
KIND = "bound"
TITLE = "The collapsed kernel is optimal"
PRINTED = "k* = I_C ⊗ (1_n 1_nᵀ), ℒ(A*, k*) = Cn·n/(n+μ), Theorem 4.4"
CORRECTION = (
    "ℒ(A*, k*) = −Cn·n/(n+μ). With ℒ as printed, tr A(k²+μk)Aᵀ − 2 tr AkYᵀ, the least value over A is "
    "−Σ_c y_cᵀ(k+μI)⁻¹k y_c: for C = 3, n = 4, μ = 0.7 it is −10.21 at k*. The positive number cannot be its minimum, "
    "since ℒ(0, k) = 0. What the proof maximises is −ℒ; k* is optimal as stated."
)
QUANTITIES = ("thm4_4/residual", "thm4_4/ratio", "thm4_4/near")


def rule(rows: Rows) -> Finding:
    """The value at k* to round-off; no kernel drawn or climbed to above it; nearly optimal near k*."""
    names = {"construction": "residual", "search": "ratio", "near": "near"}
    parts = {part: rows.where(quantity=f"thm4_4/{name}") for part, name in names.items()}
    rules: dict[str, Callable[[Rows], Finding]] = {"construction": exact, "search": bound, "near": bound}
    found = every(**{part: rules[part](made) for part, made in parts.items() if len(made)})
    climbed = parts["search"].where(case={"ascent, positive entries", "ascent, any signs"})
    if not len(climbed):
        return found
    best = climbed.value.max()
    return replace(found, measured=f"ascents end at {climbed.value.min():.4f} to {best:.6f} of the objective at k*")
