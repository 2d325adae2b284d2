"""The first-order Taylor errors over all pairs of points sum to zero if f is m-homogeneous and x and f are centred."""

from tasks.drawing.exact import draw as draw
from tasks.judging.rules import exact
from tasks.judging.statement import BOTH_PRECISIONS, Control, Drawn, Grid, Statement

ID = "A.prop4"
KIND = "exact"
TITLE = "Pairwise Taylor errors of homogeneous functions cancel"
PRINTED = "Σᵢⱼ [f(xᵢ) − f(xⱼ) − (xᵢ−xⱼ)ᵀ∇f(xⱼ)] = 0, Proposition 4"
MATH = (
    r"\sum_{i,j} \left( f(x_i) - f(x_j) - (x_i - x_j)^\top \nabla f(x_j) \right) = 0",
    r"\text{if } f(\alpha x) = \alpha^m f(x), \quad \sum_i x_i = 0, \quad \sum_i f(x_i) = 0",
)
DEAD = "With at most one feature alive on the points the centred f is 0."
GRIDS = {"prop4/residual": Grid(BOTH_PRECISIONS)}
# 2 % of the ReLU networks with 3 layers are dead like this, and at one root four of 30: 0.9 would refuse a right table
LEAST_SHARE = 0.7
DRAWN = {"prop4/residual": Drawn(LEAST_SHARE, DEAD)}
CONTROLS = {
    "f not centred": Control(
        text="The values of f at the points do not sum to 0.", least_share=LEAST_SHARE, parts_because=DEAD
    ),
    "f not homogeneous": Control(
        text="The features of f are GELU units, so that f is not homogeneous.",
        least_share=LEAST_SHARE,
        parts_because=DEAD,
    ),
    "x not centred": Control(
        text="The points x are shifted, so that their mean is not 0.", least_share=LEAST_SHARE, parts_because=DEAD
    ),
}
STATEMENTS = (
    Statement(
        name="errors cancel",
        quote="If a function f is m-positively homogeneous and input data and function values are centered, "
        "i.e., x̄ = (1/N) Σ_i x_i = 0 and Σ_i f(x_i) = 0, then sum of all pairs of first-order Taylor "
        "approximation errors among each data points is zero.",
        place="Appendix A.2, Proposition 4",
        rule=exact,
        reads=("prop4/residual",),
        printed="Σᵢⱼ [f(xᵢ) − f(xⱼ) − (xᵢ−xⱼ)ᵀ∇f(xⱼ)] = 0",
        cases=18,
    ),
)
