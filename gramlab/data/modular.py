"""Modular arithmetic, the task of grokking: papers A (B.8) and C (Section 4.3)."""

from collections.abc import Callable

import numpy as np
import torch

from gramlab.data.dataset import DataError, DataSet, checked
from gramlab.streams import stream


def _divide(x: np.ndarray, y: np.ndarray, p: int) -> np.ndarray:
    """x times the inverse of y modulo the prime p; 0 where y is 0, which no operation reads."""
    return x * np.array([pow(value, -1, p) if value else 0 for value in range(p)])[y]


# the table of Power et al. (2022); paper C takes x+y and its split from Mallinar et al. (2025)
OPERATIONS: dict[str, Callable[[np.ndarray, np.ndarray, int], np.ndarray]] = {
    "x+y": lambda x, y, p: x + y,
    "x-y": lambda x, y, p: x - y,
    "x*y": lambda x, y, p: x * y,
    "x/y": _divide,
    "x/y if y is odd else x-y": lambda x, y, p: np.where(y % 2 == 1, _divide(x, y, p), x - y),
    "x^2+y^2": lambda x, y, p: x**2 + y**2,
    "x^2+xy+y^2": lambda x, y, p: x**2 + x * y + y**2,
    "x^2+xy+y^2+x": lambda x, y, p: x**2 + x * y + y**2 + x,
    "x^3+xy": lambda x, y, p: x**3 + x * y,
    "x^3+xy^2+y": lambda x, y, p: x**3 + x * y**2 + y,
}


def modular(modulus: int, operation: str = "x+y", constant: int = 0, fraction: float = 0.5, seed: int = 0) -> DataSet:
    """All pairs (x, y) modulo p, with the class (x ∘ y + constant) mod p.

    Both papers have p = 61. Paper C trains on half of the pairs; paper A does not print its fraction.

    Parameters
    ----------
    modulus : int
        p; a prime for operations that divide.
    operation : str, optional
        A key of `OPERATIONS`.
    constant : int, optional
        From 0 to p - 1.
    fraction : float, optional
        Share of the pairs to train on, in (0, 1]; the others are test samples. The split has a random stream of its
        own, so it is the same for every operation and constant.
    seed : int, optional

    Returns
    -------
    DataSet
        The one-hot codes of x and y side by side, (n, 2p), and classes (n,). There are p² pairs, or p(p - 1) for
        x/y, which leaves out y = 0.

    Raises
    ------
    DataError
        If an option is out of range.

    Examples
    --------
    >>> data = modular(5)
    >>> x, y = data.x_train[0, :5].argmax(), data.x_train[0, 5:].argmax()
    >>> bool(data.y_train[0] == (x + y) % 5)
    True
    """
    source = "modular"
    check = checked(source)
    p = check.integer("modulus", modulus, minimum=2)
    check.choice("operation", operation, OPERATIONS)
    check.number("fraction", fraction, "a number above 0, at most 1")
    check.integer("constant", constant, 0, p - 1)
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
    metadata = {"operation": operation, "modulus": p, "constant": constant}
    return DataSet(source, inputs[:n], classes[:n], inputs[n:], classes[n:], classes=p, metadata=metadata)
