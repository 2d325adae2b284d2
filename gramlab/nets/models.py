"""The papers' networks, made of torch's own layers, so that anything can measure them.

A network with a convolution takes images (n, channels, height, width), any other flat samples (n, inputs).
"""

import math
from collections import OrderedDict
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from torch import Tensor, nn

from gramlab.nets.activations import ACTIVATIONS, Scaled
from gramlab.nets.errors import NetError
from gramlab.nets.vae import VAE


def mlp(
    inputs: int, hidden: Sequence[int], outputs: int, activation: str = "gelu", bias: bool = True,
    output_scale: float = 1.0,
) -> nn.Sequential:  # fmt: skip
    """A fully connected network whose linear layers are named "0", "2", "4", …; x is (n, inputs).

    Its outputs are multiplied by ``output_scale``.
    """
    widths = [inputs, *hidden]
    layers: list[nn.Module] = []
    for before, after in pairwise(widths):
        layers += [nn.Linear(before, after, bias), ACTIVATIONS[activation]()]
    layers.append(nn.Linear(widths[-1], outputs, bias))
    return nn.Sequential(*layers) if output_scale == 1 else nn.Sequential(*layers, Scaled(output_scale))


def deep_linear(inputs: int, hidden: Sequence[int], outputs: int) -> nn.Sequential:
    """Paper C, Appendix C: f(x) = W_L … W_1 x."""
    return mlp(inputs, hidden, outputs, "linear", bias=False)


def cnn(
    shape: Sequence[int], outputs: int, channels: int = 16, kernel: int = 2, activation: str = "relu"
) -> nn.Sequential:
    """Paper A, B.2 (Figure 6): three convolutions, two max-pools, a linear classifier.

    The paper leaves open the padding, where the pools stand, and the activation: as in the authors' code they are
    1, after the first and after the third convolution, and ReLU. (That code has 3 x 3 kernels, the paper 2 x 2.)
    """
    _image(shape, "cnn")
    layers: list[nn.Module] = []
    before, sides = shape[0], list(shape[1:])
    for pool in (True, False, True):
        layers += [nn.Conv2d(before, channels, kernel, padding=1), ACTIVATIONS[activation]()]
        before, sides = channels, [side + 3 - kernel for side in sides]
        if pool:
            layers.append(nn.MaxPool2d(2))
            sides = [side // 2 for side in sides]
    if min(sides) < 1:
        raise NetError(f"images of {shape[1]} x {shape[2]} are too small for a cnn with {kernel} x {kernel} kernels")
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(channels * math.prod(sides), outputs))


def resnet18(shape: Sequence[int], outputs: int, width: int = 512, depth: int = 5, channels: int = 64) -> nn.Module:
    """Paper D, Appendix C: torchvision's ResNet-18 whose classifier is ``depth`` bias-free layers with ReLU.

    After them stands the linear readout, which has no bias either; all are in ``fc``, named "fc.0", "fc.2", ….
    The first convolution has as many inputs as the image has channels, and ``channels`` outputs; all that follow
    keep their proportions to it, 1 : 2 : 4 : 8.
    """
    from torchvision.models import resnet18 as original

    _image(shape, "resnet18")
    model = original(weights=None)
    _narrow(model, shape[0], channels)
    model.fc = mlp(model.fc.in_features * channels // 64, [width] * depth, outputs, "relu", bias=False)
    return model


def vgg11(shape: Sequence[int], outputs: int, width: int = 512, depth: int = 5, channels: int = 64) -> nn.Module:
    """Paper D, Appendix C: torchvision's VGG-11 up to the ReLU before its last two pools, and ``resnet18``'s head.

    Those two are the fifth max-pool and the average-pool after it: with the fifth, images of 28 x 28 vanish.
    """
    from torchvision.models.vgg import cfgs, make_layers

    _image(shape, "vgg11")
    features = make_layers(cfgs["A"])[:-1]  # not its classifier, which takes 1.5 s and 500 MB to make
    _narrow(features, shape[0], channels)
    sides = [side // 16 for side in shape[1:]]
    if min(sides) < 1:
        raise NetError(f"images of {shape[1]} x {shape[2]} are too small for vgg11, which needs 16 x 16")
    head = mlp(512 * channels // 64 * math.prod(sides), [width] * depth, outputs, "relu", bias=False)
    return nn.Sequential(OrderedDict(features=features, flat=nn.Flatten(), head=head))


def _narrow(model: nn.Module, inputs: int, channels: int) -> None:
    """Give a network of torchvision's, in place, other inputs than 3 and a first width other than 64."""

    def scaled(number: int) -> int:
        return inputs if number == 3 else number * channels // 64

    for name, layer in list(model.named_modules()):
        if isinstance(layer, nn.Conv2d):
            sizes = scaled(layer.in_channels), scaled(layer.out_channels)
            if sizes != (layer.in_channels, layer.out_channels):
                same: Any = {key: getattr(layer, key) for key in ("kernel_size", "stride", "padding")}
                model.set_submodule(name, nn.Conv2d(*sizes, bias=layer.bias is not None, **same))
        elif isinstance(layer, nn.BatchNorm2d) and channels != 64:
            model.set_submodule(name, nn.BatchNorm2d(scaled(layer.num_features)))


def _image(shape: Sequence[int], kind: str) -> None:
    if len(shape) != 3:
        raise NetError(f"a {kind} needs images (channels, height, width), not samples of shape {tuple(shape)}")


def _flat(make: Callable[..., nn.Module]) -> Callable[..., nn.Module]:
    return lambda shape, outputs, hidden, **options: make(math.prod(shape), hidden, outputs, **options)


KINDS: dict[str, Callable[..., nn.Module]] = {
    "mlp": _flat(mlp),
    "deep_linear": _flat(deep_linear),
    "cnn": cnn,
    "vae": lambda shape, outputs, hidden, **options: VAE(math.prod(shape), hidden, **options),
    "resnet18": resnet18,
    "vgg11": vgg11,
}


def build(kind: str, shape: Sequence[int], outputs: int, **options) -> nn.Module:
    """A network of this kind for samples of this shape, (channels, height, width) or (inputs,).

    options: ``hidden`` (widths; mlp, deep_linear, vae), ``activation``, ``bias`` and ``output_scale`` (mlp),
    ``latent`` (vae), ``channels`` (cnn, resnet18, vgg11), ``kernel`` (cnn), ``width`` and ``depth`` (the head of
    resnet18, vgg11). Raises NetError.
    """
    if kind not in KINDS:
        raise NetError(f"no network of kind {kind!r}; there are {', '.join(KINDS)}")
    if options.get("activation", "linear") not in ACTIVATIONS:
        raise NetError(f"no activation {options['activation']!r}; there are {', '.join(ACTIVATIONS)}")
    try:
        return KINDS[kind](tuple(shape), outputs, **options)
    except TypeError as error:
        raise NetError(f"{kind} does not take these settings: {error}") from error


def takes_images(model: nn.Module) -> bool:
    """Whether the network reads images as they are; any other reads flat samples."""
    return any(isinstance(module, nn.Conv2d) for module in model.modules())


def samples_for(model: nn.Module, x: Tensor) -> Tensor:
    """x (n, ...) as this network reads it."""
    return x if takes_images(model) else x.flatten(1)
