"""Figures 3 and 4: NC1 and NC2 of Deep RFM by layer, before M^{1/2}, after it, and after the feature map Φ."""

from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, positive, trend, trend_along
from tasks.judging.statement import Control, Statement
from tasks.papers.neural_collapse.claims.shared.deep_rfm import EQUAL_SEEDS, by_layer, in_words, on_each_case, ridges
from tasks.papers.neural_collapse.claims.shared.exponential import falls_exponentially
from tasks.papers.neural_collapse.claims.shared.without_agop import AgainstNoAgop, agop_lowers_nc2

PLACES = {
    "data": ("data X", style.COLORS["input"], "-"),
    "agop": ("after √M", style.COLORS["projected"], "--"),
    "features": ("after √M and Φ", style.COLORS["activated"], "-."),
}
IN_SHORT = {
    "control: M = I": "dotted, control: M = I",
    "control: fitted to shuffled labels": "loose dots, control:\nshuffled labels",
}
DOTS = (":", (0, (1, 4)), (0, (5, 2, 1, 2, 1, 2)))
Rule = Callable[[Rows], Finding]
MATH = (
    (
        r"\text{NC1} = \frac{\operatorname{tr} \Sigma_W}{\operatorname{tr} \Sigma_B} \text{ falls with } "
        r"l: \text{ it falls from } X_l \text{ to } M_l^{1/2} X_l \text{ and does not fall at } \Phi_l"
    ),
    r"\text{NC2 falls with } l",
    r"\text{in the last layer NC2 of } M_l^{1/2} X_l \text{ is lower than with } M = I",
)
DNC = (
    "We first demonstrate empirically that Deep RFM exhibits DNC - NC1 and NC2 - and that the induction of neural "
    "collapse is due to the application of AGOP."
)

EVERY_LAYER = (
    "As a validation of our theory, we see that this exponential improvement in the DNC metric occurs in all layers "
    "(see Figures 3 and 4)."
)
BY_SAMPLES = "nc1/by samples"
COLLAPSED = 0.1  # fraction of the first layer's NC1 that is left in the last layer at most; the limit is ours
CONTROLS = {
    "fitted to shuffled labels": Control(
        text="Deep RFM is fitted to shuffled labels, and collapse is measured with the true ones.",
        has=("nc1/data", "nc1/agop", "nc1/features", "nc2/data", "nc2/agop", "null/nc1/agop", "null/nc2/agop", "ridge"),
        equal_quantities=("ridge",),
        equal_because=EQUAL_SEEDS["ridge"],
    ),
    "M = I": Control(
        text="M is the identity in every layer instead of the AGOP.",
        has=("nc1/data", "nc1/features", "nc2/agop", "nc2/data", "ridge", BY_SAMPLES),
    ),
    "M with random eigenvectors": Control(
        text="In each layer M keeps its eigenvalues, but has random eigenvectors.",
        has=("nc1/agop", "nc1/data"),
        equal_quantities=("nc1/data",),
        equal_because="It replaces M, which comes after the layer's input.",
    ),
    "features without their nonlinearity": Control(
        text="In each layer the feature map is its random matrix alone, without the ReLU or the cosine.",
        has=("nc1/agop", "nc1/features"),
        equal_quantities=("nc1/agop",),
        equal_because="It replaces the feature map, which comes after √M.",
    ),
}


def statements(features: str, figure: int) -> tuple[Statement, ...]:
    """The statements about the cases with these features, which the paper draws in this figure."""
    drawn = f"Section 4.1; Figure {figure}"
    return (
        Statement(
            name="NC1 falls with depth",
            quote="We show collapse occurring as a consequence of projection onto the AGOP, across all datasets and "
            "across choices of feature map",
            place=drawn,
            rule=_for(features, nc1_falls),
            reads=("nc1/data", "ridge"),
            cases={"quick": 2, "paper": 4},
            rows=90,
        ),
        Statement(
            name="√M lowers NC1",
            quote="We observe that the improvement in NC1 is entirely due to M_l^{1/2} and the random feature map "
            "actually worsens the NC1 value.",
            place=drawn,
            rule=_for(features, agop_lowers_nc1),
            reads=("nc1/data", "nc1/agop"),
            cases={"quick": 2, "paper": 4},
            rows=90,
        ),
        Statement(
            name="the feature map raises NC1",
            quote="the random feature map actually worsens the NC1 value.",
            place=drawn,
            rule=_for(features, features_raise_nc1),
            reads=("nc1/agop", "nc1/features"),
            cases={"quick": 2, "paper": 4},
            rows=90,
        ),
        Statement(
            name="NC2 falls with depth",
            quote=DNC,
            place=f"Section 4; Figure {figure}",
            rule=_for(features, nc2_falls),
            reads=("nc2/data",),
            cases={"quick": 2, "paper": 4},
            rows=90,
        ),
        AgainstNoAgop(
            name="the AGOP lowers NC2",
            quote=DNC,
            place=f"Section 4; Figure {figure}",
            rule=_for(features, agop_lowers_nc2),
            reads=("nc2/agop",),
            cases={"quick": 2, "paper": 4},
            rows=90,
        ),
        Statement(
            name="NC1 improves in every layer",
            quote=EVERY_LAYER,
            place="Section 4.2",
            rule=_for(features, improves_in_every_layer),
            reads=("nc1/agop",),
            cases={"quick": 2, "paper": 4},
            rows=90,
        ),
        Statement(
            name="NC1 falls exponentially",
            quote=f"{EVERY_LAYER} Note the exponential rate predicted by Theorem 4.3 and observed empirically for Deep "
            "RFM is consistent with the exponential rate observed in deep neural networks",
            place="Section 4.2",
            rule=_for(features, falls_exponentially),
            reads=("nc1/agop",),
            cases={"quick": 2, "paper": 4},
            rows=90,
        ),
        Statement(  # the figures show this NC1 too, and the first step, from the data to the first features
            name="NC1 of the layer's input improves in every layer",
            quote=EVERY_LAYER,
            place="Section 4.2",
            rule=_for(features, input_improves_in_every_layer),
            reads=("nc1/data",),
            kind="ours",
            cases={"quick": 2, "paper": 4},
            rows=90,
        ),
        Statement(  # the means of random classes in many dimensions are near a simplex, too
            name="collapse beyond chance",
            quote=DNC,
            place=f"Section 4; Figure {figure}",
            rule=_for(features, beyond_chance),
            reads=("nc1/agop", "nc2/agop", "null/nc1/agop", "null/nc2/agop"),
            kind="ours",
            cases={"quick": 2, "paper": 4},
            rows=5,
        ),
    )


FLOOR = Statement(
    name="more samples collapse further",
    quote=EVERY_LAYER,
    place="Section 4.2",
    rule=lambda rows: on_each_case(rows, "fourier", falls_with_samples),
    reads=(BY_SAMPLES,),
    kind="ours",
    cases={"quick": 2, "paper": 4},
    rows=9,
)


def _for(features: str, rule: Rule) -> Rule:
    """The rule on each of the cases with these features, all of which must hold."""
    return lambda rows: on_each_case(rows, features, rule)


def nc1_falls(rows: Rows) -> Finding:
    """NC1 of the data falls with the layer, and is in the last layer below a tenth of that in the first."""
    nc1 = by_layer(rows, "nc1/data")
    first, last = nc1[:, [0, -1]].mean(0)
    measured = f"NC1 of the layer's input is {first:.2g} in the first layer and {last:.2g} in the last{ridges(rows)}"
    label = f"{COLLAPSED:g} times NC1 in the first layer, minus that in the last"
    finding = all_of(
        trend=trend_along(-nc1, "NC1 falls with the layer"),
        collapse=positive(COLLAPSED * nc1[:, 0] - nc1[:, -1], label),
    )
    return replace(finding, measured=measured)


def nc2_falls(rows: Rows) -> Finding:
    """NC2 of the data falls with the layer."""
    nc2 = by_layer(rows, "nc2/data")
    first, last = nc2[:, [0, -1]].mean(0)
    measured = f"NC2 of the layer's input is {first:.2g} in the first layer and {last:.2g} in the last"
    return replace(trend_along(-nc2, "NC2 falls with the layer"), measured=measured)


def agop_lowers_nc1(rows: Rows) -> Finding:
    """Averaged over layers, NC1 is lower after M^{1/2} than before, relative to its size in the layer."""
    fall = relative_change(by_layer(rows, "nc1/data"), by_layer(rows, "nc1/agop"))
    measured = f"NC1 before √M minus NC1 after it is {fall.mean():.2g} times their sum, mean over layers"
    label = "NC1 before √M minus NC1 after it, over their sum, mean over layers"
    return replace(positive(fall.mean(1), label), measured=measured)


def features_raise_nc1(rows: Rows) -> Finding:
    """Averaged over layers, NC1 is higher after the feature map than before, relative to its size in the layer."""
    rise = relative_change(by_layer(rows, "nc1/features"), by_layer(rows, "nc1/agop"))
    measured = f"NC1 after Φ minus NC1 before it is {rise.mean():.2g} times their sum, mean over layers"
    label = "NC1 after Φ minus NC1 before it, over their sum, mean over layers"
    return replace(positive(rise.mean(1), label), measured=measured)


def relative_change(larger: np.ndarray, smaller: np.ndarray) -> np.ndarray:
    """The difference of two measurements over their sum, so that each layer counts alike.

    It lies between -1 and 1. So a seed that collapses to round-off cannot spoil a mean, as it spoils that of a
    logarithm. In a mean of differences the first layers, where NC1 is large, would decide.
    """
    return (larger - smaller) / (larger + smaller)


def improves_in_every_layer(rows: Rows) -> Finding:
    """From every layer to the next NC1 of M^{1/2} X falls: the theorem is about these X̃."""
    return _improves(by_layer(rows, "nc1/agop"), "NC1 after a layer's √M")


def input_improves_in_every_layer(rows: Rows) -> Finding:
    """From every layer to the next NC1 of the layer's input X falls."""
    return _improves(by_layer(rows, "nc1/data"), "NC1 of a layer's input")


def _ranges(numbers: list[int]) -> str:
    """Rising numbers, with three or more in a row as a range: 1, 3 to 5."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs)


def _improves(nc1: np.ndarray, name: str) -> Finding:
    """Each step of NC1, (seeds, layers), falls in the mean over seeds of its relative change."""
    change = relative_change(nc1[:, :-1], nc1[:, 1:])
    label = f"{name} minus that of the next layer, over their sum"
    steps = {f"layer {layer} to {layer + 1}": positive(fall, label) for layer, fall in enumerate(change.T, 1)}
    share = float((change > 0).mean())
    measured = f"NC1 falls in {100 * share:.0f} % of the steps from a layer to the next"
    not_falling = np.flatnonzero(change.mean(0) <= 0)
    if len(not_falling):
        layers = _ranges((not_falling + 1).tolist())
        measured += f"; in the mean over seeds it does not fall after layer{'s' * (len(not_falling) > 1)} {layers}"
    finding = all_of(**steps)
    numbers = {**finding.numbers, "share of steps in which NC1 falls": share}
    return replace(finding, numbers=numbers, measured=measured)


def falls_with_samples(rows: Rows) -> Finding:
    """NC1 after the last layer's M^{1/2} falls with the number of samples."""
    nc1 = by_layer(rows, BY_SAMPLES)
    means = np.exp(np.log(nc1).mean(0))
    levels = [f"{mean:.2g} with {count:.0f}" for count, mean in zip(np.unique(rows.x), means, strict=True)]
    measured = f"NC1 after the last √M is {', '.join(levels)} samples"
    return replace(trend(-nc1, "NC1 after the last √M falls with the number of samples"), measured=measured)


def beyond_chance(rows: Rows) -> Finding:
    """After the last M^{1/2}, NC1 and NC2 are below the 2.5 % quantiles of permuted labels."""
    last, chance = ({name: by_layer(rows, f"{kind}{name}/agop")[:, -1] for name in ("nc1", "nc2")}
                    for kind in ("", "null/"))  # fmt: skip
    finding = all_of(
        nc1=positive(np.log(chance["nc1"] / last["nc1"]), "log NC1 of permuted labels (2.5 % quantile) minus log NC1"),
        nc2=positive(chance["nc2"] - last["nc2"], "NC2 of permuted labels (2.5 % quantile) minus NC2"),
    )
    measured = "; ".join(
        f"{name.upper()} is {last[name].mean():.2g}, and with permuted labels {chance[name].mean():.2g}"
        for name in last
    )
    return replace(finding, measured=f"after the last √M {measured}")


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw NC1 and NC2 in a row of panels for each data set, and the controls that have data of their own.

    The names of the lines stand at the ends of NC1's, which are apart.
    """
    rows = rows[rows["case"].str.endswith(claim.FEATURES)]
    cases = sorted(rows["case"].unique())
    figure, grid = style.panels(claim, columns=2, rows=len(cases), height=1.0 + 2.5 * len(cases))
    for case, panels in zip(cases, grid, strict=True):
        case_rows = rows[rows["case"] == case]
        panels[0].set_yscale("log")
        ends: list[tuple[float, str, Any]] = []
        for axes, measure in zip(panels, ("nc1", "nc2"), strict=True):
            nc2 = case_rows[case_rows["quantity"] == "nc2/data"]  # the other controls have the claim's own data
            for arm, dots in zip(style.controls(nc2), DOTS, strict=False):
                line = case_rows[(case_rows["arm"] == arm) & (case_rows["quantity"] == f"{measure}/data")]
                style.seeds(axes, line, "x", style.CONTROL, linestyle=dots, label=f"data, {arm}")
                if measure == "nc1":
                    name = _name_of_line(arm, line, seeds=rows["seed"].nunique())
                    ends.append((_at_the_end(line), name, style.CONTROL))
            for place, (label, color, dashes) in PLACES.items():
                line = case_rows[(case_rows["arm"] == "claim") & (case_rows["quantity"] == f"{measure}/{place}")]
                style.seeds(axes, line, "x", color, linestyle=dashes, label=label)
                if measure == "nc1":
                    ends.append((_at_the_end(line), label, color))
            axes.xaxis.get_major_locator().set_params(integer=True)
            axes.set(xlabel="layer", title=in_words(case).replace(", ", ",\n", 1))
        panels[0].set(ylabel="NC1 = tr Σ_W / tr Σ_B")
        panels[1].set(ylim=(0, None), ylabel="NC2 = ‖H̄ᵀH̄ − Σ_ETF‖")
        panels[0].set_ylim(panels[0].get_ylim())
        style.label_ends(panels[0], ends, gap=0.1)
    style.note(figure, style.meaning_of_lines(rows, "mean (of NC1: geometric)"))
    return figure


def _name_of_line(arm: str, line: pd.DataFrame, seeds: int) -> str:
    """A control's name in short, with its number of seeds if it has fewer than the figure's note says."""
    count = line["seed"].nunique()
    return IN_SHORT.get(arm, arm) + (f"\n({count} seeds)" if count < seeds else "")


def _at_the_end(rows: pd.DataFrame) -> float:
    """The geometric mean over seeds in the last layer."""
    return float(np.exp(np.log(rows.loc[rows["x"] == rows["x"].max(), "value"]).mean()))
