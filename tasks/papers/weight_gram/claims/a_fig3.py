"""In the lazy regime features, and with them the linear predictor that the network chases, stay; in the rich they move.

Lazy is the widest network of A.fig8, rich the narrowest. The rich network's features move further relative to their
norm, and so does its y_OLS. The lazy network's features are effectively fixed: they move by less than a tenth of their
norm.
"""

from dataclasses import replace
from types import ModuleType

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, positive
from tasks.judging.statistics import by_number
from tasks.papers.weight_gram.claims.shared.figures import case_number, cases_by_number, legend_below

ID = "A.fig3"
KIND = "statistical"
TITLE = "Lazy: a fixed target; rich: a moving one"
PRINTED = "a drawing, Figure 3: “effectively fixed” features; “a moving target”"
CORRECTION = "Outputs divided by the root of the width, as for A.fig8."
QUANTITIES = ("movement/target", "movement/features")
FIXED = 0.1  # relative to the norm of the features; the threshold is ours
PATHS = {"f": (style.CLAIM, "o", "network fₜ"), "ols": (style.OTHER, "s", "linear predictor f_OLS,ₜ")}
MOVEMENTS = {"movement/features": ("-", "H"), "movement/target": ("--", "f_OLS")}


def rule(rows: Rows) -> Finding:
    """Per seed, after training: the narrowest network against the widest, and the movement of the widest's features."""
    _, target = by_number(rows.where(quantity="movement/target"))
    _, features = by_number(rows.where(quantity="movement/features"))
    finding = all_of(
        rich_target_moves_more=positive(target[:, 0, -1] - target[:, -1, -1], "movement of y_OLS, rich minus lazy"),
        rich_features_move_more=positive(features[:, 0, -1] - features[:, -1, -1], "movement of H, rich minus lazy"),
        lazy_features_stay=positive(FIXED - features[:, -1, -1], f"{FIXED:g} minus the movement of H, lazy"),
    )
    rich, *_, lazy = features.mean(0)[:, -1]
    return replace(finding, measured=f"features move by {rich:.2f} (rich), {lazy:.2f} (lazy) of their norm")


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw the paths of seed 0's widest and narrowest networks as in the paper, and beside them the movements."""
    form = "corrected" if "corrected" in set(rows["arm"]) else "claim"
    cases = cases_by_number(rows)
    figure, grid = style.panels(claim, columns=3, height=3.2, width=7.6)
    for axes, case, regime in zip(grid[0], (cases[-1], cases[0]), ("lazy", "rich"), strict=False):
        _draw_paths(axes, rows[(rows["case"] == case) & (rows["arm"] == form)])
        axes.set(title=f"{regime}: width {case_number(case):g}", xlabel="along y")
    grid[0, 0].set_ylabel("across y")
    _draw_movements(grid[0, 2], rows, form)
    legend_below(figure, [grid[0, 0], grid[0, 2]], 3,
                 f"paths: seed 0 (hollow: before training); movements: {rows['seed'].nunique()} seeds")  # fmt: skip
    return figure


def _draw_paths(axes: Axes, rows: pd.DataFrame) -> None:
    path = rows[rows["quantity"].str.startswith("plane/")].pivot_table(index="x", columns="quantity", values="value")
    for name, (color, marker, label) in PATHS.items():
        along, across = path[f"plane/{name}/0"], path[f"plane/{name}/1"]
        axes.plot(along, across, color=color, marker=marker, markersize=3, linewidth=1, label=label)
        axes.plot(along.iloc[0], across.iloc[0], marker=marker, markersize=8, color=color, fillstyle="none")
    axes.plot(1, 0, "*", color=style.PRINTED, markersize=10, label="target y")


def _draw_movements(axes: Axes, rows: pd.DataFrame, form: str) -> None:
    rows = rows[rows["step"] == rows["step"].max()].assign(width=lambda last: last["case"].map(case_number))
    for quantity, (dashes, label) in MOVEMENTS.items():
        movement = rows[rows["quantity"] == quantity]
        style.band(axes, movement[movement["arm"] == form], "width", style.CLAIM, linestyle=dashes,
                   marker=style.MARKS["claim"], markersize=4, label=label)  # fmt: skip
        for arm in style.controls(rows):
            style.band(axes, movement[movement["arm"] == arm], "width", style.CONTROL, linestyle=dashes,
                       marker=style.MARKS["control"], markersize=4, label=f"{label}, {arm}")  # fmt: skip
    axes.set(xscale="log", xlabel="width", ylabel="relative movement")
