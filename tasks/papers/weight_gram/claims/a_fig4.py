"""Surrogate and Target Linearity (lambda = 0) grow throughout training and with the layer's index.

The surrogate grows roughly exponentially, Target Linearity roughly logarithmically: of the two-parameter laws
a e^(bt), a + b t and a + b log(1 + t), fitted by least squares, these leave the smallest squared error.
After training the last layer's Target Linearity is above 0.5 on CIFAR-10, which is more than on CIFAR-100, and the
training accuracy above 0.9 on both. At the paper's scale the levels 0.15 of Target Linearity on CIFAR-100 and 0.5 and
0.2 of the test accuracies are tested beside, each for being equal: a part of its own, which the claim's direction does
not hang on. Quick scale: 8 x 8 digits in CIFAR-10's place alone.
"""

from dataclasses import replace

from tasks.judging.rules import Finding, Rows, curves, equals, every, positive
from tasks.papers.weight_gram.claims.shared.a_fig4_figure import draw as draw
from tasks.papers.weight_gram.claims.shared.rules import beside, by_data, growth

ID = "A.fig4"
KIND = "statistical"
TITLE = "Surrogate and Target Linearity grow in training and with depth"
PRINTED = (
    "both grow; exponential and logarithmic; last-layer TL > 0.5 on CIFAR-10, 0.15 on CIFAR-100; training accuracy > "
    "0.9, test 50 % and 20 %, Figure 4"
)
QUANTITIES = ("surrogate", "target_linearity", "train_accuracy", "test_accuracy")
LEVELS = {  # last digits' unit beside each
    "CIFAR-10": {"test_accuracy": (0.5, 0.1)},
    "CIFAR-100": {"target_linearity": (0.15, 0.01), "test_accuracy": (0.2, 0.1)},
}


def rule(rows: Rows) -> Finding:
    """Growth in training and with the layer, by the two laws, on each data set, and what is printed of the end."""
    found = growth(rows, least={"CIFAR-10": 0.5}, fitted=0.9)
    sets = by_data(rows)
    last = {data: curves(one.where(layer=max(one.layer), quantity="target_linearity"), "seed")[:, -1]
            for data, one in sets.items()}  # fmt: skip
    if LEVELS.keys() <= last.keys():
        apart = positive(last["CIFAR-10"] - last["CIFAR-100"], "last layer's Target Linearity, CIFAR-10 less CIFAR-100")
        whole = every(**found.parts, differ=apart)
        found = replace(whole, numbers={**found.numbers, **whole.numbers}, measured=found.measured)
    accuracies = rows.where(quantity="test_accuracy", arm="claim")
    if set(rows.scale.tolist()) != {"paper"} or not len(accuracies):
        return found
    ends = {data: {"target_linearity": last[data], "test_accuracy": curves(one, "seed")[:, -1]}
            for data, one in by_data(accuracies).items()}  # fmt: skip
    return beside(found, {f"{data}, {name.replace('_', ' ')}": equals(ends[data][name], *level)
                          for data in ends for name, level in LEVELS.get(data, {}).items()})  # fmt: skip
