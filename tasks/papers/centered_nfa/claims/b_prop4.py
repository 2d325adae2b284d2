"""At initialization ẆᵀẆ and ẆᵀKẆ follow from a layer's input X, the loss's slopes L̇ and the tangent kernel 𝒦.

They are half of the second derivatives of the centered NFM and AGOP (Proposition 3). L̇ is the diagonal matrix of ∂L/∂f
over the n samples, and 𝒦 is the n × n matrix of the inner products of the samples' tangents ∂f/∂z; z is the layer's
output before the activation. The formulas hold for one output and any loss, depth, hidden layer and activation. The
paper states them for the first layer.

The derivatives are perfectly correlated if 𝒦 ∝ 𝒦². Their correlation is the paper's ρ, tr(AB) / (‖A‖ ‖B‖), which is 1
if and only if one matrix is a positive multiple of the other. So the residual compares ẆᵀKẆ with the multiple of ẆᵀẆ
that has its norm. The networks have one hidden layer, and their kernel meets the condition: each unit's ∂f/∂z over the
samples is orthogonal to that of every other unit, and all have one norm. The control doubles one unit's output weight,
which breaks the condition. The sentence goes on that the correlation is positive in general. No statement tests
this, because no network can refute it: tr(ẆᵀẆ ẆᵀKẆ) is the square of ‖JẆẆᵀ‖ with K = JᵀJ, and the columns of Ẇ are in
the range of Jᵀ. So it is 0 only if Ẇ is.
"""

from tasks.drawing.exact import draw as draw
from tasks.judging.rules import exact
from tasks.judging.statement import BOTH_PRECISIONS, Control, Grid, Statement

ID = "B.prop4"
KIND = "exact"
TITLE = "Inputs, loss and tangent kernel determine the derivatives at initialization"
PRINTED = "ẆᵀẆ = Xᵀ L̇ 𝒦 L̇ X and ẆᵀKẆ = Xᵀ L̇ 𝒦² L̇ X, (3), Proposition 4"
MATH = (
    (
        r"\dot W^\top \dot W = X^\top \dot{\mathcal{L}}\, \mathcal{K}\, \dot{\mathcal{L}}\, X, \quad \dot "
        r"W^\top K \dot W = X^\top \dot{\mathcal{L}}\, \mathcal{K}^2\, \dot{\mathcal{L}}\, X"
    ),
    r"\dot{\mathcal{L}} = \operatorname{diag}\left( \frac{\partial \mathcal{L}}{\partial f} \right)",
)
QUOTE = (
    "For a fully-connected neural network at initialization, whose weights are trained with gradient descent on a loss"
)
LAYERS = ("0", "1", "2")


def layers_of(case: str, _: int = 0) -> tuple[str, ...]:
    """The hidden layers of a case: one to three in turn, by the number in "7: softplus, Huber"."""
    number = case.partition(":")[0]
    return LAYERS[: 1 + int(number) % 3] if number.isdecimal() else LAYERS


GRIDS = {
    quantity: Grid(BOTH_PRECISIONS, layers=LAYERS, layers_of=layers_of) for quantity in ("prop4/nfm", "prop4/agop")
}
GRIDS["prop4/perfect"] = Grid(BOTH_PRECISIONS)
CONTROLS = {
    "kernel of another layer": Control(
        text="The formulas have the tangent kernel 𝒦 of another layer of the same network.",
        has=("prop4/nfm", "prop4/agop"),
        least_share=0.5,
        parts_because="It needs another layer, and every third network has a single hidden layer.",
    ),
    "unequal output weights": Control(
        text="The output weight of one hidden unit is doubled, so that 𝒦 is not proportional to 𝒦².",
        has=("prop4/perfect",),
    ),
}
STATEMENTS = (
    *(
        Statement(name=name, quote=QUOTE, place="Proposition 4", rule=exact, reads=(quantity,), printed=printed)
        for name, quantity, printed in (
            ("derivative of the NFM", "prop4/nfm", "ẆᵀẆ = Xᵀ L̇ 𝒦 L̇ X"),
            ("derivative of the AGOP", "prop4/agop", "ẆᵀKẆ = Xᵀ L̇ 𝒦² L̇ X"),
        )
    ),
    Statement(
        name="perfectly correlated",
        quote="The derivatives are perfectly correlated if 𝒦 ∝ 𝒦²",
        place="Section 3.1",
        rule=exact,
        reads=("prop4/perfect",),
        printed="ρ(ẆᵀẆ, ẆᵀKẆ) = 1 if 𝒦 ∝ 𝒦²",
    ),
)
