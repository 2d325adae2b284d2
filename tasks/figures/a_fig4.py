"""A, Figures 4 and 9: surrogate and Target Linearity of each layer through training, with the accuracies."""

import pandas as pd
from matplotlib.figure import Figure

from tasks.figures import style

PANELS = {"surrogate": "surrogate tr(YᵀGY)", "target_linearity": "target linearity (λ = 0)"}


def draw(rows: pd.DataFrame, key: str) -> Figure:
    """Draw both quantities against the epoch as in the paper: layers from yellow to dark purple."""
    claim = rows[rows["arm"] == "claim"]
    figure, grid = style.panels(key, columns=2, height=3.4, width=7.6)
    seeds = claim["seed"].nunique()
    for axes, (quantity, label) in zip(grid[0], PANELS.items(), strict=True):
        style.layers(axes, claim[claim["quantity"] == quantity])
        for arm in style.controls(rows):
            one = rows[(rows["arm"] == arm) & (rows["quantity"] == quantity)]
            for layer in sorted(one["layer"].unique())[-1:]:
                style.band(axes, one[one["layer"] == layer], "x", style.CONTROL, linestyle=":", marker="X",
                           markersize=3, label=f"layer {layer}, {arm}")  # fmt: skip
        axes.set(xlabel="epoch", ylabel=label)
        style.accuracies(axes, claim)
    if key == "a_fig4":  # for Adam the text has no number
        grid[0, 1].axhline(0.5, color=style.PRINTED, linewidth=0.8, linestyle="-.", label="paper's layer 4: above")
    grid[0, 0].set_yscale("log")
    grid[0, 1].set_ylim(top=1)
    lines, names = grid[0, 1].get_legend_handles_labels()
    figure.legend(lines, names, loc="outside lower left", ncols=3, fontsize=7,
                  title=f"mean and Student's 95 % interval over {seeds} seeds", title_fontsize=7)  # fmt: skip
    return figure
