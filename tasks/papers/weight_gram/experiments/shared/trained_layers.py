"""A layer of a small network along its training, on which the exact claims and bounds are measured as well."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

from gramlab.streams import stream

STEPS = (0, 3, 10, 30, 100, 300)  # training steps after which the layer is measured


@dataclass
class Layer:
    """A layer's weight W (k, d), its input H (d, n), labels Y (n,) and a ridge."""

    kind: str
    W: np.ndarray
    H: np.ndarray
    Y: np.ndarray
    ridge: float
    step: int = -1  # training step; -1 for a layer that was not trained


def trained_layers(instance: int) -> Iterator[Layer]:
    """The second layer of a ReLU network along gradient descent on a nonlinear target."""
    draw = stream("a_linear", "trained", instance)
    x = torch.from_numpy(draw.normal(size=(40, 5)))
    y = x[:, 0] * x[:, 1] + x[:, 2]
    first, second, readout = (torch.from_numpy(draw.normal(size=(k, d)) * (2 / d) ** 0.5).requires_grad_()
                              for k, d in ((12, 5), (10, 12), (1, 10)))  # fmt: skip
    ridge = 10.0 ** draw.uniform(-1, 1)
    weights = (first, second, readout)
    for step in range(STEPS[-1] + 1):
        h = torch.relu(x @ first.T)
        if step in STEPS:
            W, H = second.detach().numpy().copy(), h.detach().numpy().T.copy()
            yield Layer(f"after {step} steps", W, H, y.numpy(), ridge, step)
        loss = ((torch.relu(h @ second.T) @ readout.T)[:, 0] - y).square().mean()
        for weight, gradient in zip(weights, torch.autograd.grad(loss, weights), strict=True):
            weight.data -= 0.02 * gradient
