"""The alignment-reversing data of paper B, Section 3 and Appendix F."""

import math

import numpy as np
import torch

from gramlab.data.dataset import DataError, DataSet, checked
from gramlab.streams import stream


def alignment_reversing(
    samples: int, dimension: int, balance: float, scale: float = 1.0, variance: float = 0.5,
    noise: float = 1e-2, offset: float = 1e-5, seed: int = 0,
) -> DataSet:  # fmt: skip
    """Inputs X₁ with labels 1 and X₂ with labels 0 such that X₂ᵀX₂ ≈ (X₁ᵀX₁)⁻² (paper B, Appendix F).

    Rows of X₁ are ``scale`` times N(0, 11ᵀ + variance I), and X₂ = V₂ S₁⁻¹ U₁ᵀ. Here S₁ and U₁ are eigenvalues and
    eigenvectors of X₁ᵀX₁, and V₂ holds the left singular vectors of a second draw like X₁.

    Parameters
    ----------
    samples : int
        Number of training samples n.
    dimension : int
        Number of inputs d.
    balance : float
        Share of X₁ among the samples, the paper's γ, in (0, 1].
    scale, variance : float, optional
        Scale of X₁, and the isotropic part of its covariance.
    noise : float, optional
        Standard deviation of the normal noise that is added to all inputs.
    offset : float, optional
        Number that is added to all labels.
    seed : int, optional

    Returns
    -------
    DataSet
        Inputs (n, d) and targets (n, 1), the rows of X₁ first; no test samples. ``metadata`` counts the samples
        ``with_label_1``.

    Raises
    ------
    DataError
        If an option is out of range.

    Notes
    -----
    The paper leaves three points open:

    - It prints no scale of X₁; here it is 1. The recipe depends on it: X₁ᵀX₁ grows as scale², X₂ᵀX₂ as scale⁻⁴. At
      scale 1, X₂ is smaller than the noise, so XᵀX ≈ X₁ᵀX₁, the product X₁ᵀX₁ XᵀX X₁ᵀX₁ is almost parallel to
      (X₁ᵀX₁)², and no alignment is reversed. At scale d^-0.8 it is (docs/centered_nfa.md compares scales).
    - X₁ᵀX₁ has no inverse if X₁ has fewer rows than columns. S₁⁻¹ is the pseudo-inverse: it is 0 where S₁ is 0 up to
      round-off.
    - V₂ has r = min(n₂, d) columns, so it takes r of the pairs (S₁, U₁): those with the largest S₁, in the order of
      a singular value decomposition. X₂ᵀX₂ = (X₁ᵀX₁)⁻² holds on the whole range of X₁ᵀX₁ if n₂ ≥ n₁, that is for
      balances up to a half.

    Examples
    --------
    >>> data = alignment_reversing(samples=10, dimension=4, balance=0.3)
    >>> data.x_train.shape, data.metadata
    (torch.Size([10, 4]), {'with_label_1': 3})
    """
    source = "alignment_reversing"
    check = checked(source)
    check.integer("samples", samples, minimum=2)
    check.integer("dimension", dimension)
    check.number("balance", balance, "a number above 0, at most 1")
    check.number("scale", scale, "a positive number")
    for name, value in (("variance", variance), ("noise", noise), ("offset", offset)):
        check.number(name, value, "a number of at least 0")
    n1 = round(balance * samples)
    if not n1:
        raise DataError(f"{source}: a balance of {balance} leaves none of {samples} samples with label 1")

    def draw(purpose: str, rows: int) -> np.ndarray:
        random = stream(source, seed, purpose)
        common, isotropic = random.normal(size=(rows, 1)), random.normal(size=(rows, dimension))
        return scale * (common + math.sqrt(variance) * isotropic)  # covariance 11ᵀ + variance I

    X1 = draw("first", n1)
    S, U = np.linalg.eigh(X1.T @ X1)
    S, U = S[::-1], U[:, ::-1]
    nonzero = S[0] * dimension * np.finfo(float).eps < S
    inverse = np.divide(1.0, S, out=np.zeros(dimension), where=nonzero)
    V = np.linalg.svd(draw("second", samples - n1), full_matrices=False)[0]
    r = V.shape[1]
    X = np.concatenate([X1, V * inverse[:r] @ U[:, :r].T])
    X += noise * stream(source, seed, "noise").normal(size=X.shape)
    x, y = torch.from_numpy(X), torch.from_numpy((np.arange(samples) < n1)[:, None] + offset)
    return DataSet(source, x, y, x[:0], y[:0], metadata={"with_label_1": n1})
