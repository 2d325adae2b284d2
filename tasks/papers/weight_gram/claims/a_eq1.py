"""The Feature Learning Equation: for every function f(z) with z = W h, grad_h f h^T = W^T grad_W f.

It holds for linear layers and, with the im2col patches as h and the flattened kernels as W, for convolutions (C.1).
"""

from tasks.drawing.exact import draw as draw
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, exact

ID = "A.eq1"
KIND = "exact"
TITLE = "Feature Learning Equation"
PRINTED = "∇ₕf·hᵀ = Wᵀ∇_W f, eq. (1)"
QUANTITIES = ("eq1/residual",)


def rule(rows: Rows) -> Finding:
    """Both sides equal to round-off on MLPs, skip connections, CNNs, ResNet-18 and a transformer's linear layers."""
    return exact(rows, cases=5)
