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
