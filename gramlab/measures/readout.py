"""The readout: a linear layer whose output is the network's, found by itself and verified on each batch."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from gramlab.measures.kinds import Adapted, Layer, Linear, TransposedLinear, as_layers


@dataclass(frozen=True, eq=False)
class Readout:
    """The layer f = W h + b that gives the outputs, and its input.

    Attributes
    ----------
    layer : Layer
    h : Tensor of shape (n, ..., d)
        In the graph.
    """

    layer: Layer
    h: Tensor

    @property
    def weight(self) -> Tensor:
        """W (c, d) in float64."""
        return self.layer.weight_matrices()[0].double()


class LastProduct:
    """The last call of a linear layer in a forward pass."""

    def __init__(self) -> None:
        self.recording = False
        self.layer: Layer | None = None
        self.h: Tensor | None = None
        self.version = 0

    def keep(self, layer: Layer, h: Tensor) -> None:
        """Keep this call and forget the call before it."""
        if self.recording:
            self.layer, self.h, self.version = layer, h, h._version

    def take(self, outputs: Tensor) -> Readout | None:
        """Return the last call if it gave the outputs, and forget it.

        A head that is capped, gated or scaled afterwards gives other numbers than W h + b.
        """
        layer, h, self.layer, self.h, self.recording = self.layer, self.h, None, None, False
        if layer is None or h is None or not h.requires_grad or h._version != self.version:
            return None
        parameter = next(p for p in layer.module.parameters() if p.is_floating_point())
        if parameter.dtype != h.dtype or outputs.dtype != h.dtype:  # under autocast the numbers are rounded elsewhere
            return None
        with torch.no_grad():
            product = layer.product(h.detach())
            if product.shape != outputs.shape:
                return None
            bound = 10 * torch.finfo(product.dtype).eps * float(product.double().abs().max())
            same = float((product.double() - outputs.detach().double()).abs().max()) <= bound
        return Readout(layer, h) if same else None


@contextmanager
def last_product(model: nn.Module) -> Iterator[LastProduct]:
    """Record the last call of a Linear layer, of whatever kind, while the context is open.

    Parameters
    ----------
    model : torch.nn.Module

    Yields
    ------
    LastProduct
    """
    last = LastProduct()
    with ExitStack() as stack:
        for module in model.modules():
            for layer in as_layers("", module).values():
                if isinstance(layer, (Linear, TransposedLinear, Adapted)):
                    hook = module.register_forward_hook(_keep(last, layer), with_kwargs=True)
                    stack.callback(hook.remove)
        yield last


def _keep(last: LastProduct, layer: Layer) -> Any:
    def hook(module: nn.Module, arguments: tuple, keywords: dict, output: Any) -> None:
        last.keep(layer, arguments[0] if arguments else next(iter(keywords.values())))

    return hook
