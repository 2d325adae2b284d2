"""Surrogate and Target Linearity (lambda = 0) grow throughout training and with the layer's index.

The surrogate grows roughly exponentially, Target Linearity roughly logarithmically: of the two-parameter laws
a e^(bt), a + b t and a + b log(1 + t), fitted by least squares, these leave the smallest squared error.
After training the last layer's Target Linearity exceeds 0.5 on CIFAR-10 and is lower on CIFAR-100, and the training
accuracy exceeds 0.9 on both. At the paper's scale, equality with the printed levels is a separate part that does not
decide the claim: 0.15 of Target Linearity on CIFAR-100, and 0.5 and 0.2 of the test accuracies. Quick scale: 8 x 8
digits in place of CIFAR-10 only.
"""

from dataclasses import replace
from types import ModuleType

import pandas as pd
from matplotlib.figure import Figure

from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, equals, positive
from tasks.judging.statistics import curves
from tasks.papers.weight_gram.claims.shared import growth
from tasks.papers.weight_gram.claims.shared.data_sets import by_data_set
from tasks.papers.weight_gram.claims.shared.printed_levels import with_printed_levels

ID = "A.fig4"
KIND = "statistical"
TITLE = "Surrogate and Target Linearity grow in training and with depth"
LEAST_LINEARITY = 0.5  # last layer, CIFAR-10
LINEARITY = 0.15  # last layer, CIFAR-100
LEAST_TRAIN_ACCURACY = 0.9
TEST_ACCURACY = {"CIFAR-10": 0.5, "CIFAR-100": 0.2}
PRINTED = (
    f"both grow; exponential and logarithmic; last-layer TL > {LEAST_LINEARITY:g} on CIFAR-10, {LINEARITY:g} on "
    f"CIFAR-100; training accuracy > {LEAST_TRAIN_ACCURACY:g}, test "
    f"{' and '.join(f'{accuracy * 100:g} %' for accuracy in TEST_ACCURACY.values())}, Figure 4"
)
QUANTITIES = ("surrogate", "target_linearity", "train_accuracy", "test_accuracy")
LEVELS = {  # by data set and quantity: the printed number and the unit of its last digit
    "CIFAR-10": {"test_accuracy": (TEST_ACCURACY["CIFAR-10"], 0.1)},
    "CIFAR-100": {"target_linearity": (LINEARITY, 0.01), "test_accuracy": (TEST_ACCURACY["CIFAR-100"], 0.1)},
}


def rule(rows: Rows) -> Finding:
    """On each data set, growth in training and with the layer, the two laws, and the printed levels after training."""
    finding = growth.rule(rows, {"CIFAR-10": LEAST_LINEARITY}, LEAST_TRAIN_ACCURACY)
    linearity = {data_set: curves(selected.where(layer=max(selected.layer), quantity="target_linearity"), "seed")[:, -1]
                 for data_set, selected in by_data_set(rows).items()}  # fmt: skip
    if LEVELS.keys() <= linearity.keys():
        what = "last layer's TL, CIFAR-10 minus CIFAR-100"
        with_difference = all_of(**finding.parts, differ=positive(linearity["CIFAR-10"] - linearity["CIFAR-100"], what))
        numbers = {**finding.numbers, **with_difference.numbers}
        finding = replace(with_difference, numbers=numbers, measured=finding.measured)
    accuracies = rows.where(quantity="test_accuracy", arm="claim")
    if set(rows.scale.tolist()) != {"paper"} or not len(accuracies):
        return finding
    final = {data_set: {"target_linearity": linearity[data_set], "test_accuracy": curves(selected, "seed")[:, -1]}
             for data_set, selected in by_data_set(accuracies).items()}  # fmt: skip
    levels = {f"{data_set}, {name.replace('_', ' ')}": equals(final[data_set][name], *level)
              for data_set in final for name, level in LEVELS.get(data_set, {}).items()}  # fmt: skip
    return with_printed_levels(finding, levels)


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw both quantities by data set, layer and epoch, and the printed Target Linearity of the last layer."""
    levels = {"CIFAR-10": (LEAST_LINEARITY, f"> {LEAST_LINEARITY:g}"), "CIFAR-100": (LINEARITY, f"{LINEARITY:g}")}
    return growth.draw(rows, claim, levels)
