"""The shift of the weight Gram matrix under a gradient step is the Virtual Covariance Shift, up to O(gamma^2).

(W+)^T W+ - W^T W = cov(h+) - cov(h) + O(gamma^2), for linear layers and convolutions; the remainder is exactly
gamma^2 (grad_W L^T grad_W L - sum_i grad_{h_i} L grad_{h_i} L^T).
"""

from tasks.drawing.order import draw as draw
from tasks.judging.rules import exact, order
from tasks.judging.statement import Statement

ID = "A.thm1"
KIND = "exact"
TITLE = "Weight Gram shift = Virtual Covariance Shift + O(γ²)"
PRINTED = "remainder O(γ²), Theorem 1"
MATH = (
    r"(W^+)^\top W^+ - W^\top W = \sum_i \left( h_i^+ (h_i^+)^\top - h_i h_i^\top \right) + O(\gamma^2)",
    r"h_i^+ = h_i - \gamma \nabla_{h_i} \mathcal{L}",
    (
        r"O(\gamma^2) = \gamma^2 \left( \nabla_W \mathcal{L}^\top \nabla_W \mathcal{L} - \sum_i "
        r"\nabla_{h_i} \mathcal{L}\, \nabla_{h_i} \mathcal{L}^\top \right)"
    ),
)
STATEMENTS = (
    Statement(
        name="remainder of second order",
        quote="The shift in the Gram matrix of the gradient-descent-updated weight matrix equals the Virtual "
        "Covariance Shift up to …",
        place="Theorem 1",
        rule=lambda rows: order(rows, 2),
        reads=("thm1/remainder",),
        printed="O(γ²)",
        cases=5,
        rows=40,
    ),
    Statement(
        name="the remainder's closed form",
        quote="An AGOP-like term — with the network output replaced by the loss — appears within the … residual of "
        "Theorem",
        place="Section 3",
        rule=exact,
        reads=("thm1/residual",),
        printed="remainder = γ² (∇_Wᵀ L ∇_W L − Σᵢ ∇_hᵢ L ∇_hᵢ Lᵀ)",
        cases=5,
        rows=10,
    ),
)
