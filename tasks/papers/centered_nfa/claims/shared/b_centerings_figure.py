"""B, Figures 2, 7 and 8: uncentered and centered NFA and the losses along training, by the scale of the first layer."""

from itertools import product
from types import ModuleType
from typing import Any

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from tasks.drawing import style

LABELS = {"claim": "as printed: variances s₀/k"}
COLUMNS = {"nfa/uncentered": "UC-NFA", "nfa/centered": "C-NFA", "train_loss": "train loss", "test_loss": "test loss"}


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw as in the paper: a row of panels a layer; losses, once, over the largest of all scales of their reading.

    Solid with bands is the corrected reading of the scales, under which gradient descent is stable.
    """
    wanted = rows["quantity"].isin(COLUMNS) & (rows["case"] == claim.CASE)
    rows = style.thinned(rows[wanted], 15, power=2)
    figure, grid = style.panels(claim, columns=4, rows=2, height=4.4, width=8.0)
    scales = sorted(rows["x"].unique(), reverse=True)
    for (at, layer), (column, quantity) in product(enumerate(("0", "2")), enumerate(COLUMNS)):
        axes, loss = grid[at, column], quantity.endswith("loss")
        if loss and at:
            axes.set_axis_off()
            continue
        found = rows[(rows["quantity"] == quantity) & rows["layer"].isin([layer, ""])]
        if loss:
            means = found.groupby(["x", "step", "arm"])["value"].transform("mean")
            found = found.assign(value=found["value"] / means.groupby(found["arm"]).transform("max"))
        for scale, color in zip(scales, sns.color_palette("viridis", len(scales)), strict=True):
            one = found[found["x"] == scale]
            _lines(axes, one, color, f"s₀ = {scale:g}", controls=[] if loss else style.controls(rows))
        if at == 0:
            axes.set_title(COLUMNS[quantity], fontsize=9)
        if loss or at:
            axes.set_xlabel("step")
        if not loss:
            axes.set_ylim(0, 1.02)
        else:
            axes.set_ylim(0, None)
        if column == 0:
            axes.set_ylabel(f"layer {at + 1}")
    for arm, dashes in (("claim", "--"), *((arm, ":") for arm in style.controls(rows))):
        grid[0, 0].plot([], [], color=style.GUIDE, linestyle=dashes, linewidth=1, label=LABELS.get(arm, arm))
    handles, names = grid[0, 0].get_legend_handles_labels()
    title = f"variances s₀/(3k): mean and Student's\n95 % interval over {rows['seed'].nunique()} seeds"
    key_of_lines = grid[1, 2].legend(
        handles, names, loc="center left", fontsize=8, title_fontsize=8, title=title, alignment="left"
    )
    key_of_lines.set_in_layout(False)  # it may reach over into the empty place beside it
    return figure


def _lines(axes: Any, rows: pd.DataFrame, color: Any, label: str, controls: list[str]) -> None:
    style.band(axes, rows[rows["arm"] == "corrected"], "step", color, linewidth=1.4, label=label)
    for arm, dashes in (("claim", "--"), *((arm, ":") for arm in controls)):
        means = rows[rows["arm"] == arm].groupby("step")["value"].mean()
        axes.plot(means.index, means, color=color, linestyle=dashes, linewidth=1)
