"""Convolutions and transposed convolutions as layers z = W h (paper A, C.1)."""

from typing import Any

from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.grad import conv1d_weight, conv2d_weight, conv3d_weight

from gramlab.measures.layer import Layer

CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
TRANSPOSED = (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)
_CONVOLUTION_GRADIENTS = {1: conv1d_weight, 2: conv2d_weight, 3: conv3d_weight}


class Convolution(Layer):
    """``nn.Conv1d``, ``nn.Conv2d``, ``nn.Conv3d``: W multiplies im2col patches; groups are layers side by side."""

    methods = ("forward", "_conv_forward")

    def __init__(self, module: Any) -> None:
        super().__init__(module)
        self.axes = len(module.kernel_size)
        self.plain = CONVOLUTIONS[self.axes - 1]

    def output_rows(self, z: Tensor, mask: Tensor | None = None, h: Tensor | None = None) -> Tensor:
        groups = self.module.groups
        z = z.reshape(-1, groups, self.module.out_channels // groups, z.shape[-self.axes :].numel())
        return z.permute(1, 2, 0, 3).flatten(2).mT

    def weight_gradient(self, h: Tensor, g: Tensor, mask: Tensor | None = None) -> Tensor:
        layer, padding = self.module, self.module.padding
        if layer.padding_mode != "zeros" or isinstance(padding, str):  # torch's gradients pad by zeros
            mode = "constant" if layer.padding_mode == "zeros" else layer.padding_mode
            h, padding = F.pad(h, layer._reversed_padding_repeated_twice, mode=mode), 0
        h, g = (t if t.ndim == self.axes + 2 else t.unsqueeze(0) for t in (h, g))
        gradient = _CONVOLUTION_GRADIENTS[self.axes]
        shape = list(layer.weight.shape)
        return self.matrices(gradient(h, shape, g, layer.stride, padding, layer.dilation, layer.groups))

    def row_axes(self, h: Tensor) -> tuple[int, ...]:
        return ()

    def product(self, h: Tensor) -> Tensor:
        return self.plain._conv_forward(self.module, h, self.module.weight, self.module.bias)  # type: ignore[attr-defined]

    def matrices(self, weight: Tensor) -> Tensor:
        groups = self.module.groups
        return weight.detach().reshape(groups, weight.shape[0] // groups, -1)


class TransposedConvolution(Layer):
    """``nn.ConvTranspose1d``, 2d, 3d: W multiplies an input position's channels, and col2im adds up the products.

    A row h is an input position (d channels); z = W h holds its part of each of the k = channels × kernel outputs
    that it reaches. The gradient with respect to z is therefore an im2col patch of the gradient at the output.
    """

    def __init__(self, module: Any) -> None:
        super().__init__(module)
        self.axes = len(module.kernel_size)
        self.plain = TRANSPOSED[self.axes - 1]

    def matrices(self, weight: Tensor) -> Tensor:
        groups = self.module.groups
        return weight.reshape(groups, weight.shape[0] // groups, -1).mT

    def output_rows(self, z: Tensor, mask: Tensor | None = None, h: Tensor | None = None) -> Tensor:
        if h is None:
            raise ValueError("the rows of a transposed convolution need its input")
        layer, positions = self.module, h.shape[-self.axes :]
        z = z if z.ndim == self.axes + 2 else z.unsqueeze(0)
        z = F.pad(z, [side for padding in reversed(layer.padding) for side in (padding, padding)])
        for axis, size in enumerate(positions, 2):
            dilation, stride = layer.dilation[axis - 2], layer.stride[axis - 2]
            z = z.unfold(axis, dilation * (layer.kernel_size[axis - 2] - 1) + 1, stride).narrow(axis, 0, size)
            z = z[..., ::dilation]
        n, groups = len(z), layer.groups
        z = z.reshape(n, groups, -1, *z.shape[2:]).movedim(2, 1 + 1 + self.axes)  # (n, groups, *positions, k, *kernel)
        return z.reshape(n, groups, positions.numel(), -1).transpose(0, 1).flatten(1, 2)

    def weight_gradient(self, h: Tensor, g: Tensor, mask: Tensor | None = None) -> Tensor:
        z, groups = self.output_rows(g, mask, h), self.module.groups
        h = h if h.ndim == self.axes + 2 else h.unsqueeze(0)
        rows = h.reshape(len(h), groups, h.shape[1] // groups, -1).permute(1, 0, 3, 2).flatten(1, 2)
        return z.mT @ rows

    def row_axes(self, h: Tensor) -> tuple[int, ...]:
        return ()

    def product(self, h: Tensor) -> Tensor:
        return self.plain.forward(self.module, h)
