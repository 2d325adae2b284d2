"""For m-homogeneous f, h_i^T grad f(h_k) ~ f(h_i) + (m - 1) f(h_k).

This follows from Euler's identity and a first-order Taylor expansion around h_k, so for smooth f the error is of second
order in the distance of the two points. The paper applies it to all pairs of training samples. There "~" is read as:
over all pairs, the error is smaller than either side (root mean squares), so that their sizes are within a factor of
two. The correlation of the two sides, beside that with the outputs of another sample, is reported.
"""

from collections.abc import Callable
from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, order, positive
from tasks.judging.statement import Statement
from tasks.papers.weight_gram.claims.shared.weakest import weakest_of

ID = "A.lem3"
KIND = "statistical"
TITLE = "First-order products of features and gradients"
PRINTED = "hᵢᵀ∇f(h_k) ≈ f(hᵢ) + (m − 1)f(h_k), Lemma 3"
MATH = r"h_i^\top \nabla f(h_k) \approx f(h_i) + (m - 1) f(h_k) \quad\text{if } f(\alpha h) = \alpha^m f(h)"
INSTANCES = 3  # drawn of each kind of function


def second_order(rows: Rows) -> Finding:
    """The error falls with the square of the distance, for every kind of function and pair of points."""
    return order(Rows(rows.frame.assign(case=rows.frame["case"] + ", " + rows.frame["seed"].astype(str))), 2)


def smaller_than_sides(rows: Rows) -> Finding:
    """In every network and layer, the error over all pairs of samples is smaller than either side."""

    def error(layer: Rows) -> np.ndarray:
        return np.log(_by_seed(layer, "lem3/error") / np.minimum(1, _by_seed(layer, "lem3/size")))

    finding = _weakest(rows, lambda layer: -error(layer), "log of the smaller side's norm minus log of the error's")
    errors = {f"{case}, layer {layer}": float(np.exp(error(selected).mean()))
              for (case, layer), selected in rows.by("case", "layer").items()}  # fmt: skip
    smaller = sum(value < 1 for value in errors.values())
    measured = (f"error over the smaller side {min(errors.values()):.2f} to {max(errors.values()):.2f}, below 1 in "
                f"{smaller} of {len(errors)} layers")  # fmt: skip
    return replace(finding, numbers={f"{name}: error over the smaller side": value for name, value in errors.items()},
                   measured=measured)  # fmt: skip


def above_null(rows: Rows) -> Finding:
    """In every network and layer, the two sides correlate more than with the outputs of another sample."""

    def excess(layer: Rows) -> np.ndarray:
        return np.arctanh(_by_seed(layer, "lem3/correlation")) - np.arctanh(_by_seed(layer, "lem3/null"))

    return _weakest(rows, excess, "Fisher's z over all pairs of samples minus that of the null's 97.5 % quantile")


def _weakest(rows: Rows, of_layer: Callable[[Rows], np.ndarray], what: str) -> Finding:
    return weakest_of([positive(of_layer(layer), what) for layer in rows.by("case", "layer").values()])


def _by_seed(rows: Rows, quantity: str) -> np.ndarray:
    selected = rows.where(quantity=quantity)
    return selected.value[np.argsort(selected.seed)]


QUOTE = "If a function … is …-positively homogeneous in …, then"
STATEMENTS = (
    Statement(
        name="first order",
        quote="By Taylor expansion, we can write",
        place="Appendix C.4, proof of Lemma 3",
        rule=second_order,
        reads=("lem3/remainder",),
        printed="error of second order in ‖hᵢ − h_k‖",
        cases=5,
        rows=630,
    ),
    Statement(
        name="on the training samples",
        quote=QUOTE,
        place="Appendix C.4, Lemma 3",
        rule=smaller_than_sides,
        reads=("lem3/error", "lem3/size"),
        printed="hᵢᵀ∇f(h_k) ≈ f(hᵢ) + (m − 1)f(h_k)",
        cases=6,
        rows=100,
    ),
    Statement(
        name="correlated on the training samples",
        quote=QUOTE,
        place="Appendix C.4, Lemma 3",
        rule=above_null,
        reads=("lem3/correlation", "lem3/null"),
        kind="ours",
        cases=6,
        rows=100,
    ),
)


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw the Taylor error against the distance with a guide of slope 2; beside it each network and layer."""
    figure, grid = style.panels(claim, columns=2, height=4.1, width=7.6)
    _draw_remainders(grid[0, 0], rows)
    _draw_correlations(grid[0, 1], rows)
    return figure


def _draw_remainders(axes: Axes, rows: pd.DataFrame) -> None:
    rows = rows[(rows["quantity"] == "lem3/remainder") & (rows["value"] > 0)]
    rows = rows[rows["seed"] < INSTANCES]
    for arm in (*style.controls(rows), "claim"):
        color = style.CLAIM if arm == "claim" else style.CONTROL
        dashes = ":" if "one too many" in arm else "-" if arm == "claim" else "--"
        for index, (_, line) in enumerate(rows[rows["arm"] == arm].groupby(["case", "seed"])):
            line = line.sort_values("x")
            axes.plot(line["x"], line["value"], color=color, linewidth=0.9, alpha=0.6, linestyle=dashes,
                      label="_" if index else arm)  # fmt: skip
    axes.set(xscale="log", yscale="log", xlabel="distance of the points / norm", ylabel="error / |f|")
    axes.plot([1e-5, 1e-1], [1e-9, 1e-1], color=style.GUIDE, linestyle="--", linewidth=1.2, label="slope 2")
    axes.legend(fontsize=7)


def _draw_correlations(axes: Axes, rows: pd.DataFrame) -> None:
    rows = rows[rows["quantity"].isin(["lem3/correlation", "lem3/null"])]
    means = rows.groupby(["arm", "case", "layer", "quantity"], as_index=False)["value"].mean()
    means["row"] = means["case"].where(means["arm"] == "claim", means["arm"].str.slice(0, 7) + ": " + means["case"])
    correlation = means[means["quantity"] == "lem3/correlation"]
    sns.scatterplot(correlation, x="value", y="row", hue="layer", style="layer", palette="viridis_r", ax=axes, s=32)
    null = means[means["quantity"] == "lem3/null"].groupby("row")["value"].max()
    axes.scatter(null, null.index, marker="|", color=style.PRINTED, s=60, label="null, 97.5 %")
    axes.axvline(0, color=style.GUIDE, linewidth=0.8)
    axes.set(xlabel="correlation over pairs of samples", ylabel="")
    axes.legend(fontsize=7, title="layer", title_fontsize=7, loc="lower center", bbox_to_anchor=(0.4, 1), ncols=4)
