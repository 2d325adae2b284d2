"""Element-wise activations by name."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn


class Power(nn.Module):
    """ReLU^m of papers A (Theorem 4, m-homogeneous networks) and C: max(t, 0)^m."""

    def __init__(self, m: int):
        super().__init__()
        self.m = m

    def forward(self, t: Tensor) -> Tensor:
        return torch.relu(t).pow(self.m)


class Square(nn.Module):
    """The quadratic activation t^2 of paper B (Section 3) and paper C (Theorem 3.4)."""

    def forward(self, t: Tensor) -> Tensor:
        return t.square()


class Cosine(nn.Module):
    """cos t, the activation of random Fourier features in paper D."""

    def forward(self, t: Tensor) -> Tensor:
        return t.cos()


class Scaled(nn.Module):
    """factor * t, at the end of a network whose outputs are divided by a number."""

    def __init__(self, factor: float):
        super().__init__()
        self.factor = factor

    def forward(self, t: Tensor) -> Tensor:
        return self.factor * t


ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "gelu": nn.GELU,
    "relu": nn.ReLU,
    "leaky_relu": nn.LeakyReLU,
    "tanh": nn.Tanh,
    "sigmoid": nn.Sigmoid,
    "softplus": nn.Softplus,
    "linear": nn.Identity,
    "relu^2": partial(Power, 2),
    "relu^3": partial(Power, 3),
    "quadratic": Square,
    "cosine": Cosine,
}

# these act on each number by itself, whatever the tensor's shape
ELEMENTWISE = (
    nn.GELU, nn.ReLU, nn.LeakyReLU, nn.Tanh, nn.Sigmoid, nn.Softplus, nn.Identity, Power, Square, Cosine, Scaled
)  # fmt: skip
