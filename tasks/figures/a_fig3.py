"""A, Figure 3, drawn from data: paths of the network and of its moving target in a plane, lazy and rich."""

import pandas as pd
from matplotlib.figure import Figure

from tasks.figures import style

PATHS = {"f": (style.CLAIM, "o", "network fₜ"), "ols": (style.OTHER, "s", "linear predictor f_OLS,ₜ")}


def draw(rows: pd.DataFrame, key: str) -> Figure:
    """Draw the widest network at the left, the narrowest at the right, seed 0's; and beside them both movements."""
    shown = "corrected" if "corrected" in set(rows["arm"]) else "claim"
    cases = sorted(rows["case"].unique(), key=lambda case: float(case.rpartition("=")[2]))
    figure, grid = style.panels(key, columns=3, height=3.2, width=7.6)
    for axes, case, regime in zip(grid[0], (cases[-1], cases[0]), ("lazy", "rich"), strict=False):
        one = rows[(rows["case"] == case) & (rows["arm"] == shown) & rows["quantity"].str.startswith("plane/")]
        path = one.pivot_table(index="x", columns="quantity", values="value")
        for name, (color, marker, label) in PATHS.items():
            axes.plot(path[f"plane/{name}/0"], path[f"plane/{name}/1"], color=color, marker=marker, markersize=3,
                      linewidth=1, label=label)  # fmt: skip
            axes.plot(*path[[f"plane/{name}/0", f"plane/{name}/1"]].iloc[0], marker=marker, markersize=8, color=color,
                      fillstyle="none")  # fmt: skip
        axes.plot(1, 0, "*", color=style.PRINTED, markersize=10, label="target y")
        axes.set(title=f"{regime}: width {case.rpartition('=')[2]}", xlabel="along y")
    grid[0, 0].set_ylabel("across y")
    moved = rows[(rows["step"] == rows["step"].max()) & rows["quantity"].str.startswith("movement/")]
    moved = moved.assign(width=moved["case"].str.removeprefix("width=").astype(float))
    axes = grid[0, 2]
    for quantity, dashes, label in (("movement/features", "-", "H"), ("movement/target", "--", "f_OLS")):
        for arm, color in ((shown, style.CLAIM), *((one, style.CONTROL) for one in style.controls(rows))):
            found = moved[(moved["arm"] == arm) & (moved["quantity"] == quantity)]
            name = label if arm == shown else f"{label}, {arm}"
            style.band(axes, found, "width", color, linestyle=dashes, marker=style.MARKS[arm.partition(":")[0]]
                       if arm != shown else "o", markersize=4, label=name)  # fmt: skip
    axes.set(xscale="log", xlabel="width", ylabel="relative movement")
    lines, names = grid[0, 0].get_legend_handles_labels()
    more = axes.get_legend_handles_labels()
    figure.legend(lines + more[0], names + more[1], loc="outside lower left", ncols=3, fontsize=7, title_fontsize=7,
                  title=f"paths: seed 0, hollow at first; movements: {rows['seed'].nunique()} seeds")  # fmt: skip
    return figure
