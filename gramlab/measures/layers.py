"""Find the measured layers, and see each of them as z = W h on rows of inputs (paper A, C.1)."""

import difflib
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.grad import conv2d_weight

Layers = str | Sequence[str] | Callable[[str, nn.Module], bool] | None
Layer = nn.Linear | nn.Conv2d


def find_layers(model: nn.Module, layers: Layers = None) -> dict[str, Layer]:
    """Return the measured layers by their names in ``model.named_modules()``, in that order.

    The output projection of ``nn.MultiheadAttention`` is left out: torch uses its weight without calling it.

    Parameters
    ----------
    model : torch.nn.Module
    layers : None, str, sequence of str, or predicate (name, module), default None
        None stands for every Linear and Conv2d.

    Returns
    -------
    dict of str to torch.nn.Linear or torch.nn.Conv2d

    Raises
    ------
    ValueError
        If no layer matches, if a name does not exist (the nearest names are listed) or is of another kind, if a layer
        is lazy and has no weight yet, and if the model normalises by its batches even in evaluation: outputs would
        then depend on the batch size.

    Examples
    --------
    >>> from torch import nn
    >>> find_layers(nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2)), "2")
    {'2': Linear(in_features=6, out_features=2, bias=True)}
    """
    modules = dict(model.named_modules())
    for name, module in modules.items():
        if isinstance(module, nn.modules.batchnorm._BatchNorm) and module.running_mean is None:
            raise ValueError(
                f"layer {name!r} is a {type(module).__name__} without running statistics: it normalises by the batch,"
                " so that all numbers would depend on batch_size; use track_running_stats=True"
            )
    measurable = {name: module for name, module in modules.items() if _measurable(module)}
    if layers is None:
        chosen = measurable
    elif callable(layers):
        chosen = {name: module for name, module in measurable.items() if layers(name, module)}
    else:
        names = [layers] if isinstance(layers, str) else list(layers)
        for name in names:
            if name not in modules:
                near = difflib.get_close_matches(name, measurable, n=3, cutoff=0.3) or list(measurable)[:3]
                raise ValueError(f"the model has no layer named {name!r}; the nearest are {near}")
            if name not in measurable:
                kind = type(modules[name]).__name__
                raise ValueError(f"layer {name!r} is a {kind}; only Linear and Conv2d layers are measured")
        chosen = {name: module for name, module in measurable.items() if name in names}
    if not chosen:
        among = "" if layers is None else f" that matches layers={layers!r}"
        raise ValueError(f"the {type(model).__name__} has no Linear or Conv2d layer{among}")
    for name, module in chosen.items():
        # not module.weight, which may be computed, and change the model: a spectral_norm takes a step in training
        if isinstance(module._parameters.get("weight"), nn.parameter.UninitializedParameter):
            raise ValueError(f"layer {name!r} is lazy and has no weight yet: run the model once before measuring")
    return chosen  # type: ignore[return-value]


def _measurable(module: nn.Module) -> bool:
    return isinstance(module, (nn.Linear, nn.Conv2d)) and not isinstance(
        module, nn.modules.linear.NonDynamicallyQuantizableLinear
    )


def check_product(name: str, layer: Layer, h: Tensor, z: Any) -> None:
    """Raise ValueError if the layer overrides ``forward`` and its output ``z`` for the input ``h`` is not W h + b.

    Masked, adapted, standardised and quantised layers multiply by another matrix than their weight.
    """
    kind = nn.Conv2d if isinstance(layer, nn.Conv2d) else nn.Linear
    methods = ("forward", "_conv_forward") if kind is nn.Conv2d else ("forward",)
    if all(m not in vars(layer) and getattr(type(layer), m) is getattr(kind, m) for m in methods):
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
            f"layer {name!r} is a {type(layer).__name__} whose forward does not compute {kind.__name__}'s W h + b with"
            " its weight; name the layers to measure in layers="
        )


def has_computed_weight(layer: Layer) -> bool:
    """Whether hooks set the layer's weight in each call, as those of ``torch.nn.utils``' weight_norm and prune do."""
    return "weight" in vars(layer)


def group_count(layer: Layer) -> int:
    """Return the number of independent matrices of a layer: a grouped convolution is its groups side by side."""
    return layer.groups if isinstance(layer, nn.Conv2d) else 1


def weight_matrices(layer: Layer) -> Tensor:
    """Return the layer's weight as (groups, k, d) matrices: flattened kernels for a convolution."""
    return _matrices(layer, layer.weight)


def _matrices(layer: Layer, weight: Tensor) -> Tensor:
    return weight.detach().reshape(group_count(layer), weight.shape[0] // group_count(layer), -1)


def output_rows(layer: Layer, z: Tensor, mask: Tensor | None = None) -> Tensor:
    """Return values at the layer's output as (groups, rows, k): one row a sample, token, or position of the image.

    Tokens where the mask (n, T) is False give rows of zeros.
    """
    if isinstance(layer, nn.Conv2d):
        groups = group_count(layer)
        z = z.reshape(-1, groups, layer.out_channels // groups, z.shape[-2] * z.shape[-1])
        return z.permute(1, 2, 0, 3).flatten(2).mT
    if mask is not None and z.shape[:-1] == mask.shape:
        z = z * mask.unsqueeze(-1)
    return z.reshape(1, -1, z.shape[-1])


def weight_gradient(layer: Layer, h: Tensor, g: Tensor, mask: Tensor | None = None) -> Tensor:
    """Return Σ g hᵀ over rows, (groups, k, d), for one call's input ``h`` and gradient ``g`` at its output.

    For a convolution the rows h are im2col patches; the sum is its weight gradient, and no patch is formed.
    """
    if not isinstance(layer, nn.Conv2d):
        return (output_rows(layer, g, mask)[0].mT @ h.reshape(-1, h.shape[-1])).unsqueeze(0)
    padding: Any = layer.padding
    if layer.padding_mode != "zeros" or isinstance(padding, str):  # more than a convolution's own zero padding
        mode = "constant" if layer.padding_mode == "zeros" else layer.padding_mode
        h, padding = F.pad(h, layer._reversed_padding_repeated_twice, mode=mode), 0
    h, g = (t if t.ndim == 4 else t.unsqueeze(0) for t in (h, g))
    shape = list(layer.weight.shape)
    return _matrices(layer, conv2d_weight(h, shape, g, layer.stride, padding, layer.dilation, layer.groups))


def at_least_float32(t: Tensor) -> Tensor:
    """Return half precision as float32: all products are taken in float32 or float64."""
    return t if t.dtype in (torch.float32, torch.float64) else t.float()
