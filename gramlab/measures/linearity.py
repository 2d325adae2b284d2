"""Target linearity, its surrogate, and the K-norm (paper A, Section 4)."""

import torch
from torch import Tensor

from gramlab.measures.arrays import Array, float64
from gramlab.measures.undefined import Undefined

_ROWS = 8192  # rows that one QR step takes in; a block of them stays in cache


def target_linearity(H: Array, Y: Array, ridge: float = 0.0, center: bool = False) -> float:
    """R² of the ridge regression of ``Y`` on ``H``, without an intercept: paper A, Definition 2.

        T_λ(H, Y) = 1 − ‖Y − Ŷ_λ‖² / ‖Y − Ȳ‖²,    Ŷ_λ = H (HᵀH + λI)⁻¹ HᵀY

    ``H`` is (n, d) or (n, ...), flattened; ``Y`` is (n,) or (n, c), with Ȳ its column means and Frobenius
    norms. As printed, neither is centred in the fit, so a target with a mean can give a value below 0;
    ``center`` takes the column means off both (a fit with an intercept), and then T_0 lies in [0, 1].

    Solved by the R of a blocked QR of [H Y] and the singular values of its H part: the error grows with the
    condition number of H, not with its square as in the printed inverse, and no n × n matrix is formed.
    Singular values up to max(n, d)·eps of the largest count as zero (minimum-norm fit, as numpy's lstsq),
    so repeated, dead or more than n features are allowed.

    Raises Undefined if the target is constant, ValueError on wrong shapes, a negative ridge, non-finite data.
    """
    if not ridge >= 0.0 or ridge == float("inf"):
        raise ValueError(f"ridge must be a finite number of at least 0, not {ridge}")
    X, T = _rows(H, "H"), _rows(Y, "Y")
    n, d = X.shape
    if T.shape[0] != n:
        raise ValueError(f"H has {n} rows and Y has {T.shape[0]}")
    spread = T - T.mean(0)
    total = float(spread.square().sum())
    # a constant column's computed mean is off by rounding; what is left is then no spread
    if total <= (n * torch.finfo(torch.float64).eps) ** 2 * float(T.square().sum()):
        raise Undefined("target linearity is undefined: every row of Y is the same, so Y has no spread to explain")
    if center:
        X, T = X - X.mean(0), spread
    R = _triangle(X, T)
    inside, outside = R[:d, d:], R[d:, d:]  # QᵀY in and out of the span of H
    U, sigma, _ = torch.linalg.svd(R[:d, :d])
    kept = sigma > max(n, d) * torch.finfo(torch.float64).eps * sigma.max() if d else sigma > 0
    left = torch.where(kept, ridge / (sigma.square() + ridge).clamp_min(torch.finfo(torch.float64).tiny), 1.0)
    residual = float(((U.mT @ inside)[: len(left)] * left.unsqueeze(1)).square().sum())
    # if n < d, R has fewer rows than d and U is square of that size: nothing is left over
    return 1.0 - (residual + float(outside.square().sum())) / total


def surrogate(H: Array, W: Array, Y: Array) -> float:
    """The surrogate S(G_id) = tr(Yᵀ H WᵀW Hᵀ Y) of paper A, Section 4.1, with G_id = H WᵀW Hᵀ.

    ``H`` is (n, d), ``W`` is (k, d), ``Y`` is (n,) or (n, c). Computed as ‖W HᵀY‖²_F in O(nd): the n × n
    matrix is never formed. Pass a nonlinear layer's outputs with ``W = torch.eye(d)`` for S(G_σ).
    Centre ``Y`` yourself if you want the paper's centred labels.
    """
    X, T, V = _rows(H, "H"), _rows(Y, "Y"), float64(W, "W")
    if T.shape[0] != X.shape[0]:
        raise ValueError(f"H has {X.shape[0]} rows and Y has {T.shape[0]}")
    V = V.reshape(V.shape[0], -1)
    if V.shape[1] != X.shape[1]:
        raise ValueError(f"W takes {V.shape[1]} features and H has {X.shape[1]}")
    return float((V.to(X.device) @ (X.mT @ T)).square().sum())


def k_norm(H: Array, V: Array) -> float:
    """‖V‖_K = sqrt(tr(VᵀKV)) with K = H Hᵀ, the semi-norm of paper A, Section 4.2: ‖HᵀV‖_F.

    ``H`` is (n, d), ``V`` is (n,) or (n, c). It is zero on what no linear function of the features sees.
    """
    X, T = _rows(H, "H"), _rows(V, "V")
    if T.shape[0] != X.shape[0]:
        raise ValueError(f"H has {X.shape[0]} rows and V has {T.shape[0]}")
    return float((X.mT @ T).norm())


def _rows(a: Array, name: str) -> Tensor:
    tensor = float64(a, name)
    if tensor.ndim == 0 or tensor.shape[0] == 0:
        raise ValueError(f"{name} has no rows: its shape is {tuple(tensor.shape)}")
    return tensor.reshape(tensor.shape[0], -1)


def _triangle(X: Tensor, T: Tensor) -> Tensor:
    """The R (d + c, d + c) of the QR of [X T], block of rows by block of rows; zero rows below if n is small."""
    width = X.shape[1] + T.shape[1]
    R = X.new_zeros(0, width)
    for start in range(0, X.shape[0], _ROWS):
        block = torch.cat([X[start : start + _ROWS], T[start : start + _ROWS]], 1)
        R = torch.linalg.qr(torch.cat([R, block]), mode="r").R
    return torch.cat([R, R.new_zeros(width - R.shape[0], width)])
