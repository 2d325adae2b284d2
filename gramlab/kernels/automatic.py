"""The settings of a recursive feature machine that it chooses itself: precision, bandwidth and ridge."""

import math
import warnings
from dataclasses import replace

import numpy as np
from torch import Tensor

from gramlab.kernels.functions import Kernel
from gramlab.kernels.solve import SingularKernel, dual_left_out

SAMPLES = 250  # the samples by which bandwidth and ridge are chosen, at most
MONITORED = 500  # the largest number of samples whose leave-one-out errors judge an iterate
NEIGHBOURS = 500  # the largest number of samples whose neighbours decide whether single precision is safe
# in units of the largest distance from the mean; single precision does not tell the direction of nearer samples
NEAR = 0.003
BANDWIDTHS = (10.0, 3.0)  # in units of ``typical_size``
RIDGES = (1e-3, 3e-2, 1.0)


def suits_float32(kernel: Kernel, x: np.ndarray, y: np.ndarray, ridge: float) -> bool:
    """Return whether single precision is safe for a machine of these samples.

    All of these must hold:

    - The kernel is radial, so that its values are at most 1.
    - The ridge is above n eps. Below it the matrix counts as singular.
    - The columns of the inputs have comparable spreads. An update may find that a small column alone matters.
    - The inputs are not far from 0 beside their spread. Rounding would change the spread.
    - The squares of inputs and targets are within the range of numbers.
    - With Laplace's kernel no two samples are nearly equal. The slope of this kernel is the same however near they are,
      and single precision loses the direction between them.

    Parameters
    ----------
    kernel : Kernel
    x : ndarray of shape (n, d)
    y : ndarray of shape (n, c)
    ridge : float
        The smallest ridge that may be used.

    Returns
    -------
    bool

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(100, 3))
    >>> suits_float32(Kernel("laplace", 10.0), x, x[:, :1], 1e-3)
    True
    >>> suits_float32(Kernel("laplace", 10.0), x, x[:, :1], 0.0)
    False
    """
    if not kernel.radial or ridge < len(x) * np.finfo(np.float32).eps:
        return False
    spreads = np.ptp(x, axis=0)
    are_comparable = not spreads.any() or bool(spreads.max() <= 1e3 * spreads[spreads > 0].min())
    are_near_zero = not spreads.any() or bool(np.abs(x).max() <= 1e3 * spreads.max())
    are_in_range = all(peak == 0 or 1e-10 < peak < 1e10 for peak in (np.abs(x).max(), np.abs(y).max()))
    return are_comparable and are_near_zero and are_in_range and not (kernel.name == "laplace" and _has_near_pairs(x))


def _has_near_pairs(x: np.ndarray) -> bool:
    """Whether some of 500 samples, evenly spaced in their order, nearly equal another one without being equal to it.

    Nearly equal samples are less than 0.003 of the largest distance from the mean apart.
    """
    z = x.astype(float) - x.mean(0)
    squares = (z * z).sum(1)
    few = slice(None, None, -(-len(z) // NEIGHBOURS))
    distances = squares[few, None] + squares - 2 * z[few] @ z.T
    largest = squares.max()
    return bool(((distances > 1e-14 * x.shape[1] * largest) & (distances < NEAR**2 * largest)).any())


def typical_size(kernel: Kernel, x: Tensor, M: Tensor | None = None) -> float:
    """Return the unit of the automatic bandwidth: the root mean square of the kernel's distance under M.

    That is the root of the mean of (x − z)ᵀM(x − z) over pairs of samples, and of xᵀMx for an inner-product kernel;
    1 where it is zero or not finite. In this unit the bandwidth does not depend on the scale of M, nor on that of y.

    Parameters
    ----------
    kernel : Kernel
    x : Tensor of shape (n, d)
    M : Tensor of shape (d, d), optional

    Returns
    -------
    float

    Examples
    --------
    >>> import torch
    >>> x = torch.tensor([[0.0], [2.0]])
    >>> typical_size(Kernel("laplace"), x), typical_size(Kernel("laplace"), x, torch.tensor([[4.0]]))
    (1.4142..., 2.8284...)
    """
    z = (x - x.mean(0) if kernel.radial else x).double()
    zM = z if M is None else z @ M.double()
    square = (2 if kernel.radial else 1) * float((zM * z).sum()) / len(z)
    return math.sqrt(square) if 0 < square < float("inf") else 1.0


def choose(kernel: Kernel, x: Tensor, y: Tensor, bandwidth: float | str, ridge: float | str) -> tuple[Kernel, float]:
    """Return the kernel, with its bandwidth, and the ridge that have the least leave-one-out error at M = I.

    Parameters
    ----------
    kernel : Kernel
        Its bandwidth is not used.
    x : Tensor of shape (n, d)
        Samples, of which the last 250 are used.
    y : Tensor of shape (n, c)
    bandwidth, ridge : float or "auto"
        A number is kept; "auto" is chosen among BANDWIDTHS, in units of ``typical_size``, and RIDGES.

    Returns
    -------
    kernel : Kernel
    ridge : float

    Raises
    ------
    ArithmeticError
        If a kernel matrix is zero or not finite.

    Examples
    --------
    >>> import torch
    >>> x = torch.linspace(-3, 3, 61, dtype=torch.float64)[:, None]
    >>> kernel, ridge = choose(Kernel("gaussian"), x, x.sin(), "auto", "auto")
    >>> round(kernel.bandwidth, 2), ridge
    (7.47, 0.001)
    """
    x, y = x[-SAMPLES:], y[-SAMPLES:]
    unit = typical_size(kernel, x)
    bandwidths = [factor * unit for factor in BANDWIDTHS] if isinstance(bandwidth, str) else [bandwidth]
    ridges = RIDGES if isinstance(ridge, str) else (ridge,)
    candidates = [replace(kernel, bandwidth=float(size)) for size in bandwidths]
    if len(candidates) == len(ridges) == 1:
        return candidates[0], float(ridges[0])
    errors = {}
    for candidate in candidates:
        K = candidate.matrix(x)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SingularKernel)  # the machine itself warns
            for candidate_ridge in ridges:
                left_out = dual_left_out(K.clone, y, candidate_ridge)[2]
                errors[candidate, float(candidate_ridge)] = float(left_out.square().mean())
    return min(errors, key=lambda pair: errors[pair])


def rescale(kernel: Kernel, x: Tensor, before: Tensor, M: Tensor) -> Kernel:
    """Return the kernel whose bandwidth under M is the same multiple of ``typical_size`` as it was under ``before``.

    Parameters
    ----------
    kernel : Kernel
    x : Tensor of shape (n, d)
        Samples, of which the last 250 are used.
    before, M : Tensors of shape (d, d)

    Returns
    -------
    Kernel

    Examples
    --------
    >>> import torch
    >>> x, M = torch.randn(20, 3), torch.eye(3)
    >>> round(rescale(Kernel("laplace", 10.0), x, M, 4 * M).bandwidth, 4)
    20.0
    """
    sizes = [typical_size(kernel, x[-SAMPLES:], features) for features in (before, M)]
    return replace(kernel, bandwidth=kernel.bandwidth * sizes[1] / sizes[0])
