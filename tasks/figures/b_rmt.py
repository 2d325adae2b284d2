"""B, (6)-(28): one line an equation, its error as printed and as derived anew; and how errors fall with the size."""

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tasks.figures import style

ARMS = {"claim": ("as printed", style.CONTROL, "X"), "corrected": ("as derived", style.CLAIM, "o")}
ROUND_OFF = 2.0**-53


def draw(rows: pd.DataFrame, key: str) -> Figure:
    """Left, an equation a line; right, the root mean square error over seeds and cases against the size."""
    about = style.check(key)
    figure, grid = style.panels(key, columns=2, height=4.6, width=7.6)
    left, right = grid[0]
    equations = (*about.EXACT, *about.FREE, *about.FALLING)
    _lines(left, rows, equations, about.EXACT)
    controls = style.controls(rows)
    colors = dict(zip((*about.FREE, *about.FALLING), sns.color_palette("dark", 6), strict=True))
    for equation in (*about.FREE, *about.FALLING):
        found = rows[rows["quantity"] == f"rmt/{equation}"]
        for arm, dashes in (("corrected", "-"), ("claim", ":"), *((arm, "") for arm in controls)):
            one = found[(found["arm"] == arm) & (found["x"] > 0)]
            if one.empty:
                continue
            size = one.groupby("x")["value"].apply(lambda value: np.sqrt((value**2).mean()))
            if dashes:
                label = equation if dashes == "-" else "_"
                right.plot(size.index, size, color=colors[equation], linestyle=dashes, label=label)
            else:
                label = "_" if arm in right.get_legend_handles_labels()[1] else arm
                mark = "X" if arm == controls[0] else "P"
                right.plot(size.index, size, color=style.CONTROL, marker=mark, markersize=4, lw=0.8, label=label)
    sizes = np.array(sorted(rows["x"].unique())[1:])
    right.plot(sizes, 20 / sizes, color=style.GUIDE, linestyle="--", label="slope −1")
    right.set(xscale="log", yscale="log", xlabel="size", ylabel="root mean square error")
    right.set_xticks(sizes, [f"{x:g}" for x in sizes])
    right.minorticks_off()
    lines, names = right.get_legend_handles_labels()
    order = sorted(range(len(names)), key=lambda at: names[at] in controls)
    figure.legend(
        [lines[at] for at in order],
        [names[at] for at in order],
        fontsize=7,
        ncols=4,
        loc="outside lower left",
        title="solid: as derived, dotted: as printed",
        title_fontsize=7,
    )
    return figure


def _lines(axes: Axes, rows: pd.DataFrame, equations: tuple[str, ...], exact: tuple[str, ...]) -> None:
    for at, equation in enumerate(equations):
        found = rows[rows["quantity"] == f"rmt/{equation}"]
        for arm, (label, color, mark) in ARMS.items():
            one = found[found["arm"] == arm]
            if equation in exact:
                size = one.loc[one["dtype"] == "float64", "value"].max()
            else:
                size = abs(one.loc[one["x"] == one["x"].max(), "value"].mean())
            axes.plot(max(size, ROUND_OFF * 1e-6), at, mark, color=color, alpha=0.8, label=label if not at else "_",
                      markersize=7 if arm == "claim" else 4)  # fmt: skip
    axes.axvline(8 * ROUND_OFF, color=style.GUIDE, linestyle="--", linewidth=1, label="8 u")
    axes.set_yticks(range(len(equations)), equations)
    axes.invert_yaxis()
    axes.grid(axis="y", linewidth=0.4)
    axes.set(
        xscale="log", xlabel="exact: residual over its scale, the largest\nothers: |mean error| at the largest size"
    )
    axes.legend(fontsize=7, loc="lower right", frameon=True)
