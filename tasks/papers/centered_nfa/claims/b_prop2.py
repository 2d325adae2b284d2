"""The NFA is an alignment of the weights W with the pre-activation tangent kernel K of their layer.

ρ(F, Ḡ) = ρ(WᵀW, WᵀKW). The AGOP Ḡ is measured from gradients with respect to the layer's input; K, independently of it,
is the sum of the outer products of the gradients with respect to the layer's pre-activations.
"""

from tasks.drawing.exact import draw as draw
from tasks.judging.rules import exact
from tasks.judging.statement import Statement

ID = "B.prop2"
KIND = "exact"
TITLE = "Alignment decomposition of the NFA"
PRINTED = "ρ(F, Ḡ) = ρ(WᵀW, WᵀKW), Proposition 2"
MATH = (
    r"\rho(F, \bar G) = \rho\left( W^\top W,\; W^\top K W \right)",
    (
        r"F = W^\top W, \quad \bar G = \frac{1}{n} \sum_i \nabla_x f(x_i)\, \nabla_x f(x_i)^\top, \quad K "
        r"= \frac{1}{n} \sum_i \nabla_h f(x_i)\, \nabla_h f(x_i)^\top"
    ),
)
STATEMENTS = (
    Statement(
        name="the same correlation",
        quote="We showed that the NFA is equivalent to PTK-weight alignment (Proposition 2)",
        place="Proposition 2",
        rule=exact,
        reads=("prop2/residual",),
        printed="ρ(F, Ḡ) = ρ(WᵀW, WᵀKW)",
        cases=5,
        rows=50,
    ),
)
