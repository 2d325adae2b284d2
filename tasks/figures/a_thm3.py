"""A, Theorem 3: the surrogate's change along training, measured and predicted, and how far the prediction reaches."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tasks.figures import style

SHOWN = "ReLU, logistic"
PANELS = ("correlation", "equal signs", "slope")
LABELS = ("correlation\nover steps", "share of\nequal signs", "slope of measured\non predicted")
MARKERS = {"0": "o", "1": "X", "2": "s"}


def draw(rows: pd.DataFrame, key: str) -> Figure:
    """Draw one network's course by layer, and for all networks and layers the rule's three statistics."""
    sides = rows[rows["quantity"].str.match("(thm3|beyond)/(measured|predicted)") & (rows["layer"] != "readout")]
    figure, grid = style.panels(key, columns=3, rows=2, height=6.4, width=7.6)
    for layer, axes in enumerate(grid[0]):
        one = sides[(sides["case"] == SHOWN) & (sides["seed"] == 0) & (sides["layer"] == str(layer))]
        _course(axes, one, layer)
    for axes in grid[1]:
        axes.remove()
    below = figure.add_subfigure(grid[1, 0].get_gridspec()[1, :]).subplots(1, 3, sharey=True, width_ratios=(1, 1, 1.6))
    found = _statistics(sides, style.check(key).statistics)
    order = list(dict.fromkeys(found["row"]))
    colors = dict(zip(MARKERS, sns.color_palette("viridis_r", len(MARKERS)), strict=True))
    for axes, name, label in zip(below, PANELS, LABELS, strict=True):
        for layer, one in found.groupby("layer"):
            axes.plot(one[name], [order.index(row) for row in one["row"]], MARKERS[layer], color=colors[layer],
                      markersize=4.5, label=f"layer {layer}")  # fmt: skip
        broken = [order.index(row) for row in order if row.startswith("control")]
        axes.axhspan(min(broken) - 0.5, max(broken) + 0.5, color=style.CONTROL, alpha=0.08, lw=0)
        axes.set(xlabel=label, ylim=(len(order) - 0.5, -0.5))
    below[0].set_yticks(range(len(order)), order)
    below[0].axvline(0, color=style.GUIDE, linewidth=0.8)
    below[1].axvline(0.5, color=style.GUIDE, linewidth=0.8)
    below[2].axvspan(0.5, 2, color=style.CLAIM, alpha=0.12, lw=0)
    below[2].axvline(1, color=style.PRINTED, linewidth=0.8)
    below[2].set_xscale("symlog", linthresh=1, linscale=1)
    below[2].set_xticks([-1, 0, 0.5, 1, 2, 10, 100], ["−1", "0", "½", "1", "2", "10", "100"], minor=False)
    below[2].minorticks_off()
    below[0].legend(fontsize=7, loc="upper left")
    return figure


def _course(axes: Axes, rows: pd.DataFrame, layer: int) -> None:
    lines = {("claim", "thm3/measured"): ("measured", style.CLAIM, "-"),
             ("claim", "thm3/predicted"): ("predicted", style.PRINTED, "--"),
             ("control: shuffled y", "thm3/predicted"): ("predicted, y shuffled", style.CONTROL, ":")}  # fmt: skip
    for (arm, quantity), (label, color, dashes) in lines.items():
        one = rows[(rows["arm"] == arm) & (rows["quantity"] == quantity)].sort_values("step")
        axes.plot(one["step"], one["value"], color=color, linestyle=dashes, linewidth=1.3, label=label)
    axes.set_title(f"{SHOWN}, seed 0, layer {layer}", fontsize=8)
    axes.set(xlabel="step", ylabel="change of the surrogate in a step" if layer == 0 else "")
    axes.set_yscale("symlog", linthresh=10)
    axes.minorticks_off()
    if layer == 0:
        axes.legend(fontsize=7)


def _statistics(sides: pd.DataFrame, statistics: Callable) -> pd.DataFrame:
    """Means over seeds of the three statistics, by network and layer; networks of the claim first."""
    sides = sides.assign(side=sides["quantity"].str.split("/").str[1], group=sides["quantity"].str.split("/").str[0])
    made = []
    for (arm, group, case, layer), one in sides.groupby(["arm", "group", "case", "layer"]):
        wide = one.pivot(index=["seed", "step"], columns="side", values="value").sort_index()
        seeds = [(two["measured"].to_numpy(), two["predicted"].to_numpy()) for _, two in wide.groupby("seed")]
        if arm == "control: shuffled y" and case != SHOWN:
            continue
        place = (group == "beyond") + 2 * (arm != "claim")
        row = {0: case, 1: f"beyond: {case}", 2: arm.replace("strongly ", "")}[place]
        values = [float(np.mean(values)) for values in statistics(seeds)]
        made.append({"place": place, "row": row, "layer": layer, **dict(zip(PANELS, values, strict=True))})
    return pd.DataFrame(made).sort_values(["place", "row", "layer"])
