"""To first order, a gradient step changes W^T W by -gamma (grad_h L h^T + h grad_h L^T).

W is a layer's weight, and grad_h L is the gradient of the loss with respect to the layer's input h. The remainder is
O(gamma^2) in the step size gamma.
"""

from tasks.drawing.order import draw as draw
from tasks.judging.rules import order
from tasks.judging.statement import Control, Drawn, Grid, Statement
from tasks.papers.weight_gram.claims.shared.networks import layers_of

ID = "A.eq2"
KIND = "exact"
TITLE = "The weight Gram after a gradient step, to first order"
PRINTED = "(W⁺)ᵀW⁺ = WᵀW − γ(Wᵀ∇_Wℒ + ∇_WℒᵀW) + O(γ²) ≈ WᵀW − γ(∇ₕℒ·hᵀ + h·∇ₕℒᵀ), eq. (2)"
MATH = (
    (
        r"(W^+)^\top W^+ = W^\top W - \gamma \left( \nabla_h \mathcal{L}\, h^\top + h\, \nabla_h "
        r"\mathcal{L}^\top \right) + O(\gamma^2)"
    ),
    r"W^+ = W - \gamma \nabla_W \mathcal{L}",
)


def layers_with_gradient(case: str, _: int = 0) -> tuple[str, ...]:
    """The layers of a case that have a remainder. Where inputs are 0, the gradient and the remainder are 0 too."""
    return ("5",) if case == "a dead layer" else layers_of(case)


GRIDS = {"eq2/remainder": Grid(layers_of=layers_with_gradient, x=tuple(2.0**-power for power in range(21)))}
DRAWN = {kind: Drawn(0, "It is a single network.") for kind in ("ResNet-18", "a dead layer", "transformer block")}
CONTROLS = {
    "minus turned into plus": Control(text="The predicted change of WᵀW has a plus in place of the minus."),
}
STATEMENTS = (
    Statement(
        name="remainder of second order",
        quote="Computing the Gram matrix of the gradient-descent-updated weight matrix yields",
        place="Section 2, equation (2)",
        rule=lambda rows: order(rows, 2),
        reads=("eq2/remainder",),
        printed="(W⁺)ᵀW⁺ ≈ WᵀW − γ(∇ₕℒ·hᵀ + h·∇ₕℒᵀ), remainder O(γ²)",
        cases=4,
    ),
)
