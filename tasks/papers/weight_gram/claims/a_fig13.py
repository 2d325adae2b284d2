"""In grokking with a weight decay of at least 0.25 the last layer's Target Linearity still rises after memorisation.

It rises until the network groks. A network has memorised at the first measured epoch with a training accuracy of 0.99.
It groks if it does not generalise yet by then, with a test accuracy below 0.25, and reaches 0.9 later. Without weight
decay, the control, no network groks; how much its Target Linearity rises all the same, from memorisation to the end of
training, is the control's statistic.
"""

from types import ModuleType

import pandas as pd
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rules import Finding, Rows, curves
from tasks.papers.weight_gram.claims.shared.rules import while_grokking

ID = "A.fig13"
KIND = "statistical"
TITLE = "Target Linearity rises from memorisation until grokking"
PRINTED = "“for λ ≥ 0.25, TL continues to increase even after memorization”, Figure 13"
QUANTITIES = ("target_linearity", "train_accuracy", "test_accuracy")


def rule(rows: Rows) -> Finding:
    """For every weight decay, per seed: Target Linearity when grokked minus when memorised."""
    last = max(rows.layer)
    return while_grokking(
        rows,
        lambda one: curves(one.where(layer=last, quantity="target_linearity"), "seed"),
        "memorisation",
        "rise of TL",
    )


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw the panels as in the paper; the one without weight decay is the control."""
    cases = sorted(rows["case"].unique(), key=lambda case: float(case.rpartition("=")[2]))
    columns = -(-len(cases) // 2)
    figure, grid = style.panels(claim, columns=columns, rows=2, height=4.8, width=7.6)
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
