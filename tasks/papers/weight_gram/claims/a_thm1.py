"""The shift of the weight Gram matrix under a gradient step is the Virtual Covariance Shift, up to O(gamma^2).

(W+)^T W+ - W^T W = cov(h+) - cov(h) + O(gamma^2), for linear layers and convolutions; the remainder is exactly
gamma^2 (grad_W L^T grad_W L - sum_i grad_{h_i} L grad_{h_i} L^T).
"""

from tasks.drawing.order import draw as draw
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, exact, order

ID = "A.thm1"
KIND = "exact"
TITLE = "Weight Gram shift = Virtual Covariance Shift + O(γ²)"
PRINTED = "remainder O(γ²), Theorem 1"
QUANTITIES = ("thm1/remainder", "thm1/residual")


def rule(rows: Rows) -> Finding:
    """The remainder falls at slope 2 on every instance and equals its closed form to round-off."""
    return all_of(
        slope=order(rows.where(quantity="thm1/remainder"), 2),
        remainder=exact(rows.where(quantity="thm1/residual")),
    )
