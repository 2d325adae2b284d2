"""Random networks of every kind that ``measure`` promises to take, as a hypothesis strategy."""

from dataclasses import dataclass

import torch
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F


class Skip(nn.Module):
    def __init__(self, body):
        super().__init__()
        self.body = body

    def forward(self, x):
        return x + self.body(x)


class Twice(nn.Module):
    """One layer, called two times in a forward pass."""

    def __init__(self, layer, activation):
        super().__init__()
        self.layer, self.activation = layer, activation

    def forward(self, x):
        return self.layer(self.activation(self.layer(x)))


class Attention(nn.Module):
    """Tokens (n, T, d) that look at each other through three Linear layers."""

    def __init__(self, d):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(d, d, bias=i == 2) for i in range(3))

    def forward(self, x):
        scores = self.q(x) @ self.k(x).mT / x.shape[-1] ** 0.5
        return scores.softmax(-1) @ self.v(x)


class Mean(nn.Module):
    def forward(self, x):
        return x.mean(1)


class Squeeze(nn.Module):
    """Outputs of shape (n,) instead of (n, 1)."""

    def forward(self, x):
        return x.squeeze(1)


@dataclass
class Case:
    model: nn.Module
    x: torch.Tensor
    y: torch.Tensor
    loss: object
    per_sample: object
    description: str

    def __repr__(self):
        return self.description


ACTIVATIONS = {
    "relu": lambda: nn.ReLU(inplace=True),
    "gelu": nn.GELU,
    "tanh": nn.Tanh,
    "silu": lambda: nn.SiLU(inplace=True),
    "softplus": nn.Softplus,
    "leaky": lambda: nn.LeakyReLU(0.2),
    "none": nn.Identity,
}


def quartic(outputs, targets):
    return (outputs - targets).pow(4).flatten(1).sum(1) if outputs.ndim > 1 else (outputs - targets).pow(4)


LOSSES = {
    "mse": lambda f, y: (f - y.reshape(f.shape)).square().flatten(1).mean(1) if f.ndim > 1 else (f - y).square(),
    "cross_entropy": lambda f, y: F.cross_entropy(f, y, reduction="none"),
    "bce_with_logits": lambda f, y: (F.softplus(f) - f * y).reshape(len(f), -1).mean(1),
    "quartic": quartic,
}


@st.composite
def cases(draw):
    seed = draw(st.integers(0, 10_000))
    kind = draw(st.sampled_from(["flat", "image", "image", "tokens"]))
    activation = ACTIVATIONS[draw(st.sampled_from(sorted(ACTIVATIONS)))]
    n = draw(st.integers(1, 3))
    torch.manual_seed(seed)
    blocks = []
    if kind == "image":
        channels, side = draw(st.sampled_from([1, 2, 4])), draw(st.integers(4, 5))
        x = torch.randn(n, channels, side, side + 1)
        width = channels
        for _ in range(draw(st.integers(1, 2))):
            groups = draw(st.sampled_from([g for g in (1, 2, 4) if width % g == 0]))
            out = draw(st.sampled_from([4, 8]))
            mode = draw(st.sampled_from(["zeros", "zeros", "circular", "reflect"]))
            stride, dilation = draw(st.sampled_from([(1, 1), (2, 1), (1, 2), ((2, 1), (1, 1))]))
            padding = draw(st.sampled_from([0, 1, (1, 2)] + (["same"] if stride == 1 else [])))
            kernel = draw(st.sampled_from([2, (1, 3), (2, 1)]))
            conv = nn.Conv2d(width, out, kernel, stride, padding, dilation, groups, draw(st.booleans()), mode)
            blocks += [conv, activation()]
            if draw(st.booleans()):
                norm = nn.BatchNorm2d(out)
                norm.running_mean.normal_()
                norm.running_var.uniform_(0.5, 2)
                blocks.insert(-1, norm)
            if draw(st.booleans()):
                body = nn.Conv2d(out, out, 3, padding=1, groups=draw(st.sampled_from([1, 2])))
                blocks.append(draw(st.sampled_from([Skip, lambda b: Twice(b, activation())]))(body))
            width = out
        blocks += [nn.AdaptiveAvgPool2d(2), nn.Flatten()]
        width *= 4
    elif kind == "tokens":
        width = draw(st.integers(2, 4))
        x = torch.randn(n, draw(st.integers(1, 3)), width)
        blocks += [Skip(Attention(width)), nn.LayerNorm(width), nn.Linear(width, 5), activation(), nn.Linear(5, width)]
        if draw(st.booleans()):
            blocks.append(Mean())
    else:
        width = draw(st.integers(1, 6))
        x = torch.randn(n, width)
    for _ in range(draw(st.integers(0, 2))):
        out = draw(st.integers(2, 6))
        blocks += [nn.Linear(width, out, bias=draw(st.booleans())), activation()]
        if draw(st.booleans()):
            body = nn.Linear(out, out)
            blocks.append(draw(st.sampled_from([Skip, lambda b: Twice(b, nn.Tanh())]))(body))
        width = out
    c = draw(st.integers(1, 3))
    blocks.append(nn.Linear(width, c))
    with torch.no_grad():
        probe = nn.Sequential(*blocks).eval()(x)
    if c == 1 and probe.ndim == 2 and draw(st.booleans()):
        blocks.append(Squeeze())
    model = nn.Sequential(*blocks).double()
    with torch.no_grad():
        shape = model.eval()(x.double()).shape
    names = ["mse", "bce_with_logits", "quartic"] + (["cross_entropy"] if len(shape) == 2 and shape[1] > 1 else [])
    name = draw(st.sampled_from(names))
    if name == "cross_entropy":
        y = torch.randint(0, shape[1], shape[:1])
    elif name == "bce_with_logits":
        y = torch.randint(0, 2, shape).double()
    else:
        y = torch.randn(shape, dtype=torch.float64)
    loss = quartic if name == "quartic" else name
    return Case(model, x.double(), y, loss, LOSSES[name], f"seed {seed}, n {n}, {name}: {model}")
