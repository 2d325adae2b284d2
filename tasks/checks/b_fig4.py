"""The double-centered part of the centered NFA is small early in training and grows later, in both hidden layers.

Its size is tr(W̄ᵀW̄ W̄ᵀK̄W̄) / tr(W̄ᵀW̄ W̄ᵀKW̄), with the weights W̄ and tangents K̄ centered about the initial ones.
"""

from dataclasses import replace

from tasks.judge import Finding, Rows, curves, every, positive
from tasks.rules.b import SCALES

ID = "B.fig4"
KIND = "statistical"
TITLE = "The double-centered NFA is a small part early in training, and a larger one later"
PRINTED = "curves, both layers, Figure 4"
CORRECTION = SCALES
QUANTITIES = ("double_over_centered",)
CASES = ("isotropic",)


def rule(rows: Rows) -> Finding:
    """Per seed, over layers and scales at their worst: below 0.1 at the first measured step, and it grows."""
    R = curves(rows.where(case=CASES[0]), "seed", "layer", "x")
    found = every(
        small=positive((0.1 - R[..., 0]).min((1, 2)), "0.1 minus the ratio at the first measured step"),
        grows=positive((R[..., -1] - R[..., 0]).min((1, 2)), "last ratio minus first"),
    )
    first, last = R[..., 0].mean(0), R[..., -1].mean(0)
    measured = f"{first.min():.3f} to {first.max():.3f} at first, {last.min():.2f} to {last.max():.2f} at the end"
    return replace(found, measured=measured)
