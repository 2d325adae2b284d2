"""A, Figures 2 and 6: test accuracy of gradient descent (dashed) and of the whitened update (solid), by rate."""

import pandas as pd
from matplotlib.figure import Figure

from tasks.figures import style


def draw(rows: pd.DataFrame, key: str) -> Figure:
    """Draw a panel for each learning rate: the two of the paper, and training with the removed part only."""
    rows = rows[rows["quantity"].str.endswith("test_accuracy")]
    cases = sorted(rows["case"].unique(), key=lambda case: float(case.rpartition("=")[2]))
    figure, grid = style.panels(key, columns=len(cases), height=3.2, width=7.6 if len(cases) > 1 else 5.5)
    lines = [("claim", "original/test_accuracy", style.OTHER, "--", "original"),
             ("claim", "whitened/test_accuracy", style.CLAIM, "-", "whitened")]  # fmt: skip
    lines += [(arm, "whitened/test_accuracy", style.CONTROL, ":", arm) for arm in style.controls(rows)]
    for axes, case in zip(grid[0], cases, strict=True):
        one = rows[rows["case"] == case]
        for arm, quantity, color, dashes, label in lines:
            found = one[(one["arm"] == arm) & (one["quantity"] == quantity)]
            if not found.empty:  # the control may be at some of the rates only
                style.band(axes, found, "x", color, linestyle=dashes, label=label)
        axes.set(title=f"learning rate {case.rpartition('=')[2]}", xlabel="epoch", ylim=(0, 1.02))
    grid[0, 0].set_ylabel("test accuracy")
    shown = {name: line for axes in grid[0] for line, name in zip(*axes.get_legend_handles_labels(), strict=True)}
    figure.legend([*shown.values()], [*shown], loc="outside lower left", ncols=2 + (len(cases) > 1), fontsize=7,
                  title=f"mean and Student's 95 % interval over {rows['seed'].nunique()} seeds",
                  title_fontsize=7)  # fmt: skip
    return figure
