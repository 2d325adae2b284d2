"""Which layers are measured, and each of them as z = W h on rows of inputs (paper A, C.1)."""

import difflib
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.grad import conv2d_weight

Layers = str | Sequence[str] | Callable[[str, nn.Module], bool] | None
Layer = nn.Linear | nn.Conv2d


def find(model: nn.Module, layers: Layers = None) -> dict[str, Layer]:
    """The measured layers by their names in ``model.named_modules()``, in that order.

    ``layers`` is None for every ``Linear`` and ``Conv2d``, or a name, names, or a predicate (name, module).
    The output projection of ``nn.MultiheadAttention`` is never found: torch uses its weight without calling it.
    Raises ValueError if nothing is found, if a name does not exist (the nearest are offered), or is of another kind,
    and if the model normalises by its batches in evaluation too: a sample then has no values of its own.
    """
    named = dict(model.named_modules())
    for name, module in named.items():
        if isinstance(module, nn.modules.batchnorm._BatchNorm) and module.running_mean is None:
            raise ValueError(
                f"layer {name!r} is a {type(module).__name__} without running statistics: it normalises by the batch,"
                " so that all numbers would depend on batch_size; use track_running_stats=True"
            )
    found = {name: module for name, module in named.items() if _measurable(module)}
    if layers is None:
        chosen = found
    elif callable(layers):
        chosen = {name: module for name, module in found.items() if layers(name, module)}
    else:
        names = [layers] if isinstance(layers, str) else list(layers)
        for name in names:
            if name not in named:
                near = difflib.get_close_matches(name, found, n=3, cutoff=0.3) or list(found)[:3]
                raise ValueError(f"the model has no layer named {name!r}; the nearest are {near}")
            if name not in found:
                raise ValueError(
                    f"layer {name!r} is a {type(named[name]).__name__}; only Linear and Conv2d layers are measured"
                )
        chosen = {name: module for name, module in found.items() if name in names}
    if not chosen:
        asked = "" if layers is None else f" among those that layers={layers!r} asks for"
        raise ValueError(f"no Linear or Conv2d layer found in the {type(model).__name__}{asked}")
    for name, module in chosen.items():
        # not by module.weight, which may be computed, and change the model: a spectral_norm takes a step in training
        if isinstance(module._parameters.get("weight"), nn.parameter.UninitializedParameter):
            raise ValueError(f"layer {name!r} is lazy and has no weight yet: run the model once before measuring")
    return chosen  # type: ignore[return-value]


def _measurable(module: nn.Module) -> bool:
    return isinstance(module, (nn.Linear, nn.Conv2d)) and not isinstance(
        module, nn.modules.linear.NonDynamicallyQuantizableLinear
    )


def check_product(name: str, layer: Layer, h: Tensor, z: Any) -> None:
    """Raise ValueError if the layer has a forward of its own, and its output ``z`` for ``h`` is not W h + b.

    Masked, adapted, standardised and quantised layers multiply by another matrix than their weight.
    """
    kind = nn.Conv2d if isinstance(layer, nn.Conv2d) else nn.Linear
    of_kind = ("forward", "_conv_forward") if kind is nn.Conv2d else ("forward",)
    if all(m not in vars(layer) and getattr(type(layer), m) is getattr(kind, m) for m in of_kind):
        return
    try:
        with torch.no_grad():
            if isinstance(layer, nn.Conv2d):
                plain = nn.Conv2d._conv_forward(layer, h, layer.weight, layer.bias)
            else:
                plain = F.linear(h, layer.weight, layer.bias)
            bound = torch.finfo(plain.dtype).eps ** 0.5 * float(plain.double().norm())
            same = plain.shape == z.shape and float((plain - z).double().norm()) <= bound
    except (RuntimeError, TypeError, AttributeError):  # the weight is not even of this shape or kind
        same = False
    if not same:
        raise ValueError(
            f"layer {name!r} is a {type(layer).__name__} with a forward of its own, which is not that of"
            f" {kind.__name__} with its weight; name the layers to measure in layers="
        )


def computed(layer: Layer) -> bool:
    """Whether hooks set the layer's weight in each call, as those of ``torch.nn.utils``' weight_norm and prune do."""
    return "weight" in vars(layer)


def groups(layer: Layer) -> int:
    """How many independent matrices the layer holds: a grouped convolution is that many layers side by side."""
    return layer.groups if isinstance(layer, nn.Conv2d) else 1


def matrices(layer: Layer, weight: Tensor) -> Tensor:
    """The layer's weight as (groups, k, d) matrices: flattened kernels for a convolution."""
    return weight.detach().reshape(groups(layer), weight.shape[0] // groups(layer), -1)


def rows(layer: Layer, z: Tensor, mask: Tensor | None = None) -> Tensor:
    """Values at the layer's output, (groups, rows, k): one row a sample, token, or position of the image.

    Tokens where the mask (n, T) is False give rows of zeros.
    """
    if isinstance(layer, nn.Conv2d):
        z = z.reshape(-1, groups(layer), layer.out_channels // groups(layer), z.shape[-2] * z.shape[-1])
        return z.permute(1, 2, 0, 3).flatten(2).mT
    if mask is not None and z.shape[:-1] == mask.shape:
        z = z * mask.unsqueeze(-1)
    return z.reshape(1, -1, z.shape[-1])


def weight_gradient(layer: Layer, h: Tensor, g: Tensor, mask: Tensor | None = None) -> Tensor:
    """Σ over rows of g hᵀ, (groups, k, d), for inputs ``h`` and gradients ``g`` at the output of one call.

    For a convolution h are its im2col patches, and the sum is the convolution's weight gradient: no patch is formed.
    """
    if isinstance(layer, nn.Conv2d):
        h, padding = _padded(layer, h)
        h, g = (t if t.ndim == 4 else t.unsqueeze(0) for t in (h, g))
        shape = list(layer.weight.shape)
        summed = conv2d_weight(h, shape, g, layer.stride, padding, layer.dilation, layer.groups)
        return matrices(layer, summed)
    return (rows(layer, g, mask)[0].mT @ h.reshape(-1, h.shape[-1])).unsqueeze(0)


def patches(layer: Layer, h: Tensor) -> Tensor:
    """The rows h that the layer multiplies, (groups, rows, d): im2col patches of a convolution (paper A, C.1)."""
    if isinstance(layer, nn.Conv2d):
        h, padding = _padded(layer, h if h.ndim == 4 else h.unsqueeze(0))
        unfolded = F.unfold(h, layer.kernel_size, layer.dilation, padding, layer.stride)  # (n, d·groups, positions)
        return unfolded.unflatten(1, (groups(layer), -1)).permute(1, 0, 3, 2).flatten(1, 2)
    return h.reshape(1, -1, h.shape[-1])


def _padded(layer: nn.Conv2d, h: Tensor) -> tuple[Tensor, tuple[int, int]]:
    """The input, padded where the layer does more than a convolution's own zero padding, and the padding left."""
    if layer.padding_mode == "zeros" and not isinstance(layer.padding, str):
        return h, (int(layer.padding[0]), int(layer.padding[1]))
    mode = "constant" if layer.padding_mode == "zeros" else layer.padding_mode
    return F.pad(h, layer._reversed_padding_repeated_twice, mode=mode), (0, 0)


def widened(t: Tensor) -> Tensor:
    """Half precision widened to float32, in which (or in float64) all products are taken."""
    return t if t.dtype in (torch.float32, torch.float64) else t.float()
