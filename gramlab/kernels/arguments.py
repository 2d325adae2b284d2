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
    if not _real(value) or not 0 <= float(value) < ENDLESS or (positive and value == 0):
        raise BadInput(f"{name} must be {'a positive number' if positive else 'a number of at least 0'}, not {value!r}")


def whole(name: str, value: Any, least: int) -> None:
    """Raise BadInput unless the setting is a whole number of at least ``least``."""
    if not _real(value) or not least <= float(value) < ENDLESS or float(value) % 1:
        raise BadInput(f"{name} must be a whole number of at least {least}, not {value!r}")


def _real(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def truth(name: str, value: Any) -> None:
    """Raise BadInput unless the setting is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise BadInput(f"{name} must be True or False, not {value!r}")


def placed(device: Any) -> torch.device:
    """The device; of "auto" a GPU where there is one. Raises BadInput on one that is unknown or not there."""
    if isinstance(device, str) and device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        if not isinstance(device, (str, torch.device)):
            raise TypeError("a name is needed")
        return torch.empty(0, device=device).device
    except (RuntimeError, AssertionError, TypeError) as error:
        raise BadInput(f"device {device!r} cannot be had: {str(error).splitlines()[0]}") from error


def tensor(a: np.ndarray, dtype: str, device: str) -> Tensor:
    """A copy in this dtype, on ``placed(device)``. Raises BadInput on numbers beyond the dtype."""
    with np.errstate(over="ignore"):
        made = torch.from_numpy(np.array(a, dtype=dtype, order="C")).to(placed(device))
    if not all_finite(made):
        raise BadInput(f"the data hold numbers beyond {dtype}: scale them")
    return made
