"""The gradient of many samples is that of their mean loss, although it is computed part by part."""

import numpy as np
import pytest
import torch
from torch import nn

from tasks.papers.fact.experiments.shared.correlations import stationarity


def test_the_gradient_is_of_the_mean_over_all_samples():
    draw, n, decay = np.random.default_rng(0), 9000, 0.1  # more than a part of 8192 samples
    x, y = draw.normal(size=(n, 3)) + np.arange(n)[:, None] / n, draw.integers(4, size=n)
    model = nn.Sequential(nn.Linear(3, 4, bias=False)).double()
    W = model[0].weight.detach().numpy()
    scores = np.exp(x @ W.T)
    gradient = (scores / scores.sum(1, keepdims=True) - np.eye(4)[y]).T @ x / n + decay * W
    expected = np.linalg.norm(gradient) / (decay * np.linalg.norm(W))
    measured = stationarity(model, torch.from_numpy(x), torch.from_numpy(y), "cross_entropy", decay)
    assert measured == {"0": pytest.approx(expected, rel=1e-10)}
