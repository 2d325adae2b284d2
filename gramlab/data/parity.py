"""Sparse parities, paper C."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from gramlab.data.checks import among, whole
from gramlab.data.dataset import DataError, DataSet
from gramlab.streams import stream

INPUTS = ("unit_signs", "signs", "bits")
LABELS = ("zero_one", "signs", "classes")


def sparse_parity(
    samples: int, dimension: int, support: Sequence[int] | None = None, degree: int | None = None,
    test_samples: int = 0, inputs: str = "unit_signs", labels: str = "zero_one", seed: int = 0,
) -> DataSet:  # fmt: skip
    """The parity of a few coordinates of uniform inputs (n, d). Paper C, Section 4.3, Figures 1 and 5.

    support: the coordinates, counted from 0; or degree: how many, drawn from a stream of their own (``about`` has
    them). inputs: ``unit_signs`` ±1/√d (Section 4.3), ``signs`` ±1, ``bits`` 0 and 1 (Figure 1). A bit 1 is a
    negative sign. labels: 1 where the product of the signs is positive, else 0 (``zero_one``, (n, 1)) or -1
    (``signs``, (n, 1)), or those two as ``classes`` 0 and 1 (n,). For ``bits`` it is the exclusive or, as Figure 1
    has it: 1 where the product of the signs is negative.
    """
    source = "sparse_parity"
    whole(source, "samples", samples)
    whole(source, "test_samples", test_samples, 0)
    whole(source, "dimension", dimension)
    among(source, "inputs", inputs, INPUTS)
    among(source, "labels", labels, LABELS)
    chosen = _support(source, dimension, support, degree, seed)
    parts: list[Tensor] = []
    for part, n in (("train", samples), ("test", test_samples)):
        bits = stream(source, seed, "data", part).integers(2, size=(n, dimension), dtype=np.int8)
        odd = bits[:, chosen].sum(1) % 2 == 1
        one = odd if inputs == "bits" else ~odd
        parts.append(torch.from_numpy(bits if inputs == "bits" else 1 - 2 * bits))
        parts.append(_labels(one, labels))
    return DataSet(
        source, *parts, classes=2 if labels == "classes" else 0,
        factor=dimension**-0.5 if inputs == "unit_signs" else 1.0, about={"support": chosen},
    )  # fmt: skip


def _labels(one: np.ndarray, labels: str) -> Tensor:
    if labels == "classes":
        return torch.from_numpy(one.astype(np.int64))
    return torch.from_numpy(one.astype(float) if labels == "zero_one" else np.where(one, 1.0, -1.0))[:, None]


def _support(source: str, dimension: int, support: Sequence[int] | None, degree: int | None, seed: int) -> list[int]:
    if (support is None) == (degree is None):
        raise DataError(f"{source}: give either support, a list of coordinates, or degree, their number")
    if degree is not None:
        if whole(source, "degree", degree) > dimension:
            raise DataError(f"{source}: degree {degree} is more than the dimension {dimension}")
        return sorted(stream(source, seed, "support").permutation(dimension)[:degree].tolist())
    chosen = [whole(source, "every index of support", index, 0) for index in support or ()]
    if outside := [index for index in chosen if index >= dimension]:
        raise DataError(f"{source}: support {outside} lies outside the dimension {dimension} (counted from 0)")
    if not chosen or len(set(chosen)) < len(chosen):
        raise DataError(f"{source}: support must name different coordinates, at least one, not {chosen}")
    return chosen
