"""The PTK-centered NFA, the correlation of W₀ᵀW₀ and W₀ᵀK̄W₀, falls in training: it does not drive the alignment.

This holds for isotropic data and for eigenvalues 1/(1 + k²), in both hidden layers. A fall alone is no effect of
training: a step of the same length in a random direction, which the numbers include, makes the correlation fall too.
"""

from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, positive
from tasks.judging.statistics import curves
from tasks.papers.centered_nfa.claims.shared import centerings

ID = "B.fig5"
KIND = "statistical"
TITLE = "The PTK-centered NFA falls in training"
PRINTED = "curves, both layers, two spectra, Figure 5"
CORRECTION = centerings.CORRECTION
QUANTITIES = ("nfa/ptk_centered", "nfa/ptk_centered, random step")
SPECTRA = ("isotropic", "1/(1+k^2)")


def rule(rows: Rows) -> Finding:
    """Per seed and spectrum, in the worst layer and at the worst scale: the first correlation is above the last.

    The numbers give the same difference for weights that moved as far in a random direction as training moved them.
    """
    falls, ranges, random_step = {}, [], {}
    for spectrum in SPECTRA:
        fall = _fall(rows.where(case=spectrum, quantity=QUANTITIES[0]))
        falls[spectrum] = positive(fall.min((1, 2)), "first correlation minus last")
        by_scale = zip(np.unique(rows.x), fall.mean(0).T, strict=True)
        ranges.append(
            f"{spectrum} " + ", ".join(f"{min(fall):.2f} to {max(fall):.2f} at s₀ = {s:g}" for s, fall in by_scale)
        )
        if len(walk := rows.where(case=spectrum, quantity=QUANTITIES[1])):
            random_step[f"{spectrum}, a random step as long, mean"] = float(_fall(walk).mean())
    finding = all_of(**falls)
    return replace(
        finding,
        measured=f"falls, from layer to layer, by: {'; '.join(ranges)}",
        numbers={**finding.numbers, **random_step},
    )


def _fall(rows: Rows) -> np.ndarray:
    """First minus last correlation, (seeds, layers, scales)."""
    correlation = curves(rows, "seed", "layer", "x")
    return correlation[..., 0] - correlation[..., -1]


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw the correlation along training."""
    return centerings.draw_by_layer(rows, claim, "PTK-centered NFA", top=1.02)
