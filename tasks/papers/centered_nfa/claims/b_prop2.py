"""The correlation of NFM and AGOP is that of WᵀW and WᵀKW, with the pre-activation tangent kernel (PTK) K of the layer.

The Neural Feature Ansatz (NFA) says that the NFM F = WᵀW and the AGOP Ḡ of a layer's input are correlated. We measure Ḡ
from gradients with respect to the layer's input and K, independently, from gradients with respect to its
pre-activations. The paper writes Ḡ with the factor 1/n and K without it; here both have it. The factor does not change
the correlation.
"""

from tasks.drawing.exact import draw as draw
from tasks.judging.rules import exact
from tasks.judging.statement import BOTH_PRECISIONS, Control, Drawn, Grid, Statement

ID = "B.prop2"
KIND = "exact"
TITLE = "The NFA is an alignment of the weights with the tangent kernel"
PRINTED = "ρ(F, Ḡ) = ρ(WᵀW, WᵀKW), Proposition 2"
MATH = (
    r"\rho(F, \bar G) = \rho\left( W^\top W,\; W^\top K W \right)",
    (
        r"F = W^\top W, \quad \bar G = \frac{1}{n} \sum_i \nabla_x f(x_i)\, \nabla_x f(x_i)^\top, \quad K "
        r"= \frac{1}{n} \sum_i \nabla_h f(x_i)\, \nabla_h f(x_i)^\top"
    ),
)
LAYERS = {"mlp": ("0", "2", "4", "6"), "skip": ("0", "2.a", "2.b", "3.a", "3.b", "5"), "dead": ("4", "5")}


def layers_of(case: str, _: int = 0) -> tuple[str, ...]:
    """The layers of a case. The number of a random network decides its kind, as in "3: mlp gelu 20".

    Below the dead layer the AGOP is 0 and has no correlation.
    """
    return next((layers for kind, layers in LAYERS.items() if kind in case.split()), ())


GRIDS = {"prop2/residual": Grid(BOTH_PRECISIONS, layers_of=layers_of)}
DRAWN = {
    "a dead layer": Drawn(0, "It is a single network."),
    "prop2/residual": Drawn(
        0.6, "Every third network that is drawn has convolutions, which the proposition is not about."
    ),
}
CONTROLS = {
    "another layer": Control(
        text="WᵀKW has the tangent kernel K of another layer of the same width.",
        lacks=("a dead layer",),
        least_share=0.7,
        parts_because="It needs another layer with a kernel of the same shape. Chance decides which networks have one; "
        "the network with a dead layer has none.",
    ),
}
STATEMENTS = (
    Statement(
        name="the same correlation",
        quote="We showed that the NFA is equivalent to PTK-weight alignment (Proposition 2)",
        place="Proposition 2; the words in Section 2.3",
        rule=exact,
        reads=("prop2/residual",),
        printed="ρ(F, Ḡ) = ρ(WᵀW, WᵀKW)",
        cases=2,
    ),
)
