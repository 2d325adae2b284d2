"""Surrogate and Target Linearity (lambda = 0) grow throughout training and with the layer's index.

The surrogate grows roughly exponentially, Target Linearity roughly logarithmically: of the two-parameter laws
a e^(bt), a + b t and a + b log(1 + t), fitted by least squares, these leave the smallest squared error.
"""

from tasks.rules.a import growth as rule

__all__ = ["rule"]

ID = "A.fig4"
KIND = "statistical"
TITLE = "Surrogate and Target Linearity grow in training and with depth"
PRINTED = "both grow; exponential and logarithmic; last-layer TL > 0.5 on CIFAR-10, Figure 4"
QUANTITIES = ("surrogate", "target_linearity")
