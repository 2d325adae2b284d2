"""In grokking with a weight decay of at least 0.25, the last layer's Target Linearity still rises after memorisation.

It rises until the network groks. A network has memorised at the first measured epoch with a training accuracy of 0.99.
It groks if its test accuracy is below 0.25 by then and reaches 0.9 later. The control has no weight decay, and none of
its networks groks; its statistic is the rise of Target Linearity from memorisation to the end of training.
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

ID = "A.fig13"
KIND = "statistical"
TITLE = "Target Linearity rises from memorisation until grokking"
PRINTED = "“for λ ≥ 0.25, TL continues to increase even after memorization”, Figure 13"


def rule(rows: Rows) -> Finding:
    """For every weight decay, per seed: the last layer's Target Linearity when grokked minus when memorised."""
    last = max(rows.layer)

    def linearity(selected: Rows) -> np.ndarray:
        return curves(selected.where(layer=last, quantity="target_linearity"), "seed")

    return rises_until_grokking(rows, linearity, "memorisation", "rise of TL")


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw Target Linearity by layer and the accuracies against the epoch, as in the paper."""
    highest = rows["value"][rows["quantity"] == "target_linearity"].max()

    def draw_panel(axes: Axes, case: str) -> None:
        panel = style.thinned(rows[rows["case"] == case])
        style.layers(axes, panel[panel["quantity"] == "target_linearity"])
        axes.set_ylim(0, 1.05 * highest)
        rightmost = axes.get_subplotspec().is_last_col()  # type: ignore[union-attr]
        style.accuracies(axes, panel, label="accuracy" if rightmost else "")

    return draw_by_weight_decay(rows, claim, draw_panel, "target linearity", 5)
