"""The error term Y^T (lambda I + G)^{-2} Y is at most kappa ||Y||^4 / (Y^T (lambda I + G) Y).

G is symmetric and positive semi-definite with the extreme eigenvalues lambda_max and lambda_min, and lambda > 0. The
bound follows from Kantorovich's inequality. The printed kappa is not the best. Let r = (lambda + lambda_max) / (lambda
+ lambda_min). If r is at least the golden ratio, the best kappa is (r^2 + r + 1)^2 / (4 r^2 (r + 1) (lambda +
lambda_min)), about 1/r of the printed kappa.
"""

from tasks.drawing.bound import draw as draw
from tasks.judging.rules import bound
from tasks.judging.statement import Control, Statement

ID = "A.lem2"
KIND = "bound"
TITLE = "The surrogate bounds the error term, by Kantorovich's inequality"
PRINTED = "Yᵀ(λI+G)⁻²Y ≤ κ‖Y‖⁴[Yᵀ(λI+G)Y]⁻¹, Lemma 2"
MATH = (
    r"Y^\top (\lambda I + G)^{-2} Y \le \frac{\kappa\, \| Y \|_2^4}{Y^\top (\lambda I + G) Y}",
    r"\kappa = \frac{(2 \lambda + \lambda_{\max} + \lambda_{\min})^2}{4 (\lambda + \lambda_{\min})^3}",
)
QUOTE = (
    "For a symmetric positive (semi-) definite matrix G ∈ ℝ^{N×N}, vector Y ∈ ℝ^N, and a positive "
    "constant λ > 0, the following holds: Yᵀ(λ·I + G)⁻²Y ≤ κ·‖Y‖₂⁴·[Yᵀ(λ·I + G)Y]⁻¹ where κ = (2λ + λ_max"
    " + λ_min)²/(4(λ + λ_min)³), and λ_max, λ_min are maximum and minimum eigenvalue of G."
)
CONTROLS = {
    "0.99 of the best kappa": Control(
        text="The bound has 0.99 times the best κ in place of the printed κ.",
        has=("lem2/ratio",),
        cases=("extremal",),
        parts_because="There the best κ is nearly attained.",
    ),
    "0.99 of the printed kappa": Control(
        text="The bound has 0.99 times the printed κ.",
        has=("lem2/ratio",),
        cases=("multiple of I",),
        parts_because="There the printed κ is attained.",
    ),
}
STATEMENTS = (
    Statement(
        name="bound with the printed κ",
        quote=QUOTE,
        place="Appendix C.3, Lemma 2",
        rule=bound,
        reads=("lem2/ratio",),
        printed="κ = (2λ + λ_max + λ_min)² / (4(λ + λ_min)³)",
        cases=17,
    ),
    Statement(
        name="bound with the best κ",
        quote=QUOTE,
        place="Appendix C.3, Lemma 2",
        rule=bound,
        reads=("lem2/sharp",),
        kind="ours",
        derived="κ = (r² + r + 1)² / (4r²(r + 1)(λ + λ_min)) with r = (λ + λ_max)/(λ + λ_min) above the golden ratio",
        cases=17,
    ),
)
