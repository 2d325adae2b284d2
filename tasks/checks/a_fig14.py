"""As grokking begins, with a weight decay of at least 0.25, the gap of Target Linearity between layers 2 and 3 falls.

Layer 3 is the last one and the gap its Target Linearity minus the second's. Grokking begins after the last measured
epoch with a test accuracy below 0.25, and is over at the first with 0.9. A network that generalises as it memorises,
with a training accuracy of 0.99, does not grok; nor does one without weight decay, the control, whose statistic is the
fall from memorisation to the end of training.
"""

import numpy as np

from tasks.judge import Finding, Rows, curves
from tasks.rules.a import while_grokking

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
