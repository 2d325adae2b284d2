"""For a ReLU network f without biases, the product of a point b with the gradient at a point a is f(b), up to eps.

M is the number of boundaries of linear regions that the segment from a to b crosses. The gradient jumps by at most
delta at a boundary (here the largest on the segment). B bounds the norms of a and b.
"""

from functools import partial

from tasks.drawing.bound import draw as draw_instances
from tasks.drawing.instances import COUNT
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, bound, never
from tasks.judging.statement import Control, Drawn, Grid, Statement

ID = "A.lem4"
KIND = "bound"
TITLE = "The Taylor error of a ReLU network is bounded by its kinks"
PRINTED = "bᵀ∇f(a) = f(b) + ε, |ε| < 2MBδ, Lemma 4"
MATH = r"b^\top \nabla f(a) = f(b) + \epsilon, \quad | \epsilon | < 2 M B \delta"
MATH_CORRECTED = r"b^\top \nabla f(a) = f(b) + \epsilon, \quad | \epsilon | \le M B \delta"
CORRECTS = "a detail"
CORRECTION = (
    "Only the strictness is corrected: ≤ instead of <. If the segment crosses no boundary (M = 0), both sides are 0. "
    "Half of the printed bound suffices: since f(b) = bᵀ∇f(b), ε = bᵀ(∇f(a) − ∇f(b)) and |ε| ≤ MBδ. A single unit "
    "attains this. (The proof's expansion of f(b) also has the wrong sign of ε.)"
)
QUOTE = (
    "Let M denote the number of linear-region boundaries crossed by the segment [a, b]. Then bᵀ∇f(a) = f(b) +"
    " ε, where |ε| < 2MBδ."
)


def half(rows: Rows) -> Finding:
    """Half of the printed bound suffices: |ε| / (2MBδ) is at most 1/2."""
    return bound(Rows(rows.frame.assign(value=2 * rows.value)))


STEPS = (0, 3, 10, 30, 100, 300)


def steps_of(case: str, _: int = 0) -> tuple[int, ...]:
    """The training steps of a case; a random network has none."""
    return STEPS if case.startswith("trained") else STEPS[:1]


# at which steps a ratio exists, chance decides: see DRAWN
GRIDS = {"lem4/ratio": Grid(steps=STEPS, steps_of=lambda *_: ()), "lem4/violated": Grid(steps=STEPS, steps_of=steps_of)}
DRAWN = {
    "lem4/ratio": Drawn(0.7, "There is no ratio where the segment has no kink, so that both sides are 0."),
    "lem4/violated": Drawn(
        0.8, "A faint first kink needs two units that both switch on the segment, which chance decides."
    ),
}
CONTROLS = {
    "0.99 of M B delta": Control(
        text="The bound is 0.99 M B δ in place of 2 M B δ.",
        cases=("extremal",),
        parts_because="There the bound is nearly attained.",
    ),
    "first delta only": Control(
        text="The gradient's jump at the first boundary takes the place of δ, the largest jump.",
        cases=("faint first kink",),
        parts_because="There the first kink is small beside the others.",
    ),
}
STATEMENTS = (
    Statement(
        name="bound",
        quote=QUOTE,
        place="Appendix C.5, Lemma 4",
        rule=bound,
        reads=("lem4/ratio",),
        printed="|ε| < 2MBδ",
        cases=7,
    ),
    Statement(
        name="strictness",
        quote=QUOTE,
        place="Appendix C.5, Lemma 4",
        rule=lambda rows: never(rows, "violation of the inequality"),
        reads=("lem4/violated",),
        printed="<, on every segment",
        derived="≤, on every segment, even with MBδ",
        cases=8,
    ),
    Statement(
        name="half of the bound",
        quote=QUOTE,
        place="Appendix C.5, Lemma 4",
        rule=half,
        reads=("lem4/ratio",),
        kind="ours",
        derived="|ε| ≤ MBδ",
        cases=7,
        forms=("claim",),  # the corrected arm is measured against MBδ already
    ),
)

draw = partial(draw_instances, limits={"lem4/violated": COUNT})
