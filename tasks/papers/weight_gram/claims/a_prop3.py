"""A class of decoders that contains the least-squares fit g interpolates linearly at least as well as g reconstructs.

min_f mean_ij ||f(alpha z_i + (1 - alpha) z_j) - (alpha x_i + (1 - alpha) x_j)|| <= mean_i ||g(z_i) - x_i|| for alpha in
[0, 1]. The paper adds that the right side "is exactly" the square root of 1 - T_0(Z, X), up to normalization.
"""

from tasks.drawing.bound import draw as draw
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, bound, exact

ID = "A.prop3"
KIND = "bound"
TITLE = "Linear interpolation is no worse than linear reconstruction"
PRINTED = "left ≤ (1/N)Σ‖g(zᵢ) − xᵢ‖, which “is exactly” √(1 − 𝒯₀) up to normalization, Proposition 3"
CORRECTION = (
    "The inequality holds, but √(1 − 𝒯₀)·((1/N)Σ‖xᵢ − x̄‖²)^½ is the root mean square of the residuals' norms, not "
    "their mean: it bounds the right side from above, with equality only if all residuals have the same norm."
)
SETTINGS = ("instances",)  # the experiment's steps are for A.prop2
QUANTITIES = ("prop3/ratio", "prop3/residual")


def rule(rows: Rows) -> Finding:
    """The inequality at f = g on every instance and alpha; the equality with sqrt(1 - T_0) to round-off."""
    return all_of(
        bound=bound(rows.where(quantity="prop3/ratio")),
        linearity=exact(rows.where(quantity="prop3/residual")),
    )
