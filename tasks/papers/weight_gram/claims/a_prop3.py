"""Of decoders that include the least-squares fit g, the best interpolates at least as well as g reconstructs.

The bound is for every alpha in [0, 1]. The paper adds that the right side, the reconstruction error of OLS, equals the
square root of 1 - T_0(Z, X) “up to normalization”. We read this as a factor that depends on the inputs alone: the root
mean square distance of an input from their mean.
"""

import re
from functools import partial

from tasks.drawing.bound import draw as draw_instances
from tasks.drawing.instances import RESIDUAL
from tasks.judging.rules import bound, exact
from tasks.judging.statement import BOTH_PRECISIONS, Control, Grid, Statement

ID = "A.prop3"
KIND = "bound"
TITLE = "Linear interpolation is no worse than linear reconstruction"
PRINTED = "left ≤ (1/N)Σ‖g(zᵢ) − xᵢ‖, which equals √(1 − 𝒯₀) up to normalization, Proposition 3"
MATH = (
    (
        r"\min_f \frac{1}{N^2} \sum_{i,j} \| f(\alpha z_i + (1 - \alpha) z_j) - (\alpha x_i + (1 - \alpha) "
        r"x_j) \| \le \frac{1}{N} \sum_i \| g(z_i) - x_i \|"
    ),
    (
        r"\frac{1}{N} \sum_i \| g(z_i) - x_i \| = \sqrt{1 - \mathcal{T}_0(Z, X)}\; \left( \frac{1}{N} "
        r"\sum_i \| x_i - \bar x \|^2 \right)^{1/2}"
    ),
)
MATH_CORRECTED = (
    (
        r"\left( \frac{1}{N} \sum_i \| g(z_i) - x_i \|^2 \right)^{1/2} = \sqrt{1 - \mathcal{T}_0(Z, X)}\; "
        r"\left( \frac{1}{N} \sum_i \| x_i - \bar x \|^2 \right)^{1/2}"
    ),
    (
        r"\frac{1}{N} \sum_i \| g(z_i) - x_i \| \le \sqrt{1 - \mathcal{T}_0(Z, X)}\; \left( \frac{1}{N} "
        r"\sum_i \| x_i - \bar x \|^2 \right)^{1/2}"
    ),
)
CORRECTS = "a formula"
CORRECTION = (
    "The inequality holds as printed. But √(1 − 𝒯₀)·((1/N)Σ‖xᵢ − x̄‖²)^½ is the root mean square of the residuals' "
    "norms, and the right side of the inequality is their mean. No factor that depends on the inputs alone makes the "
    "two equal. The root mean square bounds the mean from above, so that high 𝒯₀ still gives a small error. The two "
    "are equal only if all residuals have the same norm."
)
SETTINGS = ("instances",)  # the experiment's steps are for A.prop2
LINEARITY = (
    "The right-hand side is exactly the OLS reconstruction error, which equals square root of 1 − 𝒯₀(Z, X) up to "
    "normalization."
)
STEPS = (0, 3, 10, 30, 100, 300)


def steps_of(case: str, _: int = 0) -> tuple[int, ...]:
    """The training steps of a case: those of its name, all of a trained layer, and none of a random X."""
    named = re.match(r"after (\d+) steps", case)
    return (int(named[1]),) if named else STEPS if case.startswith("trained layer") else STEPS[:1]


GRIDS = {
    "prop3/ratio": Grid(steps=STEPS, steps_of=steps_of, x=(0.0, 0.1, 0.3, 0.5, 0.8, 1.0)),
    "prop3/residual": Grid(BOTH_PRECISIONS, steps=STEPS, steps_of=steps_of),
    "prop3/by linearity": Grid(steps=STEPS, steps_of=steps_of),
}
CONTROLS = {
    "f not linear": Control(
        text="A large sine of the first latent is added to g, so that f is not linear.",
        has=("prop3/ratio", "prop3/residual"),
    ),
    "shuffled pairs": Control(
        text="The map g is fitted to shuffled pairs of latents and inputs; its errors are those on the true pairs.",
        has=("prop3/ratio", "prop3/residual"),
        cases=("few latents", "linear", "nonlinear"),
        parts_because="In the others x does not depend on z before the pairs are shuffled either.",
    ),
}
STATEMENTS = (
    Statement(
        name="interpolation error",
        quote="Let g(z) = zᵀ(ZᵀZ)⁻¹ZᵀX be the ordinary least-squares estimator, and assume g ∈ ℱ. Then for any "
        "α ∈ [0, 1], min_{f∈ℱ} (1/N²) Σ_{i,j} ‖f(αz_i + (1−α)z_j) − (αx_i + (1−α)x_j)‖₂ ≤ (1/N) Σ_i "
        "‖g(z_i) − x_i‖₂.",
        place="Proposition 3",
        rule=bound,
        reads=("prop3/ratio",),
        printed="min_f N⁻²Σᵢⱼ‖f(αzᵢ+(1−α)zⱼ) − (αxᵢ+(1−α)xⱼ)‖ ≤ N⁻¹Σᵢ‖g(zᵢ) − xᵢ‖",
        cases=9,
    ),
    Statement(
        name="error by Target Linearity",
        quote=LINEARITY,
        place="Section 5, below Proposition 3",
        rule=exact,
        reads=("prop3/residual",),
        printed="N⁻¹Σᵢ‖g(zᵢ) − xᵢ‖ = √(1 − 𝒯₀) “up to normalization”: × (N⁻¹Σᵢ‖xᵢ − x̄‖²)^½",
        derived="(N⁻¹Σᵢ‖g(zᵢ) − xᵢ‖²)^½ = √(1 − 𝒯₀) (N⁻¹Σᵢ‖xᵢ − x̄‖²)^½",
        cases=14,
    ),
    Statement(
        name="bounded by Target Linearity",
        quote=LINEARITY,
        place="Section 5, below Proposition 3",
        rule=bound,
        reads=("prop3/by linearity",),
        kind="ours",
        derived="N⁻¹Σᵢ‖g(zᵢ) − xᵢ‖ ≤ √(1 − 𝒯₀) (N⁻¹Σᵢ‖xᵢ − x̄‖²)^½",
        cases=9,
        forms=("claim",),  # it is ours, and has no print
    ),
)

draw = partial(draw_instances, limits={"prop3/residual": RESIDUAL})
