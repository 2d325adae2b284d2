"""C, Figure 6: accuracies and circulancy against the iteration, and the last features, of both updates."""

import pandas as pd
from matplotlib.figure import Figure

from tasks.figures import style

LINES = {"train accuracy": (style.OTHER, "--"), "accuracy": (style.CLAIM, "-"), "circulancy": (style.PRINTED, "-.")}
NAMES = {"train accuracy": "training accuracy", "accuracy": "test accuracy", "circulancy": "circulant share"}
DOTS = {"control: no feature learning": ("accuracy", ":"), "control: numbers relabelled": ("circulancy", "-.")}


def draw(rows: pd.DataFrame, key: str) -> Figure:
    """Draw a column for each update: the curves, with the controls', and under them the first seed's features."""
    cases = sorted(rows["case"].unique())
    figure, grid = style.panels(key, columns=len(cases), rows=2, height=6.6, width=3.6 * len(cases))
    for column, case in enumerate(cases):
        one, axes = rows[rows["case"] == case], grid[0, column]
        for what, (color, dashes) in LINES.items():
            line = one[(one["arm"] == "claim") & (one["quantity"] == f"modular/{what}")]
            style.band(axes, line, "x", color, linestyle=dashes, label=NAMES[what])
        for arm, (what, dashes) in DOTS.items():
            line = one[(one["arm"] == arm) & (one["quantity"] == f"modular/{what}")]
            style.band(axes, line, "x", style.CONTROL, linestyle=dashes, label=f"{NAMES[what]}, {arm}")
        axes.set(title=case, xlabel="iteration", ylim=(-0.02, 1.02))
        features = one[(one["arm"] == "claim") & (one["quantity"] == "modular/feature")]
        style.image(grid[1, column], features, "M at the last iteration (first seed)")
    title = f"mean and Student's 95 % interval over {rows['seed'].nunique()} seeds"
    figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=7, title=title)
    return figure
