"""The Woodbury formula: (P + U V^T)^-1 = P^-1 - P^-1 U (I + V^T P^-1 U)^-1 V^T P^-1.

For square, not only symmetric, P and any rank of U and V, wherever P and the inner matrix are invertible.
"""

from tasks.drawing.exact import draw as draw
from tasks.judging.rules import Finding, Rows, exact

ID = "D.lemB.1"
KIND = "exact"
TITLE = "The Woodbury formula"
PRINTED = "(P + UVᵀ)⁻¹ = P⁻¹ − P⁻¹U(I + VᵀP⁻¹U)⁻¹VᵀP⁻¹, Lemma B.1"
QUANTITIES = ("lemB1/residual",)


def rule(rows: Rows) -> Finding:
    """Low rank, more columns than rows, ill-conditioned, nearly singular, a multiple of I, and U = 0."""
    return exact(rows)
