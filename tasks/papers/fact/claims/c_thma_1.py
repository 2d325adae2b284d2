"""Backward form: at a critical point of the loss with weight decay, W W^T = bFACT at every layer.

W h is the layer's output without its bias; one control includes the bias. On the way to a critical point the error
falls in proportion to the gradient (slope 1), and it is at most 10^-9 ||W W^T|| at the end. The equation with the
square root is in the text after the theorem. The other controls end at a point that is not critical, or take twice the
lambda.
"""

from tasks.judging.statement import Control, Grid, Statement
from tasks.papers.fact.claims.shared.critical_points import controls, critical_point, vanishes
from tasks.papers.fact.claims.shared.critical_points import draw as draw

ID = "C.thmA.1"
KIND = "exact"
TITLE = "Backward Features at Convergence: WWᵀ = bFACT"
PRINTED = "WWᵀ = bFACT = √(bFACT bFACTᵀ) at critical points, Theorem A.1"
MATH = (
    (
        r"W W^\top = \text{bFACT} = - \frac{1}{n \lambda} \sum_{i=1}^n W h(x_i) \left( \nabla_{Wh}\, "
        r"\ell_i \right)^\top \quad\text{where } \nabla_W \mathcal{L}_\lambda = 0"
    ),
    r"W W^\top = \sqrt{\text{bFACT}\; \text{bFACT}^\top}",
)
GRIDS = {f"back_fact/{form}": Grid(layers=("first", "second", "last"), x=26) for form in ("error", "root/error")}
CONTROLS = {
    **controls("bFACT"),
    "bFACT with the bias": Control(
        text="bFACT is computed from the layer's output with its bias, Wh + b, instead of from Wh."
    ),
}
STATEMENTS = (
    Statement(
        name="bFACT at critical points",
        quote="If the parameters of the network are at a differentiable, critical point of the loss with respect to W",
        place="Theorem A.1",
        rule=vanishes,
        reads=("back_fact/error",),
        printed="WWᵀ = bFACT",
    ),
    Statement(
        name="symmetrised bFACT",
        quote="we may symmetrize both sides of the equation and still get valid equations that hold at critical points "
        "of the loss",
        place="Appendix A",
        rule=vanishes,
        reads=("back_fact/root/error",),
        printed="WWᵀ = √(bFACT bFACTᵀ)",
    ),
)
HYPOTHESES = critical_point("back_fact/error")
