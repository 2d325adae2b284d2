"""Sums over all training steps, which snapshots of the weights alone do not determine.

An observer is called before each step with the losses as a function of inputs and targets, the batch, shuffled targets
(the control), and each member's learning rate. Its sums are part of checkpoints and snapshots.
"""

from collections.abc import Callable

import torch
from torch import Tensor

Losses = Callable[[Tensor, Tensor], Tensor]  # (x, y) -> (members,) mean losses


def _input_gradient(losses: Losses, x: Tensor, y: Tensor) -> Tensor:
    """Gradient of each member's mean loss with respect to its inputs."""
    x = x.detach().requires_grad_()
    return torch.autograd.grad(losses(x, y).sum(), x)[0]


def virtual_shift(sums: dict[str, Tensor], losses: Losses, x, y, shuffled, rates: Tensor) -> None:
    """Add a step to the Virtual Covariance Shift of the inputs, ``VCS = -(P + P^T)`` (paper A, B.3).

    The sum is over ``P = rate * g^T (x - rate * g / 2)``, where g is the gradient of the batch's mean loss with respect
    to x. So the difference of two nearly equal covariances is never computed.

    Parameters
    ----------
    sums : dict of str to Tensor
        The sums P in float64, (members, d, d), under ``virtual_shift`` and, for the shuffled targets,
        ``virtual_shift/shuffled``; changed in place.
    losses : callable
        Mean losses (members,) from inputs and targets.
    x : Tensor of shape (members, b, ...)
    y, shuffled : Tensor of shape (members, b, ...)
    rates : Tensor of shape (members, 1, ...)
        Learning rates.

    Examples
    --------
    >>> import torch
    >>> sums, x, y = {}, torch.tensor([[[1.0, 2.0]]]), torch.zeros(1, 1)
    >>> virtual_shift(sums, lambda x, y: (x.sum(-1) - y).mean(1), x, y, y, torch.full((1, 1, 1), 0.5))
    >>> sums["virtual_shift"]
    tensor([[[0.3750, 0.8750],
             [0.3750, 0.8750]]], dtype=torch.float64)
    """
    flat = x.flatten(2).double()
    for name, targets in (("virtual_shift", y), ("virtual_shift/shuffled", shuffled)):
        step = (rates * _input_gradient(losses, x, targets)).flatten(2).double()
        if name not in sums:
            sums[name] = flat.new_zeros(len(flat), flat.shape[2], flat.shape[2])
        sums[name].baddbmm_(step.mT, flat - step / 2)  # in place takes a quarter of the time of a sum of two P


def virtual_update(sums: dict[str, Tensor], losses: Losses, x, y, shuffled, rates: Tensor) -> None:
    """Add a full-batch step to the virtual update, the sum of ``grad_x`` of the mean loss (paper A, Section 1).

    Parameters
    ----------
    sums : dict of str to Tensor
        The sums in float64, (members, n, ...), under ``virtual_update`` and, for the shuffled targets,
        ``virtual_update/shuffled``; changed in place.
    losses : callable
        Mean losses (members,) from inputs and targets.
    x : Tensor of shape (members, n, ...)
    y, shuffled : Tensor of shape (members, n, ...)
    rates : Tensor of shape (members, 1, ...)
        Learning rates; the sum does not contain them.

    Examples
    --------
    >>> import torch
    >>> sums, x, y = {}, torch.tensor([[[1.0, 2.0]]]), torch.zeros(1, 1)
    >>> virtual_update(sums, lambda x, y: (x.square().sum(-1) - y).mean(1), x, y, y, torch.ones(1, 1, 1))
    >>> sums["virtual_update"]
    tensor([[[2., 4.]]], dtype=torch.float64)
    """
    for name, targets in (("virtual_update", y), ("virtual_update/shuffled", shuffled)):
        sums[name] = sums.get(name, 0) + _input_gradient(losses, x, targets).double()


OBSERVERS = {"virtual_shift": virtual_shift, "virtual_update": virtual_update}
