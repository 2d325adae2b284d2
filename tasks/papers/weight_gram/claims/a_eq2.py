"""The Gram of the updated weight is W^T W - gamma (grad_h L h^T + h grad_h L^T) + O(gamma^2)."""

from tasks.drawing.order import draw as draw
from tasks.judging.rules import order
from tasks.judging.statement import Statement

ID = "A.eq2"
KIND = "exact"
TITLE = "Gram of the updated weight, to first order"
PRINTED = "remainder O(γ²), eq. (2)"
MATH = (
    (
        r"(W^+)^\top W^+ = W^\top W - \gamma \left( \nabla_h \mathcal{L}\, h^\top + h\, \nabla_h "
        r"\mathcal{L}^\top \right) + O(\gamma^2)"
    ),
    r"W^+ = W - \gamma \nabla_W \mathcal{L}",
)
STATEMENTS = (
    Statement(
        name="remainder of second order",
        quote="Computing the Gram matrix of the gradient-descent-updated weight matrix yields",
        place="Section 2, equation (2)",
        rule=lambda rows: order(rows, 2),
        reads=("eq2/remainder",),
        printed="WᵀW − γ(∇ₕℒ·hᵀ + h·∇ₕℒᵀ) + O(γ²)",
        cases=10,
        rows=1000,
    ),
)
