"""Dual weights of kernel ridge regression, (K + ridge I) alpha = y, in the memory of one n x n matrix."""

import warnings
from collections.abc import Callable

import torch
from torch import Tensor

from gramlab.kernels.tensors import CHECK
from gramlab.measures.arrays import as_number

# rows and columns of a block of the triangular inverse: on a CPU so few that a block stays in its cache, elsewhere so
# many that one product keeps a GPU busy
BLOCK, GPU_BLOCK = 128, 2048


class SingularKernel(UserWarning):
    """A kernel matrix is singular to working precision and is solved with a larger ridge."""


def dual(kernel_matrix: Callable[[], Tensor], y: Tensor, ridge: float = 0.0) -> tuple[Tensor, float]:
    """Return the dual weights (K + ridge I)⁻¹ y of kernel ridge regression (paper C, Algorithm 1).

    K + ridge I counts as singular if its factorisation fails, or if its squared pivots span more than 1/(n eps), so
    that duplicate samples would get arbitrary weights. The ridge is then raised to √eps tr(K)/n, and tenfold until the
    matrix is regular, with a SingularKernel warning. This keeps both the noise in directions that K lacks and the
    distance from the least-squares solution of least norm at about √eps.

    Parameters
    ----------
    kernel_matrix : callable () -> Tensor of shape (n, n)
        Makes K, which the Cholesky factorisation overwrites: no second matrix is held.
    y : Tensor of shape (n, c)
        Targets.
    ridge : float, default 0.0
        The number on the diagonal, which is nλ in Algorithm 1.

    Returns
    -------
    alpha : Tensor of shape (n, c)
    ridge : float
        The ridge that was used.

    Raises
    ------
    ValueError
        If the ridge is negative.
    ArithmeticError
        If K is zero or not finite.

    Examples
    --------
    >>> import torch
    >>> from gramlab.kernels.solve import dual
    >>> dual(lambda: torch.eye(2), torch.tensor([[2.0], [4.0]]), ridge=1.0)
    (tensor([[1.],
            [2.]]), 1.0)
    """
    factor, used_ridge = _factor(kernel_matrix, y, ridge)
    return cholesky_solve(factor, y), used_ridge


def dual_left_out(
    kernel_matrix: Callable[[], Tensor], y: Tensor, ridge: float = 0.0, samples: int | None = None
) -> tuple[Tensor, float, Tensor]:
    """Return ``dual`` and leave-one-out errors, of all samples or of the last ones.

    The error y_i − f_i(x_i) of the machine f_i that is fitted without sample i is alpha_i / (C⁻¹)_ii for
    C = K + ridge I, with the ridge on the diagonal fixed: no machine is fitted again. With C = LLᵀ, the diagonal of C⁻¹
    holds the squared lengths of the columns of L⁻¹, and its last s entries depend on the last s rows and columns of L
    alone. So the errors of s samples cost s³/3 operations, as much as the factor of an s × s matrix.

    Parameters
    ----------
    kernel_matrix, y, ridge
        As for ``dual``.
    samples : int, optional
        The number of samples, from the last on, that are left out in turn. Default: all.

    Returns
    -------
    alpha : Tensor of shape (n, c)
    ridge : float
    errors : Tensor of shape (samples, c)

    Examples
    --------
    >>> import torch
    >>> K, y = torch.tensor([[2.0, 1.0], [1.0, 2.0]]), torch.tensor([[3.0], [0.0]])
    >>> alpha, ridge, errors = dual_left_out(lambda: K, y)
    >>> errors  # the machine without sample 1 is 0; that without sample 2 has 3 K_12 / K_11 at sample 2
    tensor([[ 3.0000],
            [-1.5000]])
    """
    factor, used_ridge = _factor(kernel_matrix, y, ridge)
    alpha = cholesky_solve(factor, y)
    first = len(y) - min(len(y), len(y) if samples is None else samples)
    return alpha, used_ridge, alpha[first:] / _inverse_diagonal(factor[first:, first:])[:, None]


def _inverse_diagonal(factor: Tensor) -> Tensor:
    """The diagonal of (LLᵀ)⁻¹, with L⁻¹ computed in L's place, from its last columns to its first."""
    n, diagonal = len(factor), factor.new_empty(len(factor))
    size = BLOCK if factor.device.type == "cpu" else GPU_BLOCK
    for first in reversed(range(0, n, size)):
        stop = min(first + size, n)
        block, identity = slice(first, stop), torch.eye(stop - first, dtype=factor.dtype, device=factor.device)
        factor[block, block] = torch.linalg.solve_triangular(factor[block, block].clone(), identity, upper=False)
        panel = factor[stop:, block] @ -factor[block, block]
        for row in range(stop, n, size):  # L⁻¹ of the rows below is triangular
            rows = slice(row, row + size)
            factor[rows, block] = factor[rows, stop : row + size] @ panel[: row + size - stop]
        diagonal[block] = factor[first:, block].square().sum(0)
    return diagonal


def _factor(kernel_matrix: Callable[[], Tensor], y: Tensor, ridge: float) -> tuple[Tensor, float]:
    """The lower Cholesky factor of K + ridge I in the memory of K, and the ridge that makes it regular."""
    ridge = as_number(ridge)
    CHECK.number("ridge", ridge, "a number of at least 0")
    n, eps, used_ridge = len(y), torch.finfo(y.dtype).eps, float(ridge)
    while True:
        K = kernel_matrix()
        scale = mean_diagonal(K, all_entries=used_ridge != ridge)  # no ridge makes a matrix regular that is not finite
        K.diagonal().add_(used_ridge)
        factor, is_regular = cholesky(K)
        pivots = factor.diagonal().square()
        if is_regular and float(pivots.min()) > n * eps * float(pivots.max()):
            break
        used_ridge = next_ridge(used_ridge, eps, scale)
        del K, factor
    if used_ridge != ridge:
        warn_singular(ridge, used_ridge, 4)
    return factor, used_ridge


def mean_diagonal(K: Tensor, all_entries: bool = False) -> float:
    """Return the mean of a kernel matrix's diagonal.

    Raises ArithmeticError if it is zero or not finite, or, with ``all_entries``, if K is not finite. A matrix of NaN
    may have a finite diagonal: a radial kernel's is 1 whatever the distances.
    """
    scale = float(K.diagonal().mean())
    if not 0 < scale < float("inf") or (all_entries and not all(bool(bound.isfinite()) for bound in K.aminmax())):
        problem = "zero" if scale == 0 else "not finite"
        raise ArithmeticError(f"the kernel matrix is {problem}: scale the inputs, or raise the bandwidth")
    return scale


def cholesky(K: Tensor) -> tuple[Tensor, bool]:
    """Return the lower factor in the memory of K, and whether it exists. Only K's upper triangle is read."""
    factor, info = K.mT, torch.zeros((), dtype=torch.int32, device=K.device)
    torch.linalg.cholesky_ex(factor, out=(factor, info))
    return factor, int(info) == 0


def next_ridge(ridge: float, eps: float, scale: float) -> float:
    """Return the next larger ridge for a singular matrix."""
    return max(10 * ridge, eps**0.5 * scale)


def warn_singular(ridge: float, used_ridge: float, level: int) -> None:
    """Issue a SingularKernel warning, ``level`` calls up."""
    warnings.warn(
        f"the kernel matrix is singular at ridge {ridge:g}; solved with {used_ridge:.3g} on the diagonal, "
        f"near the least-squares solution of least norm",
        SingularKernel,
        stacklevel=level,
    )


def cholesky_solve(factor: Tensor, y: Tensor) -> Tensor:
    """Return the solution of the factorised system."""
    half = torch.linalg.solve_triangular(factor, y, upper=False)
    return torch.linalg.solve_triangular(factor.mT, half, upper=True)
