"""k* = I_C x 11^T is the optimal limit of relaxed parametrised kernel ridge regression, with objective Cn n/(n + mu).

Problem (3) over A and kernel matrices k of unit diagonal and positive entries: no feasible k has a larger objective,
and k near k* comes near to it, within Cn ||k - k*|| / mu. The proof needs trace and positive semi-definiteness alone:
signs of the entries make no difference. It says that x/(x + mu) is convex where it means concave.
"""

from collections.abc import Callable
from dataclasses import replace

from tasks.judge import Finding, Rows, bound, every, exact

ID = "D.thm4.4"
KIND = "bound"
TITLE = "The collapsed kernel is optimal"
PRINTED = "k* = I_C ⊗ (1_n 1_nᵀ), ℒ(A*, k*) = Cn·n/(n+μ), Theorem 4.4"
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
