"""How alike two matrices are: the papers' two correlations, over all entries or over the diagonals."""

import torch
from torch import Tensor

from gramlab.measures.arrays import Array, float64
from gramlab.measures.undefined import Undefined


def cosine(a: Array, b: Array, *, diagonal: bool = False) -> float:
    """Cosine similarity tr(AᵀB) / (‖A‖_F ‖B‖_F), the ρ of paper B (Ansatz 1), in [-1, 1].

    ``a`` and ``b`` are arrays of one shape. With ``diagonal`` only their diagonals are compared.
    Raises Undefined if one of them is zero, ValueError on different shapes or non-finite entries.
    """
    u, v = _pair(a, b, diagonal)
    return _cosine(u, v, "zero")


def pearson(a: Array, b: Array, *, diagonal: bool = False) -> float:
    """Pearson correlation of the entries (papers A, C: Table 2), in [-1, 1]; the cosine after centring.

    Two psd matrices are never uncorrelated under the cosine; centring takes their common mean away.
    Raises Undefined if one of them is constant, ValueError on different shapes or non-finite entries.
    """
    u, v = _pair(a, b, diagonal)
    if u.numel() == 0 or (u == u[0]).all() or (v == v[0]).all():
        raise Undefined("a Pearson correlation with a constant array is undefined (its spread is zero)")
    return _cosine(u - u.mean(), v - v.mean(), "constant up to round-off")


def _pair(a: Array, b: Array, diagonal: bool) -> tuple[Tensor, Tensor]:
    u, v = float64(a, "a"), float64(b, "b").to(getattr(a, "device", "cpu"))
    if u.shape != v.shape:
        raise ValueError(f"two arrays of one shape are needed, not {tuple(u.shape)} and {tuple(v.shape)}")
    if diagonal:
        if u.ndim < 2:
            raise ValueError(f"an array of shape {tuple(u.shape)} has no diagonal")
        u, v = u.diagonal(dim1=-2, dim2=-1), v.diagonal(dim1=-2, dim2=-1)
    return u.reshape(-1), v.reshape(-1)


def _cosine(u: Tensor, v: Tensor, why: str) -> float:
    # scaled by the largest entry first, so that squares neither overflow nor vanish
    peaks = [float(w.abs().max()) if w.numel() else 0.0 for w in (u, v)]
    if min(peaks) == 0.0:
        raise Undefined(f"the correlation is undefined: the {'first' if peaks[0] == 0 else 'second'} array is {why}")
    u, v = u / peaks[0], v / peaks[1]
    value = torch.dot(u, v) / (u.norm() * v.norm())
    return float(value.clamp(-1.0, 1.0))
