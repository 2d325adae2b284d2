"""How a remainder shrinks with the step: a line for each instance and layer, divided by its value at the largest step.

At most 60 lines of an arm are drawn, evenly chosen.
"""

from math import ceil
from types import ModuleType

import pandas as pd
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.statement import quantities

MOST = 60  # lines of an arm


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw remainder against step, log-log, with guides of slope 2 and 1; the claim over its controls."""
    quantity = next(name for name in quantities(claim) if name.endswith("/remainder"))
    rows = rows[(rows["quantity"] == quantity) & (rows["dtype"] == "float64") & (rows["value"] > 0)]
    figure, grid = style.panels(claim, height=3.6)
    axes = grid[0, 0]
    axes.set(xscale="log", yscale="log", xlabel="step size γ", ylabel="remainder / remainder at the largest γ")
    arms = [(arm, style.CONTROL) for arm in style.controls(rows)] + [("claim", style.CLAIM)]
    for arm, color in arms:
        label = arm
        lines = [line.sort_values("x") for _, line in rows[rows["arm"] == arm].groupby(["case", "layer"])]
        for line in lines[:: max(1, ceil(len(lines) / MOST))]:
            axes.plot(line["x"], line["value"] / line["value"].iloc[-1], color=color, linewidth=0.7, alpha=0.6,
                      label=label)  # fmt: skip
            label = "_"
    largest, smallest = rows["x"].max(), rows["x"].min()
    bottom = axes.get_ylim()[0]
    for slope, dashes in ((2, "--"), (1, ":")):
        from_x = max(smallest, largest * bottom ** (1 / slope))
        axes.plot([from_x, largest], [(from_x / largest) ** slope * 3, 3], color=style.GUIDE, linestyle=dashes,
                  linewidth=1.2, label=f"slope {slope}")  # fmt: skip
    for line in axes.legend(loc="center left", bbox_to_anchor=(1, 0.5)).get_lines():
        line.set(linewidth=1.6, alpha=1)
    return figure
