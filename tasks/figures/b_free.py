"""B, (12)-(15): how the errors of the identities fall with the size, and those of dependent matrices do not."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.figures import style


def draw(rows: pd.DataFrame, key: str) -> Figure:
    """One panel an identity: the root mean square over seeds as a line, its 5 % and 95 % quantiles of |error|."""
    names = style.check(key).QUANTITIES
    figure, grid = style.panels(key, columns=len(names), height=2.9)
    limits = [1e-4, 3 * rows["value"].abs().max()]
    for axes, name in zip(grid[0], names, strict=True):
        for arm, color, mark in (("claim", style.CLAIM, "o"), (style.controls(rows)[0], style.CONTROL, "X")):
            found = rows[(rows["quantity"] == name) & (rows["arm"] == arm)]
            low, high = (found["value"].abs().groupby(found["x"]).quantile(q) for q in (0.05, 0.95))
            axes.fill_between(low.index, low, high, color=color, alpha=0.15, linewidth=0)
            size = found.groupby("x")["value"].apply(lambda value: np.sqrt((value**2).mean()))
            axes.plot(size.index, size, color=color, marker=mark, markersize=4, label=arm)
            if arm == "claim":
                first = size.index[0]
                axes.plot(
                    size.index, size.iloc[0] * first / size.index * 2, color=style.GUIDE, ls="--", label="slope −1"
                )
        axes.set(xscale="log", yscale="log", title=name.removeprefix("free/"), xlabel="size", ylim=limits)
        axes.set_xticks(size.index, [f"{x:g}" for x in size.index], minor=False)
        axes.minorticks_off()
    grid[0, 0].set_ylabel("|left − right side|")
    for axes in grid[0, 1:]:
        axes.set_yticklabels([])
    lines, labels = grid[0, 0].get_legend_handles_labels()
    seeds = rows["seed"].nunique()
    figure.legend(lines, labels, loc="outside lower left", ncols=3, fontsize=7,
                  title=f"root mean square over {seeds} seeds; band: 90 % of them", title_fontsize=7)  # fmt: skip
    return figure
