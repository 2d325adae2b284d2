"""ẆᵀẆ = Xᵀ L̇ 𝒦 L̇ X and ẆᵀKẆ = Xᵀ L̇ 𝒦² L̇ X, where 𝒦 is the n × n kernel of the layer's tangents and L̇ = diag(∂L/∂f).

This holds for one output and for any loss, depth, hidden layer and activation. X is the input of the layer.
"""

from tasks.drawing.exact import draw as draw
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, exact

ID = "B.prop4"
KIND = "exact"
TITLE = "The derivatives at initialization through labels and kernel"
PRINTED = "(3), Proposition 4"
QUANTITIES = ("prop4/nfm", "prop4/agop")


def rule(rows: Rows) -> Finding:
    """Both equations hold up to round-off."""
    return all_of(nfm=exact(rows.where(quantity="prop4/nfm")), agop=exact(rows.where(quantity="prop4/agop")))
