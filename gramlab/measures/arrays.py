"""Whatever array a caller has, as a float64 tensor. Of several, the others go to the first one's device."""

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

Array = Tensor | np.ndarray | ArrayLike


def float64(a: Array, name: str) -> Tensor:
    """Return ``a`` detached, in float64, where it lies. Raises ValueError on NaN or infinite entries."""
    return real(a, name).to(torch.float64)


def real(a: Array, name: str) -> Tensor:
    """Return ``a`` detached, in its own dtype. Raises ValueError on complex, NaN or infinite entries."""
    tensor = array(a, name)
    if not finite(tensor):
        index = tuple(int(i) for i in (~torch.isfinite(tensor)).nonzero()[0])
        raise ValueError(f"{name} holds a NaN or an infinity, first at index {index}")
    return tensor


def array(a: Array, name: str) -> Tensor:
    """Return ``a`` detached, in its own dtype, entries unchecked. Raises ValueError on all but arrays of reals."""
    tensor = as_tensor(a, name)
    if tensor.is_complex():
        raise ValueError(f"{name} is complex; gramlab measures real arrays")
    return tensor


def as_tensor(a: Array, name: str) -> Tensor:
    """Return ``a`` detached, in its own dtype; in int64 where it is one that torch can only store.

    Raises ValueError, with its ``name``, if it is no array of numbers.
    """
    try:
        if isinstance(a, Tensor):
            tensor = a.detach()
        else:
            own = np.asarray(a)
            tensor = torch.as_tensor(own if own.flags.writeable else own.copy())  # or torch warns: a data frame's isn't
    except (TypeError, ValueError) as error:
        kind = f" of {a.dtype}" if hasattr(a, "dtype") else ""
        raise ValueError(f"{name} is a {type(a).__name__}{kind}, which is no tensor or array of numbers") from error
    return tensor.long() if tensor.dtype in (torch.uint16, torch.uint32, torch.uint64) else tensor


def finite(tensor: Tensor) -> bool:
    """Whether every entry is finite; the sum decides, and only a sum that is not finite costs a scan."""
    if not tensor.is_floating_point():
        return True
    return bool(torch.isfinite(tensor.sum())) or bool(torch.isfinite(tensor).all())
