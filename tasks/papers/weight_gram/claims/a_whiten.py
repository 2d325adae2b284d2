"""Of all weights with the Gram of the gradient step's weight, the whitened update is the closest to the old weight.

U and V are full orthogonal matrices, including singular vectors of 0. For W of low rank, Newton-Schulz leaves these out
and does not give that Gram; otherwise its result agrees with that of the SVD.
"""

from tasks.drawing.exact import draw as draw
from tasks.judging.rules import exact
from tasks.judging.statement import BOTH_PRECISIONS, Control, Grid, Statement

ID = "A.whiten"
KIND = "exact"
TITLE = "The whitened update keeps the Gram and is the closest to W"
PRINTED = "W⁺ = UVᵀ(W − γG), UVᵀ by Newton–Schulz, Section B.1"
MATH = (
    r"W^+ = U V^\top (W - \gamma G), \quad W (W - \gamma G)^\top = U S V^\top",
    r"(W^+)^\top W^+ = (W - \gamma G)^\top (W - \gamma G)",
    (
        r"W^+ = \underset{Z}{\operatorname{argmin}}\; \| Z - W \|_F \quad\text{subject to } Z^\top Z = (W "
        r"- \gamma G)^\top (W - \gamma G)"
    ),
)
GRIDS = {f"whiten/{quantity}": Grid(BOTH_PRECISIONS) for quantity in ("gram", "distance", "newton-schulz")}
CONTROLS = {
    "W+ turned by about a hundredth": Control(
        lacks=("one row", "weight 0"),
        parts_because="A single row has two orthogonal factors alone, and all of them are equally far from W = 0.",
    ),
    "a random orthogonal factor": Control(
        lacks=("one row", "weight 0"),
        parts_because="A single row has two orthogonal factors alone, and all of them are equally far from W = 0.",
    ),
    "singular vectors of 0 left out": Control(
        has=("whiten/distance", "whiten/gram"),
        cases=("low rank", "low rank, tall"),
        parts_because="The others have no singular value 0.",
    ),
    "ten Newton-Schulz steps of the authors' code": Control(
        has=("whiten/gram", "whiten/newton-schulz"),
        lacks=("low rank", "low rank, tall", "weight 0"),
        parts_because="On these Newton-Schulz does not converge.",
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
