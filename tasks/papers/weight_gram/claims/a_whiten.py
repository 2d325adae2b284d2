"""The whitened W+ = U V^T T, with T = W - gamma G and W T^T = U S V^T, has T's Gram and is the closest such to W.

U and V are whole orthogonal matrices: for W of low rank the singular vectors of 0 belong to them, and Newton-Schulz,
which leaves those out, does not give the Gram there. Elsewhere its W+ agrees with that of the SVD.
"""

from tasks.drawing.exact import draw as draw
from tasks.judging.rules import Finding, Rows, every, exact

ID = "A.whiten"
KIND = "exact"
TITLE = "The whitened update keeps the Gram and is the closest to W"
PRINTED = "W⁺ = UVᵀ(W − γG), UVᵀ by Newton–Schulz, Section B.1"
QUANTITIES = ("whiten/gram", "whiten/distance", "whiten/newton-schulz")


def rule(rows: Rows) -> Finding:
    """Gram, least distance and Newton-Schulz, each to round-off: wide, square, tall, single, zero and low-rank W."""
    names = {"gram": "whiten/gram", "distance": "whiten/distance", "newton_schulz": "whiten/newton-schulz"}
    parts = {part: rows.where(quantity=name) for part, name in names.items()}
    return every(**{part: exact(found) for part, found in parts.items() if len(found)})
