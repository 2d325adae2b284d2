"""How alike two matrices are: the papers' two correlations, over all entries or over the diagonals."""

import math

import numpy as np
import torch
from torch import Tensor

from gramlab.measures.arrays import Array, array, float64
from gramlab.measures.undefined import Undefined


def cosine(a: Array, b: Array, *, diagonal: bool = False) -> float:
    """Cosine similarity tr(AᵀB) / (‖A‖_F ‖B‖_F), the ρ of paper B (Ansatz 1), in [-1, 1].

    ``a`` and ``b`` are arrays of one shape. With ``diagonal`` only their diagonals are compared.
    Raises Undefined if one of them is zero, ValueError on different shapes or non-finite entries.
    """
    u, v = _pair(a, b, diagonal)
    _, _, uu, vv, uv = _sums(u, v)
    if not _in_range(uu, vv):
        u, v = _scaled(*_pair(float64(a, "a"), float64(b, "b"), diagonal))
        _, _, uu, vv, uv = _sums(u, v)
    return _ratio(uu, vv, uv)


def pearson(a: Array, b: Array, *, diagonal: bool = False) -> float:
    """Pearson correlation of the entries (papers A, C: Table 2), in [-1, 1]; the cosine after centring.

    Two psd matrices are never uncorrelated under the cosine; centring takes their common mean away.
    Raises Undefined if one of them is constant, ValueError on different shapes or non-finite entries.
    """
    u, v = _pair(a, b, diagonal)
    if u.numel() == 0:
        raise Undefined("a Pearson correlation of nothing is undefined")
    uu, vv, uv = _centred(u, v)
    if not _in_range(uu, vv):
        u, v = _scaled(*_pair(float64(a, "a"), float64(b, "b"), diagonal))
        uu, vv, uv = _centred(u, v)
    # spreads down here may be rounding alone, of an array that is constant
    for w, square in ((u, uu), (v, vv)):
        if square <= 1e-20 * w.numel() * float(w.abs().max()) ** 2 and bool((w == w[0]).all()):
            raise Undefined("a Pearson correlation with a constant array is undefined: its spread is zero")
    return _ratio(uu, vv, uv)


def cosine_null(a: Array, b: Array) -> tuple[float, float]:
    """Mean and standard deviation of ``cosine(a, Q b Qᵀ)`` over uniformly random orthogonal Q.

    What the spectra of two symmetric (d, d) matrices alone make of their cosine: two psd matrices are never
    uncorrelated. In closed form: tr(A Q B Qᵀ) has the mean tr A tr B / d and, since the symmetric matrices of trace
    0 are an irreducible representation of O(d), the variance ‖A − tr A/d‖² ‖B − tr B/d‖² / ((d − 1)(d + 2)/2).
    Raises Undefined if one of them is zero, ValueError if one is not symmetric.
    """
    A = float64(a, "a")
    B = float64(b, "b").to(A.device)
    for matrix in (A, B):
        square = matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1]
        if not square or float((matrix - matrix.mT).norm()) > 1e-6 * float(matrix.norm()):
            raise ValueError(f"symmetric matrices are needed, not an array of shape {tuple(matrix.shape)}")
    if A.shape != B.shape:
        raise ValueError(f"two matrices of one shape are needed, not {tuple(A.shape)} and {tuple(B.shape)}")
    d = len(A)
    A, B = (matrix.reshape(-1) for matrix in _scaled(A, B))
    identity = torch.eye(d, dtype=torch.float64, device=A.device).reshape(-1)
    a_mean, b_mean = (float(matrix @ identity) / d for matrix in (A, B))
    size = float(A.norm() * B.norm())
    free = (d - 1) * (d + 2) / 2
    around = float((A - a_mean * identity).norm() * (B - b_mean * identity).norm())
    return a_mean * b_mean * d / size, around / size / math.sqrt(free) if free else 0.0


def random_eigenvectors(a: Array, random: np.random.Generator) -> Tensor:
    """Q a Qᵀ (d, d) with a uniformly random orthogonal Q: the spectrum of ``a``, eigenvectors that know nothing of it.

    Paper B replaces the tangent kernel K by such a matrix (Figures 1 and 9).
    """
    A = float64(a, "a")
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise ValueError(f"a symmetric matrix is needed, not an array of shape {tuple(A.shape)}")
    Q, R = torch.linalg.qr(torch.from_numpy(random.normal(size=A.shape)).to(A.device))
    Q = Q * R.diagonal().sign()  # without it Q would not be uniform over orthogonal matrices
    return Q @ A @ Q.mT


def _pair(a: Array, b: Array, diagonal: bool) -> tuple[Tensor, Tensor]:
    u, v = array(a, "a"), array(b, "b")
    if u.shape != v.shape:
        raise ValueError(f"two arrays of one shape are needed, not {tuple(u.shape)} and {tuple(v.shape)}")
    if diagonal:
        if u.ndim < 2:
            raise ValueError(f"an array of shape {tuple(u.shape)} has no diagonal")
        u, v = u.diagonal(dim1=-2, dim2=-1), v.diagonal(dim1=-2, dim2=-1)
    return u.reshape(-1).double(), v.reshape(-1).to(u.device).double()


def _centred(u: Tensor, v: Tensor) -> tuple[float, float, float]:
    """Σ of squares and products about the means; what is far from zero for its spread is shifted there first."""
    n, (su, sv, *about_zero) = u.numel(), _sums(u, v)
    uu, vv, uv = _about_means(su, sv, about_zero, n)
    if uu < 1e-3 * about_zero[0] or vv < 1e-3 * about_zero[1]:
        u, v = u - su / n, v - sv / n
        su, sv, *about_zero = _sums(u, v)
        uu, vv, uv = _about_means(su, sv, about_zero, n)
    return uu, vv, uv


def _about_means(su: float, sv: float, about_zero: list[float], n: int) -> tuple[float, float, float]:
    uu, vv, uv = about_zero
    return uu - su * su / n, vv - sv * sv / n, uv - su * sv / n


def _sums(u: Tensor, v: Tensor) -> list[float]:
    """Σu, Σv, Σu², Σv², Σuv."""
    return torch.stack([u.sum(), v.sum(), u.dot(u), v.dot(v), u.dot(v)]).tolist()


def _in_range(uu: float, vv: float) -> bool:
    """Whether squares have neither overflowed nor lost digits to underflow."""
    return 1e-200 < uu < 1e300 and 1e-200 < vv < 1e300


def _scaled(u: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    """Both divided by their largest entries. Raises Undefined if one of them is zero."""
    peaks = [float(w.abs().max()) if w.numel() else 0.0 for w in (u, v)]
    if min(peaks) == 0.0:
        raise Undefined(f"the correlation is undefined: the {'first' if peaks[0] == 0.0 else 'second'} array is zero")
    return u / peaks[0], v / peaks[1]


def _ratio(uu: float, vv: float, uv: float) -> float:
    if uu <= 0.0 or vv <= 0.0:
        raise Undefined(f"the correlation is undefined: the {'first' if uu <= 0.0 else 'second'} array has no spread")
    return max(-1.0, min(1.0, uv / math.sqrt(uu) / math.sqrt(vv)))
