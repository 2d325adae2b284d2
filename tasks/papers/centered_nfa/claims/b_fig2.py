"""In both hidden layers the uncentered NFA depends on the scale of the initial weights; the centered NFA does not.

The final UC-NFA varies more over the scales than the early C-NFA does. At every scale the C-NFA is high throughout
training, and highest early. The data are isotropic.
"""

from dataclasses import replace

import numpy as np

from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, positive
from tasks.judging.statistics import curves
from tasks.papers.centered_nfa.claims.shared import centerings

ID = "B.fig2"
KIND = "statistical"
TITLE = "The centered NFA is high at every initialization scale, and highest early"
PRINTED = "curves, both layers, Figure 2"
CORRECTION = centerings.CORRECTION
QUANTITIES = ("nfa/uncentered", "nfa/centered", "null/centered")
SPECTRUM = "isotropic"

draw = centerings.draw_nfa_and_losses


def rule(rows: Rows) -> Finding:
    """Per seed, in the worst layer and at the worst scale.

    The C-NFA is high while it is nearer to 1 than to the null, the mean correlation of two matrices with independent
    eigenvectors; it must be high at every measured step.
    """
    rows = rows.where(case=SPECTRUM)
    uc_nfa, c_nfa, null = (curves(rows.where(quantity=name), "seed", "layer", "x") for name in QUANTITIES)
    early = centerings.early_steps(rows.where(quantity="nfa/centered"))
    early_mean, later_mean = c_nfa[..., early].mean(-1), c_nfa[..., ~early].mean(-1)
    finding = all_of(
        scale=positive(
            (np.ptp(uc_nfa[..., -1], 2) - np.ptp(early_mean, 2)).min(1),
            "spread of the final UC-NFA over the scales minus that of the early C-NFA",
        ),
        high=positive(
            ((c_nfa - null) / (1 - null)).min((1, 2, 3)) - 0.5, "smallest (C-NFA − null)/(1 − null) minus 1/2"
        ),
        early=positive((early_mean - later_mean).min((1, 2)), "mean early C-NFA minus mean later C-NFA"),
    )
    scales = np.unique(rows.x)
    c_nfa_by_layer = [
        f"layer {layer}: "
        + ", ".join(f"{a:.2f} → {b:.2f} at s₀ = {s:g}" for a, b, s in zip(earlier, later, scales, strict=True))
        for layer, earlier, later in zip((1, 2), early_mean.mean(0), later_mean.mean(0), strict=True)
    ]
    final = uc_nfa[..., -1].mean(0)
    measured = f"C-NFA early → later, {'; '.join(c_nfa_by_layer)}; final UC-NFA {final.min():.2f} to {final.max():.2f}"
    return replace(finding, measured=measured)
