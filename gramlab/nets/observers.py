"""Sums over every training step, which no snapshot of the weights can give back afterwards.

An observer sees each step before the weights move: the network of all seeds as a function, its parameters,
the batch, and the batch with shuffled targets (the control). Its sums are part of checkpoints and snapshots.
"""

from collections.abc import Callable

import torch
from torch import Tensor

Losses = Callable[[dict[str, Tensor], Tensor, Tensor], Tensor]  # (parameters, x, y) -> (seeds,) mean losses


def _input_gradient(losses: Losses, parameters: dict[str, Tensor], x: Tensor, y: Tensor) -> Tensor:
    x = x.detach().requires_grad_()
    return torch.autograd.grad(losses({key: value.detach() for key, value in parameters.items()}, x, y).sum(), x)[0]


def virtual_shift(sums: dict[str, Tensor], losses: Losses, parameters, x, y, shuffled, rate: float) -> None:
    """Paper A, B.3: sum over steps of the Virtual Covariance Shift of the inputs, as P with VCS = -(P + P^T).

    x (seeds, b, ...) and P (seeds, d, d) in float64, P = rate * g^T (x - rate * g / 2) with g = grad_x of the
    batch's mean loss: no difference of two nearly equal covariances is ever formed.
    """
    flat = x.flatten(2)
    for name, targets in (("virtual_shift", y), ("virtual_shift/shuffled", shuffled)):
        step = rate * _input_gradient(losses, parameters, x, targets).flatten(2)
        sums[name] = sums.get(name, 0) + (step.mT @ (flat - step / 2)).double()


def virtual_update(sums: dict[str, Tensor], losses: Losses, parameters, x, y, shuffled, rate: float) -> None:
    """Paper A, Section 1: sum over full-batch steps of grad_x of the mean loss at the fixed inputs, (seeds, n, ...)."""
    for name, targets in (("virtual_update", y), ("virtual_update/shuffled", shuffled)):
        sums[name] = sums.get(name, 0) + _input_gradient(losses, parameters, x, targets).double()


OBSERVERS = {"virtual_shift": virtual_shift, "virtual_update": virtual_update}
