"""Powers of positive semi-definite matrices: the AGOP^s of the papers' ansätze."""

import torch
from torch import Tensor

from gramlab.measures.arrays import Array, finite, float64
from gramlab.measures.undefined import Undefined


def psd_power(a: Array, s: float) -> Tensor:
    """A^s of a symmetric positive semi-definite matrix (d, d), or of a stack of them (..., d, d).

    By eigen-decomposition in float64. Eigenvalues below d·eps·λ_max are round-off and count as zero:
    s > 0 keeps them zero, s ≤ 0 leaves their directions out (the power of the pseudo-inverse; s = 0 is the
    projection on the range). FACT is not symmetric: take ``psd_power(F @ F.T, s / 2)`` (paper C, Remark 3.3).

    Raises ValueError if ``a`` is not square or not symmetric, or ``s`` not finite; Undefined if an eigenvalue is
    negative by more than round-off (normwise 1e-6, since matrices measured in float32 come with its round-off), and if
    the power is out of float64's range.
    """
    if not -float("inf") < s < float("inf"):
        raise ValueError(f"the power must be a finite number, not {s}")
    A = float64(a, "a")
    if A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        raise ValueError(f"a square matrix is needed, not an array of shape {tuple(A.shape)}")
    scale = float(A.abs().max()) if A.numel() else 0.0
    if float((A - A.mT).abs().max() if A.numel() else 0.0) > 1e-6 * scale:
        raise ValueError("the matrix is not symmetric; for FACT use psd_power(F @ F.T, s / 2)")
    values, vectors = torch.linalg.eigh((A + A.mT) / 2)
    largest = values.abs().amax(-1, keepdim=True)
    if bool((values < -1e-6 * largest).any()):
        worst = float((values / largest.clamp_min(torch.finfo(torch.float64).tiny)).min())
        raise Undefined(f"the matrix is not positive semi-definite: an eigenvalue is {worst:.3g} of the largest")
    kept = values > A.shape[-1] * torch.finfo(torch.float64).eps * largest
    powers = torch.where(kept, torch.where(kept, values, 1.0) ** s, 0.0)
    if not bool(((powers.amax(-1) > 0) == kept.any(-1)).all()) or not finite(powers):
        raise Undefined(f"the power {s} of eigenvalues up to {float(largest.max()):.3g} is out of float64's range")
    return (vectors * powers.unsqueeze(-2)) @ vectors.mT
