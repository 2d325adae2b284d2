"""FACT of a kernel machine through its dual weights: FACT = sum_ij (d/dx K(x, x_j) at x_i) alpha_j^T alpha_i x_i^T.

For the squared loss and first-order optimal alpha, with the ridge as in Algorithm 1, alpha = (K + n lambda I)^-1 y, and
any kernel. With (K + lambda I)^-1 y, as Lemma F.2 prints it, the two sides differ by a factor of about n. (A Laplace
kernel has no gradient at its own sample; there it is taken as 0.)
"""

from tasks.drawing.exact import draw as draw
from tasks.judging.rules import Finding, Rows, exact

ID = "C.lemF.1"
KIND = "exact"
TITLE = "FACT of a kernel machine through its dual weights"
PRINTED = "FACT = Σᵢⱼ ∂ₓK_W(x, xⱼ)|ₓᵢ αⱼᵀαᵢ xᵢᵀ, Lemma F.1"
QUANTITIES = ("lemF1/residual",)


def rule(rows: Rows) -> Finding:
    """Equal to round-off, the conditioning of the solve counted in, for five kernels and four shapes of data."""
    return exact(rows)
