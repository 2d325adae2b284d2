"""B, Proposition 3: how the remainders shrink with the training time, over all networks and layers."""

import pandas as pd
from matplotlib.figure import Figure

from tasks.figures import style


def draw(rows: pd.DataFrame, key: str) -> Figure:
    """Draw remainder against time, each divided by its value at the longest: median and extremes, slopes 3 and 1."""
    figure, grid = style.panels(key, columns=2, height=3.2)
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
