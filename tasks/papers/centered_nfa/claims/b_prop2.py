"""The NFA is an alignment of the weights with the pre-activation tangent kernel K of their layer.

rho(F, AGOP) = rho(W^T W, W^T K W), where the AGOP is taken with respect to the layer's input and K, the sum of
outer products of gradients with respect to its pre-activations, is computed independently of it.
"""

from tasks.drawing.exact import draw as draw
from tasks.judging.rules import Finding, Rows, exact

ID = "B.prop2"
KIND = "exact"
TITLE = "Alignment decomposition of the NFA"
PRINTED = "ρ(F, Ḡ) = ρ(WᵀW, WᵀKW), Proposition 2"
QUANTITIES = ("prop2/residual",)


def rule(rows: Rows) -> Finding:
    """Both correlations equal to round-off, on every layer of fully connected networks."""
    return exact(rows, cases=5)
