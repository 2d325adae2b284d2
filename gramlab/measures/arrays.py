"""Convert the caller's arrays to tensors and check them. Several arrays move to the device of the first."""

from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from gramlab.losses import all_finite

Array = Tensor | np.ndarray | ArrayLike


def as_float64(values: Array, name: str) -> Tensor:
    """Return ``values`` detached, in float64, on their device. Raises ValueError on NaN or infinite entries."""
    return as_finite(values, name).to(torch.float64)


def as_finite(values: Array, name: str) -> Tensor:
    """Return ``values`` detached, in their own dtype. Raises ValueError on complex, NaN or infinite entries."""
    tensor = as_real(values, name)
    if not all_finite(tensor):
        index = tuple(int(i) for i in (~torch.isfinite(tensor)).nonzero()[0])
        raise ValueError(f"{name} holds a NaN or an infinity, first at index {index}")
    return tensor


def as_real(values: Array, name: str) -> Tensor:
    """Return ``values`` detached, in their own dtype, which may hold NaN. Raises ValueError on complex entries."""
    tensor = as_tensor(values, name)
    if tensor.is_complex():
        raise ValueError(f"{name} is complex; gramlab measures real arrays")
    return tensor


def as_tensor(values: Array, name: str) -> Tensor:
    """Return ``values`` detached, in their own dtype, or in int64 for unsigned integers that torch cannot compute with.

    Raises ValueError, with the array's ``name``, if ``values`` are not numbers, or are sparse or on the meta device.
    """
    try:
        tensor = values.detach() if isinstance(values, Tensor) else torch.as_tensor(_as_torch_takes(np.asarray(values)))
    except (TypeError, ValueError) as error:
        kind = type(values).__name__ + (f" of {values.dtype}" if hasattr(values, "dtype") else "")
        raise ValueError(f"{name} must be a tensor or array of numbers, not a {kind}") from error
    if tensor.is_meta:
        raise ValueError(f"{name} is on the meta device, without numbers: give the data themselves")
    if tensor.layout != torch.strided:
        raise ValueError(f"{name} is a sparse tensor: give {name}.to_dense()")
    return tensor.long() if tensor.dtype in (torch.uint16, torch.uint32, torch.uint64) else tensor


def _as_torch_takes(array: np.ndarray) -> np.ndarray:
    """The array itself, or a copy of what torch refuses (negative strides, foreign byte order) or warns of."""
    if not array.dtype.isnative:
        return array.astype(array.dtype.newbyteorder("="))
    # a data frame's array is not writeable
    return array if array.flags.writeable and min(array.strides, default=0) >= 0 else array.copy()


def as_number(value: Any) -> Any:
    """Return a tensor or array of a single number as that number, and everything else unchanged."""
    if isinstance(value, (Tensor, np.ndarray)) and np.prod(value.shape) == 1 and value.dtype not in (bool, torch.bool):
        return value.item()
    return value


def zero_masked(values: Tensor, mask: Tensor) -> Tensor:
    """Return values (n, T, ...) with zeros where the mask (n, T) is False."""
    return values.masked_fill(~mask.reshape(*mask.shape, *[1] * (values.ndim - 2)), 0.0)
