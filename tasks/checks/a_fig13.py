"""In grokking with a weight decay of at least 0.25 the last layer's Target Linearity still rises after memorisation.

It rises until the network groks. A network has memorised at the first measured epoch with a training accuracy of 0.99.
It groks if it does not generalise yet by then, with a test accuracy below 0.25, and reaches 0.9 later. Without weight
decay, the control, no network groks; how much its Target Linearity rises all the same, from memorisation to the end of
training, is the control's statistic.
"""

from tasks.judge import Finding, Rows, curves
from tasks.rules.a import while_grokking

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
