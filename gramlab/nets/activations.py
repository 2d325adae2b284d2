"""Element-wise activations by name."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from gramlab.nets.errors import CHECK


class Power(nn.Module):
    """A power of ReLU, ``max(t, 0)^m`` (paper A, Theorem 4: m-homogeneous networks; paper C).

    Parameters
    ----------
    m : int

    Examples
    --------
    >>> import torch
    >>> Power(2)(torch.tensor([-1.0, 3.0]))
    tensor([0., 9.])
    """

    def __init__(self, m: int):
        super().__init__()
        self.m = m

    def forward(self, t: Tensor) -> Tensor:
        return torch.relu(t).pow(self.m)


class Square(nn.Module):
    """The quadratic activation, ``t^2`` (paper B, Section 3; paper C, Theorem 3.4).

    Examples
    --------
    >>> import torch
    >>> Square()(torch.tensor([-1.0, 3.0]))
    tensor([1., 9.])
    """

    def forward(self, t: Tensor) -> Tensor:
        return t.square()


class Cosine(nn.Module):
    """The cosine, the activation of random Fourier features (paper D).

    Examples
    --------
    >>> import torch
    >>> Cosine()(torch.zeros(1))
    tensor([1.])
    """

    def forward(self, t: Tensor) -> Tensor:
        return t.cos()


class Scaled(nn.Module):
    """Multiplication by a constant, ``factor * t``, for the outputs of a network.

    Parameters
    ----------
    factor : float

    Examples
    --------
    >>> import torch
    >>> Scaled(0.5)(torch.ones(1))
    tensor([0.5000])
    """

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


def activation_maker(name: str) -> Callable[[], nn.Module]:
    """Return the function that makes an activation.

    Parameters
    ----------
    name : str
        A key of `ACTIVATIONS`.

    Returns
    -------
    callable () -> nn.Module

    Raises
    ------
    NetError
        If there is no activation of this name.

    Examples
    --------
    >>> activation_maker("relu")()
    ReLU()
    """
    CHECK.choice("activation", name, ACTIVATIONS)
    return ACTIVATIONS[name]


# modules that act on each number separately, so they also take tensors with a dimension of members
ELEMENTWISE = (
    nn.GELU, nn.ReLU, nn.LeakyReLU, nn.Tanh, nn.Sigmoid, nn.Softplus, nn.Identity, Power, Square, Cosine, Scaled
)  # fmt: skip
