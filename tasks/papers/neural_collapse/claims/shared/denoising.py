"""Figures 2 and 7 to 9: how much S V^T, U with the activation, and AGOP^{1/4} lower NC1 in the hidden layers."""

import textwrap
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from tasks.drawing import style
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, positive
from tasks.judging.statement import DIGITS, Control, Statement
from tasks.judging.statistics import curves
from tasks.papers.neural_collapse.claims.shared.data_sets import SETS, named, on_each_data_set

PLACES = {
    "input": (style.COLORS["input"], "-", "Φ(X), the input"),
    "projected": (style.COLORS["projected"], "--", "S Vᵀ Φ(X), projected"),
    "output": (style.COLORS["activated"], ":", "σ(U S Vᵀ Φ(X)), the output"),
}
PARTS = ("projection", "activation")
# figure -> the data set of Figure 2's "setting": an MLP on MNIST, the first row of Figure 7, and a ResNet on CIFAR-10
IN_FIGURE_2 = {2: "CIFAR-10", 7: "MNIST"}
Rule = Callable[[Rows], Finding]
MATH = (
    (
        r"\log\, \text{NC1}\left( X_l \right) - \log\, \text{NC1}\left( S V^\top X_l \right) > \log\, "
        r"\text{NC1}\left( S V^\top X_l \right) - \log\, \text{NC1}\left( \sigma(U S V^\top X_l) \right)"
    ),
    r"W_l = U S V^\top, \quad \text{summed over the five last hidden layers}",
    r"\log\, \text{NC1}\left( X_l \right) > \log\, \text{NC1}\left( \text{AGOP}_l^{1/4} X_l \right), \quad "
    r"\text{summed too}",
)

FALLS = ("fall/projection", "fall/activation")


# an arm for each data set, since a control must be rejected on each
CONTROLS = {
    f"{name}, {data_set}": Control(
        text=text,
        has=(*FALLS, "fall/agop"),
        scales=(scale,),
        parts=columns,
        cases=(data_set,),
        data_set=data_set,
        parts_because="It has its own data set alone; untrained networks have step 0, random vectors the last step.",
    )
    for name, columns, text in (
        (
            "before training",
            ("case", "layer"),
            "The falls of NC1 are measured before training instead of after it.",
        ),
        (
            "labels shuffled at the measure",
            ("case", "layer", "step"),
            "The labels are shuffled before NC1 is computed, but not in training.",
        ),
        (
            "right singular vectors drawn at random",
            ("case", "layer"),
            "The right singular vectors V of every hidden layer's weight USVᵀ are replaced by random ones.",
        ),
    )
    for scale, data_sets in SETS.items()
    for data_set in data_sets
}


def statements(figure: int, data_sets: tuple[str, ...] = ("",)) -> tuple[Statement, ...]:
    """The statements about the networks of a figure, on the data sets whose names begin with ``data_sets``."""

    def on_each(rule: Rule) -> Rule:
        return lambda rows: on_each_data_set(rows, rule, data_sets)

    return (
        Statement(
            name="S Vᵀ takes most of the fall",
            quote="We see that the ratio of within-class to between-class variability decreases mostly between steps "
            "(1) and (2), due to the application of the right singular structure.",
            place=f"Section 5; Figure {figure}",
            rule=on_each(mostly_projection),
            reads=FALLS,
            rows=20,
        ),
        Statement(
            name="the AGOP lowers NC1",
            quote="Therefore, we conclude that the AGOP structure can decrease within-class variability in DNNs.",
            place="Section 5",
            rule=on_each(agop_lowers_nc1),
            reads=("fall/agop",),
            rows=20,
        ),
        Statement(  # the asserted statement is about the sum over layers; "at each of five" is sharper
            name="S Vᵀ takes most of the fall in every layer",
            quote="We measure the reduction in the NC1 metric throughout training at each of five fully-connected "
            "layers.",
            place="Figure 2, caption",
            rule=on_each(mostly_projection_in_every_layer),
            reads=tuple(f"nc1/{place}" for place in PLACES),
            kind="ours",
            rows=50,
        ),
        *relu_statements(on_each(activation_raises_nc1), figure),
    )


def relu_statements(rule: Rule, figure: int) -> tuple[Statement, ...]:
    """Whether the ReLU lowers NC1: asserted of the networks and data of Figure 2, and ours of all others."""
    ours = Statement(
        name="the ReLU does not lower NC1",
        quote="while in this setting the ReLU does not directly reduce NC1",
        place="Section 5; Figure 2",
        rule=rule,
        reads=("fall/activation",),
        kind="ours",
        rows=20,
    )
    if figure not in IN_FIGURE_2:
        return (ours,)
    asserted = replace(
        ours,
        kind="asserted",
        scales=("paper",),
        data_sets=(IN_FIGURE_2[figure],),
        stands_in="On this data set no control lowers NC1 at the ReLU. The rule can fail: at the quick scale it "
        "refutes this statement of digits.",
    )
    return asserted, replace(ours, name="the ReLU does not lower NC1 on digits", data_sets=(DIGITS,))


def mostly_projection(rows: Rows) -> Finding:
    """At the end of training log NC1 falls through the layers, and S V^T takes more of this fall than U and σ.

    A fraction of the fall would divide by a random number, which can be near 0.
    """
    projection, activation = at_the_end(rows, "fall/projection"), at_the_end(rows, "fall/activation")
    at_projection, at_activation = _in_words(projection), _in_words(activation)
    at_activation = at_activation.removeprefix(at_projection.split("by")[0])  # "falls by 3.07 … and by 1.61"
    measured = f"log NC1 {at_projection} at S Vᵀ and {at_activation} at U and σ"
    return replace(_most(projection, activation, "through the layers"), measured=measured)


def mostly_projection_in_every_layer(rows: Rows) -> Finding:
    """At the end of training log NC1 falls at every layer, and S V^T takes more of this fall than U and σ."""
    log_nc1 = [np.log(curves(rows.where(quantity=f"nc1/{place}"), "seed", "layer")[..., -1]) for place in PLACES]
    projection, activation = (before - after for before, after in pairwise(log_nc1))
    layers = zip(projection.T, activation.T, strict=True)
    finding = all_of(**{f"layer {number}": _most(*falls, "at the layer") for number, falls in enumerate(layers, 1)})
    by_layer = ", ".join(f"{a:.2f} and {b:.2f}" for a, b in zip(projection.mean(0), activation.mean(0), strict=True))
    measured = f"from the first layer to the last, log NC1 falls at S Vᵀ, and at U and σ, by {by_layer}"
    return replace(finding, measured=measured)


def _most(projection: np.ndarray, activation: np.ndarray, where: str) -> Finding:
    """Log NC1 falls, and by more at S V^T than at U and σ."""
    return all_of(
        fall=positive(projection + activation, f"fall of log NC1 {where}"),
        majority=positive(projection - activation, "fall of log NC1 at S Vᵀ minus that at U and σ"),
    )


def agop_lowers_nc1(rows: Rows) -> Finding:
    """At the end of training AGOP^{1/4} lowers log NC1 of the layers' inputs, summed over the layers.

    The paper concludes this from the NFA, WᵀW ∝ AGOP^{1/2}, for which S Vᵀ acts like AGOP^{1/4}.
    """
    fall = at_the_end(rows, "fall/agop")
    measured = f"log NC1 {_in_words(fall)} under multiplication by AGOP^¼"
    return replace(positive(fall, "fall of log NC1 at AGOP^¼, summed over the layers"), measured=measured)


def activation_raises_nc1(rows: Rows) -> Finding:
    """At the end of training U and σ raise log NC1, summed over the layers; no change leaves the rule undecided."""
    rise = -at_the_end(rows, "fall/activation")
    measured = f"log NC1 {_in_words(-rise)} at U and σ"
    return replace(positive(rise, "rise of log NC1 at U and σ"), measured=measured)


def _in_words(fall: np.ndarray) -> str:
    """Whether a number falls or rises in the mean over seeds, and by how much."""
    return f"{'falls' if fall.mean() > 0 else 'rises'} by {abs(fall.mean()):.2f}"


def at_the_end(rows: Rows, quantity: str) -> np.ndarray:
    """A quantity after training, one number a seed."""
    return curves(rows.where(quantity=quantity), "seed")[..., -1]


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw NC1 by data set, layer and epoch as in the paper, and below it what each part takes from it at the end."""
    rows = rows[rows["case"].isin(named(rows["case"], getattr(claim, "DATA_SETS", ("",))))]
    falls = rows[rows["quantity"].isin([f"fall/{part}" for part in PARTS]) & (rows["x"] == rows["x"].max())]
    lines = [(case, arm) for case in rows["case"].unique() for arm in _arms(falls[falls["case"] == case])]
    cases, layers = rows["case"].unique(), sorted(rows.loc[rows["quantity"] == "nc1/input", "layer"].unique())
    heights = [*(1.7 for _ in cases), 0.3 + 0.36 * len(lines)]
    figure, grid = style.panels(claim, columns=len(layers), rows=len(heights), height=1.5 + sum(heights),
                                height_ratios=heights)  # fmt: skip
    for panels, case in zip(grid, cases, strict=False):
        nc1 = rows[(rows["case"] == case) & (rows["arm"] == "claim") & rows["quantity"].str.startswith("nc1/")]
        for axes, layer in zip(panels, layers, strict=True):
            _draw_layer(axes, style.thinned(nc1[nc1["layer"] == layer], 12 // len(cases) + 4))
            axes.set_title(f"layer {layer}")
            axes.set(ylim=(0.7 * nc1["value"].min(), 1.4 * nc1["value"].max()), xlabel="epoch")
            axes.tick_params(labelleft=axes is panels[0])
        panels[0].set_ylabel(f"{textwrap.fill(case, 21)}\nNC1 = tr Σ_W / tr Σ_B")
    for axes in grid[-1]:
        axes.remove()
    _draw_falls(figure.add_subplot(grid[-1, 0].get_gridspec()[-1, :]), falls, lines)
    words = {PLACES["input"][2]: "Φ(X)", PLACES["projected"][2]: "S Vᵀ Φ(X)", PLACES["output"][2]: "σ(U S Vᵀ Φ(X))"}
    style.label_lines(grid[0, -1], words, gap=0.09)
    style.note(figure, style.meaning_of_lines(rows, "geometric mean"))
    return figure


def _arms(rows: pd.DataFrame) -> list[str]:
    return ["claim", *style.controls(rows)]


def _draw_layer(axes: Axes, rows: pd.DataFrame) -> None:
    """NC1 at the three places of a layer against the epoch."""
    axes.set_yscale("log")
    for place, (color, dashes, label) in PLACES.items():
        style.seeds(axes, rows[rows["quantity"] == f"nc1/{place}"], "x", color, linestyle=dashes, label=label)
    axes.minorticks_off()
    axes.xaxis.set_major_locator(MaxNLocator(3))


def _draw_falls(axes: Axes, rows: pd.DataFrame, lines: list[tuple[str, str]]) -> None:
    """A line for each data set and arm, a mark for each seed: the fall of log NC1 at each part of the layers."""
    names = []
    for place, (case, arm) in enumerate(lines):
        control = arm != "claim"
        means = []
        for part, filled in (("projection", "full"), ("activation", "none")):
            values = rows[(rows["case"] == case) & (rows["arm"] == arm) & (rows["quantity"] == f"fall/{part}")]["value"]
            color = style.CONTROL if control else style.COLORS["projected" if part == "projection" else "activated"]
            axes.plot(values, [place] * len(values), style.MARKS["control" if control else "claim"], color=color,
                      markersize=5, alpha=0.7, fillstyle=filled)  # fmt: skip
            means.append(f"{values.mean():.2f}")
        axes.text(1.015, place, f"means {', '.join(means)}", transform=axes.get_yaxis_transform(), va="center",
                  color=style.CONTROL if control else "black", fontsize=style.SMALL)  # fmt: skip
        name = f"✗ {arm.removeprefix('control: ').rpartition(',')[0]}" if control else case
        names.append(textwrap.fill(name, 21))
    axes.axvline(0, color=style.GUIDE, linewidth=0.8)
    axes.set_yticks(range(len(names)), names, fontsize=style.SMALL)
    for text in axes.get_yticklabels():
        text.set_color(style.CONTROL if text.get_text().startswith("✗") else "black")
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlabel("fall of log NC1 through the layers after training; filled: at S Vᵀ, hollow: at U and σ")
