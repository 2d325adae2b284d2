"""For an m-homogeneous f, a point's product with f's gradient at another point is about a weighted sum of f at both.

This follows from Euler's identity and a first-order Taylor expansion around h_k, so for smooth f the error is of second
order in the distance of the two points. The proofs of Theorems 3 and 4 apply it to all pairs of training samples. We
read “about” as: in root mean square over all pairs, the error is smaller than either side. Then both sizes are within a
factor of two. The paper itself says that such approximations “can be loose for individual terms” and conjectures that
sums over all samples are more robust (Appendix A.2); A.thm3 judges the sum. We also report how the two sides correlate.
Layers are counted from 0 here; the pages of paper A's figures count from 1.
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
from tasks.judging.ranges import fisher_z
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, order, positive
from tasks.judging.statement import Control, Statement
from tasks.papers.weight_gram.claims.shared.approximations import over_smaller_side
from tasks.papers.weight_gram.claims.shared.weakest import weakest_of

ID = "A.lem3"
KIND = "statistical"
TITLE = "The product of a feature and a gradient at another feature, to first order"
PRINTED = "hᵢᵀ∇f(h_k) ≈ f(hᵢ) + (m − 1)f(h_k), Lemma 3"
MATH = r"h_i^\top \nabla f(h_k) \approx f(h_i) + (m - 1) f(h_k) \quad\text{if } f(\alpha h) = \alpha^m f(h)"
INSTANCES = 3  # drawn of each kind of function


def second_order(rows: Rows) -> Finding:
    """The error falls with the square of the distance, for every kind of function and pair of points."""
    return order(Rows(rows.frame.assign(case=rows.frame["case"] + ", " + rows.frame["seed"].astype(str))), 2)


def smaller_than_sides(rows: Rows) -> Finding:
    """In every network and layer, the error over all pairs of samples is smaller than either side."""

    def log_error(layer: Rows) -> np.ndarray:
        return np.log(layer.by_seed(quantity="lem3/error") / np.minimum(1, layer.by_seed(quantity="lem3/size")))

    statistic = "log of the smaller side's norm minus log of the error's norm"
    finding = _weakest(rows, lambda layer: -log_error(layer), statistic)
    errors = {f"{case}, layer {layer}": float(np.exp(log_error(selected).mean()))
              for (case, layer), selected in rows.by("case", "layer").items()}  # fmt: skip
    numbers = {f"{name}: error over the smaller side": value for name, value in errors.items()}
    return replace(finding, numbers=numbers, measured=over_smaller_side(errors))


def above_null(rows: Rows) -> Finding:
    """In every network and layer, the two sides correlate more than with the outputs of another sample."""

    def excess(layer: Rows) -> np.ndarray:
        return fisher_z(layer.by_seed(quantity="lem3/correlation")) - fisher_z(layer.by_seed(quantity="lem3/null"))

    return _weakest(
        rows, excess, "Fisher's z of the correlation over all pairs minus that of the null's 97.5 % quantile"
    )


def _weakest(rows: Rows, of_layer: Callable[[Rows], np.ndarray], label: str) -> Finding:
    layers = rows.by("case", "layer").items()
    return weakest_of({f"{case}, layer {layer}": positive(of_layer(of_one), label) for (case, layer), of_one in layers})


QUOTE = "If a function f is m-positively homogeneous in h, then h_iᵀ∇_{h_k}f ≈ f(h_i) + (m − 1)f(h_k)."
UNEVEN = "The networks of the cases have two or three hidden layers."
CONTROLS = {
    "strongly non-homogeneous f": Control(
        text="On training samples f is a network with the activation cos 3z, for close points one with GELU; "
        "neither is homogeneous.",
        parts=("layer", "step"),
        cases={
            **dict.fromkeys(("lem3/correlation", "lem3/error", "lem3/null", "lem3/size"), ("cos 3z",)),
            "lem3/remainder": ("ReLU²", "ReLU² twice", "ReLU³", "degree 1/2", "norms"),
        },
        parts_because="On training samples the control's only case is an f that no case of the claim has.",
    ),
    "m one too many": Control(text="The equation has m + 1 in place of the degree m.", has=("lem3/remainder",)),
    "outputs of another sample": Control(
        text="The output of another sample takes the place of f(h_i).", has=("lem3/error", "lem3/size")
    ),
}
STATEMENTS = (
    Statement(
        name="first order",
        quote="By Taylor expansion, we can write",
        place="Appendix C.4, proof of Lemma 3",
        rule=second_order,
        reads=("lem3/remainder",),
        printed="f(hᵢ) ≈ f(h_k) + (hᵢ − h_k)ᵀ∇f(h_k)",
        derived="error of second order in ‖hᵢ − h_k‖",
        cases=5,
        rows=630,
    ),
    Statement(
        name="on the training samples",
        quote=QUOTE,
        place="Lemma 3, as the proof of Theorem 3 uses it for all pairs of samples (Appendix C.4)",
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
    """Draw the Taylor error against the distance; by layer the error over all pairs of samples, and the correlation."""
    figure, grid = style.panels(claim, columns=2, rows=2, height=6.6, height_ratios=(1, 1.25))
    for axes in grid[0]:
        axes.remove()
    _draw_remainders(figure.add_subplot(grid[0, 0].get_gridspec()[0, :]), rows)
    pairs = _named(rows[rows["quantity"].isin(["lem3/error", "lem3/size", "lem3/correlation", "lem3/null"])])
    order = sorted(pairs["row"].unique(), key=lambda row: (row.startswith("✗"), row))
    _draw_errors(grid[1, 0], pairs, order)
    _draw_correlations(grid[1, 1], pairs, order)
    style.legend(figure, [grid[1, 1]], 5)
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
    axes.set(xscale="log", yscale="log", xlabel="distance of the two points / norm", ylabel="error / |f|")
    axes.set_title("a pair of points: a line for each function and pair", loc="left")
    axes.plot([1e-5, 1e-1], [1e-9, 1e-1], color=style.GUIDE, linestyle="--", linewidth=1.2, label="slope 2")
    axes.legend(loc="lower right")


def _named(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with the name of their line in a panel: the network, and before it a cross and a control's name."""
    control = rows["arm"].str.removeprefix("control: ")
    return rows.assign(row=rows["case"].where(rows["arm"] == "claim", "✗ " + control + ": " + rows["case"]))


def _draw_errors(axes: Axes, rows: pd.DataFrame, order: list[str]) -> None:
    """By network and layer the error over the smaller side, geometric mean over seeds."""
    rows = rows[rows["quantity"].isin(["lem3/error", "lem3/size"])]
    by_seed = rows.groupby(["row", "layer", "seed", "quantity"])["value"].mean().unstack("quantity")
    ratio = np.log(
        by_seed["lem3/error"] / np.minimum(1, by_seed["lem3/size"])
    )  # the size is relative to the other side
    _draw_by_layer(axes, np.exp(ratio.groupby(["row", "layer"]).mean()).rename("value").reset_index(), order)
    axes.axvline(1, color=style.PRINTED, linestyle="--", linewidth=0.8)
    axes.set(xscale="log", xlabel="error / smaller side (must be < 1)")
    axes.set_title("all pairs of samples, by layer", loc="left")


def _draw_correlations(axes: Axes, rows: pd.DataFrame, order: list[str]) -> None:
    means = rows.groupby(["row", "layer", "quantity"])["value"].mean().reset_index()
    _draw_by_layer(axes, means[means["quantity"] == "lem3/correlation"], order)
    null = means[means["quantity"] == "lem3/null"].groupby("row")["value"].max()
    axes.plot(null, [order.index(row) for row in null.index], "|", color=style.GUIDE, markersize=9, markeredgewidth=1.5,
              label="97.5 % of the null")  # fmt: skip
    axes.axvline(0, color=style.GUIDE, linewidth=0.8)
    axes.set_xlabel("correlation of the two sides")
    axes.tick_params(labelleft=False)


def _draw_by_layer(axes: Axes, means: pd.DataFrame, order: list[str]) -> None:
    """A mark for each layer, in the line of its network."""
    layers = sorted(means["layer"].unique())
    for layer, mark, color in zip(layers, "osD^v", sns.color_palette("viridis_r", len(layers)), strict=False):
        at_layer = means[means["layer"] == layer]
        places = [order.index(row) for row in at_layer["row"]]
        axes.plot(at_layer["value"], places, mark, color=color, markersize=4.5, label=f"layer {layer}")
    axes.set_yticks(range(len(order)), order, fontsize=style.SMALL)
    axes.set_ylim(len(order) - 0.5, -0.5)
    for label in axes.get_yticklabels():
        label.set_color(style.CONTROL if label.get_text().startswith("✗") else "black")
