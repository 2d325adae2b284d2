"""See what goes in and out of layers during a forward pass, without changing it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import GradientEdge, get_gradient_edge

from gramlab.measures.layers import Layer, check_product


@dataclass(frozen=True, eq=False)
class Use:
    """One call of a layer: its input, its output's place in the graph, and the output's shape."""

    layer: str
    input: Tensor
    version: int  # the input's, to notice an in-place change after the call
    edge: GradientEdge | None
    output: Tensor | None  # a copy, without gradients only


class Capture:
    """The calls of the captured layers since the last ``take``."""

    def __init__(self) -> None:
        self.recording = True
        self.uses: list[Use] = []

    def take(self) -> list[Use]:
        """Return the calls so far, in order, and forget them."""
        uses, self.uses = self.uses, []
        return uses


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
def capture(layers: Mapping[str, Layer], gradients: bool = True, products: bool = True) -> Iterator[Capture]:
    """Record each call of the layers while the context is open; hooks are gone afterwards, also on an error.

    With ``gradients`` every output becomes a place that autograd can differentiate with respect to, whatever
    the parameters' ``requires_grad``. The place is the node in the graph, not the tensor, since the tensor may be
    changed in place afterwards (by a ReLU, say). Without, copies of inputs and outputs are kept.
    With ``products`` the first call of a layer must give W h + b. Raises ValueError, in that call, if it does not.
    """
    seen = Capture()
    handles: list[Any] = []
    arguments: dict[str, list[Tensor]] = {name: [] for name in layers}
    unchecked = set(layers) if products else set()

    def before(name: str) -> Any:
        def hook(module: nn.Module, args: tuple, kwargs: dict) -> None:
            if seen.recording:
                h = (args[0] if args else next(iter(kwargs.values()))).detach()
                arguments[name].append(h if gradients else h.clone())

        return hook

    def after(name: str) -> Any:
        def hook(module: nn.Module, args: tuple, z: Tensor) -> Tensor | None:
            made = None
            if seen.recording and name in unchecked:
                unchecked.remove(name)
                check_product(name, layers[name], arguments[name][-1], z)
            if gradients and torch.is_grad_enabled() and not z.requires_grad:
                # a leaf tensor that the model may change in place afterwards must not be a leaf of ours
                made = z = _Anchor.apply(z, torch.empty(0, requires_grad=True))
            if seen.recording:
                h = arguments[name].pop()
                edge = get_gradient_edge(z) if gradients and z.requires_grad else None
                seen.uses.append(Use(name, h, h._version, edge, None if gradients else z.detach().clone()))
            return made

        return hook

    try:
        for name, layer in layers.items():
            # after the user's own pre-hooks and before his forward hooks: the layer's very input and output
            handles.append(layer.register_forward_pre_hook(before(name), with_kwargs=True))
            handles.append(layer.register_forward_hook(after(name), prepend=True))
        yield seen
    finally:
        for handle in handles:
            handle.remove()
