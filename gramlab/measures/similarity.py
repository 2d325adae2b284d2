"""Similarity of two matrices: the papers' two correlations, over all entries or over the diagonals."""

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from gramlab.measures.arrays import Array, as_float64, as_real
from gramlab.measures.powers import ROUND_OFF
from gramlab.measures.undefined import Undefined


def cosine(a: Array, b: Array, *, diagonal: bool = False) -> float:
    """Cosine similarity of two arrays, the ρ of papers B (Ansatz 1) and D (Ansatz 3.2).

        ρ(A, B) = tr(AᵀB) / (‖A‖_F ‖B‖_F)

    Parameters
    ----------
    a, b : array
        Of the same shape.
    diagonal : bool, default False
        Whether to compare only the diagonals.

    Returns
    -------
    float
        In [-1, 1].

    Raises
    ------
    Undefined
        If one of them is zero.
    ValueError
        If the shapes differ or an entry is not finite.

    Examples
    --------
    >>> import gramlab
    >>> gramlab.cosine([[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 0.0]])
    0.7071067811865475
    """
    u, v = _pair(a, b, diagonal)
    _, _, uu, vv, uv = _sums(u, v)
    if not _in_range(uu, vv):
        u, v = divided_by_peaks(*_pair(as_float64(a, "a"), as_float64(b, "b"), diagonal))
        _, _, uu, vv, uv = _sums(u, v)
    return ratio(uu, vv, uv)


def pearson(a: Array, b: Array, *, diagonal: bool = False) -> float:
    """Pearson correlation of the entries of two arrays, as papers A (Figure 7), C (Table 2) and D report it.

        ρ̄(A, B) = ρ(A − m(A), B − m(B)),    m the mean of the entries (paper B, Appendix I)

    Two positive semi-definite matrices never have a negative cosine. Subtracting the means removes what constant
    matrices share, but not the part along the identity, which ``cosine_null`` accounts for.

    Parameters
    ----------
    a, b : array
        Of the same shape.
    diagonal : bool, default False
        Whether to compare only the diagonals.

    Returns
    -------
    float
        In [-1, 1].

    Raises
    ------
    Undefined
        If one of them is constant.
    ValueError
        If the shapes differ or an entry is not finite.

    Examples
    --------
    >>> import gramlab
    >>> round(gramlab.pearson([1.0, 2.0, 3.0], [1.0, 3.0, 2.0]), 12)
    0.5
    """
    u, v = _pair(a, b, diagonal)
    if u.numel() == 0:
        raise Undefined("the Pearson correlation of empty arrays is undefined")
    uu, vv, uv, *uncentred = _centred_sums(u, v)
    if not _in_range(uu, vv):
        u, v = divided_by_peaks(*_pair(as_float64(a, "a"), as_float64(b, "b"), diagonal), exactly=True)
        uu, vv, uv, *uncentred = _centred_sums(u, v)
    # so small a spread may be rounding alone, of an array that is constant
    for w, square, bound in zip((u, v), (uu, vv), uncentred, strict=True):
        small = 1e-20 * w.numel()
        if square > 2 * small * bound:  # no entry's square exceeds the sum of squares, so none has to be looked at
            continue
        if square <= small * float(w.abs().max()) ** 2 and bool((w == w[0]).all()):
            raise Undefined("a Pearson correlation with a constant array is undefined: its spread is zero")
    return ratio(uu, vv, uv)


def cosine_null(a: Array, b: Array) -> tuple[float, float]:
    """Mean and standard deviation of ``cosine(a, Q b Qᵀ)`` over uniformly random orthogonal Q.

    It is the cosine that two symmetric matrices have from their spectra alone. In closed form tr(A Q B Qᵀ) has

        mean tr A tr B / d,    variance ‖A − (tr A/d) I‖² ‖B − (tr B/d) I‖² / ((d − 1)(d + 2)/2),

    since the symmetric matrices of trace 0 are an irreducible representation of O(d).

    Parameters
    ----------
    a, b : array of shape (d, d)
        Symmetric.

    Returns
    -------
    mean : float
    deviation : float

    Raises
    ------
    Undefined
        If one of them is zero.
    ValueError
        If one of them is not symmetric, or the shapes differ.

    Examples
    --------
    >>> import gramlab
    >>> mean, deviation = gramlab.cosine_null([[1.0, 0.0], [0.0, 0.0]], [[1.0, 0.0], [0.0, 0.0]])
    >>> round(mean, 12), round(deviation, 4)
    (0.5, 0.3536)
    """
    A = _symmetric(a, "a")
    B = _symmetric(b, "b").to(A.device)
    if A.shape != B.shape:
        raise ValueError(f"cosine_null needs matrices of one shape, not {tuple(A.shape)} and {tuple(B.shape)}")
    d = len(A)
    A, B = (matrix.reshape(-1) for matrix in divided_by_peaks(A, B))
    identity = torch.eye(d, dtype=torch.float64, device=A.device).reshape(-1)
    a_mean, b_mean = (float(matrix @ identity) / d for matrix in (A, B))
    del identity  # a (d, d) matrix is large
    norms = float(A.norm() * B.norm())
    for matrix, mean in ((A, a_mean), (B, b_mean)):  # in place: these are copies, divided by their peaks
        matrix.view(d, d).diagonal().sub_(mean)
    traceless = float(A.norm() * B.norm())
    return null_of_parts(d, a_mean * b_mean * d, traceless, norms)


def null_of_parts(d: int, multiples: float, traceless: float, norms: float) -> tuple[float, float]:
    """Return ``cosine_null`` from the parts of two symmetric d × d matrices: multiples of I, and the rest of trace 0.

    Parameters
    ----------
    d : int
    multiples : float
        The inner product of the multiples of I, tr A tr B / d.
    traceless : float
        The product of the norms of the rest, ‖A − (tr A/d) I‖ ‖B − (tr B/d) I‖.
    norms : float
        What both are divided by, ‖A‖ ‖B‖.

    Returns
    -------
    mean : float
    deviation : float

    Examples
    --------
    >>> null_of_parts(2, 0.5, 0.5, 1.0)
    (0.5, 0.3535...)
    """
    dimension = (d - 1) * (d + 2) / 2  # of the symmetric matrices of trace 0
    return multiples / norms, traceless / norms / math.sqrt(dimension) if dimension else 0.0


def null_of_traces(d: int, traces: Sequence[float], squares: Sequence[float], norms: float) -> tuple[float, float]:
    """Return ``cosine_null`` from the traces and the sums of squares of two symmetric d × d matrices.

    Parameters
    ----------
    d : int
    traces, squares : two floats each
        tr A, tr B, and ‖A‖², ‖B‖².
    norms : float
        What the product is divided by, ‖A‖ ‖B‖.

    Returns
    -------
    mean : float
    deviation : float

    Raises
    ------
    Undefined
        If ``norms`` is zero.

    Examples
    --------
    >>> null_of_traces(2, (1.0, 1.0), (1.0, 1.0), 1.0)
    (0.5, 0.3535...)
    """
    if not norms > 0.0:
        raise Undefined("the correlation is undefined: one of the arrays is zero")
    # a trace's part may exceed the whole by rounding only
    traceless = [math.sqrt(max(square - t**2 / d, 0.0)) for t, square in zip(traces, squares, strict=True)]
    return null_of_parts(d, math.prod(traces) / d, math.prod(traceless), norms)


def random_eigenvectors(a: Array, random: np.random.Generator) -> Tensor:
    """Return Q a Qᵀ with a uniformly random orthogonal Q: the spectrum of ``a`` with random eigenvectors.

    Paper B replaces the tangent kernel K by such a matrix (Figures 1 and 9).

    Parameters
    ----------
    a : array of shape (d, d)
        Symmetric.
    random : numpy.random.Generator
        Draws Q.

    Returns
    -------
    Tensor of shape (d, d)
        In float64.

    Raises
    ------
    ValueError
        If ``a`` is not square or not symmetric, an entry is not finite, or ``random`` is no generator.

    Examples
    --------
    >>> import numpy as np, torch, gramlab
    >>> rotated = gramlab.random_eigenvectors(np.diag([1.0, 2.0, 3.0]), np.random.default_rng(0))
    >>> torch.linalg.eigvalsh(rotated).round(decimals=6)
    tensor([1., 2., 3.], dtype=torch.float64)
    """
    A = _symmetric(a, "a")
    if not isinstance(random, np.random.Generator):
        raise ValueError(f"random must be a numpy generator, np.random.default_rng(seed), not {random!r}")
    Q, R = torch.linalg.qr(torch.from_numpy(random.normal(size=A.shape)).to(A.device))
    Q = Q * R.diagonal().sign()  # without it Q would not be uniform over orthogonal matrices
    return Q @ A @ Q.mT


def _symmetric(a: Array, name: str) -> Tensor:
    """Return the matrix in float64. Raises ValueError, with its name, unless it is symmetric up to round-off."""
    A = as_float64(a, name)
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise ValueError(f"{name} must be a symmetric matrix (d, d), not an array of shape {tuple(A.shape)}")
    difference, size = float((A - A.mT).norm()), float(A.norm())
    if difference > ROUND_OFF * size:
        raise ValueError(f"{name} is not symmetric: {name} - {name}.T has {difference / size:.2g} of its norm")
    return A


def _pair(a: Array, b: Array, diagonal: bool) -> tuple[Tensor, Tensor]:
    u, v = as_real(a, "a"), as_real(b, "b")
    if u.shape != v.shape:
        raise ValueError(f"a and b must have the same shape, not {tuple(u.shape)} and {tuple(v.shape)}")
    if diagonal:
        if u.ndim < 2:
            raise ValueError(f"an array of shape {tuple(u.shape)} has no diagonal")
        u, v = u.diagonal(dim1=-2, dim2=-1), v.diagonal(dim1=-2, dim2=-1)
    return u.reshape(-1).double(), v.reshape(-1).to(u.device).double()


def _centred_sums(u: Tensor, v: Tensor) -> tuple[float, float, float, float, float]:
    """Σu², Σv² and Σuv around the means, then Σu² and Σv² around 0.

    Arrays far from zero for their spread are shifted first.
    """
    n, (su, sv, uu, vv, uv) = u.numel(), _sums(u, v)
    uncentred = uu, vv
    if uu - su * su / n < 1e-3 * uu or vv - sv * sv / n < 1e-3 * vv:
        u, v = u - su / n, v - sv / n
        su, sv, uu, vv, uv = _sums(u, v)
    return uu - su * su / n, vv - sv * sv / n, uv - su * sv / n, *uncentred


def _sums(u: Tensor, v: Tensor) -> list[float]:
    """Σu, Σv, Σu², Σv², Σuv."""
    return torch.stack([u.sum(), v.sum(), u.dot(u), v.dot(v), u.dot(v)]).tolist()


def _in_range(uu: float, vv: float) -> bool:
    """Whether squares have neither overflowed nor lost digits to underflow."""
    return 1e-200 < uu < 1e300 and 1e-200 < vv < 1e300


def divided_by_peaks(u: Tensor, v: Tensor, *, exactly: bool = False) -> tuple[Tensor, Tensor]:
    """Return both divided by their largest entries. Raises Undefined if one of them is zero.

    With ``exactly`` the divisors are the next smaller powers of 2: rounding would change a spread that is small beside
    the mean.
    """
    peaks = [float(w.abs().max()) if w.numel() else 0.0 for w in (u, v)]
    if min(peaks) == 0.0:
        raise Undefined(f"the correlation is undefined: the {'first' if peaks[0] == 0.0 else 'second'} array is zero")
    if exactly:
        peaks = [math.ldexp(1.0, math.frexp(peak)[1] - 1) for peak in peaks]
    return u / peaks[0], v / peaks[1]


def ratio(uu: float, vv: float, uv: float) -> float:
    """Return uv / √(uu vv), within [-1, 1]. Raises Undefined if ``uu`` or ``vv`` is not positive."""
    if uu <= 0.0 or vv <= 0.0:
        raise Undefined(f"the correlation is undefined: the {'first' if uu <= 0.0 else 'second'} array has no spread")
    return max(-1.0, min(1.0, uv / math.sqrt(uu) / math.sqrt(vv)))
