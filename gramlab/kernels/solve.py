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
    least norm at about sqrt(eps). Raises ValueError if K has entries that are not finite.
    """
    if not 0 <= ridge < float("inf"):
        raise ValueError(f"ridge must be a number of at least 0, not {ridge!r}")
    n, eps, used = len(y), torch.finfo(y.dtype).eps, float(ridge)
    while True:
        K = kernel_matrix()
        scale = float(K.diagonal().mean())
        if not torch.isfinite(K.diagonal().sum()):
            raise ValueError("the kernel matrix is not finite: the inputs or the feature matrix are too large")
        K.diagonal().add_(used)
        factor, info = K.mT, torch.zeros((), dtype=torch.int32, device=K.device)
        torch.linalg.cholesky_ex(factor, out=(factor, info))
        pivots = factor.diagonal().square()
        if int(info) == 0 and float(pivots.min()) > n * eps * float(pivots.max()):
            break
        if not scale > 0:
            raise ValueError("the kernel matrix is zero: no feature is left")
        used = max(10 * used, eps**0.5 * scale)
        del K, factor
    if used != ridge:
        warnings.warn(
            f"the kernel matrix is singular at ridge {ridge:g}; solved with {used:.3g} on the diagonal, "
            f"near the least-squares solution of least norm",
            SingularKernel,
            stacklevel=2,
        )
    half = torch.linalg.solve_triangular(factor, y, upper=False)
    return torch.linalg.solve_triangular(factor.mT, half, upper=True), used
