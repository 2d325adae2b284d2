"""Dual weights without a float64 kernel matrix: conjugate gradients, with K by blocks of rows only."""

from collections.abc import Callable

import torch
from torch import Tensor

from gramlab.kernels.functions import Kernel, predict, row_blocks
from gramlab.kernels.solve import cholesky, cholesky_solve, mean_diagonal, next_ridge, warn_singular
from gramlab.kernels.tensors import CHECK
from gramlab.losses import all_finite
from gramlab.measures.arrays import as_number
from gramlab.streams import stream

Product = Callable[[Tensor], Tensor]


def dual_iterative(
    kernel: Kernel, x: Tensor, y: Tensor, ridge: float, M: Tensor | None = None, *, rank: int = 500,
    tolerance: float = 1e-8, steps: int = 500, seed: int = 0,
) -> tuple[Tensor, int]:  # fmt: skip
    """Return the dual weights (K_M(x, x) + ridge I)⁻¹ y without holding K; an (n, rank) matrix is held.

    Conjugate gradients with the Nyström preconditioner K_nr K_rr⁻¹ K_rn + ridge I of ``rank`` random samples, inverted
    by Woodbury's formula. A step costs n² kernel values.

    Parameters
    ----------
    kernel : Kernel
    x : Tensor of shape (n, d)
    y : Tensor of shape (n, c)
    ridge : float
        Above 0.
    M : Tensor of shape (d, d) or (d,), optional
    rank : int, default 500
    tolerance : float, default 1e-8
        The residual of each column, relative to the column's norm.
    steps : int, default 500
        At most so many steps.
    seed : int, default 0
        Of the random samples.

    Returns
    -------
    alpha : Tensor of shape (n, c)
    steps : int
        The number of steps taken.

    Raises
    ------
    ValueError
        Unless ridge > 0.
    ArithmeticError
        If ``steps`` do not suffice (raise the rank or the ridge), or K or y is not finite.

    Examples
    --------
    >>> import torch
    >>> from gramlab.kernels.functions import Kernel
    >>> x = torch.linspace(-1, 1, 50, dtype=torch.float64)[:, None]
    >>> kernel, y = Kernel("gaussian"), x.sin()
    >>> alpha, _ = dual_iterative(kernel, x, y, ridge=0.1, rank=10)
    >>> bool(torch.allclose(kernel.matrix(x) @ alpha + 0.1 * alpha, y, atol=1e-6))
    True
    """
    ridge = as_number(ridge)
    CHECK.number("ridge", ridge, "a positive number")
    _check_targets(y)
    sampled = torch.from_numpy(stream("dual_iterative", seed).permutation(len(x))[:rank]).to(x.device)
    sample_kernel = kernel.matrix(x[sampled], None, M)
    if not all_finite(sample_kernel):
        raise ArithmeticError("the kernel matrix is not finite: scale the inputs, or raise the bandwidth")
    sample_kernel.diagonal().add_(len(x) * torch.finfo(x.dtype).eps * float(sample_kernel.diagonal().mean()))
    B = kernel.matrix(x, x[sampled], M)
    B = torch.linalg.solve_triangular(torch.linalg.cholesky(sample_kernel), B.mT, upper=False).mT  # K is about B Bᵀ
    inner_factor = torch.linalg.cholesky(B.mT @ B + ridge * torch.eye(B.shape[1], dtype=B.dtype, device=B.device))

    def precondition(v: Tensor) -> Tensor:
        return (v - B @ torch.cholesky_solve(B.mT @ v, inner_factor)) / ridge

    alpha, step_count, residual = _conjugate_gradients(_product(kernel, x, M, ridge), precondition, y, tolerance, steps)
    if not residual <= tolerance:  # it may be NaN
        raise ArithmeticError(f"after {steps} steps the residual is {residual:.1g}: raise the rank or the ridge")
    return alpha, step_count


def dual_refined(
    kernel: Kernel, x: Tensor, y: Tensor, ridge: float = 0.0, M: Tensor | None = None, *, tolerance: float = 1e-12,
    steps: int = 300,
) -> tuple[Tensor, float]:  # fmt: skip
    """Return the dual weights (K_M(x, x) + ridge I)⁻¹ y in half of the memory of ``dual``.

    One n x n matrix is held, in float32: K + (ridge + √n eps) I, from entries computed in float64, and its Cholesky
    factor in the same place. That factor preconditions conjugate gradients whose residuals are in float64, from K by
    blocks of rows. This is iterative refinement, and takes a few steps more where K is singular in float32. If
    ``steps`` do not suffice, K is singular in float64 too: the ridge is raised as in ``dual``, with a SingularKernel
    warning.

    Parameters
    ----------
    kernel : Kernel
    x : Tensor of shape (n, d)
        In float64.
    y : Tensor of shape (n, c)
        In float64.
    ridge : float, default 0.0
    M : Tensor of shape (d, d) or (d,), optional
    tolerance : float, default 1e-12
        The residual of each column, relative to the column's norm.
    steps : int, default 300

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
        If K is zero or not positive semi-definite, or K, y or y's norm is not finite.

    Examples
    --------
    >>> import torch
    >>> from gramlab.kernels.functions import Kernel
    >>> x = torch.linspace(-1, 1, 50, dtype=torch.float64)[:, None]
    >>> kernel, y = Kernel("laplace"), x.sin()
    >>> alpha, ridge = dual_refined(kernel, x, y)
    >>> ridge, bool(torch.allclose(kernel.matrix(x) @ alpha, y))
    (0.0, True)
    """
    ridge = as_number(ridge)
    CHECK.number("ridge", ridge, "a number of at least 0")
    _check_targets(y)
    n, used_ridge, shift, is_regular = len(x), ridge, len(x) ** 0.5 * torch.finfo(torch.float32).eps, False
    K = x.new_empty(n, n, dtype=torch.float32)
    while not is_regular:
        for part in row_blocks(x, n):  # the factorisation reads the blocks right of the diagonal
            K[part, part.start :] = kernel.matrix(x[part], x[part.start :], M)
        if kernel.radial:
            K.fill_diagonal_(1.0)
        scale = mean_diagonal(K)
        K.diagonal().add_(ridge + shift * scale)
        factor, is_regular = cholesky(K)
        shift *= 10
        if not is_regular and shift > 1:
            raise ArithmeticError("the kernel matrix is not finite, or not positive semi-definite")

    def precondition(v: Tensor) -> Tensor:
        return cholesky_solve(factor, v.float()).to(v)

    while True:
        alpha, _, residual = _conjugate_gradients(_product(kernel, x, M, used_ridge), precondition, y, tolerance, steps)
        if residual <= tolerance:
            break
        eps = torch.finfo(x.dtype).eps
        if used_ridge > scale / eps:  # K is round-off beside this ridge
            raise ArithmeticError("conjugate gradients meet numbers that are not finite")
        used_ridge = next_ridge(used_ridge, eps, scale)
    if used_ridge != ridge:
        warn_singular(ridge, used_ridge, 3)
    return alpha, used_ridge


def _check_targets(y: Tensor) -> None:
    """Raise ArithmeticError on NaN and infinite targets, whose columns would count as solved by zeros."""
    if not all_finite(y):
        raise ArithmeticError("the targets are not finite")


def _product(kernel: Kernel, x: Tensor, M: Tensor | None, ridge: float) -> Product:
    return lambda v: predict(kernel, x, x, v, M) + ridge * v


def _conjugate_gradients(
    product: Product, precondition: Product, y: Tensor, tolerance: float, steps: int
) -> tuple[Tensor, int, float]:
    """The solution, the number of steps, and the largest residual relative to its column's norm."""
    alpha, residual = torch.zeros_like(y), y.clone()
    z = precondition(residual)
    direction, squares = z, (residual * z).sum(0)
    step, largest, norms = 0, 0.0, y.norm(dim=0)
    for step in range(steps + 1):
        largest = float(_ratio(residual.norm(dim=0), norms).max())
        if largest <= tolerance or step == steps:
            break
        image = product(direction)
        length = _ratio(squares, (direction * image).sum(0))
        alpha, before = alpha + length * direction, residual
        residual = before - length * image
        z = precondition(residual)
        beta = _ratio((z * (residual - before)).sum(0), squares)  # not z·z: a rounded preconditioner is not symmetric
        direction, squares = z + beta * direction, (z * residual).sum(0)
    return alpha, step, largest


def _ratio(a: Tensor, b: Tensor) -> Tensor:
    """The ratio a / b, and 0 for a column that is solved."""
    return torch.where(b > 0, a / torch.where(b > 0, b, 1), 0.0)
