"""A gradient step changes the weight Gram matrix by the Virtual Covariance Shift, up to O(gamma^2).

The Virtual Covariance Shift is the change of the inputs' second moment if each input takes a gradient step of its own.
The theorem holds for linear layers and convolutions. The paper names the AGOP-like term of the remainder; we derive its
whole closed form.
"""

from tasks.drawing.order import draw as draw
from tasks.judging.rules import exact, order
from tasks.judging.statement import BOTH_PRECISIONS, Control, Drawn, Grid, Statement
from tasks.papers.weight_gram.claims.shared.networks import layers_of

ID = "A.thm1"
KIND = "exact"
TITLE = "Weight Gram shift = Virtual Covariance Shift + O(γ²)"
PRINTED = "(W⁺)ᵀW⁺ − WᵀW = VCS + O(γ²), VCS = Virtual Covariance Shift, Theorem 1"
MATH = (
    r"(W^+)^\top W^+ - W^\top W = \sum_i \left( h_i^+ (h_i^+)^\top - h_i h_i^\top \right) + O(\gamma^2)",
    r"h_i^+ = h_i - \gamma \nabla_{h_i} \mathcal{L}",
    (
        r"O(\gamma^2) = \gamma^2 \left( \nabla_W \mathcal{L}^\top \nabla_W \mathcal{L} - \sum_i "
        r"\nabla_{h_i} \mathcal{L}\, \nabla_{h_i} \mathcal{L}^\top \right)"
    ),
)


def layers_with_shift(case: str, _: int = 0) -> tuple[str, ...]:
    """The layers of a case that have a remainder. Below a dead layer both shifts are 0, and so is the remainder."""
    return ("4", "5") if case == "a dead layer" else layers_of(case)


GRIDS = {
    "thm1/remainder": Grid(layers_of=layers_with_shift, x=tuple(2.0**-power for power in range(21))),
    "thm1/residual": Grid(BOTH_PRECISIONS, layers_of=layers_of),
}
DRAWN = {kind: Drawn(0, "It is a single network.") for kind in ("ResNet-18", "a dead layer", "transformer block")}
CONTROLS = {
    "another layer": Control(
        text="The inputs of another layer of the same shape take this layer's gradient steps; their shift is "
        "compared with this layer's Gram.",
        least_share=0.5,
        parts_because="It needs another layer of the same shapes, and chance decides which networks have one.",
    ),
}
STATEMENTS = (
    Statement(
        name="remainder of second order",
        quote="The shift in the Gram matrix of the gradient-descent-updated weight matrix equals the Virtual "
        "Covariance Shift up to O(γ²): (W_l⁺)ᵀW_l⁺ − W_lᵀW_l = c̃ov(h_l⁺) − c̃ov(h_l) + O(γ²).",
        place="Theorem 1",
        rule=lambda rows: order(rows, 2),
        reads=("thm1/remainder",),
        printed="(W⁺)ᵀW⁺ − WᵀW = VCS + O(γ²)",
        cases=4,
    ),
    Statement(
        name="the remainder's closed form",
        quote="An AGOP-like term — with the network output replaced by the loss — appears within the γ² residual of "
        "Theorem 1.",
        place="Section 3",
        rule=exact,
        reads=("thm1/residual",),
        printed="an “AGOP-like term” in the γ² residual",
        derived="remainder = γ² (∇_Wℒᵀ ∇_Wℒ − Σᵢ ∇_hᵢℒ ∇_hᵢℒᵀ)",
        cases=4,
    ),
)
