"""Powers of positive semi-definite matrices: the AGOP^s of the papers' ansätze."""

import warnings

import torch
from torch import Tensor

from gramlab.arguments import Check
from gramlab.losses import all_finite
from gramlab.measures.arrays import Array, as_finite, as_number
from gramlab.measures.undefined import Undefined

# what counts as round-off, relative to the largest: a negative eigenvalue, or a difference of A and Aᵀ. A matrix of
# ``measure`` sums float32 products over batches of 8192 rows, whose error is about √8192 · 2⁻²⁴ = 5.4e-6 of the norm,
# and less where rows differ
ROUND_OFF = 1e-5
# a negative eigenvalue beyond this part of the largest comes from float32 products: sums in float64 leave less
_FLOAT64_SUMS = 1e-10
_EPS = torch.finfo(torch.float64).eps


def psd_power(a: Array, s: float, *, rtol: float | None = None) -> Tensor:
    """Return the power A^s of a symmetric positive semi-definite matrix, or of a stack of them.

    By eigen-decomposition A = V diag(λ) Vᵀ in float64, A^s = V diag(λ^s) Vᵀ; papers C and D compare WᵀW with
    AGOP^s. Eigenvalues up to rtol·λ_max are round-off and count as zero: s > 0 keeps them zero, s ≤ 0 leaves their
    directions out (the power of the pseudo-inverse; s = 0 is the projection on the range). FACT is not symmetric: use
    ``psd_power(F @ F.T, s / 2)`` (paper C, Remark 3.3).

    Parameters
    ----------
    a : array of shape (d, d) or (..., d, d)
        Symmetric, without negative eigenvalues.
    s : float
        The power.
    rtol : float, optional
        The part of the largest eigenvalue up to which an eigenvalue counts as zero, at least 0 and below 1. By default
        d·eps of float64. For s ≤ 0, where round-off would grow, it is 1e-5 for arrays in float32 or less, and for
        matrices with a negative eigenvalue beyond 1e-10 of the largest, which only products in float32 leave.

    Returns
    -------
    Tensor of the shape of ``a``
        In float64.

    Raises
    ------
    ValueError
        If ``a`` is not square or not symmetric, ``s`` is not a finite number, or ``rtol`` is out of range.
    Undefined
        If an eigenvalue is negative by more than round-off (1e-5 of the largest, since a matrix may come from float32),
        or the power leaves float64's range.

    Warns
    -----
    UserWarning
        If s ≤ 0 without ``rtol`` keeps an eigenvalue below 1e-5 of the largest. Such a matrix in float64 may be exact,
        or a measure of a network in float32, whose products leave eigenvalues of this size.

    Examples
    --------
    >>> import gramlab
    >>> gramlab.psd_power([[4.0, 0.0], [0.0, 9.0]], 0.5)
    tensor([[2., 0.],
            [0., 3.]], dtype=torch.float64)
    >>> gramlab.psd_power([[4.0, 0.0], [0.0, 1e-7]], 0, rtol=1e-5)  # the projection on the range
    tensor([[1., 0.],
            [0., 0.]], dtype=torch.float64)
    """
    _check_numbers(s, rtol)
    array = as_finite(a, "a")
    A = array.double()
    _check_symmetric(A)
    if A.numel() == 0:
        return A
    values, vectors = _eigen_decomposition(A)
    largest = values.abs().amax(-1, keepdim=True)
    if bool((values < -ROUND_OFF * largest).any()):
        smallest_share = float((values / largest.clamp_min(torch.finfo(torch.float64).tiny)).min())
        raise Undefined(
            f"the matrix is not positive semi-definite: an eigenvalue is {smallest_share:.3g} of the largest"
        )
    is_exact = array.dtype == torch.float64 or not array.is_floating_point()
    positive = values > (_default_cutoff(values, largest, s, is_exact) if rtol is None else rtol * largest)
    powers = torch.where(positive, torch.where(positive, values, 1.0) ** s, 0.0)
    if not bool(((powers.amax(-1) > 0) == positive.any(-1)).all()) or not all_finite(powers):
        raise Undefined(f"the power {s} of eigenvalues up to {float(largest.max()):.3g} is out of float64's range")
    return (vectors * powers.unsqueeze(-2)) @ vectors.mT


def _eigen_decomposition(A: Tensor) -> tuple[Tensor, Tensor]:
    """The eigenvalues and eigenvectors. Raises Undefined if infinities arise, beside which all values would be zero."""
    symmetric_part = (A + A.mT) / 2
    if all_finite(symmetric_part):
        values, vectors = torch.linalg.eigh(symmetric_part)
        if all_finite(values):
            return values, vectors
    raise Undefined("the eigenvalues of the matrix are out of float64's range: scale it")


def _check_numbers(s: float, rtol: float | None) -> None:
    """Raise ValueError unless the power is finite and the tolerance, if there is one, is in [0, 1)."""
    check = Check(ValueError)
    check.number("the power", as_number(s) if isinstance(s, Tensor) else s)
    if rtol is not None:
        check.number("rtol", rtol, "a number from 0 to below 1")


def _check_symmetric(A: Tensor) -> None:
    """Raise ValueError unless each matrix is square, and symmetric up to the round-off of its own entries."""
    if A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        raise ValueError(f"psd_power needs a square matrix, not an array of shape {tuple(A.shape)}")
    if A.numel() == 0:
        return
    difference, largest = ((M.abs().amax((-2, -1))) for M in (A - A.mT, A))
    if bool((difference > ROUND_OFF * largest).any()):
        raise ValueError("the matrix is not symmetric; for FACT use psd_power(F @ F.T, s / 2)")


def _default_cutoff(values: Tensor, largest: Tensor, s: float, is_exact: bool) -> Tensor:
    """The largest eigenvalue that counts as zero, of each matrix: that of ``psd_power`` without ``rtol``."""
    float64_cutoff = values.shape[-1] * _EPS * largest
    if s > 0:  # round-off stays small
        return float64_cutoff
    from_float32 = values.amin(-1, keepdim=True) < -_FLOAT64_SUMS * largest
    cutoff = torch.where(from_float32, ROUND_OFF * largest, float64_cutoff) if is_exact else ROUND_OFF * largest
    if kept_count := int(((values > cutoff) & (values <= ROUND_OFF * largest)).sum()):
        warnings.warn(
            f"psd_power keeps {kept_count} eigenvalue{'s' if kept_count > 1 else ''} below {ROUND_OFF:g} of the"
            f" largest, whose power {s} is large. In a matrix from a network in float32 this is round-off: give"
            f" rtol={ROUND_OFF:g}. In one that is exact in float64 it is not: give rtol={values.shape[-1] * _EPS:.1g}",
            stacklevel=3,
        )
    return cutoff
