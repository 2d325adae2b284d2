"""As grokking emerges, with a weight decay of at least 0.25, the gap of Target Linearity of layers 2 and 3 narrows.

Layer 3 is the last one, and the gap is its Target Linearity minus that of layer 2. It is followed from memorisation,
the first training accuracy of 0.99, until the test accuracy is 0.9, or to the end of training.
"""

from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, positive, trend
from tasks.judging.statement import Control, Statement
from tasks.judging.statistics import curves
from tasks.papers.weight_gram.claims.shared import grokking
from tasks.papers.weight_gram.claims.shared.grokking import draw_by_weight_decay, in_words

ID = "A.fig14"
KIND = "statistical"
TITLE = "The gap of Target Linearity between the last two layers falls as grokking begins"
PRINTED = "“a similar decreasing pattern at the onset of grokking”, Figure 14"
MATH = (
    r"\mathcal{T}_0(H_3^t, Y) - \mathcal{T}_0(H_2^t, Y) \text{ falls for } t \ge t_{\text{memorised}}, "
    r"\quad \lambda \ge 0.25"
)
HYPOTHESES = (grokking.GROKKING,)


def narrows(rows: Rows) -> Finding:
    """The gap of Target Linearity falls from memorisation until the network has grokked."""
    parts, texts = {}, []
    for case, networks in grokking.networks(rows).items():
        gaps = _windows(_gap(rows, case), networks)
        parts[case] = trend(-gaps, "minus the gap of TL from memorisation until the network has grokked")
        texts.append(f"{in_words(case)}: the gap goes from {gaps[:, 0].mean():.3f} to {gaps[:, -1].mean():.3f}")
    return replace(all_of(**parts), measured="; ".join(texts))


def similar(rows: Rows) -> Finding:
    """In that time the gap of Target Linearity falls as the generalisation error does."""
    parts = {}
    for case, networks in grokking.networks(rows).items():
        train, test = (
            _windows(curves(rows.where(case=case, quantity=f"{part}_accuracy"), "seed"), networks)
            for part in ("train", "test")
        )
        order = np.argsort(test - train, axis=1, kind="stable")  # from the largest generalisation error to the smallest
        gaps = np.take_along_axis(_windows(_gap(rows, case), networks), order, axis=1)
        parts[case] = trend(-gaps, "minus the gap of TL with the falling generalisation error")
    return all_of(**parts)


def widens(rows: Rows) -> Finding:
    """From the epoch at which the network has grokked to the end of training the gap of Target Linearity grows."""
    parts = {}
    for case, networks in grokking.networks(rows).items():
        gaps = _gap(rows, case)
        grokked = [values[each.grokked] for values, each in zip(gaps, networks, strict=True)]
        parts[case] = positive(gaps[:, -1] - np.array(grokked), "gap at the end of training minus when grokked")
    return all_of(**parts)


def _gap(rows: Rows, case: str) -> np.ndarray:
    """The last layer's Target Linearity minus the last but one's, (seeds, epochs)."""
    T = curves(rows.where(case=case, quantity="target_linearity"), "seed", "layer")
    return T[:, -1] - T[:, -2]


def _windows(series: np.ndarray, networks: list[grokking.Times]) -> np.ndarray:
    """The part of each seed's series from memorisation until the network has grokked."""
    return grokking.windows(series, [each.memorised for each in networks], [each.grokked for each in networks])


CONTROLS = {
    "shuffled labels": Control(
        scales=("quick",),  # the paper's table is older than this control
        shares=("test_accuracy", "train_accuracy"),
        because="It measures the claim's networks, and so their accuracies, beside shuffled labels.",
    ),
}
STATEMENTS = (
    Statement(
        name="the gap narrows",
        quote="the gap between the second and last layers (Layer 3) narrows",
        place="Appendix B.8",
        rule=narrows,
        reads=grokking.READS,
        rows=60,
    ),
    Statement(
        name="as the generalisation error does",
        quote="it exhibits a similar decreasing pattern at the onset of grokking",
        place="Appendix B.8",
        rule=similar,
        reads=grokking.READS,
        rows=60,
    ),
    Statement(
        name="widens again",
        quote="it widens again after generalization in the … case",
        place="Appendix B.8",
        rule=widens,
        reads=grokking.READS,
        printed="for λ = 0.75",
        data_sets=("weight_decay=0.75",),
        rows=60,
    ),
)


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw the gap of Target Linearity and that of the accuracies against the epoch, as in the paper."""
    rows = style.thinned(rows[rows["arm"] != "control: shuffled labels"])
    index = ["arm", "case", "seed", "x"]
    accuracy = rows.pivot_table(index=index, columns="quantity", values="value")
    accuracy_gap = (accuracy["train_accuracy"] - accuracy["test_accuracy"]).rename("value").reset_index()
    linearity = rows[rows["quantity"] == "target_linearity"].pivot_table(index=index, columns="layer", values="value")
    before, last = linearity.columns[-2:]
    gap = (linearity[last] - linearity[before]).rename("value").reset_index()
    lowest, highest = min(0, gap["value"].min()), gap["value"].max()

    def draw_panel(axes: Axes, case: str) -> None:
        style.seeds(axes, gap[gap["case"] == case], "x", style.COLORS["Target Linearity"],
                    label=f"TL of layer {last} − TL of layer {before}")  # fmt: skip
        right = axes.twinx()
        color = style.COLORS["accuracy gap"]
        style.seeds(right, accuracy_gap[accuracy_gap["case"] == case], "x", color, linestyle="--")
        right.set(ylim=(-0.05, 1.05), ylabel="gap of accuracies")
        right.spines["right"].set_visible(True)
        axes.plot([], [], color=color, linestyle="--", label="training − test accuracy (right axis)")
        axes.set_ylim(lowest, 1.05 * highest)

    return draw_by_weight_decay(rows, claim, draw_panel, "gap of Target Linearity", 2)
