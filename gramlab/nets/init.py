"""Initial weights."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from gramlab.nets.errors import CHECK, NetError
from gramlab.streams import stream

Scale = float | Sequence[float] | Mapping[str, float]
KINDS = ("uniform", "normal", "orthogonal", "torchvision")


def initialize(model: nn.Module, name: tuple, kind: str = "uniform", scale: Scale = 1.0) -> dict[str, Tensor]:
    """Draw initial parameters; the model itself does not change.

    - uniform, torch's default: weights and biases ``U(-1, 1) * s / sqrt(fan-in)``.
    - normal: weights ``N(0, s / fan-in)``, biases 0. This is paper B's N(0, s_l / k_l), and with s = 1 what paper A
      (B.4) calls NTK initialisation.
    - orthogonal: weights ``sqrt(s)`` times a random matrix with orthonormal rows or columns, biases 0. A deep linear
      network of one width starts balanced, W_{l+1}^T W_{l+1} = W_l W_l^T.
    - torchvision, as that library starts ResNet and VGG: convolutions ``N(0, 2 s / fan-out)`` with biases 0, linear
      layers as in uniform.

    Normalisation layers start with weight 1 and bias 0.

    Parameters
    ----------
    model : nn.Module
    name : tuple of str or int
        Name of the random streams, which are ``(*name, "init", parameter)``.
    kind : {"uniform", "normal", "orthogonal", "torchvision"}, optional
    scale : float, sequence of float, or mapping of str to float, optional
        The scale s: one number, one for each linear or convolutional layer in the model's order, or numbers by the
        name of a module. The longest name that is the layer or contains it counts; other layers have scale 1.

    Returns
    -------
    dict of str to Tensor
        Parameters in float64 by name.

    Raises
    ------
    NetError
        If there is no such kind, or the scales do not fit the layers.

    Examples
    --------
    >>> from gramlab.nets import mlp
    >>> weights = initialize(mlp(4, [3], 2), ("example", 0), "normal")
    >>> {name: tuple(value.shape) for name, value in weights.items()}
    {'0.weight': (3, 4), '0.bias': (3,), '2.weight': (2, 3), '2.bias': (2,)}
    """
    CHECK.choice("init", kind, KINDS)
    layers = [key for key, module in model.named_modules() if isinstance(module, nn.Linear | nn.Conv2d)]
    scales = _scale_by_layer(layers, scale)
    parameters = {}
    for key, parameter in model.named_parameters():
        layer_name, _, role = key.rpartition(".")
        if layer_name in scales:
            layer = model.get_submodule(layer_name)
            assert isinstance(layer, nn.Linear | nn.Conv2d)
            parameters[key] = _draw(layer, role, stream(*name, "init", key), kind, scales[layer_name])
        else:
            parameters[key] = torch.full(parameter.shape, float(role == "weight"), dtype=torch.float64)
    return parameters


def _draw(layer: nn.Linear | nn.Conv2d, role: str, random: np.random.Generator, kind: str, scale: float) -> Tensor:
    """The initial weight or bias of one layer."""
    shape, fan_in = getattr(layer, role).shape, layer.weight[0].numel()
    if kind == "uniform" or (kind == "torchvision" and isinstance(layer, nn.Linear)):
        return torch.from_numpy(random.uniform(-1, 1, shape) * scale / math.sqrt(fan_in))
    if role == "bias":
        return torch.zeros(shape, dtype=torch.float64)
    normal = random.normal(size=shape)
    if kind == "torchvision":
        fan_out = layer.weight[:, 0].numel()  # output channels times kernel positions
        return torch.from_numpy(normal * math.sqrt(2 * scale / fan_out))
    weight = torch.from_numpy(normal)
    if kind == "normal":
        return weight * math.sqrt(scale / fan_in)
    matrix = weight.reshape(len(weight), -1)
    is_wide = matrix.shape[0] < matrix.shape[1]
    Q, R = torch.linalg.qr(matrix.T if is_wide else matrix)
    Q = Q * R.diagonal().sign()  # without the signs Q is not uniform over orthogonal matrices
    return ((Q.T if is_wide else Q) * math.sqrt(scale)).reshape(shape)


def _scale_by_layer(layers: list[str], scale: Scale) -> dict[str, float]:
    """The scale of each layer."""
    if isinstance(scale, Mapping):
        modules = {layer: [key for key in scale if layer == key or layer.startswith(f"{key}.")] for layer in layers}
        if unused := set(scale) - {key for keys in modules.values() for key in keys}:
            CHECK.choices("layers of init_scale", sorted(unused), layers)
        return {layer: scale[max(keys, key=len)] if keys else 1.0 for layer, keys in modules.items()}
    if isinstance(scale, Sequence):
        if len(scale) != len(layers):
            raise NetError(f"init_scale has {len(scale)} numbers for {len(layers)} layers: {', '.join(layers)}")
        return dict(zip(layers, scale, strict=True))
    return dict.fromkeys(layers, scale)
