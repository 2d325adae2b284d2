"""The papers' networks, made of torch's layers.

A network with a convolution takes images (n, channels, height, width), any other network flat samples (n, inputs).
"""

import math
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from gramlab.nets.activations import Scaled, activation_maker
from gramlab.nets.errors import CHECK, NetError
from gramlab.nets.vae import VAE


def mlp(
    inputs: int, hidden: Sequence[int], outputs: int, activation: str = "gelu", bias: bool = True,
    output_scale: float = 1.0,
) -> nn.Sequential:  # fmt: skip
    """A fully connected network; its linear layers are named "0", "2", "4", …

    Parameters
    ----------
    inputs : int
    hidden : sequence of int
        Hidden widths.
    outputs : int
    activation : str, optional
        A key of `gramlab.nets.ACTIVATIONS`.
    bias : bool, optional
        Whether the layers have biases.
    output_scale : float, optional
        Factor of the outputs.

    Returns
    -------
    nn.Sequential

    Raises
    ------
    NetError
        If there is no such activation.

    Examples
    --------
    >>> import torch
    >>> mlp(4, [8, 8], 3)(torch.zeros(5, 4)).shape
    torch.Size([5, 3])
    """
    widths, make_activation = [inputs, *hidden], activation_maker(activation)
    layers: list[nn.Module] = []
    for fan_in, fan_out in pairwise(widths):
        layers += [nn.Linear(fan_in, fan_out, bias), make_activation()]
    layers.append(nn.Linear(widths[-1], outputs, bias))
    return nn.Sequential(*layers) if output_scale == 1 else nn.Sequential(*layers, Scaled(output_scale))


def deep_linear(inputs: int, hidden: Sequence[int], outputs: int) -> nn.Sequential:
    """A deep linear network, ``f(x) = W_L … W_1 x`` (paper C, Appendix C).

    Parameters
    ----------
    inputs : int
    hidden : sequence of int
        Hidden widths.
    outputs : int

    Returns
    -------
    nn.Sequential

    Examples
    --------
    >>> [tuple(W.shape) for W in deep_linear(4, [8], 3).parameters()]
    [(8, 4), (3, 8)]
    """
    return mlp(inputs, hidden, outputs, "linear", bias=False)


def cnn(
    shape: Sequence[int], outputs: int, channels: int = 16, kernel: int = 2, activation: str = "relu"
) -> nn.Sequential:
    """Three convolutions, two max-pools and a linear classifier (paper A, B.2, Figure 6).

    The paper does not print the padding, the places of the pools and the activation. As in the authors' code they are
    1, after the first and the third convolution, and ReLU. (That code has 3 x 3 kernels, the paper 2 x 2.)

    Parameters
    ----------
    shape : sequence of int
        Shape of an image, (channels, height, width).
    outputs : int
    channels : int, optional
        Channels of each convolution.
    kernel : int, optional
        Side of the kernels in pixels.
    activation : str, optional
        A key of `gramlab.nets.ACTIVATIONS`.

    Returns
    -------
    nn.Sequential

    Raises
    ------
    NetError
        If the samples are not images, or too small ones, or if there is no such activation.

    Examples
    --------
    >>> import torch
    >>> cnn((1, 8, 8), 10)(torch.zeros(2, 1, 8, 8)).shape
    torch.Size([2, 10])
    """
    _check_image_shape(shape, "cnn")
    make_activation = activation_maker(activation)
    layers: list[nn.Module] = []
    in_channels, sides = shape[0], list(shape[1:])
    for has_pool in (True, False, True):
        layers += [nn.Conv2d(in_channels, channels, kernel, padding=1), make_activation()]
        in_channels, sides = channels, [side + 3 - kernel for side in sides]
        if has_pool:
            layers.append(nn.MaxPool2d(2))
            sides = [side // 2 for side in sides]
    if min(sides) < 1:
        raise NetError(f"images of {shape[1]} x {shape[2]} are too small for a cnn with {kernel} x {kernel} kernels")
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(channels * math.prod(sides), outputs))


def resnet18(shape: Sequence[int], outputs: int, width: int = 512, depth: int = 5, channels: int = 64) -> nn.Module:
    """torchvision's ResNet-18 with a head of bias-free ReLU layers (paper D, Appendix C).

    The head, ``fc``, has `depth` layers and a linear readout, all without biases, named "fc.0", "fc.2", …

    Parameters
    ----------
    shape : sequence of int
        Shape of an image, (channels, height, width); the first convolution has as many input channels.
    outputs : int
    width, depth : int, optional
        Of the head.
    channels : int, optional
        Output channels of the first convolution. The channels of the later ones keep their ratios to it,
        1 : 2 : 4 : 8.

    Returns
    -------
    nn.Module

    Raises
    ------
    NetError
        If the samples are not images.

    Examples
    --------
    >>> import torch
    >>> resnet18((1, 8, 8), 10, width=16, channels=4)(torch.zeros(2, 1, 8, 8)).shape
    torch.Size([2, 10])
    """
    from torchvision import models

    _check_image_shape(shape, "resnet18")
    with _replaced_layers(channels):
        model = models.resnet18(weights=None)
    _set_channels(model, shape[0], channels)
    model.fc = mlp(model.fc.in_features * channels // 64, [width] * depth, outputs, "relu", bias=False)
    return model


def vgg11(shape: Sequence[int], outputs: int, width: int = 512, depth: int = 5, channels: int = 64) -> nn.Module:
    """torchvision's VGG-11 without its last two pools, with the head of `resnet18` (paper D, Appendix C).

    These are the fifth max-pool and the average-pool after it. With the fifth pool nothing is left of images of
    28 x 28 pixels.

    Parameters
    ----------
    shape, outputs, width, depth, channels
        As for `resnet18`; the head is named "head.0", "head.2", …

    Returns
    -------
    nn.Sequential

    Raises
    ------
    NetError
        If the samples are not images of at least 16 x 16 pixels.

    Examples
    --------
    >>> import torch
    >>> vgg11((1, 16, 16), 10, width=16, channels=4)(torch.zeros(2, 1, 16, 16)).shape
    torch.Size([2, 10])
    """
    from torchvision.models.vgg import cfgs, make_layers

    _check_image_shape(shape, "vgg11")
    with _replaced_layers(channels):
        features = make_layers(cfgs["A"])[:-1]  # a whole VGG-11 has a classifier that takes 1.5 s and 500 MB to make
    _set_channels(features, shape[0], channels)
    sides = [side // 16 for side in shape[1:]]
    if min(sides) < 1:
        raise NetError(f"images of {shape[1]} x {shape[2]} are too small for vgg11, which needs 16 x 16")
    head = mlp(512 * channels // 64 * math.prod(sides), [width] * depth, outputs, "relu", bias=False)
    return nn.Sequential(OrderedDict(features=features, flat=nn.Flatten(), head=head))


def _replaced_layers(channels: int) -> AbstractContextManager:
    """Where torchvision makes layers: without numbers if `_set_channels` replaces all layers that have weights."""
    return nullcontext() if channels == 64 else torch.device("meta")


def _set_channels(model: nn.Module, inputs: int, channels: int) -> None:
    """Change a network of torchvision in place: its 3 input channels, and the 64 channels of its first layer."""

    def scaled(number: int) -> int:
        return inputs if number == 3 else number * channels // 64

    for name, layer in list(model.named_modules()):
        if isinstance(layer, nn.Conv2d):
            sizes = scaled(layer.in_channels), scaled(layer.out_channels)
            if sizes != (layer.in_channels, layer.out_channels):
                options: Any = {key: getattr(layer, key) for key in ("kernel_size", "stride", "padding")}
                model.set_submodule(name, nn.Conv2d(*sizes, bias=layer.bias is not None, **options))
        elif isinstance(layer, nn.BatchNorm2d) and channels != 64:
            model.set_submodule(name, nn.BatchNorm2d(scaled(layer.num_features)))


def _check_image_shape(shape: Sequence[int], kind: str) -> None:
    """Refuse samples that are not images."""
    if len(shape) != 3:
        raise NetError(f"a {kind} needs images (channels, height, width), not samples of shape {tuple(shape)}")


KINDS: dict[str, Callable[..., nn.Module]] = {
    "mlp": lambda shape, outputs, hidden, **options: mlp(math.prod(shape), hidden, outputs, **options),
    "deep_linear": lambda shape, outputs, hidden, **options: deep_linear(math.prod(shape), hidden, outputs, **options),
    "cnn": cnn,
    "vae": lambda shape, outputs, hidden, **options: VAE(math.prod(shape), hidden, **options),
    "resnet18": resnet18,
    "vgg11": vgg11,
}
WITH_HIDDEN_WIDTHS = ("mlp", "deep_linear", "vae")


def build(kind: str, shape: Sequence[int], outputs: int, **options) -> nn.Module:
    """Make a network of a kind.

    Parameters
    ----------
    kind : {"mlp", "deep_linear", "cnn", "vae", "resnet18", "vgg11"}
    shape : sequence of int
        Shape of a sample, (channels, height, width) or (inputs,).
    outputs : int
    **options
        Arguments of `mlp`, `deep_linear`, `cnn`, `VAE`, `resnet18` or `vgg11` beyond inputs and outputs.

    Returns
    -------
    nn.Module

    Raises
    ------
    NetError
        If the kind, an option or the shape of the samples is wrong.

    Examples
    --------
    >>> build("mlp", (1, 8, 8), 10, hidden=[16], activation="relu")
    Sequential(
      (0): Linear(in_features=64, out_features=16, bias=True)
      (1): ReLU()
      (2): Linear(in_features=16, out_features=10, bias=True)
    )
    """
    CHECK.choice("kind", kind, KINDS)
    if kind in WITH_HIDDEN_WIDTHS and "hidden" not in options:
        raise NetError(f"{kind} needs hidden=, the widths of its hidden layers")
    try:
        return KINDS[kind](tuple(shape), outputs, **options)
    except TypeError as error:
        raise NetError(f"{kind} does not take these settings: {error}") from error


def samples_for(model: nn.Module, x: Tensor) -> Tensor:
    """Samples in the shape that a network takes: as they are if it has a convolution, otherwise flat.

    Parameters
    ----------
    model : nn.Module
    x : Tensor of shape (n, ...)

    Returns
    -------
    Tensor of shape (n, ...) or (n, inputs)

    Examples
    --------
    >>> import torch
    >>> samples_for(mlp(64, [8], 10), torch.zeros(5, 1, 8, 8)).shape
    torch.Size([5, 64])
    """
    return x if any(isinstance(module, nn.Conv2d) for module in model.modules()) else x.flatten(1)
