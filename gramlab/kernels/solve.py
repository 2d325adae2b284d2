"""Dual weights of kernel ridge regression, (K + ridge I) alpha = y, in the memory of one n x n matrix."""

import warnings
from collections.abc import Callable

import torch
from torch import Tensor


class SingularKernel(UserWarning):
    """A kernel matrix was singular to working precision, and was solved with a larger ridge."""


def dual(kernel_matrix: Callable[[], Tensor], y: Tensor, ridge: float = 0.0) -> tuple[Tensor, float]:
    """(K + ridge I)⁻¹ y, (n, c), and the ridge that was used.

    ``kernel_matrix()`` makes K (n, n), which the Cholesky factorisation then overwrites: no second matrix is held.
    The ridge is the whole number on the diagonal: Algorithm 1 of paper C has nλ there.

    Where K + ridge I is singular to working precision (the factorisation breaks down, or its squared pivots span
    more than 1/(n eps), so that duplicate samples would get arbitrary weights) the ridge is raised to
    sqrt(eps) tr(K)/n, then tenfold until it is not, a SingularKernel warning says so, and the second value is that
    ridge: it keeps both the noise in directions that K lacks and the distance from the least-squares solution of
    least norm at about sqrt(eps). Raises ValueError on a negative ridge, ArithmeticError if K is zero or not finite.
    """
    factor, used = _factor(kernel_matrix, y, ridge)
    return substituted(factor, y), used


def dual_left_out(kernel_matrix: Callable[[], Tensor], y: Tensor, ridge: float = 0.0) -> tuple[Tensor, float, Tensor]:
    """``dual``, and y_i - f_i(x_i) of the machine f_i that was fitted without sample i, (n, c): the same work again.

    It is alpha_i / (C⁻¹)_ii for C = K + ridge I, with the ridge on the diagonal fixed: no machine is fitted anew.
    """
    factor, used = _factor(kernel_matrix, y, ridge)
    alpha = substituted(factor, y)
    n, step = len(y), 256
    for first in reversed(range(0, n, step)):  # L⁻¹ in L's place, from its last columns to its first
        own, below = slice(first, first + step), slice(first + step, n)
        unit = torch.eye(min(step, n - first), dtype=y.dtype, device=y.device)
        factor[own, own] = torch.linalg.solve_triangular(factor[own, own].clone(), unit, upper=False)
        factor[below, own] = factor[below, below] @ (factor[below, own] @ -factor[own, own])
    inverse = torch.cat([part.square().sum(0) for part in factor.split(step, 1)])  # C⁻¹ = L⁻ᵀL⁻¹
    return alpha, used, alpha / inverse[:, None]


def _factor(kernel_matrix: Callable[[], Tensor], y: Tensor, ridge: float) -> tuple[Tensor, float]:
    """The lower Cholesky factor of K + ridge I in the memory of K, and the ridge that made it regular."""
    if not 0 <= ridge < float("inf"):
        raise ValueError(f"ridge must be a number of at least 0, not {ridge!r}")
    n, eps, used = len(y), torch.finfo(y.dtype).eps, float(ridge)
    while True:
        K = kernel_matrix()
        scale = size(K, whole=used != ridge)  # no ridge makes a matrix regular that is not finite
        K.diagonal().add_(used)
        factor, regular = cholesky(K)
        pivots = factor.diagonal().square()
        if regular and float(pivots.min()) > n * eps * float(pivots.max()):
            break
        used = raised(used, eps, scale)
        del K, factor
    if used != ridge:
        singular(ridge, used, 4)
    return factor, used


def size(K: Tensor, whole: bool = False) -> float:
    """The mean of a kernel matrix's diagonal; raises ArithmeticError if it is zero or not finite, or K's ``whole`` not.

    A finite diagonal may stand in a matrix of NaN: a radial kernel's is 1 whatever the distances.
    """
    scale = float(K.diagonal().mean())
    if not 0 < scale < float("inf") or (whole and not all(bool(end.isfinite()) for end in K.aminmax())):
        what = "zero" if scale == 0 else "not finite"
        raise ArithmeticError(f"the kernel matrix is {what}: scale the inputs, or raise the bandwidth")
    return scale


def cholesky(K: Tensor) -> tuple[Tensor, bool]:
    """The lower factor in the memory of K, of which it reads what is right of the diagonal; and whether it exists."""
    factor, info = K.mT, torch.zeros((), dtype=torch.int32, device=K.device)
    torch.linalg.cholesky_ex(factor, out=(factor, info))
    return factor, int(info) == 0


def raised(ridge: float, eps: float, scale: float) -> float:
    """The next larger ridge for a singular matrix."""
    return max(10 * ridge, eps**0.5 * scale)


def singular(ridge: float, used: float, level: int) -> None:
    """Warn of it, so many calls up."""
    warnings.warn(
        f"the kernel matrix is singular at ridge {ridge:g}; solved with {used:.3g} on the diagonal, "
        f"near the least-squares solution of least norm",
        SingularKernel,
        stacklevel=level,
    )


def substituted(factor: Tensor, y: Tensor) -> Tensor:
    """The factorised system's solution."""
    half = torch.linalg.solve_triangular(factor, y, upper=False)
    return torch.linalg.solve_triangular(factor.mT, half, upper=True)
