"""A, Figure 13: Target Linearity of each layer and the accuracies in grokking, a panel for each weight decay."""

import pandas as pd
from matplotlib.figure import Figure

from tasks.figures import style


def draw(rows: pd.DataFrame, key: str) -> Figure:
    """Draw the panels as in the paper; the one without weight decay is the control."""
    cases = sorted(rows["case"].unique(), key=lambda case: float(case.rpartition("=")[2]))
    columns = -(-len(cases) // 2)
    figure, grid = style.panels(key, columns=columns, rows=2, height=4.8, width=7.6)
    top = rows["value"][rows["quantity"] == "target_linearity"].max()
    for axes, case in zip(grid.flat, cases, strict=False):
        one = style.thinned(rows[rows["case"] == case])
        control = one["arm"].iloc[0].startswith("control")
        style.layers(axes, one[one["quantity"] == "target_linearity"])
        axes.set_title(f"λ = {case.rpartition('=')[2]}" + (" (control)" if control else ""),
                       color=style.CONTROL if control else style.PRINTED)  # fmt: skip
        axes.set_ylim(0, 1.05 * top)
        style.accuracies(axes, one, label="accuracy" if axes in grid[:, -1] else "")
    for axes in grid[:, 0]:
        axes.set_ylabel("target linearity")
    for axes in grid[-1]:
        axes.set_xlabel("epoch")
    lines, names = grid[0, 0].get_legend_handles_labels()
    figure.legend(lines, names, loc="outside lower left", ncols=5, fontsize=7, title_fontsize=7,
                  title=f"mean and Student's 95 % interval over {rows['seed'].nunique()} seeds")  # fmt: skip
    return figure
