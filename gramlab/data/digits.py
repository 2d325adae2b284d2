"""Real images that ship with a dependency."""

import numpy as np
import torch

from gramlab.data.dataset import DataSet, checked
from gramlab.streams import stream


def digits(test_fraction: float = 0.2, enlarge: int = 1) -> DataSet:
    """The 1797 handwritten digits, 8 x 8 pixels, of ``sklearn.datasets.load_digits``.

    Parameters
    ----------
    test_fraction : float, optional
        Share of each class that becomes test samples, in [0, 1).
    enlarge : int, optional
        How often each pixel is repeated in both directions, for networks that need larger images.

    Returns
    -------
    DataSet
        Images (n, 1, 8 enlarge, 8 enlarge) of bytes from 0 to 16, and their classes (n,).

    Raises
    ------
    DataError
        If an option is out of range.

    Examples
    --------
    >>> data = digits()
    >>> data.x_train.shape, data.x_test.shape, data.classes
    (torch.Size([1438, 1, 8, 8]), torch.Size([359, 1, 8, 8]), 10)
    """
    from sklearn.datasets import load_digits

    check = checked("digits")
    check.number("test_fraction", test_fraction, "a number from 0 to below 1")
    check.integer("enlarge", enlarge)
    images, labels = load_digits(return_X_y=True)
    is_test = np.zeros(len(labels), bool)
    for digit in range(10):
        rows = stream("digits", digit, "split").permutation(np.flatnonzero(labels == digit))
        is_test[rows[: round(test_fraction * len(rows))]] = True
    x = torch.from_numpy(images.astype(np.uint8)).reshape(-1, 1, 8, 8)
    x = x.repeat_interleave(enlarge, 2).repeat_interleave(enlarge, 3)
    y = torch.from_numpy(labels.astype(np.int64))
    return DataSet("digits", x[~is_test], y[~is_test], x[is_test], y[is_test], classes=10, factor=1 / 16)
