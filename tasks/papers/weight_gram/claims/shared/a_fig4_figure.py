"""A, Figures 4 and 9: surrogate and Target Linearity of each layer through training, with the accuracies."""

from types import ModuleType

import pandas as pd
from matplotlib.figure import Figure

from tasks.drawing import style

PANELS = {"surrogate": "surrogate tr(YᵀGY)", "target_linearity": "target linearity (λ = 0)"}
LEVELS = {"CIFAR-10": "> 0.5", "CIFAR-100": "0.15"}  # of layer 4, in Figure 4; for Adam the text has no number


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw for each data set both quantities against the epoch as in the paper: layers from yellow to dark purple."""
    own_rows = rows[rows["arm"] == "claim"]
    sets = [data for data in LEVELS if data in set(rows["case"])]
    figure, grid = style.panels(claim, columns=2, rows=len(sets), height=0.9 + 2.5 * len(sets), width=7.6)
    for line, data in zip(grid, sets, strict=True):
        line[0].set_yscale("log")
        name = data if set(rows["scale"]) == {"paper"} else f"digits for {data}"
        own = rows[rows["case"] == data]
        for axes, (quantity, label) in zip(line, PANELS.items(), strict=True):
            style.layers(axes, own[(own["arm"] == "claim") & (own["quantity"] == quantity)])
            for arm in style.controls(own):
                one = own[(own["arm"] == arm) & (own["quantity"] == quantity)]
                for layer in sorted(one["layer"].unique())[-1:]:
                    style.band(axes, one[one["layer"] == layer], "x", style.CONTROL, linestyle=":", marker="X",
                               markersize=3, label=f"layer {layer}, {arm}")  # fmt: skip
            axes.set(xlabel="epoch", ylabel=label)
            style.accuracies(axes, own[own["arm"] == "claim"])
        if claim.ID == "A.fig4":
            level = float(LEVELS[data].removeprefix("> "))
            line[1].axhline(level, color=style.PRINTED, linewidth=0.8, linestyle="-.",
                            label=f"paper's layer 4: {', '.join(LEVELS[data] for data in sets)}")  # fmt: skip
        line[0].set_title(name, fontsize=9, loc="left")
        line[1].set_ylim(top=1)
    lines, names = grid[0, 1].get_legend_handles_labels()
    figure.legend(lines, names, loc="outside lower left", ncols=3, fontsize=7,
                  title=f"mean (surrogate: geometric) and Student's 95 % interval over "
                         f"{own_rows['seed'].nunique()} seeds",
                  title_fontsize=7)  # fmt: skip
    return figure
