"""Networks that compute all members at once: each layer is one operation on the stacked parameters of all members.

Flat samples have the shape (members, b, d). Images have the shape (b, members * channels, height, width), with the
channels of the first member first, so that one grouped convolution computes a layer of all members.
"""

import copy
from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from gramlab.nets.activations import ELEMENTWISE

# Up to this number of outputs a grouped convolution on a CPU is faster with the channels last in memory, and above it
# with the channels first (measured with 1 to 64 channels, maps of 2 x 2 to 16 x 16 and AVX-512).
MAX_CHANNELS_LAST = 16


def joint_linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """``nn.functional.linear`` of all members as one batched product.

    Parameters
    ----------
    x : Tensor of shape (members, b, d)
    weight : Tensor of shape (members, k, d)
    bias : Tensor of shape (members, k) or None

    Returns
    -------
    Tensor of shape (members, b, k)

    Examples
    --------
    >>> joint_linear(torch.ones(2, 3, 4), torch.ones(2, 5, 4), None).shape
    torch.Size([2, 3, 5])
    """
    # weight on the left, so that its gradient has the weight's memory layout
    if bias is None:
        return torch.bmm(weight, x.mT).mT
    return torch.baddbmm(bias[:, :, None], weight, x.mT).mT


def members_apart(x: Tensor, count: int) -> Tensor:
    """Members that are side by side in the second dimension, along a first dimension of their own.

    Parameters
    ----------
    x : Tensor of shape (b, members * d, ...)
    count : int
        Number of members.

    Returns
    -------
    Tensor of shape (members, b, d, ...)

    Examples
    --------
    >>> members_apart(torch.zeros(5, 6), 3).shape
    torch.Size([3, 5, 2])
    """
    return x.unflatten(1, (count, -1)).transpose(0, 1)


class _JointLayer(nn.Module):
    """A layer of all members, with the stacked weight and bias as its parameters."""

    weight: nn.Parameter
    bias: nn.Parameter | None

    def __init__(self, weight: Tensor, bias: Tensor | None):
        super().__init__()
        self.weight = nn.Parameter(weight)
        self.bias = None if bias is None else nn.Parameter(bias)


class JointLinear(_JointLayer):
    """`nn.Linear` of all members, from (members, b, d), or flattened images (b, members * d), to (members, b, k).

    Parameters
    ----------
    weight : Tensor of shape (members, k, d)
    bias : Tensor of shape (members, k) or None

    Examples
    --------
    >>> JointLinear(torch.ones(2, 5, 4), None)(torch.ones(3, 8)).shape
    torch.Size([2, 3, 5])
    """

    def forward(self, x: Tensor) -> Tensor:
        return joint_linear(x if x.ndim == 3 else members_apart(x, len(self.weight)), self.weight, self.bias)


class JointConv2d(_JointLayer):
    """`nn.Conv2d` of all members, from (b, members * c, height, width) to (b, members * k, ...).

    Parameters
    ----------
    layer : nn.Conv2d
        Its stride and padding count.
    weight : Tensor of shape (members, k, c, rows, columns)
    bias : Tensor of shape (members, k) or None

    Examples
    --------
    >>> JointConv2d(nn.Conv2d(2, 5, 3), torch.ones(4, 5, 2, 3, 3), None)(torch.ones(6, 8, 7, 7)).shape
    torch.Size([6, 20, 5, 5])
    """

    def __init__(self, layer: nn.Conv2d, weight: Tensor, bias: Tensor | None):
        super().__init__(weight, bias)
        assert not isinstance(layer.padding, str)  # `has_joint_images` refuses it
        self.stride, self.padding = layer.stride, layer.padding

    def forward(self, x: Tensor) -> Tensor:
        sizes = zip(x.shape[2:], self.weight.shape[3:], self.stride, self.padding, strict=True)
        if all(side + 2 * padding - kernel < stride for side, kernel, stride, padding in sizes):
            return self._at_one_position(x)
        is_last = self.weight.shape[1] <= MAX_CHANNELS_LAST
        x = x.contiguous(memory_format=torch.channels_last if is_last else torch.contiguous_format)
        bias = None if self.bias is None else self.bias.flatten()
        return F.conv2d(x, self.weight.flatten(0, 1), bias, self.stride, self.padding, groups=len(self.weight))

    def _at_one_position(self, x: Tensor) -> Tensor:
        """The product of the one position of the kernel with the part of it that meets the image, not its padding."""
        (height, width), (rows, columns), (top, left) = x.shape[2:], self.weight.shape[3:], self.padding
        bottom, right = max(rows - top - height, 0), max(columns - left - width, 0)
        # one operation, so that the gradient is padded once
        weight = F.pad(self.weight, [-left, -right, -top, -bottom])
        patch = members_apart(x[..., : weight.shape[3], : weight.shape[4]], len(weight))
        return joint_linear(patch.flatten(2), weight.flatten(2), self.bias).transpose(0, 1).flatten(1)[..., None, None]


class JointBatchNorm2d(_JointLayer):
    """`nn.BatchNorm2d` of all members, on (b, members * c, height, width).

    Parameters
    ----------
    layer : nn.BatchNorm2d
        Its momentum and epsilon count.
    weight, bias : Tensor of shape (members, c)
    buffers : mapping of str to Tensor of shape (members, ...)
        The members' statistics; training changes them in place.

    Examples
    --------
    >>> layer = nn.BatchNorm2d(2)
    >>> buffers = {name: torch.stack([buffer] * 3) for name, buffer in layer.named_buffers()}
    >>> JointBatchNorm2d(layer, torch.ones(3, 2), torch.zeros(3, 2), buffers)(torch.zeros(5, 6, 4, 4)).shape
    torch.Size([5, 6, 4, 4])
    """

    running_mean: Tensor
    running_var: Tensor
    num_batches_tracked: Tensor

    def __init__(self, layer: nn.BatchNorm2d, weight: Tensor, bias: Tensor, buffers: Mapping[str, Tensor]):
        super().__init__(weight, bias)
        assert layer.momentum is not None  # `has_joint_images` refuses it
        self.momentum, self.eps = layer.momentum, layer.eps
        for name, buffer in buffers.items():
            self.register_buffer(name, buffer)

    def forward(self, x: Tensor) -> Tensor:
        if self.training:
            self.num_batches_tracked.add_(1)
        assert self.bias is not None
        mean, variance = self.running_mean.flatten(), self.running_var.flatten()
        weight, bias = self.weight.flatten(), self.bias.flatten()
        if is_flat := x.shape[2:] == (1, 1):  # samples last in memory, as the products leave them and as is faster
            x = x.flatten(1).T[None]
        x = F.batch_norm(x, mean, variance, weight, bias, self.training, self.momentum, self.eps)
        return x[0].T[..., None, None] if is_flat else x


class ChannelsLastMaxPool2d(nn.MaxPool2d):
    """`nn.MaxPool2d` with the channels last in memory, which takes a CPU a sixth of the time.

    Examples
    --------
    >>> ChannelsLastMaxPool2d(2)(torch.zeros(5, 6, 4, 4)).shape
    torch.Size([5, 6, 2, 2])
    """

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.contiguous(memory_format=torch.channels_last))


class JointImageNetwork(nn.Module):
    """A joint network with convolutions, from images (members, b, channels, height, width) to (members, b, outputs).

    Parameters
    ----------
    layers : nn.Module
        From images (b, members * channels, height, width).

    Examples
    --------
    >>> layers = nn.Sequential(nn.Flatten(), JointLinear(torch.ones(2, 5, 9), None))
    >>> JointImageNetwork(layers)(torch.zeros(2, 4, 1, 3, 3)).shape
    torch.Size([2, 4, 5])
    """

    def __init__(self, layers: nn.Module):
        super().__init__()
        self.layers = layers

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x.transpose(0, 1).flatten(1, 2))


def has_joint_images(model: nn.Module) -> bool:
    """Whether `join_layers` takes a network with convolutions: if it knows each layer, and how they are connected.

    Parameters
    ----------
    model : nn.Module

    Returns
    -------
    bool

    Examples
    --------
    >>> from gramlab.nets import build
    >>> has_joint_images(build("cnn", (1, 8, 8), 10))
    True
    >>> has_joint_images(nn.Sequential(nn.Conv2d(1, 4, 3), nn.Dropout(), nn.Flatten(), nn.Linear(4, 2)))
    False
    """
    is_resnet = _is_of_resnet(model)
    is_flat = False
    for module in model.modules():
        if isinstance(module, nn.Conv2d | nn.BatchNorm2d | nn.MaxPool2d | nn.AdaptiveAvgPool2d):
            if is_flat or not _is_joinable(module):
                return False
        elif isinstance(module, nn.Flatten):
            if is_flat or (module.start_dim, module.end_dim) != (1, -1):
                return False
            is_flat = True
        elif type(module) is nn.Linear:
            is_flat |= is_resnet  # its `forward` flattens the images
            if not is_flat:
                return False
        elif not (type(module) in (nn.Sequential, *ELEMENTWISE) or _is_of_resnet(module)):
            return False
    names = [name for name, _ in model.named_parameters(remove_duplicate=False)]
    return is_flat and len(names) == len(list(model.parameters()))  # no layer is used twice


def _is_of_resnet(module: nn.Module) -> bool:
    """Whether a module is torchvision's ResNet or a block of it."""
    return type(module).__module__ == "torchvision.models.resnet"


def _is_joinable(layer: nn.Module) -> bool:
    """Whether a layer on images has a joint form: whether it is of torch's own type and has the usual settings."""
    if type(layer) is nn.Conv2d:
        is_usual = (layer.groups, layer.dilation, layer.padding_mode) == (1, (1, 1), "zeros")
        return is_usual and not isinstance(layer.padding, str)
    if type(layer) is nn.BatchNorm2d:
        return layer.affine and layer.track_running_stats and layer.momentum is not None
    return type(layer) is nn.AdaptiveAvgPool2d or (type(layer) is nn.MaxPool2d and not layer.return_indices)


def join_layers(model: nn.Module, values: Mapping[str, Tensor], buffers: Mapping[str, Tensor]) -> nn.Module:
    """The network of all members, whose parameters share the memory of the stacked ones and have their names.

    Parameters
    ----------
    model : nn.Module
        A network of linear layers and elementwise functions, or one that `has_joint_images`; it does not change.
    values, buffers : mapping of str to Tensor of shape (members, ...)
        Stacked parameters and buffers by name.

    Returns
    -------
    nn.Module
        With parameters of shape (members, ...).

    Examples
    --------
    >>> from gramlab.nets import mlp
    >>> model = mlp(4, [3], 2)
    >>> joint = join_layers(model, {name: torch.stack([p, p]) for name, p in model.named_parameters()}, {})
    >>> joint(torch.zeros(2, 5, 4)).shape
    torch.Size([2, 5, 2])
    """
    module = copy.deepcopy(model)
    for name, layer in list(module.named_modules()):
        joint: nn.Module | None = None
        if isinstance(layer, nn.Linear):
            joint = JointLinear(values[f"{name}.weight"], values.get(f"{name}.bias"))
        elif isinstance(layer, nn.Conv2d):
            joint = JointConv2d(layer, values[f"{name}.weight"], values.get(f"{name}.bias"))
        elif isinstance(layer, nn.BatchNorm2d):
            own_buffers = {role: buffers[f"{name}.{role}"] for role, _ in layer.named_buffers()}
            joint = JointBatchNorm2d(layer, values[f"{name}.weight"], values[f"{name}.bias"], own_buffers)
        elif isinstance(layer, nn.MaxPool2d):
            joint = ChannelsLastMaxPool2d(layer.kernel_size, layer.stride, layer.padding, layer.dilation,
                                          ceil_mode=layer.ceil_mode)  # fmt: skip
        if joint is not None:
            module.set_submodule(name, joint)
    return module
