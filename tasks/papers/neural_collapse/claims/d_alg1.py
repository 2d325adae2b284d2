"""gramlab.DeepRFM is Algorithm 1: normalise, interpolate labels of ±1, take the AGOP M, map X to Phi(M^{1/2} X).

Each layer repeats this. Kernels are Laplace and Gaussian; features are ReLU and the random Fourier features of the l1
kernel (Appendix C). We compare each step with our own second computation of it; residuals are in units u of round-off.
The inner products of the random features must be those of their kernel in the mean, to 4 standard errors.

In three places the paper contradicts itself. First, Algorithm 1 says "Compute AGOP" and writes the sum over samples;
Section 3.3 defines the AGOP by the mean. gramlab takes the mean, so the statement on the AGOP is ours. Second, by
Section 3.1 the sign for division divides rows, but points are columns, so Algorithm 1 would normalise coordinates.
Figure 1's caption says "normalizing each data point". We test points, and coordinates are a control. Third, W of the
cosine features is Gaussian by Section 3.3; by Appendix C they are features of the l1 kernel, whose W has Cauchy
entries. We test Cauchy entries.
"""

from dataclasses import replace
from functools import partial

from tasks.drawing.exact import draw as draw_instances
from tasks.drawing.instances import Limit
from tasks.judging.monte_carlo import MOST, within_standard_errors
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, exact
from tasks.judging.statement import BOTH_PRECISIONS, Control, Drawn, Grid, Statement

ID = "D.alg1"
KIND = "exact"
TITLE = "Deep RFM is Algorithm 1"
PRINTED = "Algorithm 1, Appendix C"
SUM, MEAN = "M_l = Σ ∇f_l(x)∇f_l(x)ᵀ", "M_l = (1/n) Σ ∇f_l(x)∇f_l(x)ᵀ"
MATH = (
    r"f_l(x) = \alpha^\top k(X_l, x), \quad \alpha = k(X_l, X_l)^{-1} y",
    (
        r"M_l = \sum_{i=1}^n \nabla f_l(x_i)\, \nabla f_l(x_i)^\top, \quad X_{l+1} = \Phi_l\left( "
        r"M_l^{1/2} X_l \right)"
    ),
)
MATH_CORRECTED = r"M_l = \frac{1}{n} \sum_{i=1}^n \nabla f_l(x_i)\, \nabla f_l(x_i)^\top"
CORRECTS = "our statement"
CORRECTION = (
    f"{MEAN}, with n points: the mean over the points. It is the paper's definition of the AGOP (Section 3.3), and "
    "Theorem 4.3 needs it (D.thm4.3). The listing of Algorithm 1 leaves out 1/n. The two forms differ by the scale of "
    "the data. After ReLU features the next layer's normalisation removes this scale; Fourier features depend on it."
)


def _steps(rows: Rows) -> Finding:
    words = (
        "in all four kinds every float64 residual <= 8 u (normwise), and residuals shrink from float32 to float64 by a "
        "factor of 2^25 to 2^33"
    )
    return replace(exact(rows, cases=4), rule=words)


REALIZED = "The high-dimensional feature maps Φ_l(·) are usually realized as σ(W_l · + b_l)"
STEPS = {  # the name of the statement, the words and the formula of Algorithm 1
    "normalised": ("normalisation", "Normalize the data,", "X_l ← X_l ÷ ‖X_l‖"),
    "agop": ("AGOP", "Compute AGOP:", SUM),
    "projected": ("root of the AGOP", "Transform the data", "X_{l+1} ← Φ_l(M_l^{1/2}X_l)"),
    "features": ("feature map", REALIZED, "Φ_l(x) = σ(W_l x + b_l)"),
    "dual": ("last coefficients", "Learn coefficients,", "α_{L+1} = Y(k_{L+1}(X_{L+1}, X_{L+1}) + μI)⁻¹"),
}
GRIDS = {
    "alg1/dual": Grid(BOTH_PRECISIONS),
    **{
        f"alg1/{quantity}": Grid(BOTH_PRECISIONS, layers=("1", "2"))
        for quantity in ("normalised", "agop", "projected", "features")
    },
}
DRAWN = {"alg1/away": Drawn(10, "Each instance has ten pairs of points.")}
CONTROLS = {
    "M instead of its root": Control(
        text="The data are multiplied by M instead of by its root M^{1/2}.", has=("alg1/projected",)
    ),
    "a ridge in the last machine": Control(
        text="Our second computation of the last kernel machine has the ridge 10⁻³ instead of none.", has=("alg1/dual",)
    ),
    "coordinates normalised": Control(
        text="Our second computation normalises each coordinate over all points instead of each point.",
        has=("alg1/normalised",),
    ),
    "data not normalised": Control(
        text="Our second computation of the AGOP leaves out the normalisation of the data.", has=("alg1/agop",)
    ),
    "features of another kernel": Control(
        text="The inner products of the features are compared with another kernel: ReLU features with the linear one, "
        "Fourier features with the Gaussian one.",
        has=("alg1/away",),
    ),
    "features of the data before the root": Control(
        text="Our second computation takes the features of the data before M^{1/2} instead of after it.",
        has=("alg1/features",),
    ),
    "labels 0 and 1": Control(
        text="Our second computation of the AGOP has labels 0 and 1 instead of −1 and 1.", has=("alg1/agop",)
    ),
}
STATEMENTS = (
    *(
        Statement(
            name=name,
            quote=quote,
            place="Section 3.3" if quantity == "features" else "Algorithm 1",
            rule=_steps,
            reads=(f"alg1/{quantity}",),
            # which of the two forms holds follows from gramlab's own 1/n
            kind="ours" if quantity == "agop" else "asserted",
            printed=formula,
            derived=MEAN if quantity == "agop" else "",
            cases=4,
            forms=("claim", "corrected") if quantity == "agop" else ("claim",),
        )
        for quantity, (name, quote, formula) in STEPS.items()
    ),
    Statement(
        name="kernel of the ReLU features",
        quote=f"{REALIZED}, where W_l is a matrix with standard Gaussian entries, b_l is an optional bias term "
        "initialized uniformly at random, and σ is the ReLU or cosine activation function.",
        place="Section 3.3",
        rule=lambda rows: within_standard_errors(rows.where(case="relu")),
        reads=("alg1/away",),
        printed="W_l with standard Gaussian entries",
        cases=2,
        forms=("claim",),
    ),
    Statement(
        name="kernel of the Fourier features",
        quote="For experiments with the cosine activation, we used Random Fourier Features corresponding to the ℓ₁ "
        "kernel with bandwidth σ = 0.05 and 4096 total features.",
        place="Appendix C",
        rule=lambda rows: within_standard_errors(rows.where(case="fourier")),
        reads=("alg1/away",),
        printed="random features of exp(−σ‖x − z‖₁), our reading",
        cases=2,
        forms=("claim",),
    ),
)

draw = partial(
    draw_instances,
    limits={
        "alg1/away": Limit(
            "mean product of features: distance from its expectation, in standard errors", MOST, in_words=f"{MOST:g}"
        )
    },
)
