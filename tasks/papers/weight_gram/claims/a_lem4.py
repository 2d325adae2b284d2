"""For a ReLU network without biases, b^T grad f(a) = f(b) + eps with |eps| < 2 M B delta.

M is the number of boundaries of linear regions that the segment from a to b crosses, delta bounds the gradient's jump
at a boundary (here the largest on the segment), and B bounds the norms of a and b.
"""

from tasks.drawing.bound import draw as draw
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, bound, never

ID = "A.lem4"
KIND = "bound"
TITLE = "Taylor error of a ReLU network bounded by its kinks"
PRINTED = "bᵀ∇f(a) = f(b) + ε, |ε| < 2MBδ, Lemma 4"
CORRECTION = (
    "|ε| ≤ MBδ. The strict inequality fails without a boundary (M = 0), where both sides are 0. Since f(b) = bᵀ∇f(b), "
    "ε = bᵀ(∇f(a) − ∇f(b)), so half of the printed bound suffices; a single unit attains it. (The proof's expansion of "
    "f(b) also has the wrong sign of ε.)"
)
QUANTITIES = ("lem4/ratio", "lem4/violated")


def rule(rows: Rows) -> Finding:
    """On networks of one to three hidden layers, far and near points, and the extremal unit; M is counted exactly."""
    return all_of(
        bound=bound(rows.where(quantity="lem4/ratio")),
        inequality=never(rows.where(quantity="lem4/violated"), "violation of the stated inequality"),
    )
