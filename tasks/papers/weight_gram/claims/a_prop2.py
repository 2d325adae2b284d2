"""Under Neural Collapse (NC1, NC2) G_id = Y Y^T, and S_cls(G_id) is the maximum under the constraint on ||G_id||_F.

NC1: features collapse to the means of their classes. NC2: these means form a simplex. The features are centred. The
readout and its bias are trained by least squares on the centred one-hot labels Y, and S_cls(G) = tr(Y^T G Y). Centred
features that form a simplex have classes of equal size. The converse does not hold: if a linear map of the features
fits the centred labels exactly, G_id = Y Y^T too, whether or not the features have collapsed. Networks trained towards
collapse only come close to the maximum: their surrogate approaches it as NC1 falls. With the shuffled labels of a
control it does not.
"""

from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tasks.drawing import instances, style
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, exact, positive, trend_along
from tasks.judging.statement import BOTH_PRECISIONS, Control, Drawn, Grid, Statement
from tasks.judging.statistics import curves

ID = "A.prop2"
KIND = "exact"
TITLE = "Neural Collapse attains the surrogate's maximum"
PRINTED = "G_id = YYᵀ and 𝒮_cls(G_id) maximal under ‖G_id‖_F ≤ c, Proposition 2"
MATH = (
    r"G_{\text{id}} = Y Y^\top \quad\text{under NC1 and NC2}",
    (
        r"\mathcal{S}_{\text{cls}}(G_{\text{id}}) = \max_{\| G \|_F \le c} \operatorname{tr}\left( Y^\top "
        r"G\, Y \right), \quad c = \| Y Y^\top \|_F"
    ),
)
GAP = 0.01  # to the maximum, relative: a trained network ends below it; the threshold is ours


def falls(rows: Rows) -> Finding:
    """The relative gap to the maximum falls along training, as the networks collapse."""
    finding = trend_along(-_courses(rows, "prop2/gap"), "the surrogate's relative gap to its maximum falls")
    (gap, nc1) = ([course.mean(0)[place] for place in (0, -1)]
                  for course in (_courses(rows, f"prop2/{name}") for name in ("gap", "nc1")))  # fmt: skip
    numbers = {f"trained, {name} {time}": float(value) for name, values in (("gap", gap), ("nc1", nc1))
               for time, value in zip(("at first", "at the end"), values, strict=True)}  # fmt: skip
    measured = (
        f"in training, the gap between the surrogate and its maximum goes from {gap[0]:.2g} to {gap[1]:.2g} of the "
        f"maximum, and NC1 from {nc1[0]:.2g} to {nc1[1]:.2g}"
    )
    return replace(finding, numbers=numbers, measured=measured)


def ends_near(rows: Rows) -> Finding:
    """The gap to the maximum ends below GAP."""
    return positive(GAP - _courses(rows, "prop2/gap")[:, -1], f"{GAP:g} minus the relative gap at the end of training")


def _courses(rows: Rows, quantity: str) -> np.ndarray:
    """Each seed's values, in the order of the steps."""
    return curves(rows.where(quantity=quantity), "seed")


GRIDS = {
    **{f"prop2/{quantity}": Grid(BOTH_PRECISIONS) for quantity in ("gram", "residual", "without NC2")},
    **{f"prop2/{quantity}": Grid(steps=21) for quantity in ("gap", "nc1")},
}
DRAWN = {"trained": Drawn(0, "The experiment trains six networks at every number of instances.")}
CONTROLS = {
    "labels not centred": Control(
        text="G_id is compared with one-hot labels that are not centred; the readout is fitted to the centred ones.",
        has=("prop2/gram", "prop2/residual"),
    ),
    "shuffled labels": Control(
        text="The readout is fitted to shuffled labels, and the surrogate is computed with these.",
        has=("prop2/gap", "prop2/nc1"),
        equal_quantities=("prop2/nc1",),
        equal_because="The control shuffles the labels of the surrogate alone; NC1 is that of the true classes.",
    ),
    "within-class noise": Control(
        text="Random noise is added to the features within each class, so that they do not collapse.",
        has=("prop2/gap", "prop2/gram", "prop2/nc1", "prop2/residual"),
        least_share=0.5,
        parts_because="With more dimensions than samples least squares interpolates the noise; chance decides where.",
    ),
}
STATEMENTS = (
    Statement(
        name="Gram of the labels",
        quote="Thus, the Gram matrix is",
        place="Appendix C.6, proof of Proposition 2",
        rule=exact,
        reads=("prop2/gram",),
        printed="G_id = YYᵀ under NC1 and NC2",
        cases=4,
    ),
    Statement(
        name="maximum",
        quote="Under NC1 and NC2, 𝒮_cls(G_id) attains the maximum value allowed by a norm constraint ‖G_id‖_F ≤ c for "
        "some c > 0.",
        place="Proposition 2",
        rule=exact,
        reads=("prop2/residual",),
        printed="𝒮_cls(G_id) is maximal under ‖G_id‖_F ≤ c; by Lemma 5 the maximum is c ‖YYᵀ‖_F",
        cases=4,
    ),
    Statement(
        name="NC1 suffices",
        quote="Under NC1 and NC2, 𝒮_cls(G_id) attains the maximum value allowed by a norm constraint ‖G_id‖_F ≤ c for "
        "some c > 0.",
        place="Proposition 2",
        rule=exact,
        reads=("prop2/without NC2",),
        kind="ours",
        derived="G_id = YYᵀ under NC1 alone, for affinely independent class means",
        cases=4,
    ),
    Statement(
        name="approached in training",
        quote="the geometric structure observed empirically in trained networks [36] is precisely what saturates the "
        "surrogate 𝒮_cls.",
        place="Section 5",
        rule=falls,
        reads=("prop2/gap", "prop2/nc1"),
        kind="ours",
        rows=126,  # six networks, 21 steps
    ),
    Statement(
        name="nearly attained in training",
        quote="the geometric structure observed empirically in trained networks [36] is precisely what saturates the "
        "surrogate 𝒮_cls.",
        place="Section 5",
        rule=ends_near,
        reads=("prop2/gap",),
        kind="ours",
        rows=126,  # six networks, 21 steps
    ),
)


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw the residuals of constructed features; below them the gap of trained networks against NC1."""
    exact_statements = [statement for statement in STATEMENTS if statement.rule is exact]
    reads = [(statement, name) for statement in exact_statements for name in statement.reads]
    tables = [rows[rows["quantity"] == name] for _, name in reads]
    heights = [*(0.2 + 0.22 * table["arm"].nunique() for table in tables), 2.3]
    figure, grid = style.panels(claim, rows=len(heights), height=1.2 + sum(heights) + 0.35 * len(reads),
                                height_ratios=heights)  # fmt: skip
    limits = instances.limits_of_residuals(tables)
    for axes, (statement, name), table in zip(grid[:, 0], reads, tables, strict=False):
        axes.set_title(instances.title(statement, name), loc="left", fontsize=8)
        instances.panel(axes, table, instances.RESIDUAL, *limits)
        if axes is not grid[len(reads) - 1, 0]:
            axes.tick_params(labelbottom=False)
            axes.set_xlabel("")
    _draw_training(grid[-1, 0], rows[rows["case"] == "trained"])
    return figure


def _draw_training(axes: Axes, rows: pd.DataFrame) -> None:
    axes.set_title("trained networks: a line for each seed, from the right to the left", loc="left", fontsize=8)
    controls = [(arm, style.CONTROL, marker) for arm, marker in zip(style.controls(rows), "vX", strict=True)]
    for arm, color, marker in (*controls, ("claim", style.CLAIM, "o")):
        for index, (_, seed) in enumerate(rows[rows["arm"] == arm].groupby("seed")):
            course = seed.pivot(index="step", columns="quantity", values="value").sort_index()[::3]
            axes.plot(course["prop2/nc1"], course["prop2/gap"], color=color, linewidth=0.8, alpha=0.8, marker=marker,
                      markersize=2.5, label="_" if index else arm)  # fmt: skip
    chance = rows.loc[rows["quantity"] == "null/prop2/nc1", "value"]
    if len(chance):
        axes.axvline(chance.mean(), color=style.GUIDE, linestyle=":", linewidth=1, label="NC1 by chance, 2.5 %")
    axes.axhline(GAP, color=style.PRINTED, linestyle="--", linewidth=0.8, label="our limit at the end of training")
    axes.set(xscale="log", yscale="log", xlabel="NC1 = tr S_W / tr S_B", ylabel="1 − surrogate / its maximum")
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    axes.minorticks_off()
