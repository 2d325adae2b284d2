"""The Woodbury formula: (P + U V^T)^-1 = P^-1 - P^-1 U (I + V^T P^-1 U)^-1 V^T P^-1.

It holds for U and V of any rank and for square P, symmetric or not, if P and the inner matrix are invertible.
"""

from tasks.drawing.exact import draw as draw
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, exact

ID = "D.lemB.1"
KIND = "exact"
TITLE = "The Woodbury formula"
PRINTED = "(P + UVᵀ)⁻¹ = P⁻¹ − P⁻¹U(I + VᵀP⁻¹U)⁻¹VᵀP⁻¹, Lemma B.1"
QUANTITIES = ("lemB1/residual",)


def rule(rows: Rows) -> Finding:
    """To round-off: U of low rank, wide U, ill-conditioned P, a nearly singular sum, P + a multiple of I, and U = 0."""
    return exact(rows)
