"""The double-centered part of the centered NFA is small early in training and grows later, in both hidden layers.

For large initial weights it stays small. Its size is tr(W̄ᵀW̄ W̄ᵀK̄W̄) / tr(W̄ᵀW̄ W̄ᵀKW̄), where W̄ and K̄ are the weights and
the tangent kernel, centered about the initial ones. The paper does not say how small; here it means below 0.1.
"""

from dataclasses import replace
from types import ModuleType

import pandas as pd
from matplotlib.figure import Figure

from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, positive
from tasks.judging.statistics import curves
from tasks.papers.centered_nfa.claims.shared import centerings

ID = "B.fig4"
KIND = "statistical"
TITLE = "The double-centered NFA is a small part early in training, and a larger one later"
PRINTED = (
    "“do not significantly contribute … when initialization is large or for early periods of training”, “becomes "
    "relevant over longer periods”, Appendix B and Figure 4"
)
CORRECTION = centerings.CORRECTION
QUANTITIES = ("double_over_centered",)
SPECTRA = ("isotropic",)
SMALL = 0.1


def rule(rows: Rows) -> Finding:
    """Per seed, in the worst layer and at the worst scale: the mean ratio is small early; the ratio grows.

    At the largest scale the mean over all steps is small too.
    """
    rows = rows.where(case=SPECTRA[0])
    ratio = curves(rows, "seed", "layer", "x")
    early = ratio[..., centerings.early_steps(rows)].mean(-1)
    finding = all_of(
        small=positive(SMALL - early.max((1, 2)), f"{SMALL} minus the mean ratio early"),
        large=positive(SMALL - ratio[:, :, -1].mean(-1).max(1), f"{SMALL} minus the mean ratio at the largest scale"),
        grows=positive((ratio[..., -1] - ratio[..., 0]).min((1, 2)), "last ratio minus first"),
    )
    ranges = [
        f"{part.mean(0).min():.3f} to {part.mean(0).max():.3f}" for part in (ratio[..., 0], early, ratio[..., -1])
    ]
    return replace(finding, measured="{} at first, {} early, {} at the end".format(*ranges))


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw the ratio along training."""
    return centerings.draw_by_layer(rows, claim, "double-centered / centered", top=1.2)
