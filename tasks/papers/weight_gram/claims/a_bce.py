"""For binary cross-entropy, y^T K g is an inner product of sums over the two classes, and positive under a condition.

The loss is summed over samples with y in {0, 1}; S0 and S1 are those with y = 0 and y = 1. H holds the features, K =
H^T H, and g is the residual. The paper says that y^T K g is positive whenever features of S1 are more similar to each
other than to those of S0. But it can be negative if the residuals of S0 outweigh those of S1, or if features have
negative entries. “More similar” is strict: with equal similarities y^T K g may be 0.
"""

from functools import partial

from tasks.drawing.exact import draw as draw_instances
from tasks.drawing.instances import COUNT
from tasks.judging.rules import exact, never
from tasks.judging.statement import BOTH_PRECISIONS, Control, Drawn, Grid, Statement

ID = "A.bce"
KIND = "exact"
TITLE = "Binary cross-entropy: the residual g, and when yᵀKg is positive"
PRINTED = "yᵀKg = ⟨Σ_S₁ h, Σ_S₁(1−ŷ)h − Σ_S₀ ŷh⟩, Section 4.2"
MATH = (
    r"g = y - \hat y",
    (
        r"y^\top K g = \left\langle \sum_{i \in S_1} h_i,\; \sum_{j \in S_1} (1 - \hat y_j) h_j - \sum_{k "
        r"\in S_0} \hat y_k h_k \right\rangle"
    ),
    (
        r"y^\top K g > 0 \quad\text{if } \langle h_i, h_j \rangle \ge \langle h_i, h_k \rangle \text{ for "
        r"} i, j \in S_1,\; k \in S_0"
    ),
)
MATH_CORRECTED = (
    (
        r"y^\top K g > 0 \quad\text{if } \langle h_i, h_j \rangle > \langle h_i, h_k \rangle \text{ for "
        r"} i, j \in S_1,\; k \in S_0"
    ),
    r"\text{and } \sum_{j \in S_1} (1 - \hat y_j) \ge \sum_{k \in S_0} \hat y_k, \quad h \ge 0",
)
CORRECTS = "a formula"
CORRECTION = (
    "Both identities hold as printed. That within-class similarity dominates is not enough for yᵀKg > 0. The classes "
    "must also both have samples, and we need Σ_S₁(1 − ŷ) ≥ Σ_S₀ ŷ and h ≥ 0. For y = (1, 0), h = (1, 0.9) in one "
    "dimension and ŷ = 0.9 for both samples, yᵀKg = 0.1 − 0.81 < 0. With a trained bias the two sums are equal at "
    "every stationary point. The paper prints ≥ for the similarities; we read “dominates” as strict. For y = (1, 0), "
    "h = (1, 1) and ŷ = ½ for both samples the similarities are equal, and yᵀKg = 0."
)
GRIDS = {quantity: Grid(BOTH_PRECISIONS) for quantity in ("bce/gradient", "bce/residual")}
DRAWN = {
    quantity: Drawn(0.9, "Where all features are dead both sides are 0.")
    for quantity in ("bce/gradient", "bce/residual")
}
CONTROLS = {
    "cross-class similarity dominates": Control(
        text="The features of S0 are scaled so that those of S1 are more similar to them than to each other.",
        has=("bce/not positive",),
    ),
    "logits instead of probabilities": Control(
        text="The logits take the place of the probabilities in the formula of g.",
        has=("bce/gradient", "bce/residual"),
        equal_quantities=("bce/residual",),
        equal_because="The sums by class are computed from the claim's g.",
    ),
    "sign of one sum": Control(
        text="The sum over S0 has a plus in place of the minus.",
        has=("bce/gradient", "bce/residual"),
        equal_quantities=("bce/gradient",),
        equal_because="The formula of g is the claim's.",
        lacks=("one class",),
        parts_because="The control changes the sign of one sum, which is empty with a single class.",
    ),
}
STATEMENTS = (
    Statement(
        name="residual",
        quote="the negative gradient takes the form",
        place="Section 4.2",
        rule=exact,
        reads=("bce/gradient",),
        printed="g = y − ŷ",
        cases=11,
        forms=("claim",),
    ),
    Statement(
        name="sums by class",
        quote="Writing the quantity in feature space yields",
        place="Section 4.2",
        rule=exact,
        reads=("bce/residual",),
        printed="yᵀKg = ⟨Σ_S₁ h, Σ_S₁(1−ŷ)h − Σ_S₀ ŷh⟩",
        cases=11,
        forms=("claim",),
    ),
    Statement(
        name="positive where within-class similarity dominates",
        quote="This makes the inner product positive whenever within-class similarity dominates cross-class similarity",
        place="Section 4.2",
        rule=lambda rows: never(rows, "product yᵀKg of 0 or less"),
        reads=("bce/not positive",),
        printed="yᵀKg > 0 where ⟨hᵢ, hⱼ⟩ dominates ⟨hᵢ, h_k⟩",
        derived="yᵀKg > 0 if ⟨hᵢ, hⱼ⟩ > ⟨hᵢ, h_k⟩, and also Σ_S₁(1 − ŷ) ≥ Σ_S₀ ŷ and h ≥ 0",
    ),
)


draw = partial(draw_instances, limits={"bce/not positive": COUNT})
