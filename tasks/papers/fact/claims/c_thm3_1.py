"""Features at Convergence Theorem: at a critical point of the loss with weight decay, W^T W = FACT at every layer.

In FACT, grad_h l_i is the loss's gradient in the layer's input h, through this layer alone; the network may have skip
connections. On the way to a critical point ||W^T W - FACT|| falls in proportion to the gradient's norm (slope 1), and
it is at most 10^-9 ||W^T W|| at the end. At every point it is at most ||W||_op ||grad_W L_lambda|| / lambda. The
controls end at a point that is not critical, or take twice the lambda.
"""

from dataclasses import replace

from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, bound
from tasks.judging.statement import Drawn, Grid, Statement
from tasks.judging.statistics import JudgeError
from tasks.papers.fact.claims.shared.critical_points import controls, critical_point, vanishes
from tasks.papers.fact.claims.shared.critical_points import draw as draw

ID = "C.thm3.1"
KIND = "exact"
TITLE = "Features at Convergence: WᵀW = FACT"
PRINTED = "WᵀW = FACT at critical points, Theorem 3.1"
MATH = (
    (
        r"W^\top W = \text{FACT} = - \frac{1}{n \lambda} \sum_{i=1}^n \left( \nabla_h \ell_i \right) "
        r"h(x_i)^\top \quad\text{where } \nabla_W \mathcal{L}_\lambda = 0"
    ),
    r"\mathcal{L}_\lambda(\theta) = \frac{1}{n} \sum_i \ell_i + \frac{\lambda}{2} \| \theta \|^2",
)


def vanishes_beside_skips(rows: Rows) -> Finding:
    """The same on the networks that have a skip connection."""
    cases = {case for case in rows.case.tolist() if ", skip" in case}
    if not cases:
        raise JudgeError("no network has a skip connection")
    return vanishes(rows.where(case=cases))


def bounded(rows: Rows) -> Finding:
    """The error is at most ||W||_op ||grad_W L_lambda|| / lambda, critical point or not."""
    finding = bound(rows, 1e-6)
    return replace(finding, measured=f"the error is at most {finding.statistic:.3f} times the bound")


LAYERS = ("first", "second", "last")
GRIDS = {"fact/error": Grid(layers=LAYERS, x=26), "fact/ratio": Grid(layers=LAYERS)}
DRAWN = {"fact/ratio": Drawn(1, "It is measured at every tenth step, and the steps that a search takes differ.")}
CONTROLS = controls("FACT")
STATEMENTS = (
    Statement(
        name="FACT at critical points",
        quote="If the parameters of the model are at a critical point of the loss with respect to W, then",
        place="Theorem 3.1",
        rule=vanishes,
        reads=("fact/error",),
        printed="WᵀW = FACT",
    ),
    Statement(
        name="beside skip connections",
        quote="the weight matrix in any internal layer of a neural network, and there may even be skip connections",
        place="Section 1",
        rule=vanishes_beside_skips,
        reads=("fact/error",),
        printed="WᵀW = FACT",
    ),
    Statement(
        name="the gradient bounds the error",
        quote="By left-multiplying by Wᵀ and using the chain rule, we obtain 0 = Wᵀ(∇_W ℒ_λ(θ))",
        place="Theorem 3.1, proof",
        rule=bounded,
        reads=("fact/ratio",),
        kind="ours",
        derived="‖WᵀW − FACT‖ ≤ ‖W‖ ‖∇_W L_λ‖ / λ",
    ),
)
HYPOTHESES = critical_point("fact/error")
