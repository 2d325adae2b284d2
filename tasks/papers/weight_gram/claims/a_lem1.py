"""The linear surrogate of a layer bounds the nonlinear one below it: S(G'_sigma) >= c^-2 S(G_id) where ||W||_op <= c.

S(G) = Y^T G Y with G_id = H^T W^T W H and G'_sigma = H^T H, the Gram of H = sigma(W' H'). The printed inequalities
are strict (||W||_op < c and >).
"""

from tasks.drawing.bound import draw as draw
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, bound, never

ID = "A.lem1"
KIND = "bound"
TITLE = "The surrogate passes through a layer"
PRINTED = "𝒮(G′_σ) > c⁻²𝒮(G_id) for ‖W‖_op < c, Lemma 1"
CORRECTION = (
    "≥ instead of >, under ‖W‖_op ≤ c: where HY = 0, for example in a dead ReLU layer, both sides are 0. "
    "The corrected bound is attained where HY is the first right singular vector of W."
)
QUANTITIES = ("lem1/ratio", "lem1/violated")


def rule(rows: Rows) -> Finding:
    """On dead, random, trained and extremal layers, with c = ||W|| for >= and c = 1.001 ||W|| for the strict form."""
    return all_of(
        bound=bound(rows.where(quantity="lem1/ratio")),
        inequality=never(rows.where(quantity="lem1/violated"), "violation of the stated inequality"),
    )
