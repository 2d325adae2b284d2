"""The centered NFA is high throughout training at every initial scale; it is highest and varies least early.

C-NFA is the correlation of W̄ᵀW̄ and W̄ᵀKW̄, UC-NFA that of WᵀW and WᵀKW. The final UC-NFA depends on the scale s₀ of
the initial weights. C-NFA and UC-NFA are means over both hidden layers; the data are isotropic. The paper prints curves
and no thresholds.
“High” is read as: at every measurement nearer to 1 than to chance, the mean correlation for independent eigenvectors.
Early is the paper's first measurement, after five steps; later is the mean of all others.
"""

from dataclasses import replace

import numpy as np

from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, positive
from tasks.judging.statement import Control, Statement
from tasks.papers.centered_nfa.claims.shared import centerings

ID = "B.fig2"
KIND = "statistical"
TITLE = "The centered NFA is high at every initialization scale, and highest early"
PRINTED = (
    "C-NFA “high throughout training across initialization scale”, “especially high and invariant to scale early on”, "
    "final UC-NFA “extremely sensitive to the initialization scale”; curves of both layers, Figure 2"
)
MATH = (
    (
        r"\text{C-NFA} = \rho\left( \bar W^\top \bar W,\; \bar W^\top K \bar W \right) \text{ is high at "
        r"every } s_0 \text{ and falls with } t"
    ),
    r"\text{UC-NFA} = \rho\left( W^\top W,\; W^\top K W \right) \text{ at the end depends on } s_0",
)
MATH_CORRECTED = centerings.MATH_CORRECTED
CORRECTION = centerings.CORRECTION
SPECTRUM = "isotropic"

draw = centerings.draw_nfa_and_losses


def high_throughout(rows: Rows) -> Finding:
    """At every measured step and scale the C-NFA is nearer to 1 than to chance, in the mean over the layers.

    Chance is the mean correlation of two matrices with independent eigenvectors.
    """
    centered, null = centerings.of_spectrum(rows, SPECTRUM, "nfa/centered", "null/centered")
    least = ((centered - null) / (1 - null)).mean(1).min((1, 2))
    finding = positive(least - 0.5, "smallest (C-NFA − null)/(1 − null), mean over both layers, minus 1/2")
    smallest = enumerate(centered.min((2, 3)).mean(0), 1)
    texts = (f"smallest C-NFA of layer {layer} {value:.2f}" for layer, value in smallest)
    return replace(finding, measured="; ".join(texts))


def highest_early(rows: Rows) -> Finding:
    """The first C-NFA is above the mean of the later ones, in the mean over the scales and layers."""
    early, later = _early_and_later(rows)
    finding = centerings.over_layers((early - later).mean(2), "first C-NFA minus the mean later one, over the scales")
    by_layer = zip((1, 2), early.mean((0, 2)), later.mean((0, 2)), strict=True)
    texts = (f"C-NFA of layer {layer} {a:.2f} at first and {b:.2f} later" for layer, a, b in by_layer)
    return replace(finding, measured="; ".join(texts))


def highest_early_at_each_scale(rows: Rows) -> Finding:
    """In each layer and at each scale the first C-NFA is above the mean of the later ones."""
    early, later = _early_and_later(rows)
    return centerings.at_each_scale(early - later, np.unique(rows.x), "first C-NFA minus the mean later one")


def most_alike_early(rows: Rows) -> Finding:
    """The C-NFA varies less over the scales at the first measurement than later, in the mean over the layers."""
    (centered,) = centerings.of_spectrum(rows, SPECTRUM, "nfa/centered")
    spread = np.ptp(centered, 2)
    early, later = spread[..., 0], spread[..., 1:].mean(-1)
    finding = centerings.over_layers(later - early, "mean later spread of the C-NFA over the scales minus the first")
    return replace(
        finding,
        measured=f"spread of the C-NFA over the scales {early.mean():.2f} at first and {later.mean():.2f} later",
    )


def uncentered_is_sensitive(rows: Rows) -> Finding:
    """The final UC-NFA varies more over the scales than the first C-NFA, in the mean over the layers."""
    uncentered, centered = centerings.of_spectrum(rows, SPECTRUM, "nfa/uncentered", "nfa/centered")
    final, early = np.ptp(uncentered[..., -1], 2), np.ptp(centered[..., 0], 2)
    finding = centerings.over_layers(
        final - early, "spread of the final UC-NFA over the scales minus that of the first C-NFA"
    )
    ends = uncentered[..., -1].mean(0)
    return replace(finding, measured=f"final UC-NFA from {ends.min():.2f} to {ends.max():.2f}, by layer and scale")


def _early_and_later(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """The first C-NFA and the mean of all later ones, (seeds, layers, scales)."""
    (centered,) = centerings.of_spectrum(rows, SPECTRUM, "nfa/centered")
    return centered[..., 0], centered[..., 1:].mean(-1)


CONTROLS = {
    "no training": Control(
        parts=("case", "layer"),
        parts_because="At step 0 its weights would be the claim's.",
    ),
    "random K": Control(),
}
STATEMENTS = (
    Statement(
        name="high throughout",
        quote="the C-NFA correlation remains high throughout training across initialization scale",
        place="Section 2.3 and Figure 2",
        rule=high_throughout,
        reads=("nfa/centered", "null/centered"),
        cases=3,
        rows=centerings.ROWS[0],
    ),
    Statement(
        name="highest early",
        quote="but is especially high and invariant to scale early on in training",
        place="Section 2.3 and Figure 2",
        rule=highest_early,
        reads=("nfa/centered",),
        cases=3,
        rows=centerings.ROWS[0],
    ),
    Statement(
        name="invariant to scale early",
        quote="but is especially high and invariant to scale early on in training",
        place="Section 2.3 and Figure 2",
        rule=most_alike_early,
        reads=("nfa/centered",),
        cases=3,
        rows=centerings.ROWS[0],
    ),
    Statement(
        name="UC-NFA sensitive to scale",
        quote="This is in contrast to the UC-NFA, whose final value can be extremely sensitive to the initialization "
        "scale (e.g. second row, Figure 2).",
        place="Section 2.3 and Figure 2",
        rule=uncentered_is_sensitive,
        reads=("nfa/uncentered", "nfa/centered"),
        cases=3,
        rows=centerings.ROWS[0],
    ),
    Statement(
        name="highest early at each scale",
        quote="especially high and invariant to scale early on in training",
        place="Section 2.3",
        rule=highest_early_at_each_scale,
        reads=("nfa/centered",),
        kind="ours",
        cases=3,
        rows=centerings.ROWS[0],
    ),
)
