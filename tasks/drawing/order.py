"""How a remainder shrinks with the step: a line for each instance and layer, divided by its value at the largest step.

At most MOST lines of an arm are drawn, evenly chosen. Below stand the claim's exact statements, as in
``tasks.drawing.exact``.
"""

from math import ceil
from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tasks.drawing import instances, style
from tasks.judging.statement import quantities

MOST = 40  # lines of an arm


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw remainder against step, log-log, with guides of slope 2 and 1; the claim over its controls."""
    quantity = next(name for name in quantities(claim) if name.endswith("/remainder"))
    reads = [(statement, name) for statement in claim.STATEMENTS for name in statement.reads if name != quantity]
    heights = [3.0, *(0.9 for _ in reads)]
    figure, grid = style.panels(claim, rows=len(heights), height=0.5 + sum(heights), height_ratios=heights)
    remainders = rows[(rows["quantity"] == quantity) & (rows["dtype"] == "float64") & (rows["value"] > 0)]
    _draw_remainders(grid[0, 0], remainders)
    for axes, (statement, name) in zip(grid[1:, 0], reads, strict=True):
        selected = rows[rows["quantity"] == name]
        axes.set_title(instances.title(statement, name), loc="left", fontsize=8)
        instances.panel(axes, selected, instances.RESIDUAL, *instances.limits_of_residuals([selected]))
    return figure


def _draw_remainders(axes: Axes, rows: pd.DataFrame) -> None:
    axes.set(xscale="log", yscale="log", xlabel="step size γ", ylabel="remainder / remainder at the largest γ")
    arms = [(arm, style.CONTROL) for arm in style.controls(rows)] + [("claim", style.CLAIM)]
    names = []
    for arm, color in arms:
        lines = [line.sort_values("x") for _, line in rows[rows["arm"] == arm].groupby(["case", "layer"])]
        label = f"{arm} (a line for each instance and layer, {min(MOST, len(lines))} of {len(lines)})"
        names.append((label, color))
        for line in lines[:: max(1, ceil(len(lines) / MOST))]:
            axes.plot(line["x"], line["value"] / line["value"].iloc[-1], color=color, linewidth=0.7, alpha=0.6,
                      label=label)  # fmt: skip
            label = "_"
    steps = np.array([rows["x"].min(), rows["x"].max()])
    bottom, top = axes.get_ylim()
    for slope, dashes in ((2, "--"), (1, ":")):
        from_x = max(steps[0], steps[1] * bottom ** (1 / slope))
        axes.plot([from_x, steps[1]], [(from_x / steps[1]) ** slope * 3, 3], color=style.GUIDE, linestyle=dashes,
                  linewidth=1.2, label=f"slope {slope}")  # fmt: skip
    axes.set_ylim(bottom, top)
    style.name_lines(axes, [*names, ("dashed: slope 2; dotted: slope 1", style.GUIDE)], x=0.03, y=0.96)
