"""What the kernel machines are given: settings that are checked by name, and data as tensors."""

from collections.abc import Collection
from numbers import Real
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gramlab.files import BadInput
from gramlab.losses import all_finite

ENDLESS = float("inf")


def one_of(name: str, value: Any, allowed: Collection) -> None:
    """Raise BadInput unless the setting is one of these."""
    if value not in allowed:
        raise BadInput(f"{name} must be one of {', '.join(map(str, allowed))}, not {value!r}")


def number(name: str, value: Any, positive: bool = True) -> None:
    """Raise BadInput unless the setting is a finite number above 0, or at least 0 if not ``positive``."""
    if not isinstance(value, Real) or not 0 <= float(value) < ENDLESS or (positive and value == 0):
        raise BadInput(f"{name} must be {'a positive number' if positive else 'a number of at least 0'}, not {value!r}")


def whole(name: str, value: Any, least: int) -> None:
    """Raise BadInput unless the setting is a whole number of at least ``least``."""
    if not isinstance(value, Real) or not least <= float(value) < ENDLESS or float(value) % 1:
        raise BadInput(f"{name} must be a whole number of at least {least}, not {value!r}")


def tensor(a: np.ndarray, dtype: str, device: str) -> Tensor:
    """A copy in this dtype; device "auto" is a GPU where there is one. Raises BadInput on numbers beyond the dtype."""
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    with np.errstate(over="ignore"):
        made = torch.from_numpy(np.array(a, dtype=dtype, order="C")).to(device)
    if not all_finite(made):
        raise BadInput(f"the data hold numbers beyond {dtype}: scale them")
    return made
