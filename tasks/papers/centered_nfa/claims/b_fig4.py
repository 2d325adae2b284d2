"""The double-centered NFA is small early in training, grows, and is least for the largest initial weights.

W̄ = W − W₀ is the change of the weights. K̄ is the kernel of the change of the tangents ∂f/∂z, not the change of the
kernel K; z = Wh is a layer's output before the activation. The paper draws the ratio of the double-centered to the
centered numerator. The centered numerator is random and can be small, so a few seeds can decide a mean of ratios. So
the rules take a share instead: the double-centered numerator divided by the sum of both numerators. Both are at least
0, and the share lies between 0 and 1. If the share is below a third, the double-centered part is below half of the
centered one.

The paper says neither how small this part is nor which initial weights are large. We ask two things. Early in training
the share is below a third at each of our initial scales s₀. Its mean over training is smaller at the largest s₀ than at
each other s₀. Two statements of ours ask for more: this mean is below a third at the largest s₀, and it falls from each
s₀ to the next larger one. Early is the first measurement, after five steps. Numbers are means over both layers, and
those at the end of training also over s₀. In the control “another start” K̄ is centered about the initial weights of
another network.
"""

from dataclasses import replace
from functools import partial
from itertools import pairwise
from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, positive
from tasks.judging.statement import Control, Statement
from tasks.papers.centered_nfa.claims.shared import centerings

ID = "B.fig4"
KIND = "statistical"
TITLE = "The double-centered NFA is small early, grows, and is least for the largest initial weights"
PRINTED = (
    "“do not significantly contribute … when initialization is large or for early periods of training”, “becomes "
    "relevant over longer periods”, Appendix B and Figure 4"
)
MATH = (
    (
        r"\frac{\operatorname{tr}\left( \bar W^\top \bar W\, \bar W^\top \bar K \bar W "
        r"\right)}{\operatorname{tr}\left( \bar W^\top \bar W\, \bar W^\top K \bar W \right)} \text{ is "
        r"small early in training, least for the largest } s_0, \text{ and grows with } t"
    ),
    (
        r"\bar W = W - W_0, \quad \bar K = \left( \frac{\partial f}{\partial h} - \frac{\partial f_0}{\partial h} "
        r"\right)^\top \left( \frac{\partial f}{\partial h} - \frac{\partial f_0}{\partial h} \right)"
    ),
)
MATH_CORRECTED = centerings.MATH_CORRECTED
CORRECTS = "a setting"
CORRECTION = centerings.CORRECTION
PRINTED_SETTINGS = centerings.PRINTED_SETTINGS
SPECTRA = ("isotropic",)
NAME = "the double-centered part's share"
MINOR, SMALL = 1 / 3, 1 / 11  # less than half and less than a tenth of the centered NFA; the second is sharper


def minor_early(rows: Rows, limit: float) -> Finding:
    """At the first measurement the share is below the limit at each scale, in the mean over the layers."""
    first, scales = _share(rows)[..., 0].mean(1), np.unique(rows.x)
    largest = first.max(1)
    finding = positive(limit - largest, f"{limit:.2g} minus the largest first share over the scales, mean over layers")
    shares = {f"share at s₀ = {scale:g}": float(share) for scale, share in zip(scales, first.mean(0), strict=True)}
    measured = f"early in training {NAME} is {_at_each_scale(first, scales)}"
    return replace(finding, numbers={"largest share": float(largest.mean()), **shares}, measured=measured)


def least_at_the_largest_scale(rows: Rows) -> Finding:
    """The mean share over the training and the layers is smaller at the largest scale than at each other scale."""
    share, scales = _over_training(rows)
    label = f"mean share over the training and both layers, minus that at s₀ = {scales[-1]:g}"
    differences = zip(scales[:-1], (share[:, :-1] - share[:, -1:]).T, strict=True)
    finding = all_of(**{f"s₀ = {scale:g}": positive(difference, label) for scale, difference in differences})
    means = {f"mean share at s₀ = {scale:g}": float(mean) for scale, mean in zip(scales, share.mean(0), strict=True)}
    measured = f"in the mean over training {NAME} is {_at_each_scale(share, scales)}"
    return replace(finding, numbers=finding.numbers | means, measured=measured)


def grows(rows: Rows) -> Finding:
    """The last share is above the first, in the mean over the scales and layers."""
    first, last = (_share(rows)[..., step].mean(2) for step in (0, -1))
    finding = centerings.over_layers(last - first, "last share minus first, mean over the scales")
    mean = float(last.mean())
    return replace(finding, numbers={"share": mean}, measured=f"at the end of training {NAME} is {mean:.2f}")


def below_early(rows: Rows, limit: float) -> Finding:
    """At the first measurement the share is below the limit at every scale, in each layer."""
    first = _share(rows)[..., 0]
    finding = centerings.by_layer(limit - first.max(2), f"{limit:.2g} minus the largest first share over the scales")
    least, largest = first.mean(0).min(), first.mean(0).max()
    return replace(finding, measured=f"early in training {NAME} is {least:.3f} to {largest:.3f}, by layer and scale")


def below_for_large(rows: Rows, limit: float) -> Finding:
    """At the largest scale the mean share over the training is below the limit, in each layer."""
    largest = _share(rows)[:, :, -1].mean(-1)
    finding = centerings.by_layer(limit - largest, f"{limit:.2g} minus the mean share at the largest scale")
    means = " and ".join(f"{mean:.2f} in layer {layer}" for layer, mean in enumerate(largest.mean(0), 1))
    return replace(finding, measured=f"in the mean over training {NAME} is {means} at s₀ = {rows.x.max():g}")


def falls_at_each_step(rows: Rows) -> Finding:
    """The mean share over the training and the layers falls from each scale to the next larger one."""
    share, scales = _over_training(rows)
    label = "fall of the mean share over the training and both layers"
    steps = zip(pairwise(scales), -np.diff(share).T, strict=True)
    return all_of(**{f"s₀ from {small:g} to {large:g}": positive(fall, label) for (small, large), fall in steps})


def grows_at_each_scale(rows: Rows) -> Finding:
    """The last share is above the first, in each layer at each scale."""
    share = _share(rows)
    return centerings.at_each_scale(share[..., -1] - share[..., 0], np.unique(rows.x), "last share minus first")


def _share(rows: Rows) -> np.ndarray:
    """The double-centered part over the sum of both parts, from their ratio; by (seeds, layers, scales, steps)."""
    (ratio,) = centerings.of_spectrum(rows, SPECTRA[0], "double_over_centered")
    return ratio / (1 + ratio)


def _over_training(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """The share in the mean over the training and the layers, (seeds, scales), and the scales."""
    return _share(rows).mean((1, 3)), np.unique(rows.x)


def _at_each_scale(share: np.ndarray, scales: np.ndarray) -> str:
    """The mean of (seeds, scales) over the seeds at each scale, in words."""
    *most, last = (f"{mean:.3f} at s₀ = {scale:g}" for mean, scale in zip(share.mean(0), scales, strict=True))
    return f"{', '.join(most)} and {last}"


SMALL_QUOTE = (
    "higher-order dynamics that do not significantly contribute the centered and uncentered NFA (Figure 4) when "
    "initialization is large or for early periods of training"
)
RELEVANT_QUOTE = "Note however this term becomes relevant over longer periods of training."
CONTROLS = centerings.for_both_forms(
    {
        "another start": Control(text="K̄ is centered about the initial weights of another network."),
    }
)
STATEMENTS = tuple(
    Statement(
        name=name,
        quote=quote,
        place="Appendix B and Figure 4",
        rule=rule,
        reads=("double_over_centered",),
        kind=kind,
        cases=3,
        rows=centerings.ROWS[0],
    )
    for name, quote, kind, rule in (
        ("minor early", SMALL_QUOTE, "asserted", partial(minor_early, limit=MINOR)),
        ("less for large initialization", SMALL_QUOTE, "asserted", least_at_the_largest_scale),
        ("grows", RELEVANT_QUOTE, "asserted", grows),
        ("below a tenth early", SMALL_QUOTE, "ours", partial(below_early, limit=SMALL)),
        ("below half for our largest scale", SMALL_QUOTE, "ours", partial(below_for_large, limit=MINOR)),
        ("below a tenth for our largest scale", SMALL_QUOTE, "ours", partial(below_for_large, limit=SMALL)),
        ("falls at each step of the scale", SMALL_QUOTE, "ours", falls_at_each_step),
        ("grows at each scale", RELEVANT_QUOTE, "ours", grows_at_each_scale),
    )
)


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw the ratio along training."""
    return centerings.draw_by_layer(rows, claim, "double-centered / centered", top=1.2)
