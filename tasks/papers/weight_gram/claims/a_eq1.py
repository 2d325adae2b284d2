"""The Feature Learning Equation relates a function's gradients with respect to a layer's input and to its weight.

It holds for linear layers. For convolutions it holds with the im2col patches as h and the flattened kernels as W
(Appendix C.1).
"""

from tasks.drawing.exact import draw as draw
from tasks.judging.rules import exact
from tasks.judging.statement import BOTH_PRECISIONS, Control, Drawn, Grid, Statement
from tasks.papers.weight_gram.claims.shared.networks import convolutions_of, linear_layers_of

ID = "A.eq1"
KIND = "exact"
TITLE = "Feature Learning Equation"
PRINTED = "∇ₕf·hᵀ = Wᵀ∇_W f, eq. (1)"
MATH = r"\nabla_h f \, h^\top = W^\top \nabla_W f \quad\text{for } f = f(Wh)"
SINGLE = ("ResNet-18", "a dead layer", "transformer block", "a weight used twice")
GRIDS = {
    "eq1/residual": Grid(BOTH_PRECISIONS, layers_of=linear_layers_of),
    "eq1/convolution": Grid(BOTH_PRECISIONS, layers_of=convolutions_of),
}
DRAWN = {
    **{kind: Drawn(0, "It is a single network.") for kind in SINGLE},
    "eq1/convolution": Drawn(0.2, "Every third network that is drawn has convolutions."),
}
CONTROLS = {
    "another layer": Control(
        text="The gradient of the weight is that of another layer of the same shape.",
        cases={"eq1/convolution": ("ResNet-18",)},
        least_share=0.5,
        parts_because="The control needs another layer of the same shapes, and chance decides which networks have one. "
        "Of the networks with convolutions only the ResNet has two layers of the same shapes.",
    ),
    "one use of a tied weight": Control(
        text="The network uses a weight twice; the weight's gradient sums over both uses, the input's is that "
        "of one use.",
        has=("eq1/residual",),
        cases=("a weight used twice",),
        parts_because="Only this network uses a weight twice.",
    ),
}
STATEMENTS = (
    Statement(
        name="linear layers",
        quote="For any function of the form f(z) with z = Wh, the chain rule yields ∇ₕf = Wᵀ∇_z f and ∇_W f = "
        "∇_z f·hᵀ. Combining these gives ∇ₕf·hᵀ = Wᵀ∇_W f.",
        place="Section 1, equation (1)",
        rule=exact,
        reads=("eq1/residual",),
        printed="∇ₕf·hᵀ = Wᵀ∇_W f",
        cases=4,
    ),
    Statement(
        name="convolutions",
        quote="By the chain rule, ∇_{W̃}ℒ = ∇_z ℒ·hᵀ, ∇ₕℒ = W̃ᵀ∇_z ℒ. So we obtain FL equation (Equation 1) "
        "W̃ᵀ∇_{W̃}ℒ = ∇ₕℒ·hᵀ, which leads to the CNN version",
        place="Appendix C.1",
        rule=exact,
        reads=("eq1/convolution",),
        printed="∇ₕℒ·hᵀ = W̃ᵀ∇_W̃ ℒ",
        cases=2,
    ),
)
