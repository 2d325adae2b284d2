"""A, Figure 8: the three distances between target, network and best linear predictor along training, by width."""

import pandas as pd
from matplotlib.figure import Figure

from tasks.figures import style

LINES = {
    "target/distance": (style.CLAIM, "‖y − y_OLS‖"),
    "target/chase": ("#e69f00", "‖ŷ − y_OLS‖"),
    "target/error": (style.OTHER, "‖y − ŷ‖"),
}


def draw(rows: pd.DataFrame, key: str) -> Figure:
    """Draw a panel for each width as in the paper: corrected solid, printed dotted; the control in the narrowest's."""
    cases = sorted(rows["case"].unique(), key=lambda case: float(case.rpartition("=")[2]))
    figure, grid = style.panels(key, columns=len(cases), height=3.4, width=7.6)
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
