"""Instances that several experiments of exact claims and bounds share: a layer along a small network's training."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

from gramlab.streams import stream

STEPS = (0, 3, 10, 30, 100, 300)  # of the trained networks, at which they are looked at


@dataclass
class Layer:
    """A layer's weight W (k, d), its input H (d, n), labels Y (n,) and a ridge."""

    kind: str
    W: np.ndarray
    H: np.ndarray
    Y: np.ndarray
    ridge: float
    step: int = -1  # of the training, where there is one


def trained(instance: int) -> Iterator[Layer]:
    """The second layer of a ReLU network along gradient descent on a nonlinear target."""
    draw = stream("a_linear", "trained", instance)
    x = torch.from_numpy(draw.normal(size=(40, 5)))
    y = x[:, 0] * x[:, 1] + x[:, 2]
    first, second, last = (torch.from_numpy(draw.normal(size=(a, b)) * (2 / b) ** 0.5).requires_grad_()
                           for a, b in ((12, 5), (10, 12), (1, 10)))  # fmt: skip
    ridge = 10.0 ** draw.uniform(-1, 1)
    for step in range(STEPS[-1] + 1):
        h = torch.relu(x @ first.T)
        if step in STEPS:
            W, H = second.detach().numpy().copy(), h.detach().numpy().T.copy()
            yield Layer(f"after {step} steps", W, H, y.numpy(), ridge, step)
        loss = ((torch.relu(h @ second.T) @ last.T)[:, 0] - y).square().mean()
        for weight, slope in zip((first, second, last), torch.autograd.grad(loss, (first, second, last)), strict=True):
            weight.data -= 0.02 * slope
