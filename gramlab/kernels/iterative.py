"""Dual weights where K in float64 is beyond memory: conjugate gradients, with K by blocks of rows only."""

from collections.abc import Callable

import torch
from torch import Tensor

from gramlab.kernels.functions import Kernel, predict, rows
from gramlab.kernels.solve import cholesky, raised, singular, size, substituted
from gramlab.streams import stream

Product = Callable[[Tensor], Tensor]


def dual_iterative(
    kernel: Kernel, x: Tensor, y: Tensor, ridge: float, M: Tensor | None = None, *, rank: int = 500,
    tolerance: float = 1e-8, steps: int = 500, seed: int = 0,
) -> tuple[Tensor, int]:  # fmt: skip
    """(K_M(x, x) + ridge I)⁻¹ y, (n, c), and the number of steps; K (n, n) is never held, an (n, rank) matrix is.

    x is (n, d), y (n, c). Every column is solved to a residual of ``tolerance`` times its norm. The preconditioner is
    K_nr K_rr⁻¹ K_rn + ridge I from ``rank`` samples drawn at random, inverted by Woodbury. A step costs n² kernel
    values.
    Raises ValueError unless ridge > 0, ArithmeticError where ``steps`` don't suffice (raise rank or ridge) or K is not
    finite.
    """
    if not 0 < ridge < float("inf"):
        raise ValueError(f"ridge must be positive, not {ridge!r}")
    chosen = torch.from_numpy(stream("dual_iterative", seed).permutation(len(x))[:rank]).to(x.device)
    small = kernel.matrix(x[chosen], None, M)
    if not bool(torch.isfinite(small).all()):
        raise ArithmeticError("the kernel matrix is not finite: scale the inputs, or raise the bandwidth")
    small.diagonal().add_(len(x) * torch.finfo(x.dtype).eps * float(small.diagonal().mean()))
    B = kernel.matrix(x, x[chosen], M)
    B = torch.linalg.solve_triangular(torch.linalg.cholesky(small), B.mT, upper=False).mT  # K is about B Bᵀ
    inner = torch.linalg.cholesky(B.mT @ B + ridge * torch.eye(B.shape[1], dtype=B.dtype, device=B.device))

    def preconditioned(v: Tensor) -> Tensor:
        return (v - B @ torch.cholesky_solve(B.mT @ v, inner)) / ridge

    alpha, taken, worst = _conjugate_gradients(_image(kernel, x, M, ridge), preconditioned, y, tolerance, steps)
    if worst > tolerance:
        raise ArithmeticError(f"after {steps} steps the residual is {worst:.1g}: raise the rank or the ridge")
    return alpha, taken


def dual_refined(
    kernel: Kernel, x: Tensor, y: Tensor, ridge: float = 0.0, M: Tensor | None = None, *, tolerance: float = 1e-12,
    steps: int = 300,
) -> tuple[Tensor, float]:  # fmt: skip
    """(K_M(x, x) + ridge I)⁻¹ y, (n, c), and the ridge that was used: half of the memory of ``dual``.

    x is (n, d), y (n, c), in float64. One n x n matrix is held, in float32: K + (ridge + √n eps) I, from entries
    computed in float64, and its Cholesky factor in the same place. That factor is the preconditioner of conjugate
    gradients whose residuals are in float64, from K by blocks of rows, until every column's is ``tolerance`` times
    its norm: iterative refinement where eps is float32's and K is regular in it, and beyond that a few steps more.
    Where ``steps`` don't suffice K is singular in float64 too: then as ``dual`` it takes a larger ridge, and says so.
    Raises ValueError on a negative ridge, ArithmeticError if K is zero, or K or y's norm not finite.
    """
    if not 0 <= ridge < float("inf"):
        raise ValueError(f"ridge must be a number of at least 0, not {ridge!r}")
    n, used, shift, regular = len(x), ridge, len(x) ** 0.5 * torch.finfo(torch.float32).eps, False
    K = x.new_empty(n, n, dtype=torch.float32)
    while not regular:
        for part in rows(x, n):  # the factorisation reads the blocks right of the diagonal
            K[part, part.start :] = kernel.matrix(x[part], x[part.start :], M)
        if kernel.radial:
            K.fill_diagonal_(1.0)
        scale = size(K)
        K.diagonal().add_(ridge + shift * scale)
        factor, regular = cholesky(K)
        shift *= 10
        if not regular and shift > 1:
            raise ArithmeticError("the kernel matrix is not finite, or not positive semi-definite")

    def preconditioned(v: Tensor) -> Tensor:
        return substituted(factor, v.float()).to(v)

    while True:
        alpha, _, worst = _conjugate_gradients(_image(kernel, x, M, used), preconditioned, y, tolerance, steps)
        if worst <= tolerance:
            break
        eps = torch.finfo(x.dtype).eps
        if used > scale / eps:  # beside which K is round-off
            raise ArithmeticError("conjugate gradients meet numbers that are not finite")
        used = raised(used, eps, scale)
    if used != ridge:
        singular(ridge, used, 3)
    return alpha, used


def _image(kernel: Kernel, x: Tensor, M: Tensor | None, ridge: float) -> Product:
    return lambda v: predict(kernel, x, x, v, M) + ridge * v


def _conjugate_gradients(
    image: Product, preconditioned: Product, y: Tensor, tolerance: float, steps: int
) -> tuple[Tensor, int, float]:
    """The solution, the number of steps, and the largest residual over its column's norm."""
    alpha, residual = torch.zeros_like(y), y.clone()
    z = preconditioned(residual)
    direction, product = z, (residual * z).sum(0)
    step, worst, norms = 0, 0.0, y.norm(dim=0)
    for step in range(steps + 1):
        worst = float(_over(residual.norm(dim=0), norms).max())
        if worst <= tolerance or step == steps:
            break
        moved = image(direction)
        length = _over(product, (direction * moved).sum(0))
        alpha, before = alpha + length * direction, residual
        residual = before - length * moved
        z = preconditioned(residual)
        turn = _over((z * (residual - before)).sum(0), product)  # not z·z: a rounded preconditioner is not symmetric
        direction, product = z + turn * direction, (z * residual).sum(0)
    return alpha, step, worst


def _over(a: Tensor, b: Tensor) -> Tensor:
    """A / b, and 0 for a column that is solved."""
    return torch.where(b > 0, a / torch.where(b > 0, b, 1), 0.0)
