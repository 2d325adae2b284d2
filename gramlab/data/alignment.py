"""The alignment-reversing data of paper B, Section 3 and Appendix F."""

import math

import numpy as np
import torch

from gramlab.data.checks import positive, share, whole
from gramlab.data.dataset import DataError, DataSet
from gramlab.streams import stream


def alignment_reversing(
    samples: int, dimension: int, balance: float, scale: float = 1.0, variance: float = 0.5,
    noise: float = 1e-2, offset: float = 1e-5, seed: int = 0,
) -> DataSet:  # fmt: skip
    """X₁ with labels 1 and X₂ with labels 0, such that X₂ᵀX₂ ≈ (X₁ᵀX₁)⁻²; all defaults are the paper's.

    balance is its γ, the share of X₁ among the samples; rows of X₁ are ``scale`` times N(0, 11ᵀ + variance I).
    X₂ = V₂ S₁⁻¹ U₁ᵀ, with S₁, U₁ of X₁ᵀX₁ and V₂ the left singular vectors of a second draw like X₁. Then
    ``noise`` times N(0, 1) is added to all inputs, and ``offset`` to all labels. (n, d) and (n, 1); X₁ comes first.

    What the paper leaves open, and what is done here:

    - The scale of X₁ (none is printed: 1). The recipe is not invariant under it: X₁ᵀX₁ goes with scale², X₂ᵀX₂
      with scale⁻⁴. At 1, X₂ is smaller than the noise, XᵀX ≈ X₁ᵀX₁, and X₁ᵀX₁ XᵀX X₁ᵀX₁ is as good as parallel
      to (X₁ᵀX₁)²: nothing is reversed. At dimension^-0.8 it is (docs/centered_nfa.md has other scales).
    - X₁ᵀX₁ has no inverse with fewer rows than columns: S₁⁻¹ is the pseudo-inverse, 0 at singular values that are
      0 to round-off.
    - V₂ (n₂, r), r = min(n₂, d), has room for r of the pairs (S₁, U₁): those with the largest S₁, an SVD's order.
      X₂ᵀX₂ = (X₁ᵀX₁)⁻² on the whole range of X₁ᵀX₁ if n₂ ≥ n₁, that is for balances up to a half.
    """
    source = "alignment_reversing"
    whole(source, "samples", samples, 2)
    whole(source, "dimension", dimension)
    share(source, "balance", balance, zero=False)
    positive(source, "scale", scale)
    for name, value in (("variance", variance), ("noise", noise), ("offset", offset)):
        if not (math.isfinite(value) and value >= 0):
            raise DataError(f"{source}: {name} must be a number of at least 0, not {value!r}")
    n1 = round(balance * samples)
    if not n1:
        raise DataError(f"{source}: a balance of {balance} leaves none of {samples} samples with label 1")

    def draw(which: str, rows: int) -> np.ndarray:
        random = stream(source, seed, which)
        common, own = random.normal(size=(rows, 1)), random.normal(size=(rows, dimension))
        return scale * (common + math.sqrt(variance) * own)  # covariance 11ᵀ + variance I

    first = draw("first", n1)
    S, U = np.linalg.eigh(first.T @ first)
    S, U = S[::-1], U[:, ::-1]
    there = S[0] * dimension * np.finfo(float).eps < S
    inverse = np.divide(1.0, S, out=np.zeros(dimension), where=there)
    V = np.linalg.svd(draw("second", samples - n1), full_matrices=False)[0]
    r = V.shape[1]
    x = np.concatenate([first, V * inverse[:r] @ U[:, :r].T])
    x += noise * stream(source, seed, "noise").normal(size=x.shape)
    y = (np.arange(samples) < n1)[:, None] + offset
    made_x, made_y = torch.from_numpy(x), torch.from_numpy(y)
    return DataSet(source, made_x, made_y, made_x[:0], made_y[:0], about={"with_label_1": n1})
