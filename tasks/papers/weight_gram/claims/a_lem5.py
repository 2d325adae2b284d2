"""Of all symmetric G with ||G||_F <= c, the one along A A^T maximises tr(A^T G A).

A is not 0: for A = 0 this G is not defined, and every G attains the maximum.
"""

from functools import partial

from tasks.drawing.bound import draw as draw_instances
from tasks.drawing.instances import RESIDUAL
from tasks.judging.rules import bound, exact
from tasks.judging.statement import BOTH_PRECISIONS, Control, Grid, Statement

ID = "A.lem5"
KIND = "bound"
TITLE = "The surrogate's maximum under a norm constraint"
PRINTED = "max tr[AᵀGA] at G = c AAᵀ/‖AAᵀ‖_F, Lemma 5"
MATH = (
    r"\max_{\| G \|_F \le c} \operatorname{tr}\left( A^\top G A \right) = c\, \| A A^\top \|_F",
    r"\text{attained at } G = \frac{c\, A A^\top}{\| A A^\top \|_F}",
)
TRAINED = tuple(f"after {step} steps" for step in (0, 3, 10, 30, 100, 300))
CANDIDATES = ("best", "control: G of another A", "least", "near the best", "psd", "symmetric")


def candidates_of(case: str, _: int = 0) -> tuple[str, ...]:
    """The G of a case: a layer in training has its own, and a random A has all the others."""
    return ("trained",) if case.startswith(TRAINED) else CANDIDATES


GRIDS = {
    "lem5/ratio": Grid(layers=(*CANDIDATES, "trained"), layers_of=candidates_of),
    "lem5/residual": Grid(BOTH_PRECISIONS),
}
CONTROLS = {
    "norm of G beyond c": Control(
        text="The maximising G is scaled to the norm 1.01 c.",
        parts=("case", "step"),
        lacks=TRAINED,
        parts_because="Its G is the best one, 1 % too large; a layer in training has a G of its own.",
    ),
    "G of another A": Control(
        text="BBᵀ of another matrix B takes the place of AAᵀ in the maximising G.",
        equal_quantities=("lem5/ratio",),
        parts=("case", "step"),
        lacks=TRAINED,
        parts_because="Its G is that of another A; a layer in training has a G of its own.",
        equal_because="It takes the G of another A, on which the claim's ratio does not depend.",
    ),
}
STATEMENTS = (
    Statement(
        name="maximum",
        quote="For a matrix A ∈ ℝ^{m×n} and a symmetric matrix G ∈ ℝ^{m×m} with bounded norm ‖G‖_F ≤ c, "
        "tr[AᵀGA] achieves its maximum value when G = c AAᵀ/‖AAᵀ‖_F.",
        place="Appendix C.6, Lemma 5",
        rule=bound,
        reads=("lem5/ratio",),
        printed="tr[AᵀGA] ≤ c‖AAᵀ‖_F",
        cases=12,
    ),
    Statement(
        name="attained",
        quote="where equality holds when",
        place="Appendix C.6, proof of Lemma 5",
        rule=exact,
        reads=("lem5/residual",),
        printed="equality at G = c AAᵀ/‖AAᵀ‖_F",
        cases=6,
    ),
)

draw = partial(draw_instances, limits={"lem5/residual": RESIDUAL})
