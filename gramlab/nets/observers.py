"""Sums over every training step, which no snapshot of the weights can give back afterwards.

An observer sees each step before the weights move: the networks' losses as a function of inputs and targets, the
batch, shuffled targets (the control), and each member's learning rate. Its sums are part of checkpoints and snapshots.
"""

from collections.abc import Callable

import torch
from torch import Tensor

Losses = Callable[[Tensor, Tensor], Tensor]  # (x, y) -> (members,) mean losses


def _input_gradient(losses: Losses, x: Tensor, y: Tensor) -> Tensor:
    x = x.detach().requires_grad_()
    return torch.autograd.grad(losses(x, y).sum(), x)[0]


def virtual_shift(sums: dict[str, Tensor], losses: Losses, x, y, shuffled, rates: Tensor) -> None:
    """Paper A, B.3: sum over steps of the Virtual Covariance Shift of the inputs, as P with VCS = -(P + P^T).

    x (members, b, ...), rates (members, 1, ...) and P (members, d, d) in float64, P = rate * g^T (x - rate * g / 2)
    with g = grad_x of the batch's mean loss: no difference of two nearly equal covariances is ever formed.
    """
    flat = x.flatten(2).double()
    for name, targets in (("virtual_shift", y), ("virtual_shift/shuffled", shuffled)):
        step = (rates * _input_gradient(losses, x, targets)).flatten(2).double()
        if name not in sums:
            sums[name] = flat.new_zeros(len(flat), flat.shape[2], flat.shape[2])
        sums[name].baddbmm_(step.mT, flat - step / 2)  # in place: a quarter of the time that a sum of two P takes


def virtual_update(sums: dict[str, Tensor], losses: Losses, x, y, shuffled, rates: Tensor) -> None:
    """Paper A, Section 1: sum over full-batch steps of grad_x of the mean loss at fixed inputs, (members, n, ...)."""
    for name, targets in (("virtual_update", y), ("virtual_update/shuffled", shuffled)):
        sums[name] = sums.get(name, 0) + _input_gradient(losses, x, targets).double()


OBSERVERS = {"virtual_shift": virtual_shift, "virtual_update": virtual_update}
