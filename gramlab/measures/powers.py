"""Powers of positive semi-definite matrices: the AGOP^s of the papers' ansätze."""

import torch
from torch import Tensor

from gramlab.measures.arrays import Array, all_finite, as_float64
from gramlab.measures.undefined import Undefined

# what counts as round-off, relative to the largest: a negative eigenvalue, or a difference of A and Aᵀ. A matrix of
# ``measure`` sums float32 products over batches of 8192 rows, whose error is about √8192 · 2⁻²⁴ = 5.4e-6 of the norm,
# and less where rows differ
ROUND_OFF = 1e-5


def psd_power(a: Array, s: float) -> Tensor:
    """Return the power A^s of a symmetric positive semi-definite matrix, or of a stack of them.

    By eigen-decomposition A = V diag(λ) Vᵀ in float64, A^s = V diag(λ^s) Vᵀ; papers B, C and D compare WᵀW with
    AGOP^s. Eigenvalues below d·eps·λ_max are round-off and count as zero: s > 0 keeps them zero, s ≤ 0 leaves their
    directions out (the power of the pseudo-inverse; s = 0 is the projection on the range). FACT is not symmetric: use
    ``psd_power(F @ F.T, s / 2)`` (paper C, Remark 3.3).

    Parameters
    ----------
    a : array of shape (d, d) or (..., d, d)
        Symmetric, without negative eigenvalues.
    s : float
        The power.

    Returns
    -------
    Tensor of the shape of ``a``
        In float64.

    Raises
    ------
    ValueError
        If ``a`` is not square or not symmetric, or ``s`` is not finite.
    Undefined
        If an eigenvalue is negative by more than round-off (1e-5 of the largest, since a matrix may come from float32),
        or the power leaves float64's range.

    Examples
    --------
    >>> import gramlab
    >>> gramlab.psd_power([[4.0, 0.0], [0.0, 9.0]], 0.5)
    tensor([[2., 0.],
            [0., 3.]], dtype=torch.float64)
    """
    if not -float("inf") < s < float("inf"):
        raise ValueError(f"the power must be a finite number, not {s}")
    A = as_float64(a, "a")
    if A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        raise ValueError(f"psd_power needs a square matrix, not an array of shape {tuple(A.shape)}")
    scale = float(A.abs().max()) if A.numel() else 0.0
    if float((A - A.mT).abs().max() if A.numel() else 0.0) > ROUND_OFF * scale:
        raise ValueError("the matrix is not symmetric; for FACT use psd_power(F @ F.T, s / 2)")
    values, vectors = torch.linalg.eigh((A + A.mT) / 2)
    largest = values.abs().amax(-1, keepdim=True)
    if bool((values < -ROUND_OFF * largest).any()):
        worst = float((values / largest.clamp_min(torch.finfo(torch.float64).tiny)).min())
        raise Undefined(f"the matrix is not positive semi-definite: an eigenvalue is {worst:.3g} of the largest")
    positive = values > A.shape[-1] * torch.finfo(torch.float64).eps * largest
    powers = torch.where(positive, torch.where(positive, values, 1.0) ** s, 0.0)
    if not bool(((powers.amax(-1) > 0) == positive.any(-1)).all()) or not all_finite(powers):
        raise Undefined(f"the power {s} of eigenvalues up to {float(largest.max()):.3g} is out of float64's range")
    return (vectors * powers.unsqueeze(-2)) @ vectors.mT
