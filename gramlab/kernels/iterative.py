"""Dual weights beyond memory: conjugate gradients with a Nyström preconditioner, K by blocks of rows only."""

import torch
from torch import Tensor

from gramlab.kernels.functions import Kernel, predict
from gramlab.streams import stream


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

    alpha, residual = torch.zeros_like(y), y.clone()
    z = preconditioned(residual)
    direction, product = z, (residual * z).sum(0)
    size = y.norm(dim=0)
    for step in range(steps + 1):
        if bool((residual.norm(dim=0) <= tolerance * size).all()):
            return alpha, step
        image = predict(kernel, x, x, direction, M) + ridge * direction
        length = _over(product, (direction * image).sum(0))
        alpha, residual = alpha + length * direction, residual - length * image
        z = preconditioned(residual)
        before, product = product, (residual * z).sum(0)
        direction = z + _over(product, before) * direction
    worst = float(_over(residual.norm(dim=0), size).max())
    raise ArithmeticError(f"after {steps} steps the residual is {worst:.1g}: raise the rank or the ridge")


def _over(a: Tensor, b: Tensor) -> Tensor:
    """A / b, and 0 for a column that is solved."""
    return torch.where(b > 0, a / torch.where(b > 0, b, 1), 0.0)
