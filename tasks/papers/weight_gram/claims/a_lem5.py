"""tr(A^T G A) <= c ||A A^T||_F for symmetric G with ||G||_F <= c, with equality at G = c A A^T / ||A A^T||_F.

A is not 0: for A = 0 this G is not defined, and every G attains the maximum.
"""

from tasks.drawing.bound import draw as draw
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, bound, exact

ID = "A.lem5"
KIND = "bound"
TITLE = "The surrogate's maximum under a norm constraint"
PRINTED = "max tr[AᵀGA] at G = c AAᵀ/‖AAᵀ‖_F, Lemma 5"
QUANTITIES = ("lem5/ratio", "lem5/residual")


def rule(rows: Rows) -> Finding:
    """The bound for random, definite, opposite and nearly optimal G; the equality to round-off."""
    return all_of(
        bound=bound(rows.where(quantity="lem5/ratio")),
        attained=exact(rows.where(quantity="lem5/residual")),
    )
