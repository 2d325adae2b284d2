"""The parameters of all members in stacked tensors, and the groups of members that are computed together.

Members are computed together or one after the other, whichever is faster. In both cases the parameter called N is the
tensor ``values[N]`` of shape (members, ...), whose memory all groups read and write.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap
from torch.utils.flop_counter import FlopCounterMode

from gramlab.nets.activations import ELEMENTWISE, Scaled
from gramlab.nets.joint import JointImageNetwork, has_joint_images, join_layers
from gramlab.nets.vae import VAE

# A step of one member takes rows * parameters multiply-adds. Above this number, on a CPU, separate products are faster
# than one batched product of all members (measured: benchmarks/training.py).
MAX_BATCHED_WORK = 1.5e7
# Products of fewer rows take as long as products of this many, since the time goes into reading the weights from
# memory. With unit vectors as inputs the number is larger: separate products gain more there.
MIN_ROWS, MIN_ROWS_AT_UNIT_VECTORS = 64, 128
# The same for networks with convolutions, per layer: up to this number one grouped convolution of all members is faster
# than a convolution of each (measured with `vmap`, which takes about twice the time of `gramlab.nets.joint`).
MAX_GROUPED_WORK = 2e6


@dataclass
class Group:
    """Members that are computed together.

    Parameters
    ----------
    members : slice
        Which members.
    module : nn.Module
        The network, with the stacked parameters as its own.
    parameters : list of Tensor
        In the order of `StackedParameters.names`; they share its memory.
    run : callable
        ``run(x, *noise)`` maps inputs (members, b, ...) to outputs (members, b, ...).
    is_single : bool
        Whether this is one network whose parameters have no dimension of members.

    Examples
    --------
    >>> import torch
    >>> from gramlab.nets import initialize, mlp
    >>> model = mlp(4, [3], 2)
    >>> stacked = StackedParameters(model, [initialize(model, (seed,)) for seed in range(5)], 8, torch.float32, "cpu")
    >>> [group.run(torch.zeros(5, 8, 4)).shape for group in stacked.groups]
    [torch.Size([5, 8, 2])]
    """

    members: slice
    module: nn.Module
    parameters: list[Tensor]
    run: Callable[..., Any]
    is_single: bool


class StackedParameters:
    """Parameters and buffers of all members by name, each stacked along a first dimension of members.

    Parameters
    ----------
    model : nn.Module
        The architecture; it does not change.
    initial : list of dict of str to Tensor
        Initial parameters of each member.
    batch : int
        Samples in a step; the choice of the groups depends on it.
    dtype : torch.dtype
    device : str
    sample : Tensor of shape (1, ...), optional
        An input. The groups of a network with convolutions depend on its shape; without it they are single.

    Attributes
    ----------
    names : list of str
        Names of the parameters.
    values, buffers : dict of str to Tensor
        Tensors (members, ...).
    groups : list of Group
    unit_vectors : int
        If not 0, a linear network is computed at this many unit vectors instead of at the samples, since
        f(x) = x f(I).

    Examples
    --------
    >>> import torch
    >>> from gramlab.nets import initialize, mlp
    >>> model = mlp(4, [3], 2)
    >>> stacked = StackedParameters(model, [initialize(model, (seed,)) for seed in range(5)], 8, torch.float32, "cpu")
    >>> stacked.values["0.weight"].shape
    torch.Size([5, 3, 4])
    """

    def __init__(self, model: nn.Module, initial: list[dict[str, Tensor]], batch: int, dtype: torch.dtype, device: str,
                 sample: Tensor | None = None):  # fmt: skip
        self.names = list(initial[0])
        self.values = {
            name: torch.stack([parameters[name] for parameters in initial]).to(device, dtype) for name in self.names
        }
        count = len(initial)
        self.buffers = {
            name: torch.stack([buffer.to(device, dtype if buffer.is_floating_point() else None)] * count)
            for name, buffer in model.named_buffers()
        }
        self.unit_vectors = _count_unit_vectors(model, batch)
        strategy = self._strategy(model, count, batch, device, sample)
        if strategy == "separate":
            self.groups = [self._separate(model, index) for index in range(count)]
        else:
            self.groups = [self._batched(model, count) if strategy == "batched" else self._vmapped(model, count)]

    def _strategy(
        self, model: nn.Module, count: int, batch: int, device: str, sample: Tensor | None
    ) -> Literal["separate", "batched", "vmapped"]:
        """How members are computed."""
        if count == 1:
            return "separate"
        leaves = [module for module in model.modules() if not list(module.children())]
        if all(isinstance(leaf, (nn.Linear, nn.Sequential, *ELEMENTWISE)) for leaf in leaves):
            rows = max(MIN_ROWS, MIN_ROWS_AT_UNIT_VECTORS if self.unit_vectors else batch)
            work = rows * sum(value[0].numel() for value in self.values.values())
            if device == "cpu" and work > MAX_BATCHED_WORK:
                return "separate"
            # the `forward` of these two takes a dimension of members
            return "batched" if isinstance(model, nn.Sequential | VAE) else "vmapped"
        if device == "cpu":
            is_small = sample is not None and batch * _work_a_layer(model, sample) <= MAX_GROUPED_WORK
            if not is_small:
                return "separate"
            return "batched" if has_joint_images(model) else "vmapped"
        return "separate" if self.buffers else "vmapped"

    def _separate(self, model: nn.Module, index: int) -> Group:
        """One member, as an ordinary network."""
        module = copy.deepcopy(model)
        for name in self.names:
            layer, _, role = name.rpartition(".")
            module.get_submodule(layer)._parameters[role] = nn.Parameter(self.values[name][index])
        for name, buffer in self.buffers.items():
            layer, _, role = name.rpartition(".")
            module.get_submodule(layer)._buffers[role] = buffer[index]
        parameters: list[Tensor] = [module.get_parameter(name) for name in self.names]
        module = self._at_unit_vectors(module)

        def run(x: Tensor, *noise: Tensor) -> Tensor | tuple[Tensor, ...]:
            outputs = module(x[0], *(numbers[0] for numbers in noise))
            return outputs[None] if isinstance(outputs, Tensor) else tuple(part[None] for part in outputs)

        return Group(slice(index, index + 1), module, parameters, run, is_single=True)

    def _batched(self, model: nn.Module, count: int) -> Group:
        """All members, with one product or grouped convolution for each layer."""
        module = join_layers(model, self.values, self.buffers)
        parameters: list[Tensor] = [module.get_parameter(name) for name in self.names]
        module = JointImageNetwork(module) if has_joint_images(model) else self._at_unit_vectors(module)
        return Group(slice(0, count), module, parameters, module, is_single=False)

    def _vmapped(self, model: nn.Module, count: int) -> Group:
        """All members, by `torch.func.vmap`; batch normalisation writes each member's statistics into `buffers`."""
        module = copy.deepcopy(model)  # its mode changes
        parameters = {name: nn.Parameter(value) for name, value in self.values.items()}

        def run(x: Tensor, *noise: Tensor) -> Tensor:
            call = vmap(lambda values, *inputs: functional_call(module, values, inputs))
            return call({**parameters, **self.buffers}, x, *noise)

        return Group(slice(0, count), module, list(parameters.values()), run, is_single=False)

    def _at_unit_vectors(self, module: nn.Module) -> nn.Module:
        """The network itself, or its computation at unit vectors."""
        if not self.unit_vectors:
            return module
        return _AtUnitVectors(module, self.values[self.names[0]].new_ones(self.unit_vectors).diag())

    def train(self, training: bool) -> None:
        """Switch batch normalisation and dropout to training or to evaluation.

        Parameters
        ----------
        training : bool
        """
        for group in self.groups:
            if group.module.training != training:
                group.module.train(training)


def _count_unit_vectors(model: nn.Module, batch: int) -> int:
    """The number of inputs of a linear network f, if f(I) and its product with a batch cost less than f(batch)."""
    for module in model.modules():
        is_bare = isinstance(module, nn.Linear) and module.bias is None
        if not is_bare and not isinstance(module, (nn.Sequential, nn.Identity, Scaled)):
            return 0
    weights = list(model.parameters())
    if not weights:
        return 0
    inputs, outputs, work = weights[0].shape[1], len(weights[-1]), sum(W.numel() for W in weights)
    return inputs if inputs * work + batch * inputs * outputs < batch * work else 0


def _work_a_layer(model: nn.Module, sample: Tensor) -> float:
    """Multiply-adds of a convolution or a linear layer for one sample, on average over the layers."""
    layers = sum(isinstance(module, (nn.Linear, nn.Conv2d)) for module in model.modules())
    # data may be in double precision where the model is not; token numbers stay integers
    dtype = sample.dtype if sample.is_floating_point() else None
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        copy.deepcopy(model).to(sample.device, dtype).eval()(sample)
    return counter.get_total_flops() / 2 / max(layers, 1)


class _AtUnitVectors(nn.Module):
    """A linear network of one or of all members, computed at the unit vectors: f(x) = x f(I)."""

    def __init__(self, layers: nn.Module, identity: Tensor):
        super().__init__()
        self.layers, self.identity = layers, identity

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.layers(self.identity.expand(*x.shape[:-2], -1, -1))
