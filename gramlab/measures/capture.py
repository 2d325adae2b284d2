"""Record the inputs and outputs of layers during a forward pass, without changing it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import GradientEdge, get_gradient_edge

from gramlab.measures.layers import Layer, check_product


@dataclass(frozen=True, eq=False)
class LayerCall:
    """One call of a layer: its input, its output's place in the graph, and the output."""

    layer: str
    input: Tensor
    version: int  # of the input, to notice an in-place change after the call
    edge: GradientEdge | None
    output: Tensor | None  # a copy, without gradients only


class CallRecord:
    """The calls of the captured layers since the last ``take``."""

    def __init__(self) -> None:
        self.recording = True
        self.calls: list[LayerCall] = []

    def take(self) -> list[LayerCall]:
        """Return the calls so far, in order, and forget them."""
        calls, self.calls = self.calls, []
        return calls


class _Anchor(torch.autograd.Function):
    """The identity, without a copy, whose result belongs to the graph even where nothing before it does."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, anchor: Tensor) -> Tensor:
        ctx.mark_dirty(z)
        return z

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return gradients[0], None


@contextmanager
def capture_calls(layers: Mapping[str, Layer], gradients: bool = True, products: bool = True) -> Iterator[CallRecord]:
    """Record each call of the layers while the context is open. Hooks are removed afterwards, also on an error.

    Parameters
    ----------
    layers : mapping of str to torch.nn.Linear or torch.nn.Conv2d
        The layers by name.
    gradients : bool, default True
        Whether to make every output a place that autograd can differentiate with respect to, whatever the parameters'
        ``requires_grad``. The place is the node in the graph, not the tensor, which may be changed in place afterwards
        (by a ReLU, say). Without gradients, copies of inputs and outputs are kept.
    products : bool, default True
        Whether to check that the first call of each layer gives W h + b.

    Yields
    ------
    CallRecord

    Raises
    ------
    ValueError
        In the first call of a layer that does not give W h + b, if ``products``.
    """
    record = CallRecord()
    handles: list[Any] = []
    arguments: dict[str, list[Tensor]] = {name: [] for name in layers}
    unchecked = set(layers) if products else set()

    def keep_input(name: str) -> Any:
        def hook(module: nn.Module, args: tuple, kwargs: dict) -> None:
            if record.recording:
                h = (args[0] if args else next(iter(kwargs.values()))).detach()
                arguments[name].append(h if gradients else h.clone())

        return hook

    def record_call(name: str) -> Any:
        def hook(module: nn.Module, args: tuple, z: Tensor) -> Tensor | None:
            replaced = None
            if record.recording and name in unchecked:
                unchecked.remove(name)
                check_product(name, layers[name], arguments[name][-1], z)
            if gradients and torch.is_grad_enabled() and not z.requires_grad:
                # a leaf tensor that the model may change in place afterwards must not be a leaf of ours
                replaced = z = _Anchor.apply(z, torch.empty(0, requires_grad=True))
            if record.recording:
                h = arguments[name].pop()
                edge = get_gradient_edge(z) if gradients and z.requires_grad else None
                record.calls.append(LayerCall(name, h, h._version, edge, None if gradients else z.detach().clone()))
            return replaced

        return hook

    try:
        for name, layer in layers.items():
            # after the user's pre-hooks and before the user's forward hooks: the input and output of the layer alone
            handles.append(layer.register_forward_pre_hook(keep_input(name), with_kwargs=True))
            handles.append(layer.register_forward_hook(record_call(name), prepend=True))
        yield record
    finally:
        for handle in handles:
            handle.remove()
