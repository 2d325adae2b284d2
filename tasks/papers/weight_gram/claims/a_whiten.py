"""The whitened update W+ = U V^T T, T = W - gamma G and W T^T = U S V^T, has T's Gram and is the closest such to W.

U and V are full orthogonal matrices, including singular vectors of 0. For W of low rank, Newton-Schulz leaves these out
and does not give T's Gram; otherwise its W+ agrees with that of the SVD.
"""

from tasks.drawing.exact import draw as draw
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, exact

ID = "A.whiten"
KIND = "exact"
TITLE = "The whitened update keeps the Gram and is the closest to W"
PRINTED = "W⁺ = UVᵀ(W − γG), UVᵀ by Newton–Schulz, Section B.1"
QUANTITIES = ("whiten/gram", "whiten/distance", "whiten/newton-schulz")


def rule(rows: Rows) -> Finding:
    """Gram, least distance and Newton-Schulz, each to round-off: wide, square, tall, single, zero and low-rank W."""
    residuals = {quantity.removeprefix("whiten/").replace("-", "_"): rows.where(quantity=quantity)
                 for quantity in QUANTITIES}  # fmt: skip
    return all_of(**{part: exact(selected) for part, selected in residuals.items() if len(selected)})
