"""Section 2.3 on the centered NFA (C-NFA) along training, on all three spectra.

The sentence cites Figure 2 and Appendix G for the first of its three parts, that the C-NFA remains high throughout
training. So this part is asserted of all spectra. That the C-NFA is highest and varies least early is asserted of
Figure 2's isotropic data; on the data of Appendix G it is a statement of ours. Appendix G says that “our observations
for isotropic Gaussian data hold” there, and then names some observations; early training is not among them.

“High” is read as: at every measurement nearer to 1 than to chance, the mean correlation for independent eigenvectors.
Early is the paper's first measurement, after five steps; later is the mean of all others.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, positive
from tasks.judging.statement import Statement
from tasks.papers.centered_nfa.claims.shared import centerings

QUOTE = (
    "the C-NFA correlation remains high throughout training across initialization scale (Figure 2, second column, and "
    "Appendix G), but is especially high and invariant to scale early on in training."
)


def high_throughout(rows: Rows, spectrum: str) -> Finding:
    """At every measured step and scale the C-NFA is nearer to 1 than to chance, in the mean over the layers."""
    centered, null = centerings.of_spectrum(rows, spectrum, "nfa/centered", "null/centered")
    least = ((centered - null) / (1 - null)).mean(1).min((1, 2))
    finding = positive(least - 0.5, "the smallest normalized C-NFA (mean over both layers) minus 1/2")
    return replace(finding, measured=f"the smallest C-NFA is {_in_layers(centered.min((2, 3)))}")


def high_throughout_in_each_layer(rows: Rows, spectrum: str) -> Finding:
    """At every measured step and scale the C-NFA of each layer is nearer to 1 than to chance."""
    centered, null = centerings.of_spectrum(rows, spectrum, "nfa/centered", "null/centered")
    least = ((centered - null) / (1 - null)).min((2, 3))
    finding = centerings.by_layer(least - 0.5, "the smallest normalized C-NFA minus 1/2")
    return replace(finding, measured=f"the smallest normalized C-NFA is {_in_layers(least)}")


def _in_layers(values: np.ndarray) -> str:
    """The mean of a number of each seed and layer, (seeds, layers), for each layer."""
    return " and ".join(f"{mean:.2f} in layer {layer}" for layer, mean in enumerate(values.mean(0), 1))


def highest_early(rows: Rows, spectrum: str) -> Finding:
    """The first C-NFA is above the mean of the later ones, in the mean over the scales and layers."""
    early, later = early_and_later(rows, spectrum)
    finding = centerings.over_layers((early - later).mean(2), "the early C-NFA minus the later one, averaged over s₀")
    by_layer = zip((1, 2), early.mean((0, 2)), later.mean((0, 2)), strict=True)
    texts = (f"{first:.2f} early and {mean:.2f} later in layer {layer}" for layer, first, mean in by_layer)
    return replace(finding, measured=f"the C-NFA is {', '.join(texts)}")


def most_alike_early(rows: Rows, spectrum: str) -> Finding:
    """The C-NFA varies less over the scales at the first measurement than later, in the mean over the layers."""
    (centered,) = centerings.of_spectrum(rows, spectrum, "nfa/centered")
    spread = np.ptp(centered, 2)
    early, later = spread[..., 0], spread[..., 1:].mean(-1)
    finding = centerings.over_layers(later - early, "the later spread of the C-NFA over s₀ minus the early one")
    measured = f"the spread of the C-NFA over s₀ is {early.mean():.2f} early and {later.mean():.2f} later"
    return replace(finding, measured=measured)


def early_and_later(rows: Rows, spectrum: str) -> tuple[np.ndarray, np.ndarray]:
    """The first C-NFA and the mean of all later ones, (seeds, layers, scales)."""
    (centered,) = centerings.of_spectrum(rows, spectrum, "nfa/centered")
    return centered[..., 0], centered[..., 1:].mean(-1)


def statements(spectrum: str, figure: str) -> tuple[Statement, ...]:
    """The statements of the sentence on data of a spectrum."""
    early = "asserted" if figure == "Figure 2" else "ours"

    def statement(name: str, rule: Callable[..., Finding], *reads: str, kind: str = "asserted") -> Statement:
        return Statement(
            name=name,
            quote=QUOTE,
            place=f"Section 2.3 and {figure}",
            rule=partial(rule, spectrum=spectrum),
            reads=reads,
            kind=kind,
            cases=3,
            rows=centerings.ROWS[0],
        )

    return (
        statement("high throughout", high_throughout, "nfa/centered", "null/centered"),
        statement(
            "high throughout, in each layer", high_throughout_in_each_layer, "nfa/centered", "null/centered",
            kind="ours",
        ),
        statement("highest early", highest_early, "nfa/centered", kind=early),
        statement("invariant to scale early", most_alike_early, "nfa/centered", kind=early),
    )  # fmt: skip
