"""The NFA is an alignment of the weights W with the pre-activation tangent kernel K of their layer.

ρ(F, Ḡ) = ρ(WᵀW, WᵀKW). The AGOP Ḡ is measured from gradients with respect to the layer's input; K, independently of it,
is the sum of the outer products of the gradients with respect to the layer's pre-activations.
"""

from tasks.drawing.exact import draw as draw
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, exact

ID = "B.prop2"
KIND = "exact"
TITLE = "Alignment decomposition of the NFA"
PRINTED = "ρ(F, Ḡ) = ρ(WᵀW, WᵀKW), Proposition 2"
QUANTITIES = ("prop2/residual",)


def rule(rows: Rows) -> Finding:
    """Both correlations are equal up to round-off, in every layer of fully connected networks."""
    return exact(rows, cases=5)
