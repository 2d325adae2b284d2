"""The Swiss roll of paper A."""

import math

import numpy as np
import torch

from gramlab.data.checks import whole
from gramlab.data.dataset import DataSet
from gramlab.streams import stream


def swiss_roll(samples: int, seed: int = 0) -> DataSet:
    """Paper A, Figure 1: a Swiss roll in the plane, (n, 2), both coordinates and the target, its angle, in [0, 1]."""
    whole("swiss_roll", "samples", samples, 2)
    name = ("swiss_roll", seed, "data") if seed else ("swiss_roll",)  # the roll that Figure 1's run began with
    turn = 1.5 * math.pi * (1 + 2 * stream(*name).uniform(size=samples))
    plane = np.stack([turn * np.cos(turn), turn * np.sin(turn)], 1)
    x, y = (torch.from_numpy((part - part.min(0)) / np.ptp(part, 0)) for part in (plane, turn[:, None]))
    return DataSet("swiss_roll", x, y, x[:0], y[:0])
