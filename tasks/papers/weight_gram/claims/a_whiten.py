"""Of all weights with the Gram of the gradient step's weight, the whitened update is the closest to the old weight.

This is the update of Appendix B.1. Section 2 defines it to first order: from the gradient it removes the closest
direction that leaves the Gram unchanged to first order. So the Gram is that of the gradient step up to O(γ²).

U and V are full orthogonal matrices, with the singular vectors of 0. For W of low rank, Newton-Schulz leaves these out
and does not give that Gram; otherwise its result agrees with that of the SVD.
"""

from types import ModuleType

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.drawing import exact as residuals
from tasks.drawing.instances import Limit
from tasks.judging.rules import exact, order
from tasks.judging.statement import BOTH_PRECISIONS, Control, Grid, Statement

ID = "A.whiten"
KIND = "exact"
TITLE = "The whitened update keeps the gradient step's Gram and is the closest to W"
PRINTED = "W⁺ = UVᵀ(W − γG), UVᵀ by Newton–Schulz, Appendix B.1"
MATH = (
    r"W^+ = U V^\top (W - \gamma G), \quad W (W - \gamma G)^\top = U S V^\top",
    (
        r"W^+ = \underset{Z}{\operatorname{argmin}}\; \| Z - W \|_F \quad\text{subject to } Z^\top Z = (W "
        r"- \gamma G)^\top (W - \gamma G)"
    ),
    (
        r"(W - \gamma G + \gamma \Delta')^\top (W - \gamma G + \gamma \Delta') = (W - \gamma G)^\top (W - \gamma G) + "
        r"O(\gamma^2) \quad\text{where } W^\top \Delta' + \Delta'^\top W = 0"
    ),
)
GRIDS = {
    **{f"whiten/{quantity}": Grid(BOTH_PRECISIONS) for quantity in ("gram", "distance", "newton-schulz")},
    "whiten/remainder": Grid(x=tuple(2.0**-power for power in range(21))),
}
LEAST_DRAWN = 2.0**-10  # the least γ of a drawn slope; below, round-off shows
SLOPE = Limit("distance of the remainder's slope from 2, at γ ≥ 2⁻¹⁰", 0.1, "log", "0.1")
RESIDUALS = ("whiten/distance", "whiten/gram", "whiten/newton-schulz")
CONTROLS = {
    "W+ turned by about a hundredth": Control(
        text="W⁺ is multiplied by a random rotation that differs from the identity by about a hundredth.",
        has=RESIDUALS,
        lacks=("one row", "weight 0"),
        parts_because="A single row has two orthogonal factors alone, and all of them are equally far from W = 0.",
    ),
    "a random orthogonal factor": Control(
        text="A random orthogonal matrix takes the place of UVᵀ in W⁺ = UVᵀ(W − γG).",
        has=RESIDUALS,
        lacks=("one row", "weight 0"),
        parts_because="A single row has two orthogonal factors alone, and all of them are equally far from W = 0.",
    ),
    "singular vectors of 0 left out": Control(
        text="UVᵀ leaves out the singular vectors whose singular value is 0.",
        has=("whiten/distance", "whiten/gram"),
        cases=("low rank", "low rank, tall"),
        parts_because="The others have no singular value 0.",
    ),
    "ten Newton-Schulz steps of the authors' code": Control(
        text="The ten Newton-Schulz steps of the authors' code take the place of the exact UVᵀ and of steps "
        "until convergence.",
        has=("whiten/gram", "whiten/newton-schulz"),
        lacks=("low rank", "low rank, tall", "weight 0"),
        parts_because="On these Newton-Schulz does not converge.",
    ),
    "only the removed part": Control(
        text="The weight takes a step along the part of the gradient that whitening removes, in place of the "
        "part that it keeps.",
        has=("whiten/remainder",),
        lacks=("weight 0",),
        parts_because="Of the weight 0 the whole gradient is removed, so that this control is the gradient step.",
    ),
}
STATEMENTS = (
    Statement(
        name="Gram of the gradient step",
        quote="so the Gram matrix evolves identically to that of standard GD",
        place="Section 2; Appendix B.1, constraint",
        rule=exact,
        reads=("whiten/gram",),
        printed="(W⁺)ᵀW⁺ = (W − γG)ᵀ(W − γG)",
        cases=11,
    ),
    Statement(
        name="Gram to first order",
        quote="Setting Δ = ∇_W ℒ − Δ′ and updating W⁺ = W − γΔ yields (W⁺)ᵀW⁺ = (W − γ∇_W ℒ)ᵀ(W − γ∇_W ℒ) + O(γ²), so "
        "the Gram matrix evolves identically to that of standard GD",
        place="Section 2",
        rule=lambda rows: order(rows, 2),
        reads=("whiten/remainder",),
        printed="(W⁺)ᵀW⁺ = (W − γG)ᵀ(W − γG) + O(γ²)",
        cases=9,
    ),
    Statement(
        name="closest to the weight",
        quote="Solution for the problem is well-known as an orthogonal procrustes problem",
        place="Appendix B.1",
        rule=exact,
        reads=("whiten/distance",),
        printed="W⁺ = arg min ‖W⁺ − W‖_F",
        cases=11,
    ),
    Statement(
        name="Newton–Schulz",
        quote="By simply setting W̃⁺ = W − γG, we apply the Newton-Schulz method similar to Muon optimizer [26]"
        " to compute UVᵀ.",
        place="Appendix B.1",
        rule=exact,
        reads=("whiten/newton-schulz",),
        printed="UVᵀ by Newton–Schulz",
        derived="for W(W − γG)ᵀ of full rank, iterated until it converges",
        cases=8,
    ),
)


def draw(rows: pd.DataFrame, claim: ModuleType) -> Figure:
    """Draw every instance's residuals, and in place of its remainders how far their slope in γ is from 2."""
    remainders = rows["quantity"] == "whiten/remainder"
    return residuals.draw(pd.concat([rows[~remainders], _slopes(rows[remainders])]), claim, {"whiten/remainder": SLOPE})


def _slopes(remainders: pd.DataFrame) -> pd.DataFrame:
    """A row for each arm and case: the distance from 2 of the slope of log remainder over log γ."""
    rows = []
    for _, of_case in remainders[remainders["x"] >= LEAST_DRAWN].groupby(["arm", "case"]):
        slope = np.polyfit(np.log(of_case["x"]), np.log(of_case["value"]), 1)[0]
        rows.append({**of_case.iloc[0], "value": abs(slope - 2)})
    return pd.DataFrame(rows, columns=remainders.columns)
