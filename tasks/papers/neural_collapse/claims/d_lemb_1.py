"""The Woodbury formula gives the inverse of a matrix after a change of low rank.

It holds for U and V of any rank and for square P, symmetric or not, if P and I + V^T P^-1 U are invertible. The control
has a minus in the inner inverse.
"""

from tasks.drawing.exact import draw as draw
from tasks.judging.rules import exact
from tasks.judging.statement import BOTH_PRECISIONS, Control, Grid, Statement

ID = "D.lemB.1"
KIND = "exact"
TITLE = "The Woodbury formula"
PRINTED = "(P + UVᵀ)⁻¹ = P⁻¹ − P⁻¹U(I + VᵀP⁻¹U)⁻¹VᵀP⁻¹, Lemma B.1"
MATH = r"(P + U V^\top)^{-1} = P^{-1} - P^{-1} U \left( I + V^\top P^{-1} U \right)^{-1} V^\top P^{-1}"
GRIDS = {"lemB1/residual": Grid(BOTH_PRECISIONS)}
CONTROLS = {
    "minus in the inner inverse": Control(
        text="The inner inverse is that of I − VᵀP⁻¹U instead of I + VᵀP⁻¹U.",
        lacks=("zero U",),
        parts_because="With U = 0 both signs are right.",
    ),
}
STATEMENTS = (
    Statement(
        name="the formula",
        quote="Woodbury Inverse Formula",
        place="Lemma B.1",
        rule=exact,
        reads=("lemB1/residual",),
        printed="(P + UVᵀ)⁻¹ = P⁻¹ − P⁻¹U(I + VᵀP⁻¹U)⁻¹VᵀP⁻¹",
        cases=7,
    ),
)
