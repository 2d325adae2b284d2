"""B, Figures 4 and 5: one quantity of both layers along training, a row of panels for each spectrum of the data."""

from types import ModuleType

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from tasks.drawing import style

LABELS = {"double_over_centered": "double-centered / centered", "nfa/ptk_centered": "PTK-centered NFA"}


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw a column a layer, lines by the first layer's scale; what is dashed or dotted is clipped at the top.

    Solid with bands is the corrected reading of the scales, under which gradient descent is stable.
    """
    quantity = claim.QUANTITIES[0]
    rows = style.thinned(rows[rows["quantity"] == quantity], 20, power=2)
    figure, grid = style.panels(claim, columns=2, rows=len(claim.CASES), height=0.9 + 2.1 * len(claim.CASES), width=7.0)
    scales = sorted(rows["x"].unique(), reverse=True)
    for line, case in zip(grid, claim.CASES, strict=True):
        for axes, (number, layer) in zip(line, enumerate(("0", "2"), 1), strict=True):
            found = rows[(rows["case"] == case) & (rows["layer"] == layer)]
            for scale, color in zip(scales, sns.color_palette("viridis", len(scales)), strict=True):
                one = found[found["x"] == scale]
                style.band(axes, one[one["arm"] == "corrected"], "step", color, linewidth=1.4, label=f"s₀ = {scale:g}")
                for arm, dashes in (("claim", "--"), *((arm, ":") for arm in style.controls(rows))):
                    means = one[one["arm"] == arm].groupby("step")["value"].mean()
                    axes.plot(means.index, means, color=color, linestyle=dashes, linewidth=1)
            axes.set(ylim=(0, 1.2 if quantity == "double_over_centered" else 1.02), title=f"layer {number}, {case}")
        line[0].set_ylabel(LABELS[quantity])
    for axes in grid[-1]:
        axes.set_xlabel("step")
    for arm, dashes in (("claim", "--"), *((arm, ":") for arm in style.controls(rows))):
        label = "as printed: variances s₀/k" if arm == "claim" else arm
        grid[0, 0].plot([], [], color=style.GUIDE, linestyle=dashes, linewidth=1, label=label)
    handles, names = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower left", ncols=3, fontsize=7, title_fontsize=7,
                  title="variances s₀/(3k): mean and Student's 95 % interval over "
                  f"{rows['seed'].nunique()} seeds")  # fmt: skip
    return figure
