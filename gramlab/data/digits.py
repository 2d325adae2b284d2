"""The real data that ship with a dependency."""

import numpy as np
import torch

from gramlab.data.checks import share, whole
from gramlab.data.dataset import DataSet
from gramlab.streams import stream


def digits(test_fraction: float = 0.2, enlarge: int = 1) -> DataSet:
    """1797 real 8 x 8 handwritten digits that ship with scikit-learn; a fifth of each class is kept for tests.

    ``enlarge`` repeats each pixel so many times to the right and down, for networks that need larger images.
    """
    from sklearn.datasets import load_digits

    share("digits", "test_fraction", test_fraction, one=False)
    whole("digits", "enlarge", enlarge)
    images, labels = load_digits(return_X_y=True)
    held = np.zeros(len(labels), bool)
    for digit in range(10):
        of_class = stream("digits", digit, "split").permutation(np.flatnonzero(labels == digit))
        held[of_class[: round(test_fraction * len(of_class))]] = True
    x = torch.from_numpy(images.astype(np.uint8)).reshape(-1, 1, 8, 8)
    x = x.repeat_interleave(enlarge, 2).repeat_interleave(enlarge, 3)
    y = torch.from_numpy(labels.astype(np.int64))
    return DataSet("digits", x[~held], y[~held], x[held], y[held], classes=10, factor=1 / 16)
