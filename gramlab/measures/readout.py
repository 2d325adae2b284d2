"""The readout: a linear product that gives the network's outputs, found by itself and verified on each batch."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import get_gradient_edge
from torch.nn import functional as F
from torch.nn.modules.module import _global_backward_hooks

from gramlab.measures.capture import LayerCall
from gramlab.measures.kinds import Adapted, Layer, Linear, TransposedLinear, as_layers
from gramlab.measures.layers import first_argument
from gramlab.measures.shards import is_split, whole_tensor

BARE_PRODUCT = "also multiplied by torch.nn.functional.linear, outside of a layer"


@dataclass(frozen=True, eq=False)
class Readout:
    """The product f = W h + b that gives the outputs, and its input.

    Attributes
    ----------
    layer : Layer
    h : Tensor of shape (n, ..., d)
        In the graph.
    matrix : Tensor of shape (c, d)
        W, gathered if FSDP has split it.
    """

    layer: Layer
    h: Tensor
    matrix: Tensor

    @property
    def weight(self) -> Tensor:
        """W (c, d) in float64."""
        return self.matrix.double()


class BareProduct(Layer):
    """A call of ``torch.nn.functional.linear`` with a tensor that belongs to no Linear layer, such as tied embeddings.

    Parameters
    ----------
    weight : Tensor of shape (c, d)
    bias : Tensor of shape (c,) or None
    """

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        super().__init__(None)
        self.weight, self.bias = weight, bias

    def weight_matrices(self) -> Tensor:
        return self.weight.detach().unsqueeze(0)

    def parameters(self) -> list[Tensor]:
        return [self.weight]

    def product(self, h: Tensor) -> Tensor:
        return F.linear(h, self.weight, self.bias)


class LastProduct:
    """The last linear product of a forward pass, and the parameters that no layer multiplies by.

    Attributes
    ----------
    bare : dict of str to str
        Parameters by name with which the network calls ``torch.nn.functional.linear`` itself, and that reason.
    """

    def __init__(self, model: nn.Module, wanted: bool) -> None:
        self.model = model
        self.names = {id(parameter): name for name, parameter in model.named_parameters()}
        self.split = is_split(model)
        self.wanted, self.recording, self.depth = wanted, False, 0
        self.bare: dict[str, str] = {}
        self.layer: Layer | None = None
        self.h: Tensor | None = None
        self.version = 0

    def begin(self) -> None:
        """Record the forward pass that follows."""
        self.recording, self.depth = True, 0

    def keep(self, layer: Layer, h: Tensor) -> None:
        """Keep this call and forget the call before it."""
        if self.recording:
            self.layer, self.h, self.version = layer, h, h._version

    def keep_bare(self, h: Tensor, weight: Tensor, bias: Tensor | None) -> None:
        """Keep a call of ``torch.nn.functional.linear`` outside of all layers."""
        if self.recording and not self.depth:
            for tensor in (weight, weight._base):
                if id(tensor) in self.names:
                    self.bare[self.names[id(tensor)]] = BARE_PRODUCT
            self.keep(BareProduct(weight, bias), h)

    def take(self, outputs: Tensor, calls: list[LayerCall], layers: Mapping[str, Layer]) -> Readout | None:
        """Return the last call if it gave the outputs and their derivative, and forget it.

        After a cap, a gate or a scale the outputs are not W h + b. A gradient scale changes only the derivative. A
        parallel branch that is zero changes neither. All three are refused.

        Parameters
        ----------
        outputs : Tensor of shape (n, ...)
        calls : list of LayerCall
            Those of the measured layers.
        layers : mapping of str to Layer
            The measured layers.
        """
        layer, h, self.layer, self.h, self.recording = self.layer, self.h, None, None, False
        if not self.wanted or layer is None or h is None or not h.requires_grad or h._version != self.version:
            return None
        parameter = next((p for p in layer.parameters() if p.is_floating_point()), None)
        dtype = layer.module.weight.dtype if parameter is None else parameter.dtype  # the weight may be a buffer
        if dtype != h.dtype or outputs.dtype != h.dtype:  # under autocast the numbers are rounded elsewhere
            return None
        if self.split and not isinstance(layer, Linear):  # a bare tensor's memory is free by now
            return None
        if self._has_backward_hook(layer.module):
            return None
        W = layer.weight_matrices()[0]
        if not W.numel():  # a head without inputs gives its bias, whatever the layers before it do
            return None
        if self.split:  # FSDP frees the memory of its whole weights after a backward pass
            W = W.clone()
        with torch.no_grad():
            # the layer itself holds only this process's part of a split weight
            product = F.linear(h.detach(), W, _whole_bias(layer)) if self.split else layer.product(h.detach())
            if product.shape != outputs.shape:
                return None
            bound = 10 * torch.finfo(product.dtype).eps * float(product.double().abs().max())
            is_product = float((product.double() - outputs.detach().double()).abs().max()) <= bound
        # a pass through a split model needs all processes
        if not outputs.requires_grad or not (is_product or self.split):
            return None
        if not _same_derivative(W, h, outputs) or not is_product:
            return None
        is_called = layer.module is not None
        calls_of_module = [call for call in calls if is_called and layers[call.layer].module is layer.module]
        other_calls = [call for call in calls if call not in calls_of_module[-1:]]
        return None if _reaches(outputs, other_calls, h) else Readout(layer, h, W)

    def _has_backward_hook(self, readout_module: nn.Module | None) -> bool:
        """Whether a backward hook may change the derivatives below the head: that of a module around it or its own.

        A bare product belongs to no module, so that a hook of any module counts. So does a hook of all modules.
        """
        enclosing = (m for m in self.model.modules() if readout_module is None or readout_module in m.modules())
        return bool(_global_backward_hooks) or any(module._backward_hooks for module in enclosing)


def _whole_bias(layer: Layer) -> Tensor | None:
    return None if layer.module.bias is None else whole_tensor(layer.module.bias)


def _same_derivative(W: Tensor, h: Tensor, outputs: Tensor) -> bool:
    """Whether Wᵀu is the gradient of uᵀf at the readout's input, for a random cotangent u."""
    generator = torch.Generator().manual_seed(0)  # the caller's random states stay as they are
    factors = ((*outputs.shape[:-1], 1), outputs.shape[-1:])
    rows, columns = (torch.randn(shape, generator=generator, device="cpu").to(outputs.device) for shape in factors)
    u = (rows * columns).to(outputs)
    (gradient,) = torch.autograd.grad((outputs * u).sum(), h, retain_graph=True, allow_unused=True)
    if gradient is None:
        return False
    expected = (u.flatten(0, -2) @ W.to(u)).reshape(h.shape).double()
    bound = torch.finfo(outputs.dtype).eps ** 0.75 * float(expected.norm())
    return float((gradient.double() - expected).norm()) <= bound


def _reaches(outputs: Tensor, calls: list[LayerCall], h: Tensor) -> bool:
    """Whether the outputs depend on one of the calls by a path in the graph beside the readout's input.

    The path itself decides, since its derivative may be zero for now, and the numbers cannot show it.
    """
    # autograd keeps one object for each of its nodes while a reference to it is held
    call_places = {(call.edge.node, call.edge.output_nr) for call in calls if call.edge is not None}
    readout = get_gradient_edge(h)
    start = get_gradient_edge(outputs)
    places_to_visit, seen = [(start.node, start.output_nr)], {(readout.node, readout.output_nr)}
    while places_to_visit:
        place = places_to_visit.pop()
        if place in seen:
            continue
        if place in call_places:
            return True
        seen.add(place)
        places_to_visit += [(node, number) for node, number in place[0].next_functions if node is not None]
    return False


@contextmanager
def last_product(model: nn.Module, wanted: bool = True) -> Iterator[LastProduct]:
    """Record the last linear product while the context is open: a Linear layer's, of whatever kind, or a bare one.

    Parameters
    ----------
    model : torch.nn.Module
    wanted : bool, default True
        Whether to find the readout. Bare products are recorded in any case.

    Yields
    ------
    LastProduct
    """
    last = LastProduct(model, wanted)
    linear = F.linear

    def recording_linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        last.keep_bare(input, weight, bias)
        return linear(input, weight, bias)

    with ExitStack() as stack:
        for module in model.modules():
            layers = as_layers("", module).values()
            if not layers:
                continue
            stack.callback(module.register_forward_pre_hook(_change_depth(last, 1)).remove)
            # always_call: otherwise the depth would be wrong after a forward pass that fails
            stack.callback(module.register_forward_hook(_change_depth(last, -1), always_call=True).remove)
            for layer in layers:
                if isinstance(layer, (Linear, TransposedLinear, Adapted)):
                    stack.callback(module.register_forward_hook(_keep_call(last, layer), with_kwargs=True).remove)
        stack.callback(setattr, F, "linear", linear)
        F.linear = recording_linear  # type: ignore[assignment]
        yield last


def _change_depth(last: LastProduct, step: int) -> Callable[..., None]:
    def hook(*_: Any) -> None:
        last.depth += step

    return hook


def _keep_call(last: LastProduct, layer: Layer) -> Any:
    def hook(module: nn.Module, arguments: tuple, keywords: dict, output: Any) -> None:
        last.keep(layer, first_argument(arguments, keywords))

    return hook
