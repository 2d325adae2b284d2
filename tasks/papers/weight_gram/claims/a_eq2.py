"""The Gram of the updated weight is W^T W - gamma (grad_h L h^T + h grad_h L^T) + O(gamma^2)."""

from tasks.drawing.order import draw as draw
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, order

ID = "A.eq2"
KIND = "exact"
TITLE = "Gram of the updated weight, to first order"
PRINTED = "remainder O(γ²), eq. (2)"
QUANTITIES = ("eq2/remainder",)


def rule(rows: Rows) -> Finding:
    """The remainder falls with gamma at slope 2 (log-log) on every layer of every instance."""
    return order(rows, 2)
