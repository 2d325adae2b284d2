"""The data of the kernel machines as tensors on a device, and the checks of their settings."""

from numbers import Real
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gramlab.arguments import Check
from gramlab.files import BadInput
from gramlab.losses import all_finite

CHECK = Check(whole=Real)  # a search over a grid of floats sets whole numbers such as 3.0


def detached(values: Any) -> Any:
    """Return a tensor as numpy can read it, without its graph and in no bfloat16, and everything else unchanged."""
    if not isinstance(values, Tensor):
        return values
    tensor = values.detach().cpu()
    return tensor.float() if tensor.dtype == torch.bfloat16 else tensor


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
