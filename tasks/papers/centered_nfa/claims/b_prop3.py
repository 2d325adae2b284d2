"""The centered NFM and AGOP and their first time derivatives are 0 at initialization, the second are 2 Wdot^T Wdot and
2 Wdot^T K Wdot: along the gradient flow they differ from t^2 Wdot^T Wdot and t^2 Wdot^T K Wdot by O(t^3).
"""

from types import ModuleType

import pandas as pd
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rules import Finding, Rows, order

ID = "B.prop3"
KIND = "exact"
TITLE = "The centered NFM and AGOP begin with their second derivatives"
PRINTED = "d/dt = 0, d²/dt² = 2ẆᵀẆ and 2ẆᵀKẆ, Proposition 3, (7)–(9)"
QUANTITIES = ("prop3/remainder",)


def rule(rows: Rows) -> Finding:
    """Slope 3 of the remainder in the time, for both matrices, every hidden layer and every network."""
    return order(rows, 3)


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw remainder against time, each divided by its value at the longest: median and extremes, slopes 3 and 1."""
    figure, grid = style.panels(claim, columns=2, height=3.2)
    rows = rows[rows["quantity"] == "prop3/remainder"]
    (control,) = style.controls(rows)
    rows = rows.assign(name=rows["layer"].str.split(", ").str[1])
    rows["value"] /= rows.groupby(["arm", "case", "layer"])["value"].transform("max")
    for axes, name in zip(grid[0], ("NFM", "AGOP"), strict=True):
        for arm, color, slope, dashes in ((control, style.CONTROL, 1, ":"), ("claim", style.CLAIM, 3, "--")):
            found = rows[(rows["arm"] == arm) & (rows["name"] == name)].groupby("x")["value"]
            axes.plot(found.median().index, found.median(), color=color, label=arm)
            axes.fill_between(found.min().index, found.min(), found.max(), color=color, alpha=0.25, linewidth=0)
            at = found.median().index
            axes.plot(at, 5 * (at / at[-1]) ** slope, color=style.GUIDE, linestyle=dashes, label=f"slope {slope}")
        axes.set(xscale="log", yscale="log", title=f"centered {name}", xlabel="time / fastest weight's own time")
    grid[0, 0].set_ylabel("remainder / the largest")
    lines, names = grid[0, 0].get_legend_handles_labels()
    figure.legend(lines, names, loc="outside lower left", ncols=4, fontsize=7, title_fontsize=7,
                  title="median, least and largest over networks and hidden layers")  # fmt: skip
    return figure
