"""In both hidden layers the uncentered NFA depends on the scale of the initial weights; the centered one does not.

The final UC-NFA spreads more over the scales than the early C-NFA does; the C-NFA stays high throughout training at
every scale, and is highest early. Isotropic data.
"""

from dataclasses import replace

import numpy as np

from tasks.judging.rules import Finding, Rows, curves, every, positive
from tasks.papers.centered_nfa.claims.shared.b_centerings_figure import draw as draw
from tasks.papers.centered_nfa.claims.shared.rules import SCALES

ID = "B.fig2"
KIND = "statistical"
TITLE = "The centered NFA is high at every initialisation scale, and highest early"
PRINTED = "curves, both layers, Figure 2"
CORRECTION = SCALES
QUANTITIES = ("nfa/uncentered", "nfa/centered", "null/centered")
CASE = "isotropic"


def rule(rows: Rows) -> Finding:
    """Per seed, over layers and scales at their worst. High: at every measured step nearer to 1 than to the null.

    The null is the mean correlation if the two matrices' eigenvectors were independent. Early: the first tenth of
    the steps.
    """
    rows = rows.where(case=CASE)
    U, C, null = (curves(rows.where(quantity=name), "seed", "layer", "x") for name in QUANTITIES)
    steps = np.unique(rows.where(quantity="nfa/centered").step)
    early = steps <= steps[-1] / 10
    first, rest = C[..., early].mean(-1), C[..., ~early].mean(-1)
    found = every(
        scale=positive(
            (np.ptp(U[..., -1], 2) - np.ptp(first, 2)).min(1), "spread of final UC-NFA over that of early C-NFA"
        ),
        high=positive(
            ((C - null) / (1 - null)).min((1, 2, 3)) - 0.5, "least way of the C-NFA from its null to 1, less 1/2"
        ),
        early=positive((first - rest).min((1, 2)), "mean early C-NFA minus mean later"),
    )
    scales = np.unique(rows.x)
    said = [
        f"layer {layer}: "
        + ", ".join(f"{a:.2f} → {b:.2f} at s₀ = {s:g}" for a, b, s in zip(one, two, scales, strict=True))
        for layer, one, two in zip((1, 2), first.mean(0), rest.mean(0), strict=True)
    ]
    last = U[..., -1].mean(0)
    return replace(
        found, measured=f"C-NFA early → later, {'; '.join(said)}; final UC-NFA {last.min():.2f} to {last.max():.2f}"
    )
