"""The atlas's networks: those of gramlab.nets, a narrow residual network and a small transformer."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from gramlab.nets import build


class ResNet(nn.Module):
    """A convolution, residual blocks of two convolutions, the mean over positions, and a linear readout.

    It has no normalisation, so that every gradient is that of the function which is measured.
    """

    def __init__(self, channels: int, blocks: int, inputs: int, outputs: int):
        super().__init__()
        self.stem = nn.Conv2d(inputs, channels, 3, stride=2, padding=1, bias=False)
        self.first, self.second = (
            nn.ModuleList(nn.Conv2d(channels, channels, 3, padding=1, bias=False) for _ in range(blocks))
            for _ in range(2)
        )
        self.head = nn.Linear(channels, outputs, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Scores (n, outputs) of images (n, inputs, height, width)."""
        x = self.stem(x)
        for first, second in zip(self.first, self.second, strict=True):
            x = x + second(F.relu(first(F.relu(x))))
        return self.head(F.relu(x).mean((2, 3)))


class Transformer(nn.Module):
    """One block of attention and a hidden layer, on pairs of one-hot tokens; the readout sees the last token."""

    def __init__(self, tokens: int, width: int, heads: int, hidden: int, outputs: int):
        super().__init__()
        self.tokens, self.heads = tokens, heads
        self.embed = nn.Linear(tokens + 2, width, bias=False)  # a token and its position, both one-hot
        self.query, self.key, self.value, self.out = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.up, self.down = nn.Linear(width, hidden, bias=False), nn.Linear(hidden, width, bias=False)
        self.head = nn.Linear(width, outputs, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Scores (n, outputs) of the codes (n, 2 tokens) of two tokens side by side."""
        positions = torch.eye(2, dtype=x.dtype, device=x.device).expand(len(x), 2, 2)
        h = self.embed(torch.cat([x.view(len(x), 2, self.tokens), positions], -1))
        q, k, v = (
            layer(h).unflatten(-1, (self.heads, -1)).transpose(1, 2) for layer in (self.query, self.key, self.value)
        )
        weights = (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1)
        h = h + self.out((weights @ v).transpose(1, 2).flatten(-2))
        h = h + self.down(F.gelu(self.up(h)))
        return self.head(h[:, -1])


def network(kind: str, shape: Sequence[int], outputs: int, **options: Any) -> nn.Module:
    """A network in float64: a kind of gramlab.nets, or this module's "resnet" or "transformer".

    Parameters
    ----------
    kind : str
    shape : sequence of int
        The shape of a sample.
    outputs : int
    **options
        The options of the kind.

    Returns
    -------
    nn.Module
    """
    if kind == "resnet":
        return ResNet(inputs=shape[0], outputs=outputs, **options).double()
    if kind == "transformer":
        return Transformer(tokens=math.prod(shape) // 2, outputs=outputs, **options).double()
    return build(kind, shape, outputs, **options).double()
