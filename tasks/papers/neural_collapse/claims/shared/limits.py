"""The two limits between which Theorem 4.3 has its rate: lambda_k / lambda_Phi = 0, and a large ratio."""

from dataclasses import replace

import numpy as np

from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, exact
from tasks.judging.statement import BOTH_PRECISIONS, Control, Grid, Statement

ONE_LAYER, OUTSIDE, LEFT = "thm4_3/one layer", "thm4_3/outside", "thm4_3/left"
UNCHANGED = 0.99  # a ratio of two rates, or of two levels, above it says that they are the same
ROUND_OFF = 1e-12  # of the fractions and distances, which are at most about 1
NAMES = {
    "rank": "fraction of the AGOP's trace outside its K largest eigenvalues",
    "collapse": "distance from collapse after one layer",
}
KERNEL_RATIOS = (2.0**-8, 2.0**-7, 2.0**-6, 1.0, 4.0, 16.0)  # lambda_k / lambda_Phi


def collapses_at_once(rows: Rows) -> Finding:
    """At lambda_k = 0 the Gram after one layer is yy^T, up to its scale and to round-off in both precisions."""
    finding = exact(rows)
    measured = f"at λ_k = 0 the distance from collapse after one layer is at most {finding.statistic:.2g} u"
    return replace(finding, measured=measured)


def nonlinear_parts_grow(rows: Rows) -> Finding:
    """At every large ratio the AGOP has more outside its K largest eigenvalues than at every small one.

    A linear predictor of K labels has an AGOP of rank K at most. So the fraction of the trace that lies outside the K
    largest eigenvalues is due to the nonlinear part of the predictor. This part prevents collapse if it also leaves the
    Gram of the first layer farther from collapse. The paper names no amount. So each instance compares its large
    ratios, lambda_k / lambda_Phi >= 1, with its small ones; a change of less than 1 % counts as none.
    """
    finding = all_of(
        rank=_larger(rows.where(quantity=OUTSIDE), NAMES["rank"]),
        collapse=_larger(rows.where(quantity=LEFT), NAMES["collapse"]),
    )
    levels = [
        f"the {NAMES[key]} is at most {part.numbers['largest at a small ratio']:.2g} at small ratios and at least "
        f"{part.numbers['least at a large ratio']:.2g} at large ones"
        for key, part in finding.parts.items()
    ]
    return replace(finding, measured="; ".join(levels))


def _larger(rows: Rows, name: str) -> Finding:
    """On every instance the least value at ratios from 1 on is above the largest value at smaller ratios."""
    frame = rows.frame
    instances = [frame["case"], frame["seed"]]
    small = frame["value"].where(frame["x"] < 1).groupby(instances).max()
    large = frame["value"].where(frame["x"] >= 1).groupby(instances).min()
    worst = float(((small + ROUND_OFF) / (large + ROUND_OFF)).max())
    rule = f"{name}: at every small ratio at most {UNCHANGED:g} times that at every large ratio, on every instance"
    numbers = {"largest at a small ratio": float(np.max(small)), "least at a large ratio": float(np.min(large))}
    return Finding(worst <= UNCHANGED, worst, rule, "bound", high=UNCHANGED, numbers=numbers)


STATEMENTS = (
    Statement(
        name="collapse in one layer",
        quote="If λ_k/λ_Φ were exactly 0, then (Ḡ_l + λ_k/λ_Φ · I)⁻¹ is equal to Ḡ_l⁻¹ = λ_Φ(X_lᵀX_l)⁻¹, the scaled "
        "linear regression solution. In this case, collapse will occur in just one layer of Deep RFM, as the AGOP of a "
        "linear function is exactly the outer product of the solution with itself.",
        place="Section 4.2",
        rule=collapses_at_once,
        reads=(ONE_LAYER,),
        printed="G₂ = yyᵀ at λ_k = 0",
        cases=12,
        forms=("claim",),
    ),
    Statement(  # ours, since the kernels are: the paper names none, and the linearised kernel has no such part
        name="a large ratio prevents collapse",
        quote="Otherwise, if this ratio were large, i.e. λ_k/λ_Φ = Ω(1), (Ḡ_l + λ_k/λ_Φ · I)⁻¹ can be far from the "
        "linear regression solution. In this case, the kernel regression solution contains non-linear variations that "
        "increase the rank of the AGOP (preventing collapse).",
        place="Section 4.2",
        rule=nonlinear_parts_grow,
        reads=(OUTSIDE, LEFT),
        kind="ours",
        printed="the rank of the AGOP increases",
        cases=8,
        forms=("claim",),
    ),
)


def grids(layers_of) -> dict[str, Grid]:
    """Where the quantities are measured; ``layers_of`` gives the first Grams that do not collapse in one layer."""
    return {
        ONE_LAYER: Grid(BOTH_PRECISIONS, layers_of=layers_of),
        OUTSIDE: Grid(x=KERNEL_RATIOS),
        LEFT: Grid(x=KERNEL_RATIOS),
    }


CONTROLS = {
    "linearised kernel": Control(
        text="The kernel matrix is that of the linearised kernel, XᵀX + λ_k I, instead of a non-linear one.",
        has=(OUTSIDE, LEFT),
    ),
    "λ_k = λ_Φ": Control(text="λ_k is equal to λ_Φ instead of 0.", has=(ONE_LAYER,)),
}
