"""Record the inputs and outputs of layers during a forward pass, without changing it."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.autograd.graph import GradientEdge, get_gradient_edge
from torch.nn.modules.module import _global_forward_hooks, register_module_forward_hook
from torch.utils.hooks import RemovableHandle

from gramlab.measures.attention import capture_projections
from gramlab.measures.kinds import Layer, Projection
from gramlab.measures.layers import check_forward, check_product, first_argument


@dataclass(frozen=True, eq=False)
class LayerCall:
    """One call of a layer: its input, its output's place in the graph, and the output."""

    layer: str
    input: Tensor
    version: int  # the input's version, which shows an in-place change after the call
    edge: GradientEdge | None
    output: Tensor | None  # a copy; None if gradients are captured
    source: Tensor | None = None  # the input in its graph
    columns: slice | None = None  # the layer's part of an output that several layers share

    def part(self, values: Tensor) -> Tensor:
        """Return the layer's own part of values at its output."""
        return values if self.columns is None else values[..., self.columns]


def numbered(calls: Iterable[LayerCall]) -> Iterator[tuple[tuple[str, int], LayerCall]]:
    """Yield each call with its layer's name and its number among the calls of that layer."""
    counts: dict[str, int] = {}
    for call in calls:
        counts[call.layer] = counts.get(call.layer, 0) + 1
        yield (call.layer, counts[call.layer] - 1), call


class CallRecord:
    """The calls of the captured layers since the last ``take``.

    Attributes
    ----------
    repeated : set of (str, int)
        Layers and numbers of their calls whose output is repeated for each of the ``samples`` of the batch.
    samples : int
    """

    def __init__(self) -> None:
        self.recording = True
        self.calls: list[LayerCall] = []
        self.repeated: set[tuple[str, int]] = set()
        self.samples = 1

    def is_repeated(self, name: str) -> bool:
        """Whether the output of the layer's next call is repeated."""
        return bool(self.repeated) and (name, sum(call.layer == name for call in self.calls)) in self.repeated

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


def in_graph(z: Tensor) -> Tensor:
    """Return a result that autograd can differentiate with respect to, though nothing before it requires a gradient.

    A leaf tensor would not do, since the model may change it in place afterwards.
    """
    return _Anchor.apply(z, torch.empty(0, requires_grad=True))


def address_of(tensor: Tensor | None) -> int | None:
    """Return where a tensor's numbers lie; None for a subclass that wraps other tensors and has no storage."""
    try:
        return None if tensor is None else tensor.untyped_storage().data_ptr()
    except RuntimeError:
        return None


def _repeat(values: Tensor, h: Tensor, samples: int) -> Tensor:
    """Values at a layer's input ``h`` or output with an axis of samples, in place of a first axis of 1 or before it."""
    return values.expand(samples, *(values.shape[1:] if h.shape[:1] == (1,) else values.shape))


def first_forward_hook(module: nn.Module, hook: Callable[..., Any]) -> RemovableHandle:
    """Register a hook that gets a module's output before all other hooks, those of all modules included."""
    if not _global_forward_hooks:
        return module.register_forward_hook(hook, prepend=True)
    handle = register_module_forward_hook(lambda called, *values: hook(called, *values) if called is module else None)
    cast(OrderedDict, _global_forward_hooks).move_to_end(handle.id, last=False)
    return handle


@contextmanager
def capture_calls(layers: Mapping[str, Layer], gradients: bool = True, products: bool = True) -> Iterator[CallRecord]:
    """Record each call of the layers while the context is open. Hooks are removed afterwards, also on an error.

    Parameters
    ----------
    layers : mapping of str to Layer
        The layers by name.
    gradients : bool, default True
        Whether to make every output a place that autograd can differentiate with respect to, whatever the parameters'
        ``requires_grad``. The place is the node in the graph, not the tensor, which may be changed in place afterwards
        (by a ReLU, say). Without gradients, copies of inputs and outputs are kept.
    products : bool, default True
        Whether to check that each layer gives W h + b, for its first input and for a random one.

    Yields
    ------
    CallRecord

    Raises
    ------
    ValueError
        Before or in the first call of a layer that does not give W h + b, if ``products``.
    """
    record = CallRecord()
    projections = {name: layer for name, layer in layers.items() if isinstance(layer, Projection)}
    arguments: dict[str, list[Tensor]] = {name: [] for name in layers}
    unchecked = set(layers) if products else set()
    weights = {name: layer.weight_sources() for name, layer in layers.items()}
    places = {name: [address_of(weight) for weight in tensors] for name, tensors in weights.items()}

    def keep_input(name: str) -> Any:
        def hook(module: nn.Module, args: tuple, kwargs: dict) -> None:
            if record.recording:
                if name in unchecked:  # before the call, so that the module's state is that of the call
                    record.recording = False
                    check_forward(name, layers[name], args, kwargs)
                    record.recording = True
                h = first_argument(args, kwargs)
                arguments[name].append(h if gradients else h.detach().clone())

        return hook

    def record_call(name: str) -> Any:
        def hook(module: nn.Module, args: tuple, z: Tensor) -> Tensor | None:
            replacement = None
            if record.recording and name in unchecked:
                unchecked.remove(name)
                check_product(name, layers[name], arguments[name][-1].detach(), z)
            if gradients and torch.is_grad_enabled() and not z.requires_grad:
                replacement = z = in_graph(z)
            if record.recording:
                h = arguments[name].pop()
                if gradients and record.is_repeated(name):
                    h, z = _repeat(h, h, record.samples), _repeat(z, h, record.samples).clone()
                    replacement = z
                add_call(name, h, z)
            return replacement

        return hook

    def add_call(name: str, h: Tensor, z: Tensor, columns: slice | None = None) -> None:
        current_weights = layers[name].weight_sources()
        # by identity; FSDP itself puts the whole weight in place of its piece
        if not any(hasattr(weight, "to_local") for weight in weights[name]) and (
            list(map(id, current_weights)) != list(map(id, weights[name]))
            or list(map(address_of, current_weights)) != places[name]
        ):
            raise ValueError(
                f"layer {name!r} is called with another weight than its own, as torch.func.functional_call does;"
                " name the layers to measure in layers="
            )
        edge = get_gradient_edge(z) if gradients and z.requires_grad else None
        output = None if gradients else (z if columns is None else z[..., columns]).detach().clone()
        record.calls.append(LayerCall(name, h.detach(), h._version, edge, output, h if gradients else None, columns))

    def project(h: Tensor, z: Tensor, parts: Mapping[str, slice]) -> Tensor:
        if gradients and torch.is_grad_enabled() and not z.requires_grad:
            z = in_graph(z)
        if record.recording:
            for name, columns in parts.items():
                add_call(name, h if gradients else h.detach().clone(), z, columns)
        return z

    with ExitStack() as stack:
        if projections:
            stack.enter_context(capture_projections(projections, project))
        for name, layer in layers.items():
            if name in projections:
                continue
            # after the user's pre-hooks and before the user's forward hooks: the input and output of the layer alone
            before = layer.module.register_forward_pre_hook(keep_input(name), with_kwargs=True)
            stack.callback(before.remove)
            after = first_forward_hook(layer.module, record_call(name))
            stack.callback(after.remove)
        yield record
