"""As grokking begins, with a weight decay of at least 0.25, the gap of Target Linearity between layers 2 and 3 falls.

Layer 3 is the last one and the gap its Target Linearity minus the second's. Grokking begins after the last measured
epoch with a test accuracy below 0.25, and is over at the first with 0.9.
"""

from tasks.judge import Finding, Rows, curves, every
from tasks.rules.a import while_grokking

ID = "A.fig14"
KIND = "statistical"
TITLE = "The gap of Target Linearity between the last two layers falls as grokking begins"
PRINTED = "“a similar decreasing pattern at the onset of grokking”, Figure 14"
QUANTITIES = ("target_linearity", "train_accuracy", "test_accuracy")


def rule(rows: Rows) -> Finding:
    """For every weight decay, per seed: the gap at the onset minus when grokked."""
    parts = {}
    for (case,), one in rows.by("case").items():
        T = curves(one.where(quantity="target_linearity"), "seed", "layer")
        parts[case] = while_grokking(one, T[:, -2] - T[:, -1], 1, "gap at the onset minus when grokked")
    return every(**parts)
