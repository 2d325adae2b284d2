"""FACT of a kernel machine is a sum over pairs of samples, of their dual weights and the kernel's gradients.

The predictor is f(x) = sum_j K(x, x_j) alpha_j with the squared loss. The dual weights are those of Algorithm 1, alpha
= (K + n lambda I)^-1 y. With (K + lambda I)^-1 y, as Lemma F.2 prints it, the two sides differ by the factor n; this is
the control. The Laplace kernel K(x, x_j) has no gradient at x = x_j; there we set it to 0.
"""

from tasks.drawing.exact import draw as draw
from tasks.judging.rules import exact
from tasks.judging.statement import BOTH_PRECISIONS, Control, Grid, Statement

ID = "C.lemF.1"
KIND = "exact"
TITLE = "FACT of a kernel machine through its dual weights"
PRINTED = "FACT = Σᵢⱼ ∂ₓK_W(x, xⱼ)|ₓᵢ αⱼᵀαᵢ xᵢᵀ, Lemma F.1"
MATH = (
    r"\text{FACT} = \sum_{i,j} \left. \frac{\partial}{\partial x} K_W(x, x_j) \right|_{x = x_i} "
    r"\alpha_j^\top \alpha_i\, x_i^\top"
)
GRIDS = {"lemF1/residual": Grid(BOTH_PRECISIONS)}
CONTROLS = {
    "ridge lambda": Control(text="The dual weights are (K + λI)⁻¹y instead of (K + nλI)⁻¹y."),
}
STATEMENTS = (
    Statement(
        name="through the dual weights",
        quote="Then the FACT can be equivalently computed as",
        place="Lemma F.1",
        rule=exact,
        reads=("lemF1/residual",),
        printed="FACT = Σᵢⱼ ∂ₓK_W(x, xⱼ)|ₓᵢ αⱼᵀαᵢ xᵢᵀ",
        cases=20,
    ),
)
