"""Lazy: the features stay, and with them the linear predictor that the network chases. Rich: they move.

Lazy is the widest network of A.fig8, rich the narrowest: the rich one's features move further, relative to their norm,
and so does its y_OLS; the lazy one's features are effectively fixed, moving by less than a tenth of their norm.
"""

from dataclasses import replace
from types import ModuleType

import pandas as pd
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rules import Finding, Rows, by_number, every, positive

ID = "A.fig3"
KIND = "statistical"
TITLE = "Lazy: a fixed target; rich: a moving one"
PRINTED = "a drawing, Figure 3: “effectively fixed” features; “a moving target”"
CORRECTION = "Outputs divided by the root of the width, as for A.fig8."
QUANTITIES = ("movement/target", "movement/features")


def rule(rows: Rows) -> Finding:
    """Per seed, after training: narrowest minus widest, and how far the widest one's features have moved."""
    _, target = by_number(rows.where(quantity="movement/target"))
    _, features = by_number(rows.where(quantity="movement/features"))
    found = every(
        rich_target_moves_more=positive(target[:, 0, -1] - target[:, -1, -1], "movement of y_OLS, rich minus lazy"),
        rich_features_move_more=positive(features[:, 0, -1] - features[:, -1, -1], "movement of H, rich minus lazy"),
        lazy_features_stay=positive(0.1 - features[:, -1, -1], "0.1 minus the movement of the lazy one's H"),
    )
    ends = (features.mean(0)[0, -1], features.mean(0)[-1, -1])
    return replace(found, measured=f"features move by {ends[0]:.2f} (rich), {ends[1]:.2f} (lazy) of their norm")


PATHS = {"f": (style.CLAIM, "o", "network fₜ"), "ols": (style.OTHER, "s", "linear predictor f_OLS,ₜ")}


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw the widest network at the left, the narrowest at the right, seed 0's; and beside them both movements."""
    shown = "corrected" if "corrected" in set(rows["arm"]) else "claim"
    cases = sorted(rows["case"].unique(), key=lambda case: float(case.rpartition("=")[2]))
    figure, grid = style.panels(claim, columns=3, height=3.2, width=7.6)
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
