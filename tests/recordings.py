"""A small network, its data and a recorder of it, which several files of tests use."""

import torch
from torch import nn

import gramlab

DECAY = 0.02


def network(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(5, 8), nn.Dropout(0.2), nn.GELU(), nn.Linear(8, 6), nn.GELU(), nn.Linear(6, 3))


def data():
    torch.manual_seed(7)
    x = torch.randn(60, 5)
    return x, (x[:, 0] > 0).long() + (x[:, 1] > 0).long()


def recorder(model, path, **options):
    x, y = data()
    return gramlab.Recorder(model, x, y, path, loss="cross_entropy", weight_decay=DECAY, **({"every": 5} | options))
