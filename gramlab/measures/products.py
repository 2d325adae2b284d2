"""Symmetric matrix products; only one half of each is computed."""

import torch
from torch import Tensor

_SIDE = 128  # blocks of this side already run at a matrix product's full speed


def add_symmetric(total: Tensor, a: Tensor, b: Tensor) -> None:
    """Add aᵀb, known to be symmetric, to the upper triangle of ``total``. Complete it with ``mirrored``.

    Only blocks on and above the diagonal are computed: 9/16 of the plain product's work at p = 1024, towards 1/2 for
    larger p, and no temporary of its size.

    Parameters
    ----------
    total : Tensor of shape (groups, p, p)
        Changed in place. What is below the diagonal is undefined until ``mirrored``.
    a, b : Tensor of shape (groups, rows, p)
    """
    p = total.shape[-1]
    if p <= _SIDE:
        total.baddbmm_(a.mT, b)
        return
    for matrix, left, right in zip(total, a, b, strict=True):
        for start in range(0, p, _SIDE):
            stop = min(start + _SIDE, p)
            matrix[start:stop, start:].addmm_(left[:, start:stop].mT, right[:, start:])


def mirrored(total: Tensor) -> Tensor:
    """Make ``total`` exactly symmetric in place, by copying its upper triangle to the lower one, and return it."""
    p = total.shape[-1]
    for start in range(0, p, _SIDE):
        stop = min(start + _SIDE, p)
        block = total[..., start:stop, start:stop]
        block.copy_(block.triu() + block.triu(1).mT)
        total[..., stop:, start:stop] = total[..., start:stop, stop:].mT
    return total


def symmetric(a: Tensor, b: Tensor) -> Tensor:
    """Return aᵀb, known to be symmetric, for ``a`` and ``b`` of shape (rows, p) or (groups, rows, p).

    Examples
    --------
    >>> W = torch.tensor([[1.0, 2.0], [0.0, 1.0]])
    >>> symmetric(W, W)
    tensor([[1., 2.],
            [2., 5.]])
    """
    stacked = a.ndim == 3
    left, right = (a, b) if stacked else (a.unsqueeze(0), b.unsqueeze(0))
    total = torch.zeros(len(left), left.shape[2], left.shape[2], dtype=a.dtype, device=a.device)
    add_symmetric(total, left, right)
    return mirrored(total) if stacked else mirrored(total)[0]
