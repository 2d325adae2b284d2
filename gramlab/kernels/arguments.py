"""Checks of the kernel machines' settings, and their data as tensors."""

import math
from collections.abc import Collection
from numbers import Real
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gramlab.files import BadInput, did_you_mean
from gramlab.losses import all_finite


def check_choice(name: str, value: Any, allowed: Collection) -> None:
    """Raise BadInput unless the setting is one of the allowed values."""
    if isinstance(value, (Tensor, np.ndarray)) or value not in allowed:
        suggestion = did_you_mean(value, filter(None, allowed))
        raise BadInput(f"{name} must be one of {', '.join(map(str, allowed))}, not {_shown(value)}{suggestion}")


def check_number(name: str, value: Any, positive: bool = True) -> None:
    """Raise BadInput unless the setting is a finite number above 0, or at least 0 if not ``positive``."""
    if not _is_real(value) or not 0 <= float(value) < float("inf") or (positive and value == 0):
        number = "a positive number" if positive else "a number of at least 0"
        raise BadInput(f"{name} must be {number}, not {_shown(value)}")


def check_integer(name: str, value: Any, minimum: int) -> None:
    """Raise BadInput unless the setting is a whole number of at least ``minimum``."""
    if not _is_real(value) or not minimum <= float(value) < float("inf") or float(value) % 1:
        raise BadInput(f"{name} must be a whole number of at least {minimum}, not {_shown(value)}")


def _is_real(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _shown(value: Any) -> str:
    """A refused value for a message, of an array only its shape, or how to take the number out of it."""
    if not isinstance(value, (Tensor, np.ndarray)):
        return repr(value)
    kind = "a tensor" if isinstance(value, Tensor) else "an array"
    shape = tuple(value.shape)
    return f"{kind} of shape {shape}" + (": give its number, .item()" if math.prod(shape) == 1 else "")


def detached(values: Any) -> Any:
    """Return a tensor without its graph, so that numpy can read it, and everything else unchanged."""
    return values.detach().cpu() if isinstance(values, Tensor) else values


def check_bool(name: str, value: Any) -> None:
    """Raise BadInput unless the setting is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise BadInput(f"{name} must be True or False, not {_shown(value)}")


def resolve_device(device: Any) -> torch.device:
    """Return the torch device; "auto" is a GPU if there is one. Raises BadInput if the device is unknown or missing."""
    if isinstance(device, str) and device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        if not isinstance(device, (str, torch.device)):
            raise TypeError("not the name of a device")
        return torch.empty(0, device=device).device
    except (RuntimeError, AssertionError, TypeError) as error:
        raise BadInput(f"device {device!r} is not available: {str(error).splitlines()[0]}") from error


def to_tensor(values: np.ndarray, dtype: str, device: str) -> Tensor:
    """Copy an array to the device in this dtype. Raises BadInput if numbers are beyond the dtype."""
    with np.errstate(over="ignore"):
        tensor = torch.from_numpy(np.array(values, dtype=dtype, order="C")).to(resolve_device(device))
    if not all_finite(tensor):
        raise BadInput(f"the data hold numbers beyond {dtype}: scale them")
    return tensor
