"""The papers' networks as plain ``nn.Sequential`` modules, and how their weights are drawn."""

import math
from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from gramlab.streams import stream

ACTIVATIONS: dict[str, type[nn.Module]] = {
    "gelu": nn.GELU,
    "relu": nn.ReLU,
    "leaky_relu": nn.LeakyReLU,
    "tanh": nn.Tanh,
    "sigmoid": nn.Sigmoid,
    "softplus": nn.Softplus,
    "linear": nn.Identity,
}


def mlp(inputs: int, hidden: Sequence[int], outputs: int, activation: str = "gelu", bias: bool = True) -> nn.Sequential:
    """A fully connected network whose linear layers are named "0", "2", "4", …; x (n, ...) is flattened."""
    widths = [inputs, *hidden]
    layers: list[nn.Module] = []
    for before, after in pairwise(widths):
        layers += [nn.Linear(before, after, bias), ACTIVATIONS[activation]()]
    return nn.Sequential(*layers, nn.Linear(widths[-1], outputs, bias))


def initialize(model: nn.Module, name: tuple, kind: str = "uniform", scale: float = 1.0) -> dict[str, Tensor]:
    """Initial parameters, drawn in float64 from the streams ``(*name, "init", parameter)``; the model is untouched.

    kind "uniform": torch's default, U(-1, 1) * scale / sqrt(fan-in), weights and biases alike;
    "normal": weights N(0, scale / fan-in), biases 0.
    """
    drawn = {}
    for key, parameter in model.named_parameters():
        owner = model.get_submodule(key.rpartition(".")[0])
        assert isinstance(owner, nn.Linear | nn.Conv2d)
        fan_in = owner.weight[0].numel()
        random = stream(*name, "init", key)
        if kind == "uniform":
            numbers = random.uniform(-1, 1, parameter.shape) * scale / math.sqrt(fan_in)
        elif parameter.ndim > 1:
            numbers = random.normal(size=parameter.shape) * math.sqrt(scale / fan_in)
        else:
            numbers = torch.zeros(parameter.shape).numpy()
        drawn[key] = torch.from_numpy(numbers)
    return drawn
