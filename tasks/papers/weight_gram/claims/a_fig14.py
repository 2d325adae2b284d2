"""As grokking begins, with a weight decay of at least 0.25, the gap of Target Linearity between layers 2 and 3 falls.

Layer 3 is the last one and the gap its Target Linearity minus the second's. Grokking begins after the last measured
epoch with a test accuracy below 0.25, and is over at the first with 0.9. A network that generalises as it memorises,
with a training accuracy of 0.99, does not grok; nor does one without weight decay, the control, whose statistic is the
fall from memorisation to the end of training.
"""

from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rules import Finding, Rows, curves
from tasks.papers.weight_gram.claims.shared.rules import while_grokking

ID = "A.fig14"
KIND = "statistical"
TITLE = "The gap of Target Linearity between the last two layers falls as grokking begins"
PRINTED = "“a similar decreasing pattern at the onset of grokking”, Figure 14"
QUANTITIES = ("target_linearity", "train_accuracy", "test_accuracy")


def rule(rows: Rows) -> Finding:
    """For every weight decay, per seed: the gap at the onset minus when grokked."""

    def minus_gap(one: Rows) -> np.ndarray:
        T = curves(one.where(quantity="target_linearity"), "seed", "layer")
        return T[:, -2] - T[:, -1]

    return while_grokking(rows, minus_gap, "onset", "fall of the gap")


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw a panel for each weight decay as in the paper; the one without is the control."""
    rows = style.thinned(rows)
    by = ["arm", "case", "seed", "x"]
    accuracy = rows.pivot_table(index=by, columns="quantity", values="value")
    error = (accuracy["train_accuracy"] - accuracy["test_accuracy"]).rename("value").reset_index()
    found = rows[rows["quantity"] == "target_linearity"].pivot_table(index=by, columns="layer", values="value")
    before, last = found.columns[-2:]
    gap = (found[last] - found[before]).rename("value").reset_index()
    cases = sorted(rows["case"].unique(), key=lambda case: float(case.rpartition("=")[2]))
    figure, grid = style.panels(claim, columns=-(-len(cases) // 2), rows=2, height=4.8, width=7.6)
    low, high = min(0, gap["value"].min()), gap["value"].max()
    for axes, case in zip(grid.flat, cases, strict=False):
        one = gap[gap["case"] == case]
        control = one["arm"].iloc[0].startswith("control")
        style.band(axes, one, "x", style.CLAIM, label=f"TL of layer {last} − TL of layer {before}")
        twin = axes.twinx()
        style.band(twin, error[error["case"] == case], "x", style.OTHER, linestyle="--")
        twin.set_ylim(-0.05, 1.05)
        twin.spines["right"].set_visible(True)
        axes.plot([], [], color=style.OTHER, linestyle="--", label="training − test accuracy (right)")
        axes.set_ylim(low, 1.05 * high)
        axes.set_title(f"λ = {case.rpartition('=')[2]}" + (" (control)" if control else ""),
                       color=style.CONTROL if control else style.PRINTED)  # fmt: skip
    for axes in grid[:, 0]:
        axes.set_ylabel("gap of target linearity")
    for axes in grid[-1]:
        axes.set_xlabel("epoch")
    lines, names = grid[0, 0].get_legend_handles_labels()
    figure.legend(lines, names, loc="outside lower left", ncols=2, fontsize=7, title_fontsize=7,
                  title=f"mean and Student's 95 % interval over {rows['seed'].nunique()} seeds")  # fmt: skip
    return figure
