"""Surrogate and Target Linearity (lambda = 0) grow throughout training and with the layer's index.

The surrogate grows roughly exponentially, Target Linearity roughly logarithmically: of the two-parameter laws
a e^(bt), a + b t and a + b log(1 + t), fitted by least squares, these leave the smallest squared error.
After training the last layer's Target Linearity is above 0.5 and the training accuracy above 0.9. Here on CIFAR-10
(quick scale: 8 x 8 digits); the paper's CIFAR-100, with 0.15 for the former, is not judged.
"""

from tasks.judge import Finding, Rows
from tasks.rules.a import growth

ID = "A.fig4"
KIND = "statistical"
TITLE = "Surrogate and Target Linearity grow in training and with depth"
PRINTED = "both grow; exponential and logarithmic; last-layer TL > 0.5, training accuracy > 0.9, test 50 %, Figure 4"
QUANTITIES = ("surrogate", "target_linearity", "train_accuracy", "test_accuracy")


def rule(rows: Rows) -> Finding:
    """Growth in training and with the layer, by the two laws, and what is printed of the end."""
    return growth(rows, least=0.5, fitted=0.9)
