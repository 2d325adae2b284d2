"""For inner-product kernels k(x^T M x') AGOP and FACT M^T are the same sum over pairs, with different similarities.

The similarity of two samples is tau for the AGOP and k', the derivative of k, for FACT M^T. Under a condition on k,
FACT M^T is positive semi-definite (psd). Then the update M <- (FACT M M FACT^T)^(1/4) equals M <- (FACT M)^(1/2). The
controls are a radial kernel, which is no inner-product kernel, and functions k that rise and are no kernels, such as
tanh.

Section 5 also says that both similarities increase when W x_i and W x_j are closer, and decrease otherwise. C.fig7
tests this.
"""

from dataclasses import replace
from functools import partial

from tasks.drawing.exact import draw as draw_instances
from tasks.drawing.instances import Limit
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, below, exact
from tasks.judging.statement import BOTH_PRECISIONS, Control, Grid, Statement

ID = "C.prop5.1"
KIND = "exact"
TITLE = "AGOP and FACT of inner-product kernels"
PRINTED = "FACT·Mᵀ is psd when k is non-increasing, Section 5, below Proposition 5.1"
MATH = (
    (
        r"\text{AGOP} = \sum_{i,j} \tau_{ij}\, M x_i\, \alpha_i^\top \alpha_j\, x_j^\top M^\top, \quad "
        r"\tau_{ij} = \frac{1}{n} \sum_l k'(x_l^\top M x_i)\, k'(x_l^\top M x_j)"
    ),
    r"\text{FACT}\, M^\top = \sum_{i,j} k'(x_i^\top M x_j)\, M x_i\, \alpha_i^\top \alpha_j\, x_j^\top M^\top",
    r"\text{FACT}\, M^\top \succeq 0 \quad\text{if } k \text{ is non-increasing}",
)
MATH_CORRECTED = (
    r"\text{FACT}\, M^\top \succeq 0 \quad\text{if } k(t) = \sum_{m \ge 0} c_m t^m \text{ with every } c_m \ge 0"
)
CORRECTS = "a formula"
CORRECTION = (
    "FACT·Mᵀ is psd when k is a kernel in every dimension, that is, when its power series has no negative coefficient. "
    "Then k′ is a kernel too, and k′(xᵢᵀMxⱼ)·αᵢᵀαⱼ is a Schur product of psd matrices. A non-increasing k has k′ ≤ 0, "
    "so that with one sample FACT·Mᵀ = k′·Mx αᵀα xᵀM is negative. The paper's examples, exp(t) and t², are kernels in "
    "every dimension, and they are not non-increasing. So the word may be a slip. A falling k can be a kernel too: 1/t "
    "is a kernel on positive numbers, and there FACT·Mᵀ = −(Σᵢ αᵢ/xᵢ)² for one output. If k need not be a kernel, "
    "non-decreasing does not suffice either, for example for tanh. Both printed sums are correct."
)
NON_INCREASING = "k non-increasing"
KERNEL = "k a kernel in every dimension"


def psd(rows: Rows) -> Finding:
    """The least eigenvalue of FACT M^T is above -1e-9 of its norm."""
    finding = below(rows, 1e-9, "distance of the least eigenvalue of FACT Mᵀ below 0 (relative to its norm)")
    measured = f"on the worst instance the least eigenvalue of FACT Mᵀ is {0 - finding.statistic:.1g} times its norm"
    return replace(finding, measured=measured)


SHAPES = ("tall", "wide", "many outputs", "two samples")
CORRECTED = Control(
    text="Each k is a kernel in every dimension, such as exp(t), instead of a non-increasing function.",
    cases=tuple(f"{k}, {shape}" for k in ("exp(t)", "t^2", "(t + 1)^3", "1 / (8 - t)") for shape in SHAPES),
    parts_because="The corrected form is about kernels in every dimension; the falling functions are none.",
)
GRIDS = {f"prop51/{quantity}": Grid(BOTH_PRECISIONS) for quantity in ("agop", "fact", "update")}
CONTROLS = {
    "k merely rising": Control(
        text="k is tanh(t) or arctan(3t), which rises but is no kernel.",
        cases=tuple(f"{k}, {shape}" for k in ("tanh(t)", "arctan(3t)") for shape in SHAPES),
        parts_because="Its functions rise and are no kernels, and the claim's are falling ones or kernels.",
    ),
    "radial kernel": Control(
        text="The kernel is a Gaussian of the distance of two samples instead of a function of their inner product.",
        cases=tuple(f"radial, {shape}" for shape in SHAPES),
        parts_because="Its kernel depends on the distance, and the claim's on the inner product.",
    ),
}
STATEMENTS = (
    Statement(
        name="AGOP as a sum over pairs",
        quote="we may write the AGOP and the FACT matrices explicitly as",
        place="Proposition 5.1",
        rule=exact,
        reads=("prop51/agop",),
        printed="AGOP = Σᵢⱼ τ(xᵢ, M, xⱼ) Mxᵢ αᵢᵀαⱼ xⱼᵀMᵀ",
        cases=29,
    ),
    Statement(
        name="FACT as a sum over pairs",
        quote="we may write the AGOP and the FACT matrices explicitly as",
        place="Proposition 5.1",
        rule=exact,
        reads=("prop51/fact",),
        printed="FACT Mᵀ = Σᵢⱼ k′(xᵢᵀMxⱼ) Mxᵢ αᵢᵀαⱼ xⱼᵀMᵀ",
        cases=29,
    ),
    Statement(
        name="positive semi-definite",
        quote="is positive semi-definite when the function k is non-increasing (a condition satisfied by "
        "common choices like k(t) = exp(t) or k(t) = t²).",
        place="Section 5",
        rule=psd,
        reads=("prop51/negative",),
        printed=NON_INCREASING,
        derived=KERNEL,
        cases=13,
    ),
    Statement(
        name="simplified update",
        quote="This property allows for a simplification of (FACT-RFM update'), which can be rewritten as a geometric "
        "average between the current feature matrix and the FACT term",
        place="Section 5",
        rule=exact,
        reads=("prop51/update",),
        printed=f"(FACT M M FACTᵀ)^(1/4) = (FACT M)^(1/2) for {NON_INCREASING}",
        derived=f"the same for {KERNEL}",
        cases=29,
    ),
)

draw = partial(
    draw_instances,
    limits={
        "prop51/negative": Limit(
            "how far the least eigenvalue of FACT·Mᵀ is below 0, over its norm", 1e-9, in_words="10⁻⁹"
        )
    },
)
