"""Target linearity, its surrogate, and the K-norm (paper A, Section 4)."""

import math

import torch
from torch import Tensor

from gramlab.arguments import Check
from gramlab.measures.arrays import Array, as_finite, as_number
from gramlab.measures.ridge_residual import (
    SMALLEST,
    residual_by_gram,
    residual_by_qr,
    residual_by_single_precision,
    row_blocks,
    without_zero_columns,
)
from gramlab.measures.undefined import Undefined

_EPS = torch.finfo(torch.float64).eps


def target_linearity(H: Array, Y: Array, ridge: float = 0.0, center: bool = False) -> float:
    """R² of the ridge regression of ``Y`` on ``H`` without an intercept (paper A, Definition 2).

        T_λ(H, Y) = 1 − ‖Y − Ŷ_λ‖² / ‖Y − Ȳ‖²,    Ŷ_λ = H (HᵀH + λI)⁻¹ HᵀY

    Ȳ are the column means of Y; norms are Frobenius norms. As in the paper neither H nor Y is centred in the fit, so
    that a target with a mean can give a value below 0.

    Parameters
    ----------
    H : array of shape (n, d) or (n, ...)
        Features; further axes are flattened.
    Y : array of shape (n,) or (n, c)
        Targets. Integers are refused unless they are one-hot rows (n, c) of 0 and 1 or of -1 and 1, since they may be
        the names of classes, (n,) of samples or (n, T) of tokens: pass one-hot rows, or floats.
    ridge : float, default 0.0
        λ ≥ 0. With 0 the fit is ordinary least squares.
    center : bool, default False
        Whether to subtract the column means from both, which is a fit with an intercept. T_0 then lies in [0, 1].

    Returns
    -------
    float
        At most 1.

    Raises
    ------
    Undefined
        If the target is constant, or sums of ``H`` leave float64's range.
    ValueError
        On wrong shapes, a negative ridge, and non-finite data.

    Notes
    -----
    The result has float64's accuracy for every dtype. H is read in blocks of rows; no n × n matrix is made, and no copy
    of H unless it has columns of zeros (with ``center`` of zeros after it): these are left out, which is exact. On a
    GPU a block has up to 2²⁵ numbers. float32 features that are well-conditioned are solved by the Cholesky factor of
    their Gram matrix in float32, and refined by residuals in float64, if a step of refinement removes at least nine
    tenths of every error. All others are solved in float64: features whose scaled Gram matrix has a condition number
    below 1e11 by its Cholesky factor, from 1e4 on with one step of iterative refinement; the rest by the QR of [H Y]
    and the singular values of its H part, where values up to max(n, d)·eps of the largest count as zero (numpy's
    lstsq), those of columns of length 1 if λ = 0. The error therefore grows with the condition number of H, not with
    its square as for the printed inverse, and repeated, dead, or more than n features are allowed.

    Examples
    --------
    >>> import gramlab
    >>> H = [[1.0], [2.0], [3.0], [4.0]]
    >>> round(gramlab.target_linearity(H, [2.0, 4.0, 6.0, 8.0]), 12)
    1.0
    >>> round(gramlab.target_linearity(H, [1.0, -1.0, -1.0, 1.0], center=True), 12)
    0.0
    """
    ridge = as_number(ridge)
    Check(ValueError).number("ridge", ridge, "a number of at least 0")
    X = _flat_rows(H, "H")
    _refuse_classes(Y, "Y")
    targets, n = _scaled_to_range(_flat_rows(Y, "Y").to(X.device).double()), len(X)
    if len(targets) != n:
        raise ValueError(f"H has {n} rows and Y has {len(targets)}")
    spread = targets - targets.mean(0)
    total = float(spread.square().sum())
    # the computed mean of a constant column is off by rounding, and what remains is no spread
    if total <= (n * _EPS) ** 2 * float(targets.square().sum()):
        raise Undefined("target linearity is undefined: every row of Y is the same, so Y has no spread to explain")
    mean = None
    if center:
        mean, targets = torch.stack([block.sum(0) for _, block in row_blocks(X, None)]).sum(0) / n, spread
    X, mean = without_zero_columns(X, mean)
    residual = residual_by_single_precision(X, targets, mean, ridge) if X.dtype == torch.float32 else None
    if residual is None:
        residual = residual_by_gram(X, targets, mean, ridge)
    if residual is None:
        try:
            residual = residual_by_qr(X, targets, mean, ridge)
        except torch.linalg.LinAlgError:
            residual = float("nan")
    return _check_range(1.0 - max(residual, 0.0) / total, "target linearity", "H")  # below 0 by round-off alone


def _refuse_classes(Y: Array, name: str) -> None:
    """Raise ValueError for integers that may name classes: a column, or rows that are neither one-hot nor signs."""
    T = as_finite(Y, name)
    if T.is_floating_point() or T.dtype == torch.bool:
        return
    if T.ndim == 1 or (T.ndim == 2 and T.shape[1] == 1):
        raise ValueError(
            f"{name} holds integers, one a sample: pass classes as one-hot rows, torch.nn.functional.one_hot({name}),"
            f" and values as floats, {name}.double()"
        )
    lowest = -1 if bool((T == -1).any()) else 0
    if T.ndim > 1 and not bool(((lowest == T) | (T == 1)).all() and ((T == 1).sum(-1) == 1).all()):
        raise ValueError(
            f"{name} holds integers of shape {tuple(T.shape)} that are no one-hot rows: pass classes of tokens as"
            f" features.flatten(0, 1) and torch.nn.functional.one_hot({name}.flatten()), and values as floats,"
            f" {name}.double()"
        )


def surrogate(H: Array, W: Array, Y: Array) -> float:
    """The surrogate of target linearity (paper A, Section 4.1).

        S(G_id) = tr(Yᵀ G_id Y),    G_id = H WᵀW Hᵀ

    It grows with target linearity's lower bound, T_λ(H, Y) ≥ 1 − C / S(G_id) (Theorem 2).
    Computed as ‖W HᵀY‖²_F in O(nd): the n × n matrix is never formed. For S(G_σ) give a layer's outputs after the
    activation as ``H`` and ``W = torch.eye(d)``. Centre ``Y`` before the call for the paper's centred labels.

    Parameters
    ----------
    H : array of shape (n, d) or (n, ...)
        The layer's inputs; further axes are flattened.
    W : array of shape (k, d) or (k, ...)
        Its weight.
    Y : array of shape (n,) or (n, c)
        Targets. Integers that are no one-hot rows are refused, as for ``target_linearity``.

    Returns
    -------
    float
        At least 0.

    Raises
    ------
    Undefined
        If the result leaves float64's range.
    ValueError
        On wrong shapes and non-finite data.

    Examples
    --------
    >>> import gramlab
    >>> gramlab.surrogate([[1.0, 0.0], [0.0, 1.0]], [[2.0, 0.0]], [1.0, -1.0])
    4.0
    """
    X = _flat_rows(H, "H")
    _refuse_classes(Y, "Y")
    targets, weight = _flat_rows(Y, "Y").to(X.device), as_finite(W, "W").to(X.device).double()
    if len(targets) != len(X):
        raise ValueError(f"H has {len(X)} rows and Y has {len(targets)}")
    weight = weight.reshape(len(weight), -1)
    if weight.shape[1] != X.shape[1]:
        raise ValueError(f"W takes {weight.shape[1]} features and H has {X.shape[1]}")
    return _check_range(float((weight @ _transposed_product(X, targets)).square().sum()), "the surrogate", "H, W or Y")


def k_norm(H: Array, V: Array) -> float:
    """The semi-norm ‖V‖_K of the feature kernel K = HHᵀ (paper A, Section 4.2).

        ‖V‖_K = √tr(VᵀKV) = ‖HᵀV‖_F

    It is zero for a ``V`` that is orthogonal to every linear function of the features.

    Parameters
    ----------
    H : array of shape (n, d) or (n, ...)
        Features; further axes are flattened.
    V : array of shape (n,) or (n, c)
        Integers that are no one-hot rows are refused, as for ``target_linearity``.

    Returns
    -------
    float
        At least 0.

    Raises
    ------
    Undefined
        If the result leaves float64's range.
    ValueError
        On wrong shapes and non-finite data.

    Examples
    --------
    >>> import gramlab
    >>> gramlab.k_norm([[3.0, 0.0], [0.0, 4.0]], [1.0, 1.0])
    5.0
    """
    X = _flat_rows(H, "H")
    _refuse_classes(V, "V")
    columns = _flat_rows(V, "V").to(X.device)
    if len(columns) != len(X):
        raise ValueError(f"H has {len(X)} rows and V has {len(columns)}")
    product = _transposed_product(X, columns)
    value = float(product.norm())
    if not SMALLEST < value < 1 / SMALLEST:  # squares may leave the range where the norm does not
        peak = float(product.abs().max()) if product.numel() else 0.0
        value = float((product / peak).norm()) * peak if 0.0 < peak < math.inf else peak
    return _check_range(value, "the K-norm", "H or V")


def _check_range(value: float, quantity: str, arguments: str) -> float:
    if not math.isfinite(value):
        raise Undefined(f"{quantity} is undefined: it leaves float64's range; scale {arguments}")
    return value


def _scaled_to_range(T: Tensor) -> Tensor:
    """A target divided by its largest entry where squares leave float64's range: the fit is as good in any unit."""
    peak = float(T.abs().max()) if T.numel() else 0.0
    return T if peak == 0.0 or 1e-140 < peak < 1e140 else T / peak


def _flat_rows(values: Array, name: str) -> Tensor:
    tensor = as_finite(values, name)
    if tensor.ndim == 0 or tensor.shape[0] == 0:
        raise ValueError(f"{name} has no rows: its shape is {tuple(tensor.shape)}")
    return tensor.reshape(tensor.shape[0], -1)


def _transposed_product(X: Tensor, T: Tensor) -> Tensor:
    """XᵀT (d, c) in float64."""
    total = X.new_zeros(X.shape[1], T.shape[1], dtype=torch.float64)
    for rows, block in row_blocks(X, None):
        total.addmm_(block.mT, T[rows].double())
    return total
