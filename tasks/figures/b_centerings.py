"""B, Figures 2, 7 and 8: uncentered and centered NFA and the losses along training, by the scale of the first layer."""

from typing import Any

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from tasks.figures import style

COLUMNS = {"nfa/uncentered": "UC-NFA", "nfa/centered": "C-NFA", "train_loss": "train loss", "test_loss": "test loss"}


def draw(rows: pd.DataFrame, key: str) -> Figure:
    """Draw as in the paper: a row of panels a layer; losses are divided by their largest value over all scales."""
    wanted = rows["quantity"].isin(COLUMNS) & (rows["case"] == style.check(key).CASE)
    rows = style.thinned(rows[wanted])
    figure, grid = style.panels(key, columns=4, rows=2, height=4.4, width=8.0)
    scales = sorted(rows["x"].unique(), reverse=True)
    for line, (number, layer) in zip(grid, enumerate(("0", "2"), 1), strict=True):
        for axes, (quantity, title) in zip(line, COLUMNS.items(), strict=True):
            found = rows[(rows["quantity"] == quantity) & rows["layer"].isin([layer, ""])]
            if loss := quantity.endswith("loss"):
                means = found.groupby(["x", "step"])["value"].transform("mean")
                found = found.assign(value=found["value"] / means.max())
            for scale, color in zip(scales, sns.color_palette("viridis", len(scales)), strict=True):
                one = found[found["x"] == scale]
                _lines(axes, one, color, f"s₀ = {scale:g}", controls=[] if loss else style.controls(rows))
            if not loss:
                axes.set_ylim(0, 1.02)
            if number == 1:
                axes.set_title(title, fontsize=9)
            else:
                axes.set_xlabel("step")
        line[0].set_ylabel(f"layer {number}")
    for arm, dashes in (("corrected", "--"), *((arm, ":") for arm in style.controls(rows))):
        grid[0, 0].plot([], [], color=style.GUIDE, linestyle=dashes, linewidth=1, label=arm)
    handles, names = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower left", ncols=5, fontsize=7, title_fontsize=7,
                  title=f"mean and Student's 95 % interval over {rows['seed'].nunique()} seeds")  # fmt: skip
    return figure


def _lines(axes: Any, rows: pd.DataFrame, color: Any, label: str, controls: list[str]) -> None:
    style.band(axes, rows[rows["arm"] == "claim"], "step", color, linewidth=1.4, label=label)
    for arm, dashes in (("corrected", "--"), *((arm, ":") for arm in controls)):
        means = rows[rows["arm"] == arm].groupby("step")["value"].mean()
        axes.plot(means.index, means, color=color, linestyle=dashes, linewidth=1)
