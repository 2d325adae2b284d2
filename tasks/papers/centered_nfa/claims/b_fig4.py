"""The double-centered part of the centered NFA is small early in training and grows later, in both hidden layers.

For large initial weights it is small throughout; small is below a tenth, a margin of ours. Its size is
tr(W̄ᵀW̄ W̄ᵀK̄W̄) / tr(W̄ᵀW̄ W̄ᵀKW̄), with the weights W̄ and tangents K̄ centered about the initial ones.
"""

from dataclasses import replace

import numpy as np

from tasks.judging.rules import Finding, Rows, curves, every, positive
from tasks.papers.centered_nfa.claims.shared.b_curves_figure import draw as draw
from tasks.papers.centered_nfa.claims.shared.rules import SCALES

ID = "B.fig4"
KIND = "statistical"
TITLE = "The double-centered NFA is a small part early in training, and a larger one later"
PRINTED = (
    "“do not significantly contribute … when initialization is large or for early periods of training”, “becomes "
    "relevant over longer periods”, Section 3.1 and Figure 4"
)
CORRECTION = SCALES
QUANTITIES = ("double_over_centered",)
CASES = ("isotropic",)


def rule(rows: Rows) -> Finding:
    """Per seed, over layers and scales at their worst: below 0.1 early, and it grows; at the largest scale below 0.1.

    Early is the first tenth of the steps, as in B.fig2.
    """
    rows = rows.where(case=CASES[0])
    R, steps = curves(rows, "seed", "layer", "x"), np.unique(rows.step)
    early = R[..., steps <= steps[-1] / 10].mean(-1)
    found = every(
        small=positive(0.1 - early.max((1, 2)), "0.1 minus the mean ratio early"),
        large=positive(0.1 - R[:, :, -1].mean(-1).max(1), "0.1 minus the mean ratio at the largest scale"),
        grows=positive((R[..., -1] - R[..., 0]).min((1, 2)), "last ratio minus first"),
    )
    ends = [f"{one.mean(0).min():.3f} to {one.mean(0).max():.3f}" for one in (R[..., 0], early, R[..., -1])]
    measured = "{} at first, {} early, {} at the end".format(*ends)
    return replace(found, measured=measured)
