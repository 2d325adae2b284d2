"""The PTK-centered NFA, the correlation of W₀ᵀW₀ and W₀ᵀK̄W₀, falls in training: it does not drive the alignment.

For isotropic data and for eigenvalues 1/(1 + k²), in both hidden layers. A fall alone is no effect of training: a step
as long in a random direction, in the numbers, makes it fall too.
"""

from dataclasses import replace

import numpy as np

from tasks.judging.rules import Finding, Rows, curves, every, positive
from tasks.papers.centered_nfa.claims.shared.b_curves_figure import draw as draw
from tasks.papers.centered_nfa.claims.shared.rules import SCALES

ID = "B.fig5"
KIND = "statistical"
TITLE = "The PTK-centered NFA falls in training"
PRINTED = "curves, both layers, two spectra, Figure 5"
CORRECTION = SCALES
QUANTITIES = ("nfa/ptk_centered", "nfa/ptk_centered, random step")
CASES = ("isotropic", "1/(1+k^2)")


def rule(rows: Rows) -> Finding:
    """Per seed and spectrum, over layers and initialisation scales at their worst: first measured step minus last.

    Beside it in the numbers, the same for weights that moved as far as training moved them, in a random direction.
    """
    falls, measured, aside = {}, [], {}
    for case in CASES:
        fall = _fall(rows.where(case=case, quantity=QUANTITIES[0]))
        falls[case] = positive(fall.min((1, 2)), "first correlation minus last")
        means = zip(np.unique(rows.x), fall.mean(0).T, strict=True)
        measured.append(f"{case} " + ", ".join(f"{min(one):.2f} to {max(one):.2f} at s₀ = {s:g}" for s, one in means))
        if len(walk := rows.where(case=case, quantity=QUANTITIES[1])):
            aside[f"{case}, a random step as long, mean"] = float(_fall(walk).mean())
    found = every(**falls)
    return replace(
        found, measured=f"falls, from layer to layer, by: {'; '.join(measured)}", numbers={**found.numbers, **aside}
    )


def _fall(rows: Rows) -> np.ndarray:
    P = curves(rows, "seed", "layer", "x")
    return P[..., 0] - P[..., -1]
