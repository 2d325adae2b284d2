"""In grokking with a weight decay of at least 0.25 the last layer's Target Linearity still rises after memorisation.

It rises until the network groks. A network has memorised at the first measured epoch with a training accuracy of 0.99,
and grokked at the first one after that with a test accuracy of 0.9.
"""

from tasks.judge import Finding, Rows, curves, every
from tasks.rules.a import while_grokking

ID = "A.fig13"
KIND = "statistical"
TITLE = "Target Linearity rises from memorisation until grokking"
PRINTED = "“for λ ≥ 0.25, TL continues to increase even after memorization”, Figure 13"
QUANTITIES = ("target_linearity", "train_accuracy", "test_accuracy")


def rule(rows: Rows) -> Finding:
    """For every weight decay, per seed: Target Linearity when grokked minus when memorised."""
    last = rows.where(layer=max(rows.layer), quantity="target_linearity")
    return every(
        **{
            case: while_grokking(one, curves(last.where(case=case), "seed"), 0, "TL when grokked minus when memorised")
            for (case,), one in rows.by("case").items()
        }
    )
