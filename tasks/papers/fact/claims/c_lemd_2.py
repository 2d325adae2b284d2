"""The least norm of a quadratic network that represents x^T Q x is a sum over the singular values of Q.

The network is f(x) = sum_i a_i (w_i^T x)^2. Its norm, which the lemma calls cost, is ||a||^2 + ||W||_F^2. Q is any
symmetric d x d matrix. The network has at least d neurons, and d of them suffice for the least norm. No network, random
or found by a search, may cost less than the formula says. For d neurons to suffice, the proof's network of one neuron
for each eigenvalue must represent Q and cost the formula's value, and no network may cost less. The printed network
costs the printed value, 5.8 % more than the least norm, so it does not attain the minimum. The corrected network
decides. The control has fewer neurons than the rank of Q.
"""

from dataclasses import replace
from functools import partial

import numpy as np

from tasks.drawing.bound import draw as draw_instances
from tasks.drawing.instances import RATIO, RESIDUAL, Limit
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, bound, exact
from tasks.judging.statement import BOTH_PRECISIONS, Control, Drawn, Grid, Statement

ID = "C.lemD.2"
KIND = "exact"
TITLE = "Least norm of a quadratic network"
PRINTED = "2 Σᵢ σᵢ(Q)^(2/3), Lemma D.2"
MATH = r"\min_{a,W:\; a^\top (Wx)^2 = x^\top Q x} \left( \| a \|^2 + \| W \|_F^2 \right) = 2 \sum_i \sigma_i(Q)^{2/3}"
MATH_CORRECTED = (
    r"\min_{a,W:\; a^\top (Wx)^2 = x^\top Q x} \left( \| a \|^2 + \| W \|_F^2 \right) = \frac{3}{2^{2/3}} "
    r"\sum_i \sigma_i(Q)^{2/3}"
)
CORRECTS = "a formula"
CORRECTION = (
    "The factor is 3·2^(−2/3) = 1.8899 instead of 2. A neuron with |a|‖w‖² = q costs at least 3(q/2)^(2/3), with "
    "equality at a² = ‖w‖²/2. The printed network has a² = ‖w‖² and costs 5.8 % more. The proof uses a² + ‖w‖² ≥ "
    "2(|a|‖w‖²)^(2/3), which is false for a² = ‖w‖²/2. For an eigenvalue λ of Q with eigenvector v, a = "
    "sgn(λ)|λ/2|^(1/3) and w = (2λ²)^(1/6) v attain the least norm. Theorem 3.4, whose proof uses the lemma, does not "
    "depend on the constant."
)
SETTINGS = ("instances",)
FOUND = 0.01  # relative distance of the search's cost from the least norm


def never_below(rows: Rows) -> Finding:
    """No network, random or optimised, costs less than the least norm of the function that it represents."""
    # a network of low rank represents each sigma_i = 0 up to round-off, whose 2/3 power enters the bound
    finding = bound(rows, 1e-9)
    least = 1 / finding.statistic
    return replace(finding, measured=f"the cheapest network found costs {least:.3f} times the formula's value")


def attained(rows: Rows) -> Finding:
    """The proof's network, of one neuron for each eigenvalue, represents Q and costs the formula's value, the least.

    A network that costs the formula's value attains the minimum only if no other network costs less.
    """
    least = never_below(rows.where(quantity="lemd2/ratio"))
    finding = all_of(represents=exact(rows.where(quantity="lemd2/represented")),
                     costs=exact(rows.where(quantity="lemd2/attained")), least=least)  # fmt: skip
    return replace(finding, measured=least.measured)


def searched(rows: Rows) -> Finding:
    """The cheapest network that a search finds for a given Q costs the least norm, on the median Q."""
    distance = float(np.median(rows.value))
    text = f"median over Q of the search's relative distance from the least norm at most {FOUND:g}"
    difference = f"{100 * distance:.1g} %, median over Q"
    measured = f"the cost of the cheapest network that a search finds differs from the formula by {difference}"
    return Finding(distance <= FOUND, distance, text, "bound", high=FOUND, measured=measured)


GRIDS = {
    "lemd2/ratio": Grid(steps=16),
    **{f"lemd2/{quantity}": Grid(BOTH_PRECISIONS) for quantity in ("represented", "attained")},
}
DRAWN = {
    f"lemd2/{quantity}": Drawn(
        0, "The settings' instances are those of five kinds of Q together; the table's seeds are Figure 4's."
    )
    for quantity in ("attained", "ratio", "represented", "search")
}
CONTROLS = {
    "fewer neurons than the rank": Control(text="The network has one neuron fewer than the rank of Q."),
}
STATEMENTS = (
    Statement(
        name="least norm",
        quote="the minimum-norm neural network that represents f has cost",
        place="Lemma D.2",
        rule=never_below,
        reads=("lemd2/ratio",),
        printed="2 Σᵢ σᵢ(Q)^(2/3)",
        derived="3·2^(−2/3) Σᵢ σᵢ(Q)^(2/3)",
        cases=5,
    ),
    Statement(
        name="at most d neurons",
        quote="this can be achieved with a network that has at most d nonzero neurons",
        place="Lemma D.2",
        rule=attained,
        printed="the least norm 2 Σᵢ σᵢ(Q)^(2/3) with at most d neurons",
        derived="the least norm 3·2^(−2/3) Σᵢ σᵢ(Q)^(2/3) with at most d neurons",
        reads=("lemd2/represented", "lemd2/attained", "lemd2/ratio"),
        cases=5,
    ),
    Statement(
        name="the search finds it",
        quote="the minimum-norm neural network that represents f has cost",
        place="Lemma D.2",
        rule=searched,
        reads=("lemd2/search",),
        kind="ours",
        cases=5,
    ),
)

draw = partial(
    draw_instances,
    limits={
        "lemd2/ratio": replace(RATIO, most=1 + 1e-9),
        "lemd2/represented": RESIDUAL,
        "lemd2/attained": RESIDUAL,
        "lemd2/search": Limit(
            "cheapest network that a search finds: distance from the least norm, relative",
            FOUND,
            in_words=f"{FOUND:g}",
            judged="median",
        ),
    },
)
