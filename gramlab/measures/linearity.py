"""Target linearity, its surrogate, and the K-norm (paper A, Section 4)."""

import math
from collections.abc import Iterator
from numbers import Real

import torch
from torch import Tensor

from gramlab.measures.arrays import Array, finite, real
from gramlab.measures.products import add_symmetric, mirrored
from gramlab.measures.undefined import Undefined

_ROWS = 512  # rows taken in at once; a block of them stays in cache
_EPS = torch.finfo(torch.float64).eps
_LEAST = 1e-150  # squares of less, and of more than its inverse, leave the range of float64


def target_linearity(H: Array, Y: Array, ridge: float = 0.0, center: bool = False) -> float:
    """R² of the ridge regression of ``Y`` on ``H``, without an intercept: paper A, Definition 2.

        T_λ(H, Y) = 1 − ‖Y − Ŷ_λ‖² / ‖Y − Ȳ‖²,    Ŷ_λ = H (HᵀH + λI)⁻¹ HᵀY

    ``H`` is (n, d) or (n, ...), flattened; ``Y`` is (n,) or (n, c), with Ȳ its column means and Frobenius
    norms. As printed, neither is centred in the fit, so a target with a mean can give a value below 0;
    ``center`` takes the column means off both (a fit with an intercept), and then T_0 lies in [0, 1].

    In float64, block by block of rows, whatever the dtype: no n × n matrix, no copy of H. Features whose scaled
    Gram matrix has a condition number below 1e11 are solved by its Cholesky factor, from 1e4 on with one step of
    iterative refinement by the residual of the data; other features by the QR of [H Y] and the singular values of its
    H part, where those up to max(n, d)·eps of the largest count as zero (the minimum-norm fit of numpy's lstsq).
    So the error grows with the condition number of H, not with its square as in the printed inverse, and repeated,
    dead, or more than n features are allowed.

    Raises Undefined if the target is constant, or if sums of ``H`` leave float64's range; ValueError on wrong shapes,
    a negative ridge, non-finite data.
    """
    if not isinstance(ridge, Real) or not 0.0 <= ridge < float("inf"):
        raise ValueError(f"ridge must be a finite number of at least 0, not {ridge}")
    X = _rows(H, "H")
    T, n = _in_range(_rows(Y, "Y").to(X.device).double()), len(X)
    if len(T) != n:
        raise ValueError(f"H has {n} rows and Y has {len(T)}")
    spread = T - T.mean(0)
    total = float(spread.square().sum())
    # a constant column's computed mean is off by rounding; what is left is then no spread
    if total <= (n * _EPS) ** 2 * float(T.square().sum()):
        raise Undefined("target linearity is undefined: every row of Y is the same, so Y has no spread to explain")
    mean = None
    if center:
        mean, T = torch.stack([block.sum(0) for _, block in _blocks(X, None)]).sum(0) / n, spread
    residual = _by_gram(X, T, mean, ridge)
    if residual is None:
        try:
            residual = _by_qr(X, T, mean, ridge)
        except torch.linalg.LinAlgError:
            residual = float("nan")
    return _in_float64(1.0 - residual / total, "target linearity", "H")


def _by_gram(X: Tensor, T: Tensor, mean: Tensor | None, ridge: float) -> float | None:
    """‖T − X (XᵀX + λI)⁻¹ XᵀT‖², or None if the features are too ill-conditioned for their Gram matrix."""
    n, d = X.shape
    if n < d or d == 0:
        return None
    stacked = X.new_zeros(1, d, d, dtype=torch.float64)
    right = X.new_zeros(d, T.shape[1], dtype=torch.float64)
    for rows, block in _blocks(X, mean):
        add_symmetric(stacked, block.unsqueeze(0), block.unsqueeze(0))
        right.addmm_(block.mT, T[rows])
    G = mirrored(stacked)[0]
    scale = G.diagonal().sqrt()
    if not bool(((scale > _LEAST) & (scale < 1 / _LEAST)).all()):  # dead, or out of range
        return None
    A = (G + ridge * torch.eye(d, dtype=G.dtype, device=G.device)) / scale / scale.unsqueeze(1)
    factor, failed = torch.linalg.cholesky_ex(A)
    if bool(failed):
        return None
    inverse = torch.cholesky_inverse(factor)
    condition = float(torch.linalg.matrix_norm(A, 1) * torch.linalg.matrix_norm(inverse, 1))
    if not condition < 1e11:
        return None
    inverse = inverse / scale / scale.unsqueeze(1)
    if not finite(inverse):
        return None
    beta = inverse @ right
    if condition < 1e4:  # what the Gram matrix rounded away cannot matter
        return float(T.square().sum()) - 2 * float((beta * right).sum()) + float((beta * (G @ beta)).sum())
    # once more with the residual of the data themselves
    square, gradient = 0.0, torch.zeros_like(right)
    for rows, block in _blocks(X, mean):
        left = T[rows] - block @ beta
        square += float(left.square().sum())
        gradient.addmm_(block.mT, left)
    step = inverse @ (gradient - ridge * beta)
    return square - 2 * float((step * gradient).sum()) + float((step * (G @ step)).sum())


def _by_qr(X: Tensor, T: Tensor, mean: Tensor | None, ridge: float) -> float:
    """The same for any features: QᵀT in and out of their span, and their singular values."""
    n, d = X.shape
    width = d + T.shape[1]
    R = T.new_zeros(0, width)
    for rows, block in _blocks(X, mean, 2 * _ROWS):
        R = torch.linalg.qr(torch.cat([R, torch.cat([block, T[rows]], 1)]), mode="r").R
    R = torch.cat([R, R.new_zeros(width - R.shape[0], width)])
    U, sigma, _ = torch.linalg.svd(R[:d, :d])
    kept = sigma > max(n, d) * _EPS * sigma.max() if d else sigma > 0
    # what a ridge leaves of the target along each direction; all of it where the features have none
    left = torch.where(kept, ridge / (sigma.square() + ridge).clamp_min(torch.finfo(torch.float64).tiny), 1.0)
    inside = (U.mT @ R[:d, d:]) * left.unsqueeze(1)
    return float(inside.square().sum()) + float(R[d:, d:].square().sum())


def surrogate(H: Array, W: Array, Y: Array) -> float:
    """The surrogate S(G_id) = tr(Yᵀ H WᵀW Hᵀ Y) of paper A, Section 4.1, with G_id = H WᵀW Hᵀ.

    ``H`` is (n, d), ``W`` is (k, d), ``Y`` is (n,) or (n, c). Computed as ‖W HᵀY‖²_F in O(nd): the n × n
    matrix is never formed. Pass a nonlinear layer's outputs with ``W = torch.eye(d)`` for S(G_σ).
    Centre ``Y`` yourself if you want the paper's centred labels. Raises Undefined where it leaves float64's range.
    """
    X = _rows(H, "H")
    T, V = _rows(Y, "Y").to(X.device), real(W, "W").to(X.device).double()
    if T.shape[0] != X.shape[0]:
        raise ValueError(f"H has {X.shape[0]} rows and Y has {T.shape[0]}")
    V = V.reshape(V.shape[0], -1)
    if V.shape[1] != X.shape[1]:
        raise ValueError(f"W takes {V.shape[1]} features and H has {X.shape[1]}")
    return _in_float64(float((V @ _across(X, T)).square().sum()), "the surrogate", "H, W or Y")


def k_norm(H: Array, V: Array) -> float:
    """‖V‖_K = sqrt(tr(VᵀKV)) with K = H Hᵀ, the semi-norm of paper A, Section 4.2: ‖HᵀV‖_F.

    ``H`` is (n, d), ``V`` is (n,) or (n, c). It is zero on what no linear function of the features sees.
    Raises Undefined where it leaves float64's range.
    """
    X = _rows(H, "H")
    T = _rows(V, "V").to(X.device)
    if T.shape[0] != X.shape[0]:
        raise ValueError(f"H has {X.shape[0]} rows and V has {T.shape[0]}")
    return _in_float64(float(_across(X, T).norm()), "the K-norm", "H or V")


def _in_float64(value: float, what: str, of: str) -> float:
    if not math.isfinite(value):
        raise Undefined(f"{what} is undefined: it leaves float64's range; scale {of}")
    return value


def _in_range(T: Tensor) -> Tensor:
    """A target divided by its largest entry where squares leave float64's range: the fit is as good in any unit."""
    peak = float(T.abs().max()) if T.numel() else 0.0
    return T if peak == 0.0 or 1e-140 < peak < 1e140 else T / peak


def _rows(a: Array, name: str) -> Tensor:
    tensor = real(a, name)
    if tensor.ndim == 0 or tensor.shape[0] == 0:
        raise ValueError(f"{name} has no rows: its shape is {tuple(tensor.shape)}")
    return tensor.reshape(tensor.shape[0], -1)


def _blocks(X: Tensor, mean: Tensor | None, size: int = _ROWS) -> Iterator[tuple[slice, Tensor]]:
    """Blocks of rows in float64, centred if there is a mean."""
    for start in range(0, X.shape[0], size):
        rows = slice(start, start + size)
        block = X[rows].double()
        yield rows, block if mean is None else block - mean


def _across(X: Tensor, T: Tensor) -> Tensor:
    """XᵀT (d, c) in float64."""
    total = X.new_zeros(X.shape[1], T.shape[1], dtype=torch.float64)
    for rows, block in _blocks(X, None):
        total.addmm_(block.mT, T[rows].double())
    return total
