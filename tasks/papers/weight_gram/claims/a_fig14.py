"""As grokking begins, with a weight decay of at least 0.25, the gap of Target Linearity between layers 2 and 3 falls.

Layer 3 is the last one, and the gap is its Target Linearity minus that of layer 2. Grokking begins after the last
measured epoch with a test accuracy below 0.25 and ends at the first with 0.9. A network that generalises when it
memorises, at a training accuracy of 0.99, does not grok. The control has no weight decay, and none of its networks
groks; its statistic is the fall of the gap from memorisation to the end of training.
"""

from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding
from tasks.judging.statistics import curves
from tasks.papers.weight_gram.claims.shared.grokking import QUANTITIES as QUANTITIES
from tasks.papers.weight_gram.claims.shared.grokking import draw_by_weight_decay, rises_until_grokking

ID = "A.fig14"
KIND = "statistical"
TITLE = "The gap of Target Linearity between the last two layers falls as grokking begins"
PRINTED = "“a similar decreasing pattern at the onset of grokking”, Figure 14"


def rule(rows: Rows) -> Finding:
    """For every weight decay, per seed: the gap at the onset minus when grokked."""

    def minus_gap(selected: Rows) -> np.ndarray:
        T = curves(selected.where(quantity="target_linearity"), "seed", "layer")
        return T[:, -2] - T[:, -1]

    return rises_until_grokking(rows, minus_gap, "onset", "fall of the gap")


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw the gap of Target Linearity and that of the accuracies against the epoch, as in the paper."""
    rows = style.thinned(rows)
    index = ["arm", "case", "seed", "x"]
    accuracy = rows.pivot_table(index=index, columns="quantity", values="value")
    accuracy_gap = (accuracy["train_accuracy"] - accuracy["test_accuracy"]).rename("value").reset_index()
    linearity = rows[rows["quantity"] == "target_linearity"].pivot_table(index=index, columns="layer", values="value")
    before, last = linearity.columns[-2:]
    gap = (linearity[last] - linearity[before]).rename("value").reset_index()
    lowest, highest = min(0, gap["value"].min()), gap["value"].max()

    def draw_panel(axes: Axes, case: str) -> None:
        style.band(axes, gap[gap["case"] == case], "x", style.CLAIM, label=f"TL of layer {last} − TL of layer {before}")
        right = axes.twinx()
        style.band(right, accuracy_gap[accuracy_gap["case"] == case], "x", style.OTHER, linestyle="--")
        right.set_ylim(-0.05, 1.05)
        right.spines["right"].set_visible(True)
        axes.plot([], [], color=style.OTHER, linestyle="--", label="training − test accuracy (right)")
        axes.set_ylim(lowest, 1.05 * highest)

    return draw_by_weight_decay(rows, claim, draw_panel, "gap of target linearity", 2)
