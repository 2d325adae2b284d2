"""A small network with its data, and networks that several files of tests refuse or measure."""

import warnings

import torch
from torch import nn


def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3))


torch.manual_seed(0)
X, Y = torch.randn(6, 4), torch.tensor([0, 1, 2, 0, 1, 2])


class Complex(nn.Module):
    """A network whose first layer is complex."""

    def __init__(self):
        super().__init__()
        self.layer, self.head = nn.Linear(4, 5, dtype=torch.complex64), nn.Linear(5, 3)

    def forward(self, x):
        return self.head(self.layer(x.to(torch.complex64)).abs())


def nan_in(model):
    with torch.no_grad():
        next(model.parameters())[0, 0] = float("nan")
    return model


def weights_with_nan():
    model = net()
    with torch.no_grad():
        model[2].weight[0, 0] = float("inf")
    return model


def traced(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # users' old models are TorchScript's all the same
        return torch.jit.trace(model, X)


class Routed(nn.Module):
    """The sign of a sample's first number chooses one of two experts; no sample goes to the third."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.experts = nn.ModuleList([nn.Linear(4, 3) for _ in range(3)])

    def forward(self, x):
        outputs = x.new_zeros(len(x), 3)
        h = torch.tanh(self.first(x))
        for index, chosen in enumerate((x[:, 0] < 0, x[:, 0] >= 0)):
            if bool(chosen.any()):
                outputs = outputs.index_add(0, chosen.nonzero()[:, 0], self.experts[index](h[chosen]))
        return outputs


def routed_samples():
    """Samples of which the first eight go to the first expert and the last twelve to the second, and targets."""
    generator = torch.Generator().manual_seed(1)
    x, y = (torch.randn(20, size, dtype=torch.float64, generator=generator) for size in (4, 3))
    x[:, 0] = torch.cat([-x[:8, 0].abs(), x[8:, 0].abs()])
    return x, y
