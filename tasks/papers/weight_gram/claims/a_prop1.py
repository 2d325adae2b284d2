"""Element by element, the virtual update of a layer's features bounds the actual update and has the same sign.

Both come from a gradient step on one sample with ||h_{l-1}|| = 1 and all other layers fixed. The bound is for
L-Lipschitz sigma, the signs are for increasing sigma. The paper lets 0 count as either sign only if sigma is constant
somewhere, as ReLU is.
"""

from functools import partial

from tasks.drawing.bound import draw as draw_instances
from tasks.drawing.instances import COUNT
from tasks.judging.rules import bound, never
from tasks.judging.statement import Control, Statement

ID = "A.prop1"
KIND = "bound"
TITLE = "The virtual update bounds the actual one and has the same signs"
PRINTED = "|σ(W⁺h) − σ(Wh)| ≤ L²|h⁺ − h|, Proposition 1"
MATH = (
    r"\left| \sigma(W^+ h) - \sigma(W h) \right| \le L^2 \left| h^+ - h \right| \quad\text{element by element}",
    r"\operatorname{sgn}\left( \sigma(W^+ h) - \sigma(W h) \right) = \operatorname{sgn}\left( h^+ - h \right)",
)
MATH_CORRECTED = (
    r"\operatorname{sgn}\left( \sigma(W^+ h) - \sigma(W h) \right) = \operatorname{sgn}\left( h^+ - h \right) \quad "
    r"\text{if } \sigma' > 0; \text{ else with either sign of } 0"
)
CORRECTS = "a detail"
CORRECTION = (
    "Only the convention on 0 is corrected: 0 counts as either sign for every increasing σ, unless σ′ > 0 everywhere. "
    "The function σ(z) = z − sin z increases strictly and has σ′(0) = 0. So a step from W = 0 leaves the layer's "
    "output unchanged, while the virtual step is not 0."
)
CONTROLS = {
    "L halved": Control(text="The bound has L/2 in place of the Lipschitz constant L."),
    "gelu, not monotone": Control(
        text="The activation is GELU, which is not monotone.",
        cases=("gelu",),
        parts_because="It is about an activation that the claim excludes.",
    ),
    "sin, not monotone": Control(
        text="The activation is the sine, which is not monotone.",
        cases=("sin",),
        parts_because="It is about an activation that the claim excludes.",
    ),
}
STATEMENTS = (
    Statement(
        name="magnitude",
        quote="Assume σ is L-Lipschitz and ‖h_{l−1}‖₂ = 1, and let W⁺_{l−1} denote the layer l−1 weight matrix "
        "after one gradient descent step on the single data point producing h_{l−1}, with all other "
        "layers held fixed. Then |σ(W⁺_{l−1}h_{l−1}) − σ(W_{l−1}h_{l−1})| ≤ L²|h_l⁺ − h_l| element-wise.",
        place="Proposition 1",
        rule=bound,
        reads=("prop1/ratio",),
        printed="|σ(W⁺h) − σ(Wh)| ≤ L²|h⁺ − h|",
        cases=7,
        forms=("claim",),
    ),
    Statement(
        name="equal signs",
        quote="If σ is additionally monotonically increasing, then sgn(σ(W⁺_{l−1}h_{l−1}) − σ(W_{l−1}h_{l−1})) "
        "= sgn(h_l⁺ − h_l); the sign equality also holds for non-decreasing σ such as ReLU under the "
        "convention sgn(0) ∈ {−1, +1}.",
        place="Proposition 1",
        rule=lambda rows: never(rows, "pair of unequal signs"),
        reads=("prop1/unequal signs",),
        printed="sgn(σ(W⁺h) − σ(Wh)) = sgn(h⁺ − h)",
        derived="the same, where 0 counts as either sign unless σ′ > 0",
        cases=7,
    ),
)

draw = partial(draw_instances, limits={"prop1/unequal signs": COUNT})
