"""As grokking emerges with a weight decay of at least 0.25, the gap in Target Linearity of layers 2 and 3 narrows.

Layer 3 is the last one, and the gap is its Target Linearity (TL) minus that of layer 2. The rules follow the gap from
memorisation (training accuracy 0.99) until the network has grokked (test accuracy 0.9), or to the end of training. In
that time TL of layer 2 rises sharply: more per epoch than afterwards. In the control without weight decay networks do
not grok, and TL of layer 2 ends higher than at memorisation there too. Each weight decay λ has its own statements.
"""

from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tasks.drawing import style
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, positive, trend_along
from tasks.judging.statistics import curves
from tasks.papers.weight_gram.claims.shared import grokking
from tasks.papers.weight_gram.claims.shared.grokking import draw_by_weight_decay, in_words

ID = "A.fig14"
KIND = "statistical"
TITLE = "The gap in Target Linearity between the last two layers narrows as grokking emerges"
PRINTED = "“a similar decreasing pattern at the onset of grokking”, Figure 14"
MATH = (
    r"\mathcal{T}_0(H_3^t, Y) - \mathcal{T}_0(H_2^t, Y) \text{ falls for } t_{\text{memorised}} \le t \le "
    r"t_{\text{grokked}}, \quad \lambda \ge 0.25"
)


def narrows(rows: Rows) -> Finding:
    """The gap of Target Linearity falls from memorisation until the network has grokked."""
    parts, texts = {}, []
    for case, networks in grokking.networks(rows).items():
        gaps = _windows(_gap(rows, case), networks)
        parts[case] = trend_along(-gaps, "the gap in TL falls from memorisation until the network has grokked")
        first, last = gaps[:, 0].mean(), gaps[:, -1].mean()
        texts.append(
            f"{in_words(case)}: the gap is {first:.3f} at memorisation and {last:.3f} once the network has grokked"
        )
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
        parts[case] = trend_along(-gaps, "the gap in TL falls as the generalisation error falls")
    return all_of(**parts)


def widens(rows: Rows) -> Finding:
    """From the epoch at which the network has grokked to the end of training the gap of Target Linearity grows."""
    parts = {}
    for case, networks in grokking.networks(rows).items():
        gaps = _gap(rows, case)
        grokked = [values[network.grokked] for values, network in zip(gaps, networks, strict=True)]
        parts[case] = positive(
            gaps[:, -1] - np.array(grokked), "gap in TL at the end of training minus that once the network has grokked"
        )
    return all_of(**parts)


def layer_2_rises_sharply(rows: Rows) -> Finding:
    """Layer 2's Target Linearity rises from memorisation until the network has grokked, faster than afterwards.

    For a network that never groks, the middle of the time after memorisation takes the place of that epoch.
    """
    parts, texts = {}, []
    for case, networks in grokking.networks(rows).items():
        T = curves(rows.where(case=case, quantity="target_linearity"), "seed", "layer")[:, -2]
        slopes = []
        for values, network in zip(T, networks, strict=True):
            end = len(values) - 1
            middle = network.grokked if network.grokked < end else (network.memorised + end) // 2
            slopes.append([(values[stop] - values[start]) / max(1, stop - start)
                           for start, stop in ((network.memorised, middle), (middle, end))])  # fmt: skip
        before, after = np.array(slopes).T
        parts[f"{case}, rise"] = trend_along(
            _windows(T, networks), "TL of layer 2 rises from memorisation until the network has grokked"
        )
        parts[f"{case}, sharp"] = positive(
            before - after,
            "rise of TL of layer 2 per measured epoch until the network has grokked minus that afterwards",
        )
        rises = [row[network.grokked] - row[network.memorised] for row, network in zip(T, networks, strict=True)]
        course = f"rises by {np.mean(rises):.3f} from memorisation until the network has grokked"
        texts.append(f"{in_words(case)}: TL of layer 2 {course}")
    return replace(all_of(**parts), measured="; ".join(texts))


def _gap(rows: Rows, case: str) -> np.ndarray:
    """The last layer's Target Linearity minus the last but one's, (seeds, epochs)."""
    T = curves(rows.where(case=case, quantity="target_linearity"), "seed", "layer")
    return T[:, -1] - T[:, -2]


def _windows(series: np.ndarray, networks: list[grokking.Times]) -> np.ndarray:
    """The part of each seed's series from memorisation until the network has grokked."""
    memorised, grokked = ([getattr(network, end) for network in networks] for end in ("memorised", "grokked"))
    return grokking.windows(series, memorised, grokked)


CONTROLS = grokking.CONTROLS
STATEMENTS = (
    *grokking.at_each_decay(
        "layer 2 rises sharply",
        "as grokking emerges, the TL of the second layer (Layer 2) increases sharply",
        layer_2_rises_sharply,
    ),
    *grokking.at_each_decay("the gap narrows", "the gap between the second and last layers (Layer 3) narrows", narrows),
    *grokking.at_each_decay(
        "as the generalisation error does", "it exhibits a similar decreasing pattern at the onset of grokking", similar
    ),
    *grokking.at_each_decay(
        "widens again",
        "it widens again after generalization in the λ = 0.75 case.",
        widens,
        decays=(0.75,),
        printed="for λ = 0.75",
    ),
)
HYPOTHESES = grokking.hypotheses(STATEMENTS)


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw the gap of Target Linearity against the epoch, and below it that of the accuracies."""
    rows = style.thinned(rows[rows["arm"] != "control: shuffled labels"])
    index = ["arm", "case", "seed", "x"]
    accuracy = rows.pivot_table(index=index, columns="quantity", values="value")
    accuracy_gap = (accuracy["train_accuracy"] - accuracy["test_accuracy"]).rename("value").reset_index()
    linearity = rows[rows["quantity"] == "target_linearity"].pivot_table(index=index, columns="layer", values="value")
    before, last = linearity.columns[-2:]
    gap = (linearity[last] - linearity[before]).rename("value").reset_index()

    def draw_gap(axes: Axes, case: str) -> None:
        style.seeds(axes, gap[gap["case"] == case], "x", style.COLORS["Target Linearity"],
                    label="gap of Target Linearity")  # fmt: skip

    def draw_accuracy_gap(axes: Axes, case: str) -> None:
        style.seeds(axes, accuracy_gap[accuracy_gap["case"] == case], "x", style.COLORS["accuracy gap"],
                    label="gap of accuracies")  # fmt: skip

    panels = {f"TL of layer {last} − TL of layer {before}": draw_gap, "training − test accuracy": draw_accuracy_gap}
    figure, grid = draw_by_weight_decay(rows, claim, panels)
    grid[0, 0].set_ylim(min(0, gap["value"].min()), 1.05 * gap["value"].max())
    grid[1, 0].set_ylim(-0.05, 1.05)
    return figure
