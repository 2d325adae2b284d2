"""A layer's input and output in autograd's graph, from their definitions.

``gramlab.measures`` is faster, but it uses the identities that the claims state. So the experiments on these identities
take their gradients from here.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn
from torch.nn import functional as F


@contextmanager
def layer_calls(layer: nn.Module) -> Iterator[list[tuple[Tensor, Tensor]]]:
    """Record (h, z) of each call of the layer: h (d, N) is its input or its im2col patches, z = W h (k, N).

    Both are in the graph. In this block the layer computes W h on a copy of h, so that gradients with respect to h
    flow through this layer alone. The patches of a convolution count as independent numbers.
    """
    calls: list[tuple[Tensor, Tensor]] = []

    def replace(module: Any, inputs: tuple[Tensor], output: Tensor) -> Tensor:
        (x,) = inputs
        weight = module.weight.flatten(1)
        if isinstance(module, nn.Conv2d):
            patches = F.unfold(x, module.kernel_size, module.dilation, module.padding, module.stride)  # type: ignore[arg-type]
            h = patches.transpose(0, 1).flatten(1)
        else:
            h = x.flatten(0, -2).T
        h = h.clone() if h.requires_grad else h.clone().requires_grad_()  # the first layer's is a leaf
        z = weight @ h
        calls.append((h, z))
        product = z if module.bias is None else z + module.bias[:, None]
        if isinstance(module, nn.Conv2d):
            return product.unflatten(1, (len(x), -1)).transpose(0, 1).reshape(output.shape)
        return product.T.reshape(output.shape)

    handle = layer.register_forward_hook(replace)
    try:
        yield calls
    finally:
        handle.remove()
