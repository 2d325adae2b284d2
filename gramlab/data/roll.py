"""The Swiss roll of paper A, Figure 1."""

import math

import numpy as np
import torch

from gramlab.data.dataset import DataSet, checked
from gramlab.streams import stream


def swiss_roll(samples: int, seed: int = 0) -> DataSet:
    """A Swiss roll in the plane; the target is the angle along the roll (paper A, Figure 1).

    Parameters
    ----------
    samples : int
        At least 2.
    seed : int, optional

    Returns
    -------
    DataSet
        Inputs (n, 2) and targets (n, 1), each coordinate scaled to [0, 1]; no test samples.

    Raises
    ------
    DataError
        If there are fewer than 2 samples.

    Examples
    --------
    >>> data = swiss_roll(50)
    >>> data.x_train.shape, float(data.y_train.max())
    (torch.Size([50, 2]), 1.0)
    """
    checked("swiss_roll").integer("samples", samples, minimum=2)
    name = ("swiss_roll", seed, "data") if seed else ("swiss_roll",)  # seed 0 keeps the stream it had before seeds
    angle = 1.5 * math.pi * (1 + 2 * stream(*name).uniform(size=samples))
    plane = np.stack([angle * np.cos(angle), angle * np.sin(angle)], 1)
    x, y = (torch.from_numpy((part - part.min(0)) / np.ptp(part, 0)) for part in (plane, angle[:, None]))
    return DataSet("swiss_roll", x, y, x[:0], y[:0])
