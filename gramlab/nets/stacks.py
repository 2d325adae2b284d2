"""The weights of all members in one stack, and the ways to compute with them.

Members are computed together or one after the other, whichever is faster; either way a weight named N is the
tensor ``values[N]`` of shape (members, ...), and every way reads and writes that memory.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

from gramlab.nets.activations import ELEMENTWISE, Scaled
from gramlab.nets.vae import VAE

# Multiply-adds of one member's step above which, on a CPU, plain products one after the other are faster than one
# batched product of all (measured: benchmarks/training.py). Products of few rows take as long as those of so many,
# since it is the weights that come from memory; with the units' few rows the plain ones gain the more.
TOGETHER_BELOW, FEW, UNITS = 1.5e7, 64, 128


@dataclass
class Group:
    """Members that are computed at once. ``run(x, *noise)`` maps (g, b, ...) to outputs (g, b, ...)."""

    members: slice
    module: nn.Module
    parameters: list[Tensor]  # in the order of the stack's names; they share the stack's memory
    run: Callable[..., Any]
    alone: bool  # parameters lack the members' dimension: this is one network by itself


class Stack:
    """All members' parameters and buffers, by name; the groups to compute them in.

    drawn: each member's initial parameters. batch: samples in a step, by which the way is chosen. ``units``, where it
    is not 0: a linear network that is computed at so many unit vectors, its inputs, instead of at the samples.
    """

    def __init__(self, model: nn.Module, drawn: list[dict[str, Tensor]], batch: int, dtype: torch.dtype, device: str):
        self.names = list(drawn[0])
        self.values = {name: torch.stack([one[name] for one in drawn]).to(device, dtype) for name in self.names}
        count = len(drawn)
        self.units = _units(model, batch)
        self.buffers = {
            name: torch.stack([buffer.to(device, dtype if buffer.is_floating_point() else None)] * count)
            for name, buffer in model.named_buffers()
        }
        way = self._way(model, count, max(FEW, UNITS if self.units else batch), device)
        if way == "alone":
            self.groups = [self._alone(model, index) for index in range(count)]
        else:
            self.groups = [(self._batched if way == "batched" else self._mapped)(model, count)]

    def _way(self, model: nn.Module, count: int, rows: int, device: str) -> str:
        leaves = [module for module in model.modules() if not list(module.children())]
        dense = all(isinstance(leaf, (nn.Linear, nn.Sequential, *ELEMENTWISE)) for leaf in leaves)
        known = isinstance(model, nn.Sequential | VAE)  # whose forward does not mind a dimension more
        work = rows * sum(value[0].numel() for value in self.values.values())
        # batch normalisation writes its statistics as it runs, and grouped convolutions are slow on a CPU
        if count == 1 or self.buffers or (device == "cpu" and (not dense or work > TOGETHER_BELOW)):
            return "alone"
        return "batched" if dense and known else "mapped"

    def _alone(self, model: nn.Module, index: int) -> Group:
        module = copy.deepcopy(model)
        for names, kept in ((self.values, "_parameters"), (self.buffers, "_buffers")):
            for name, stacked in names.items():
                owner, _, own = name.rpartition(".")
                value = stacked[index]
                getattr(module.get_submodule(owner), kept)[own] = (
                    nn.Parameter(value) if kept == "_parameters" else value
                )
        parameters = [module.get_parameter(name) for name in self.names]
        if self.units:
            module = _AtUnits(module, parameters[0].new_ones(self.units).diag())

        def run(x: Tensor, *noise: Tensor) -> Tensor | tuple[Tensor, ...]:
            out = module(x[0], *(one[0] for one in noise))
            return out[None] if isinstance(out, Tensor) else tuple(part[None] for part in out)

        return Group(slice(index, index + 1), module, list(parameters), run, alone=True)

    def _batched(self, model: nn.Module, count: int) -> Group:
        module = copy.deepcopy(model)
        made: dict[str, Tensor] = {}
        for owner, layer in list(module.named_modules()):
            if isinstance(layer, nn.Linear):
                stacked = _StackedLinear(self.values[f"{owner}.weight"], self.values.get(f"{owner}.bias"))
                module.set_submodule(owner, stacked)
                made |= {f"{owner}.{own}": value for own, value in stacked.named_parameters()}
        if self.units:
            module = _AtUnits(module, self.values[self.names[0]].new_ones(self.units).diag())
        return Group(slice(0, count), module, [made[name] for name in self.names], module, alone=False)

    def _mapped(self, model: nn.Module, count: int) -> Group:
        leaves = {name: nn.Parameter(value) for name, value in self.values.items()}

        def run(x: Tensor, *noise: Tensor) -> Tensor:
            return vmap(lambda own, *given: functional_call(model, own, given))(leaves, x, *noise)

        return Group(slice(0, count), model, list(leaves.values()), run, alone=False)

    def train(self, training: bool) -> None:
        """Batch normalisation by the batch and dropout on, or off."""
        for group in self.groups:
            if group.module.training != training:
                group.module.train(training)


def _units(model: nn.Module, batch: int) -> int:
    """The number of inputs, where f(I) of a linear network f and its product with a batch cost less than f(batch)."""
    for module in model.modules():
        bare = isinstance(module, nn.Linear) and module.bias is None
        if not bare and not isinstance(module, (nn.Sequential, nn.Identity, Scaled)):
            return 0
    weights = list(model.parameters())
    if not weights:
        return 0
    inputs, outputs, work = weights[0].shape[1], len(weights[-1]), sum(W.numel() for W in weights)
    return inputs if inputs * work + batch * inputs * outputs < batch * work else 0


class _AtUnits(nn.Module):
    """A linear network by its values at the unit vectors: f(x) = x f(I), of one or of every member."""

    def __init__(self, layers: nn.Module, units: Tensor):
        super().__init__()
        self.layers, self.units = layers, units

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.layers(self.units.expand(*x.shape[:-2], -1, -1))


class _StackedLinear(nn.Module):
    """``nn.Linear`` of every member: (g, b, d) to (g, b, k), one batched product."""

    def __init__(self, weight: Tensor, bias: Tensor | None):
        super().__init__()
        self.weight = nn.Parameter(weight)
        self.bias = None if bias is None else nn.Parameter(bias)

    def forward(self, x: Tensor) -> Tensor:
        # from the left: the weight's gradient then lies in memory as the weight does
        if self.bias is None:
            return torch.bmm(self.weight, x.mT).mT
        return torch.baddbmm(self.bias[:, :, None], self.weight, x.mT).mT
