"""Targets that are a random linear map of Gaussian inputs: paper C's deep linear networks."""

import torch

from gramlab.data.checks import whole
from gramlab.data.dataset import DataSet
from gramlab.data.inputs import gaussian_inputs
from gramlab.streams import stream


def linear_teacher(samples: int, dimension: int, outputs: int, test_samples: int = 0, seed: int = 0) -> DataSet:
    """Paper C, Appendix C: x ~ N(0, I), (n, d), and y = W* x, (n, c), with independent standard normal W* (c, d)."""
    whole("linear_teacher", "outputs", outputs)
    parts = gaussian_inputs("linear_teacher", samples, test_samples, dimension, None, None, seed)
    W = torch.from_numpy(stream("linear_teacher", seed, "target").normal(size=(outputs, dimension)))
    x_train, x_test = (torch.from_numpy(part) for part in parts)
    return DataSet("linear_teacher", x_train, x_train @ W.T, x_test, x_test @ W.T)
