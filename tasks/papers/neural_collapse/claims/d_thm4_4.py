"""The collapsed kernel k* solves the relaxed kernel ridge regression of Problem (3), and the minimum has a known value.

Problem (3) minimises L(A, k) over A and over kernel matrices k with unit diagonal and positive entries. There are C
classes of n samples, and mu is the ridge. No feasible k has a lower minimum over A than k*. The minimum of a k near k*
is within Cn ||k - k*|| / mu of that of k*. The proof needs only the trace and that k is positive semi-definite (psd),
so the signs of the entries make no difference. A slip in the proof does no harm: the proof calls the concave x/(x + mu)
convex. The controls are infeasible kernels, with a diagonal of 1.05 or not psd.
"""

from dataclasses import replace
from functools import partial

from tasks.drawing.bound import draw as draw_instances
from tasks.drawing.instances import RESIDUAL
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, bound, exact
from tasks.judging.statement import BOTH_PRECISIONS, Control, Grid, Statement

ID = "D.thm4.4"
KIND = "bound"
TITLE = "The collapsed kernel is optimal"
VALUE = "Cn·n/(n+μ)"  # of the objective at k*; the corrected one has a minus
PRINTED = f"k* = I_C ⊗ (1ₙ1ₙᵀ), Theorem 4.4; ℒ(A*, k*) = {VALUE}, its proof"
MATH = (
    (
        r"k^\star = I_C \otimes \left( 𝟏_n 𝟏_n^\top \right) = "
        r"\underset{k}{\operatorname{argmin}}\; \min_A \mathcal{L}(A, k)"
    ),
    (
        r"\mathcal{L}(A, k) = \operatorname{tr}\left( A (k^2 + \mu k) A^\top \right) - 2 "
        r"\operatorname{tr}\left( A k Y^\top \right)"
    ),
    r"\mathcal{L}(A^\star, k^\star) = C n\, \frac{n}{n + \mu}",
)
MATH_CORRECTED = r"\mathcal{L}(A^\star, k^\star) = - C n\, \frac{n}{n + \mu}"
CORRECTS = "a formula"
CORRECTION = (
    f"ℒ(A*, k*) = −{VALUE}: the printed value is that of −ℒ, which the proof maximises. A positive number cannot be "
    "the minimum of ℒ, since ℒ(0, k) = 0. With ℒ as printed, tr A(k²+μk)Aᵀ − 2 tr AkYᵀ, the least value over A is "
    "−Σ_c y_cᵀ(k+μI)⁻¹k y_c: for C = 3, n = 4, μ = 0.7 it is −10.21 at k*. That k* is optimal is right."
)


def no_better_kernel(rows: Rows) -> Finding:
    """No kernel, random or reached by ascent, has a lower minimum over A than k*."""
    finding = bound(rows)
    ascents = rows.where(case={"ascent, positive entries", "ascent, any signs"})
    if not len(ascents):
        return finding
    least, most = ascents.value.min(), ascents.value.max()
    measured = f"a search ends at {least:.4f} to {most:.6f} times the value at k*"
    return replace(finding, measured=measured)


def nearly_optimal(rows: Rows) -> Finding:
    """A kernel near k* comes as close to the optimal value as Cn ||k - k*|| / mu."""
    finding = bound(rows)
    return replace(
        finding, measured=f"the distance from the optimum is at most {finding.statistic:.2f} times its bound"
    )


LAYERS = tuple(f"C = {classes}, n = {size}" for classes, size in ((1, 5), (2, 3), (3, 1), (3, 6), (10, 4)))
GRIDS = {
    "thm4_4/residual": Grid(BOTH_PRECISIONS),
    "thm4_4/ratio": Grid(layers=LAYERS),
    "thm4_4/near": Grid(layers=LAYERS, x=5),
}
CONTROLS = {
    "diagonal 1.05": Control(
        text="The kernel matrix is 1.05 k*, so that its diagonal is 1.05 instead of 1.",
        has=("thm4_4/ratio", "thm4_4/residual"),
        cases={"thm4_4/ratio": ("k* times 1.05",)},
        parts_because="Its kernel is better than k*, because its diagonal is not that of the claim's kernels.",
    ),
    "not positive semi-definite": Control(
        text="An entry of k* and its mirror image are enlarged until the least eigenvalue is −0.999 μ or −1.5 μ.",
        has=("thm4_4/near", "thm4_4/ratio"),
        cases={"thm4_4/ratio": ("one eigenvalue below −μ",)},
        grids={"thm4_4/near": Grid(layers=LAYERS, x=1)},
        parts_because="Its kernel has a negative eigenvalue, as no kernel of the claim has, and no distance from k*.",
    ),
}
STATEMENTS = (
    Statement(
        name="value at k*",
        quote="Using continuity arguments, we have that",
        place="Theorem 4.4, proof",
        rule=exact,
        reads=("thm4_4/residual",),
        printed=f"ℒ(A*, k*) = {VALUE}",
        derived=f"ℒ(A*, k*) = −{VALUE}",
        cases=5,
    ),
    Statement(
        name="no better kernel",
        quote="The optimal limiting solution of the Problem 3 is",
        place="Theorem 4.4",
        rule=no_better_kernel,
        reads=("thm4_4/ratio",),
        printed="k* = I_C ⊗ (1ₙ1ₙᵀ)",
        cases=5,
    ),
    Statement(
        name="kernels near k*",
        quote="Any positive definite k sufficiently close to this (positive semi-definite) solution is therefore "
        "nearly optimal.",
        place="Theorem 4.4",
        rule=nearly_optimal,
        reads=("thm4_4/near",),
        printed="nearly optimal",
        derived="within Cn‖k − k*‖/μ of the optimum",
    ),
)

draw = partial(draw_instances, limits={"thm4_4/residual": RESIDUAL})
