"""In the rich regime, the two narrowest widths, the best linear predictor y_OLS on the features moves towards y.

In the lazy one, the widest, ||y - y_OLS|| stays near zero and only the network moves, towards y_OLS. The rich regime
ends closer to the target. Throughout, ||y - f|| <= ||f - y_OLS|| + ||y_OLS - y||.
"""

from dataclasses import replace
from types import ModuleType

import pandas as pd
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rules import Finding, Rows, bound, by_number, every, positive

ID = "A.fig8"
KIND = "statistical"
TITLE = "Narrow networks chase a moving linear predictor, wide ones a fixed one"
PRINTED = "y_OLS shifts substantially at widths 32, 128; ‖y − y_OLS‖ flat near zero at 1024; Figure 8"
CORRECTION = (
    "The network's outputs are divided by the root of its width, as in the authors' code: with the printed standard "
    "parametrization a wider network takes larger steps, not smaller ones."
)
QUANTITIES = ("target/distance", "target/chase", "target/error", "target/triangle ratio")
SHARE = 0.1  # of ||y||: more is a substantial shift, less is near zero


def rule(rows: Rows) -> Finding:
    """Per seed, all over ||y||; a shift of more than a tenth is substantial, a distance of less near zero."""
    _, distance = by_number(rows.where(quantity="target/distance"))
    _, chase = by_number(rows.where(quantity="target/chase"))
    _, error = by_number(rows.where(quantity="target/error"))
    shift = (distance[:, :2, 0] - distance[:, :2, -1]).min(1)
    found = every(
        narrow_target_moves=positive(shift - SHARE, "fall of ||y - y_OLS|| at the two narrowest widths minus 0.1"),
        wide_target_stays=positive(SHARE - distance[:, -1].max(1), "0.1 minus largest ||y - y_OLS|| at the widest"),
        wide_network_moves=positive(chase[:, -1, 0] - chase[:, -1, -1], "fall of ||f - y_OLS|| at the widest"),
        narrow_ends_closer=positive(error[:, -1, -1] - error[:, :2, -1].max(1), "final error, widest minus narrow"),
        triangle=bound(rows.where(quantity="target/triangle ratio")),
    )
    ends = [f"{one[0]:.2f} → {one[-1]:.2f}" for one in (distance.mean(0)[0], distance.mean(0)[-1])]
    return replace(found, measured=f"‖y − y_OLS‖/‖y‖ {ends[0]} (narrowest), {ends[1]} (widest)")


LINES = {
    "target/distance": (style.CLAIM, "‖y − y_OLS‖"),
    "target/chase": ("#e69f00", "‖ŷ − y_OLS‖"),
    "target/error": (style.OTHER, "‖y − ŷ‖"),
}


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw a panel for each width as in the paper: corrected solid, printed dotted; the control in the narrowest's."""
    cases = sorted(rows["case"].unique(), key=lambda case: float(case.rpartition("=")[2]))
    figure, grid = style.panels(claim, columns=len(cases), height=3.4, width=7.6)
    arms = {"corrected": "-", "claim": ":"}
    for axes, case in zip(grid[0], cases, strict=True):
        one = style.thinned(rows[rows["case"] == case])
        for arm, dashes in arms.items():
            for quantity, (color, label) in LINES.items():
                found = one[(one["arm"] == arm) & (one["quantity"] == quantity)]
                name = label if arm == "corrected" else f"{label}, printed"
                style.band(axes, found, "x", color, linestyle=dashes, label=name)
        if case == cases[0]:
            for arm, dashes in zip(style.controls(rows), ("--", "-.", ":"), strict=False):
                found = one[(one["arm"] == arm) & (one["quantity"] == "target/distance")]
                style.band(axes, found, "x", style.CONTROL, linestyle=dashes, label=f"‖y − y_OLS‖, {arm}")
        axes.set(title=f"width {case.rpartition('=')[2]}", xlabel="epoch", ylim=(0, 1.3))
    grid[0, 0].set_ylabel("distance / ‖y‖")
    handles, names = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower left", ncols=3, fontsize=7, title_fontsize=7,
                  title=f"mean and Student's 95 % interval over {rows['seed'].nunique()} seeds")  # fmt: skip
    return figure
