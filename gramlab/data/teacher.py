"""Targets that are a random linear map of Gaussian inputs: paper C's deep linear networks."""

import torch

from gramlab.data.dataset import DataSet, checked
from gramlab.data.inputs import gaussian_inputs
from gramlab.streams import stream


def linear_teacher(samples: int, dimension: int, outputs: int, test_samples: int = 0, seed: int = 0) -> DataSet:
    """A random linear map, ``y = W* x`` with x ~ N(0, I) and standard normal W* (paper C, Appendix C).

    Parameters
    ----------
    samples, test_samples : int
    dimension : int
        Number of inputs d.
    outputs : int
        Number of targets c.
    seed : int, optional

    Returns
    -------
    DataSet
        Inputs (n, d) and targets (n, c).

    Raises
    ------
    DataError
        If an option is out of range.

    Examples
    --------
    >>> linear_teacher(samples=5, dimension=4, outputs=3).y_train.shape
    torch.Size([5, 3])
    """
    checked("linear_teacher").integer("outputs", outputs)
    inputs = gaussian_inputs("linear_teacher", samples, test_samples, dimension, None, None, seed)
    W = torch.from_numpy(stream("linear_teacher", seed, "target").normal(size=(outputs, dimension)))
    x_train, x_test = (torch.from_numpy(part) for part in inputs)
    return DataSet("linear_teacher", x_train, x_train @ W.T, x_test, x_test @ W.T)
