"""In grokking with a weight decay of at least 0.25, the last layer's Target Linearity still rises after memorisation.

Target Linearity (TL) rises until grokking emerges, and then saturates. A network has memorised at the first measured
epoch with a training accuracy of 0.99. Grokking has emerged at the first later epoch with a test accuracy of one half.
The rule reads the trend of TL over up to 12 epochs between the two. So TL may end higher than at memorisation without a
rising trend. One control has no weight decay: its networks memorise and do not grok, so their TL is followed to the end
of training. TL ends higher than at memorisation in this control too. So a higher TL alone does not show that a network
groks. Each weight decay λ has its own statements and its own condition that networks grok there.
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
from tasks.papers.weight_gram.claims.shared.figures import cases_by_number
from tasks.papers.weight_gram.claims.shared.grokking import draw_by_weight_decay, in_words

ID = "A.fig13"
KIND = "statistical"
TITLE = "Target Linearity rises from memorisation until grokking"
PRINTED = "“for λ ≥ 0.25, TL continues to increase even after memorization”, Figure 13"
MATH = (
    r"\mathcal{T}_0(H_L^t, Y) \text{ rises for } t_{\text{memorised}} \le t \le t_{\text{grokking}}, \quad "
    r"\lambda \ge 0.25"
)


def continues(rows: Rows) -> Finding:
    """The last layer's Target Linearity rises from memorisation until grokking emerges."""
    parts, texts = {}, []
    numbers: dict[str, float] = {}
    for case, (T, networks) in _last_layers(rows).items():
        first, last = [network.memorised for network in networks], [network.emerged for network in networks]
        parts[case] = trend_along(grokking.windows(T, first, last), "TL rises from memorisation until grokking emerges")
        if first == last:
            texts.append(f"{in_words(case)}: not measured, because no network memorises before it generalises")
            continue
        rise = float(np.mean([values[end] - values[start] for values, start, end in zip(T, first, last, strict=True)]))
        taus = min(parts[case].sample), max(parts[case].sample)
        grokking_networks = sum(network.groks for network in networks)
        until = "until grokking emerges" if grokking_networks else "to the end of training"
        spread = (
            f"{taus[0]:+.2f} in every network" if taus[0] == taus[1] else f"{taus[0]:+.2f} to {taus[1]:+.2f} by network"
        )
        trends = f"Kendall's τ of TL with the epoch is {spread}"
        texts.append(f"{in_words(case)}: TL changes by {rise:+.3f} from memorisation {until}, {trends}, and "
                     f"{grokking_networks} of {len(networks)} networks grok")  # fmt: skip
        numbers |= {"TL, end to end": rise, "least τ": taus[0], "largest τ": taus[1]}
    finding = all_of(**parts)
    return replace(finding, numbers=finding.numbers | numbers, measured="; ".join(texts))


def saturates(rows: Rows) -> Finding:
    """The last layer's Target Linearity rises less per epoch after grokking has emerged than before.

    Where grokking does not emerge, the middle of the time after memorisation takes its place.
    """
    parts, texts = {}, []
    for case, (T, networks) in _last_layers(rows).items():
        slopes = np.array([_slopes(values, network) for values, network in zip(T, networks, strict=True)])
        before, after = slopes.T
        parts[case] = positive(before - after, "rise of TL per measured epoch before grokking emerges minus that after")
        texts.append(f"{in_words(case)}: TL changes by {before.mean():+.2g} per measured epoch before grokking emerges "
                     f"and by {after.mean():+.2g} after")  # fmt: skip
    return replace(all_of(**parts), measured="; ".join(texts))


def _slopes(values: np.ndarray, network: grokking.Times) -> tuple[float, float]:
    """The change of TL per measured epoch from memorisation until grokking emerges, and from there to the end."""
    end = len(values) - 1
    middle = network.emerged if network.emerged < end else (network.memorised + end) // 2
    before, after = (
        (values[stop] - values[start]) / max(1, stop - start)
        for start, stop in ((network.memorised, middle), (middle, end))
    )
    return before, after


def _last_layers(rows: Rows) -> dict[str, tuple[np.ndarray, list[grokking.Times]]]:
    """By case the last layer's Target Linearity (seeds, epochs), and the times of the networks."""
    last = max(rows.where(quantity="target_linearity").layer)
    linearity = rows.where(quantity="target_linearity", layer=last)
    return {
        case: (curves(linearity.where(case=case), "seed"), networks)
        for case, networks in grokking.networks(rows).items()
    }


CONTROLS = grokking.CONTROLS
STATEMENTS = (
    *grokking.at_each_decay(
        "rises after memorisation",
        "for λ ≥ 0.25, TL continues to increase even after memorization, i.e., when the training accuracy is "
        "approximately 1.0. TL increases until grokking emerges and then saturates in the final stage of training.",
        continues,
        printed="for λ ≥ 0.25",
    ),
    *grokking.at_each_decay(
        "then saturates",
        "TL increases until grokking emerges and then saturates in the final stage of training.",
        saturates,
    ),
)
HYPOTHESES = grokking.hypotheses(STATEMENTS)


ACCURACIES = {"train_accuracy": ("training", "-."), "test_accuracy": ("test", "--")}  # names and dashes


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw Target Linearity by layer against the epoch, and below it the accuracies."""
    rows = style.thinned(rows[rows["arm"] != "control: shuffled labels"])
    parts = {quantity: rows[rows["quantity"] == quantity] for quantity in grokking.READS}

    def draw_linearity(axes: Axes, case: str) -> None:
        linearity = parts["target_linearity"]
        style.layers(axes, linearity[linearity["case"] == case])

    def draw_accuracies(axes: Axes, case: str) -> None:
        for quantity, (name, dashes) in ACCURACIES.items():
            accuracy = parts[quantity][parts[quantity]["case"] == case]
            style.seeds(axes, accuracy, "x", style.COLORS[f"{name} accuracy"], linestyle=dashes,
                        label=f"{name} accuracy")  # fmt: skip

    figure, grid = draw_by_weight_decay(rows, claim, {"Target Linearity": draw_linearity, "accuracy": draw_accuracies})
    case = cases_by_number(rows)[-1]
    last = {quantity: _at_the_end(part[part["case"] == case]) for quantity, part in parts.items()}
    grid[0, 0].set_ylim(bottom=0)
    grid[1, 0].set_ylim(0, 1.05)
    layers = last["target_linearity"]
    style.label_ends(grid[0, -1], [(float(value), f"layer {layer}", color) for (layer, value), color
                                   in zip(layers.items(), style.layer_colors(len(layers)), strict=True)])  # fmt: skip
    style.label_ends(grid[1, -1], [(float(last[quantity].iloc[0]), name, style.COLORS[f"{name} accuracy"])
                                   for quantity, (name, _) in ACCURACIES.items()])  # fmt: skip
    return figure


def _at_the_end(rows: pd.DataFrame) -> pd.Series:
    """The mean over seeds in the last epoch, by layer."""
    return rows[rows["x"] == rows["x"].max()].groupby("layer")["value"].mean()
