"""Modular arithmetic, the task of grokking: papers A (B.8) and C (Section 4.3)."""

from collections.abc import Callable

import numpy as np
import torch

from gramlab.data.checks import among, share, whole
from gramlab.data.dataset import DataError, DataSet
from gramlab.streams import stream


def _over(y: np.ndarray, p: int) -> np.ndarray:
    """The inverse of each y modulo the prime p; of 0 it is 0, which nobody reads."""
    return np.array([pow(value, -1, p) if value else 0 for value in range(p)])[y]


# Power et al. (2022), whose table this is, and Mallinar et al. (2025), of which paper C takes + and its splits
OPERATIONS: dict[str, Callable[[np.ndarray, np.ndarray, int], np.ndarray]] = {
    "x+y": lambda x, y, p: x + y,
    "x-y": lambda x, y, p: x - y,
    "x*y": lambda x, y, p: x * y,
    "x/y": lambda x, y, p: x * _over(y, p),
    "x/y if y is odd else x-y": lambda x, y, p: np.where(y % 2 == 1, x * _over(y, p), x - y),
    "x^2+y^2": lambda x, y, p: x**2 + y**2,
    "x^2+xy+y^2": lambda x, y, p: x**2 + x * y + y**2,
    "x^2+xy+y^2+x": lambda x, y, p: x**2 + x * y + y**2 + x,
    "x^3+xy": lambda x, y, p: x**3 + x * y,
    "x^3+xy^2+y": lambda x, y, p: x**3 + x * y**2 + y,
}


def modular(modulus: int, operation: str = "x+y", constant: int = 0, fraction: float = 0.5, seed: int = 0) -> DataSet:
    """All pairs (x, y) and the class (x ∘ y + constant) mod p; a fraction of them to train, the rest to test.

    Inputs (n, 2p) are the one-hot codes of x and y side by side; n = p², or p(p - 1) for x/y, which leaves out
    y = 0. The split is drawn from a stream of its own: the same pairs at every operation and constant. Paper A has
    p = 61 and doesn't print its fraction; paper C p = 61 and a half.
    """
    source = "modular"
    p = whole(source, "modulus", modulus, 2)
    among(source, "operation", operation, OPERATIONS)
    share(source, "fraction", fraction, zero=False)
    if whole(source, "constant", constant, 0) >= p:
        raise DataError(f"{source}: constant must lie below the modulus {p}, not {constant}")
    if "/" in operation and (factor := next((k for k in range(2, int(p**0.5) + 1) if p % k == 0), None)):
        raise DataError(f"{source}: {operation} needs a prime modulus, and {p} is {factor} times {p // factor}")
    x, y = (axis.ravel() for axis in np.mgrid[:p, :p])
    if operation == "x/y":
        x, y = x[y > 0], y[y > 0]
    labels = (OPERATIONS[operation](x, y, p) + constant) % p
    codes = np.zeros((len(x), 2 * p), np.uint8)
    codes[np.arange(len(x)), x] = 1
    codes[np.arange(len(x)), p + y] = 1
    n = round(fraction * len(x))
    if not n:
        raise DataError(f"{source}: a fraction of {fraction} leaves none of {len(x)} pairs to train on")
    order = stream(source, seed, "split").permutation(len(x))
    inputs, classes = torch.from_numpy(codes[order]), torch.from_numpy(labels[order])
    about = {"operation": operation, "modulus": p, "constant": constant}
    return DataSet(source, inputs[:n], classes[:n], inputs[n:], classes[n:], classes=p, about=about)
