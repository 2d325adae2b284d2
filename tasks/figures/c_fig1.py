"""C, Figure 1: accuracies and the features' mass on the support against the iteration, and the learned features."""

import pandas as pd
from matplotlib.figure import Figure

from tasks.figures import style

LINES = {"train accuracy": (style.OTHER, "--"), "accuracy": (style.CLAIM, "-"), "mass": (style.PRINTED, "-.")}
NAMES = {"train accuracy": "training accuracy", "accuracy": "test accuracy", "mass": "mass on the support"}


def draw(rows: pd.DataFrame, key: str) -> Figure:
    """Draw the claim's and the control's curves as in the paper, and one seed's features at the chosen iterate."""
    figure, grid = style.panels(key, columns=3, height=3.3, width=9.0)
    seeds = rows["seed"].nunique()
    for axes, arm in zip(grid[0], ["claim", *style.controls(rows)], strict=False):
        for what, (color, dashes) in LINES.items():
            one = rows[(rows["arm"] == arm) & (rows["quantity"] == f"transition/{what}")]
            style.band(axes, one, "x", color, linestyle=dashes, label=NAMES[what])
        axes.set(xlabel="iteration", ylim=(0, 1.02), title="FACT-RFM" if arm == "claim" else arm)
    one = rows[(rows["arm"] == "claim") & (rows["quantity"] == "transition/feature")]
    style.image(grid[0, 2], one, "M at the chosen iteration\n(first seed, support first)")
    lines, names = grid[0, 0].get_legend_handles_labels()
    figure.legend(lines, names, loc="outside lower left", ncols=3, fontsize=7,
                  title=f"mean and Student's 95 % interval over {seeds} seeds", title_fontsize=7)  # fmt: skip
    return figure
