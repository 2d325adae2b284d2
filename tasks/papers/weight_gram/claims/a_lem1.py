"""The nonlinear surrogate of a layer is at least the linear surrogate of the next layer, divided by c^2.

The surrogate of a Gram matrix G is S(G) = Y^T G Y. The next layer has a weight W with ||W||_op < c and the linear Gram
G_id = H^T W^T W H. This layer has the nonlinear Gram G'_sigma = H^T H with H = sigma(W' H'). Both printed inequalities
are strict.
"""

from functools import partial

from tasks.drawing.bound import draw as draw_instances
from tasks.drawing.instances import COUNT
from tasks.judging.rules import bound, never
from tasks.judging.statement import Control, Drawn, Statement

ID = "A.lem1"
KIND = "bound"
TITLE = "A layer's nonlinear surrogate is bounded by the next layer's linear one"
PRINTED = "𝒮(G′_σ) > c⁻²𝒮(G_id) for ‖W‖_op < c, Lemma 1"
MATH = r"\mathcal{S}(G'_\sigma) > c^{-2}\, \mathcal{S}(G_{\text{id}}) \quad\text{for } \| W \|_{\text{op}} < c"
MATH_CORRECTED = (
    r"\mathcal{S}(G'_\sigma) \ge c^{-2}\, \mathcal{S}(G_{\text{id}}) \quad\text{for } \| W \|_{\text{op}} \le c"
)
CORRECTS = "a detail"
CORRECTION = (
    "Only the strictness is corrected: ≥ instead of >, under ‖W‖_op ≤ c. If HY = 0, for example in a dead ReLU layer, "
    "both sides are 0. The corrected bound is attained if ‖W‖_op = c and HY lies along the first right singular "
    "vector of W."
)
QUOTE = "With a regularity condition on weight matrix"
DRAWN = {"lem1/ratio": Drawn(0.9, "There is no ratio where a layer's inputs are dead, so that both sides are 0.")}
CONTROLS = {
    "W beyond c": Control(
        text="W has the norm 1.01 c, which the lemma excludes.",
        cases=("extremal",),
        parts_because="W 1 % beyond c breaks the bound where it is nearly attained.",
    ),
}
STATEMENTS = (
    Statement(
        name="bound",
        quote=QUOTE,
        place="Appendix C.3, Lemma 1",
        rule=bound,
        reads=("lem1/ratio",),
        printed="𝒮(G′_σ) > c⁻²𝒮(G_id)",
        cases=13,
    ),
    Statement(
        name="strictness",
        quote=QUOTE,
        place="Appendix C.3, Lemma 1",
        rule=lambda rows: never(rows, "violation of the inequality"),
        reads=("lem1/violated",),
        printed=">, on every layer",
        derived="≥, on every layer",
        cases=14,
    ),
)

draw = partial(draw_instances, limits={"lem1/violated": COUNT})
