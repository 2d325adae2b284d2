"""How initial weights are drawn."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from gramlab.nets.errors import NetError
from gramlab.streams import stream

Scale = float | Sequence[float] | Mapping[str, float]
KINDS = ("uniform", "normal", "orthogonal", "torchvision")


def initialize(model: nn.Module, name: tuple, kind: str = "uniform", scale: Scale = 1.0) -> dict[str, Tensor]:
    """Initial parameters, drawn in float64 from the streams ``(*name, "init", parameter)``; the model is untouched.

    kind "uniform": torch's default, U(-1, 1) * scale / sqrt(fan-in), weights and biases alike;
    "normal": weights N(0, scale / fan-in), biases 0: paper B's N(0, s_l / k_l), and with scale 1 what paper A's B.4
    calls NTK initialisation;
    "orthogonal": sqrt(scale) times a random matrix with orthonormal rows or columns, biases 0; a deep linear network
    of one width then begins balanced, W_{l+1}^T W_{l+1} = W_l W_l^T;
    "torchvision": torchvision's for ResNet and VGG: convolutions N(0, scale * 2 / fan-out), their biases 0, linear
    layers as in "uniform".
    Normalisation layers begin at weight 1 and bias 0.

    scale: one number, or a number for each linear or convolutional layer in the model's order, or numbers by the
    names of modules: the longest name that is the layer or holds it counts, and where there is none, 1.
    """
    if kind not in KINDS:
        raise NetError(f"no initialisation {kind!r}; there are {', '.join(KINDS)}")
    layers = [key for key, module in model.named_modules() if isinstance(module, nn.Linear | nn.Conv2d)]
    scales = _by_layer(layers, scale)
    drawn = {}
    for key, parameter in model.named_parameters():
        layer, _, what = key.rpartition(".")
        if layer in scales:
            owner = model.get_submodule(layer)
            assert isinstance(owner, nn.Linear | nn.Conv2d)
            drawn[key] = _draw(owner, what, stream(*name, "init", key), kind, scales[layer])
        else:
            drawn[key] = torch.full(parameter.shape, float(what == "weight"), dtype=torch.float64)
    return drawn


def _draw(owner: nn.Linear | nn.Conv2d, what: str, random: np.random.Generator, kind: str, scale: float) -> Tensor:
    shape, fan_in = getattr(owner, what).shape, owner.weight[0].numel()
    if kind == "uniform" or (kind == "torchvision" and isinstance(owner, nn.Linear)):
        return torch.from_numpy(random.uniform(-1, 1, shape) * scale / math.sqrt(fan_in))
    if what == "bias":
        return torch.zeros(shape, dtype=torch.float64)
    if kind == "torchvision":
        fan_out = owner.weight[:, 0].numel()  # output channels times the kernel's places
        return torch.from_numpy(random.normal(size=shape) * math.sqrt(2 * scale / fan_out))
    numbers = torch.from_numpy(random.normal(size=shape))
    if kind == "normal":
        return numbers * math.sqrt(scale / fan_in)
    flat = numbers.reshape(len(numbers), -1)
    tall = flat if len(flat) >= flat.shape[1] else flat.T
    Q, R = torch.linalg.qr(tall)
    Q = Q * R.diagonal().sign()  # without it Q would not be uniform over orthogonal matrices
    return ((Q if tall is flat else Q.T) * math.sqrt(scale)).reshape(shape)


def _by_layer(layers: list[str], scale: Scale) -> dict[str, float]:
    if isinstance(scale, Mapping):
        holders = {layer: [key for key in scale if layer == key or layer.startswith(f"{key}.")] for layer in layers}
        if unused := set(scale) - {key for held in holders.values() for key in held}:
            raise NetError(f"init_scale names {', '.join(sorted(unused))}; the layers are {', '.join(layers)}")
        return {layer: scale[max(held, key=len)] if held else 1.0 for layer, held in holders.items()}
    if isinstance(scale, Sequence):
        if len(scale) != len(layers):
            raise NetError(f"init_scale has {len(scale)} numbers for {len(layers)} layers: {', '.join(layers)}")
        return dict(zip(layers, scale, strict=True))
    return dict.fromkeys(layers, scale)
