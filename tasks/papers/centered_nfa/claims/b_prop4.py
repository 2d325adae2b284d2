"""Wdot^T Wdot = X^T L' K L' X and Wdot^T K Wdot = X^T L' K^2 L' X with the n x n kernel K of the layer's tangents.

For any loss, depth, hidden layer and activation (X the layer's input), with L' = diag(dL/df) and one output.
"""

from tasks.drawing.exact import draw as draw
from tasks.judging.rules import Finding, Rows, every, exact

ID = "B.prop4"
KIND = "exact"
TITLE = "The derivatives at initialization through labels and kernel"
PRINTED = "(3), Proposition 4"
QUANTITIES = ("prop4/nfm", "prop4/agop")


def rule(rows: Rows) -> Finding:
    """Both equations to round-off."""
    return every(nfm=exact(rows.where(quantity="prop4/nfm")), agop=exact(rows.where(quantity="prop4/agop")))
