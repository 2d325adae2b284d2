"""Sparse parities: paper C, Section 4.3, Figures 1 and 5."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from gramlab.data.dataset import DataError, DataSet, checked
from gramlab.streams import stream

INPUTS = ("unit_signs", "signs", "bits")
LABELS = ("zero_one", "signs", "classes")


def sparse_parity(
    samples: int, dimension: int, support: Sequence[int] | None = None, degree: int | None = None,
    test_samples: int = 0, inputs: str = "unit_signs", labels: str = "zero_one", seed: int = 0,
) -> DataSet:  # fmt: skip
    """The parity of a few coordinates of uniform inputs.

    A label is positive if the product of the signs on the support is positive. For ``bits`` it is the exclusive or,
    as in Figure 1: positive if that product is negative, where a bit 1 stands for a negative sign.

    Parameters
    ----------
    samples, test_samples : int
    dimension : int
        Number of inputs d.
    support : sequence of int, optional
        The coordinates of the parity, counted from 0.
    degree : int, optional
        How many coordinates to draw for the support, instead of listing them.
    inputs : {"unit_signs", "signs", "bits"}, optional
        ±1/√d (Section 4.3), ±1, or 0 and 1 (Figure 1).
    labels : {"zero_one", "signs", "classes"}, optional
        Numbers 0 and 1 (n, 1), numbers -1 and 1 (n, 1), or classes 0 and 1 (n,).
    seed : int, optional

    Returns
    -------
    DataSet
        Inputs (n, d) and targets; ``metadata`` has the ``support``.

    Raises
    ------
    DataError
        If an option is out of range, or not exactly one of `support` and `degree` is given.

    Examples
    --------
    >>> data = sparse_parity(4, 3, support=[0, 2], inputs="signs", labels="signs")
    >>> bool((data.x_train[:, 0] * data.x_train[:, 2] == data.y_train[:, 0]).all())
    True
    """
    source = "sparse_parity"
    check = checked(source)
    check.integer("samples", samples)
    check.integer("test_samples", test_samples, minimum=0)
    check.integer("dimension", dimension)
    check.choice("inputs", inputs, INPUTS)
    check.choice("labels", labels, LABELS)
    coordinates = _support(source, dimension, support, degree, seed)
    tensors: list[Tensor] = []
    for part, n in (("train", samples), ("test", test_samples)):
        bits = stream(source, seed, "data", part).integers(2, size=(n, dimension), dtype=np.int8)
        is_odd = bits[:, coordinates].sum(1) % 2 == 1
        tensors.append(torch.from_numpy(bits if inputs == "bits" else 1 - 2 * bits))
        tensors.append(_targets(is_odd if inputs == "bits" else ~is_odd, labels))
    return DataSet(
        source, *tensors, classes=2 if labels == "classes" else 0,
        factor=dimension**-0.5 if inputs == "unit_signs" else 1.0, metadata={"support": coordinates},
    )  # fmt: skip


def _targets(positive: np.ndarray, labels: str) -> Tensor:
    """The labels in the form that the option `labels` names."""
    if labels == "classes":
        return torch.from_numpy(positive.astype(np.int64))
    return torch.from_numpy(positive.astype(float) if labels == "zero_one" else np.where(positive, 1.0, -1.0))[:, None]


def _support(source: str, dimension: int, support: Sequence[int] | None, degree: int | None, seed: int) -> list[int]:
    """The given coordinates after a check, or as many random coordinates as the degree says."""
    if (support is None) == (degree is None):
        raise DataError(f"{source}: give either support, a list of coordinates, or degree, their number")
    if degree is not None:
        checked(source).integer("degree", degree, 1, dimension)
        return sorted(stream(source, seed, "support").permutation(dimension)[:degree].tolist())
    coordinates = [checked(source).integer("every index of support", i, 0, dimension - 1) for i in support or ()]
    if not coordinates or len(set(coordinates)) < len(coordinates):
        raise DataError(f"{source}: support must name different coordinates, at least one, not {coordinates}")
    return coordinates
