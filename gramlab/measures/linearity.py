"""Target linearity, its surrogate, and the K-norm (paper A, Section 4)."""

import math
from collections.abc import Callable, Iterator
from numbers import Real

import torch
from torch import Tensor

from gramlab.measures.arrays import Array, all_finite, as_finite, as_number
from gramlab.measures.products import add_symmetric, mirrored
from gramlab.measures.undefined import Undefined

_ROWS = 512  # rows taken at once on a CPU; a block of them stays in cache
# numbers in a block on a GPU, 256 MiB: starting an operation there takes longer than a product of a few hundred rows
_GPU_NUMBERS = 2**25
_SINGLE_ROWS = 4096  # the same for products in float32
_MOST_STEPS = 8  # steps of refinement after a solution in float32; one takes a few columns' share of a Gram matrix
_LARGEST_CONTRACTION = 0.1  # of the error by a step of refinement
_DIRECTIONS = 4  # in which the contraction is measured
_EPS = torch.finfo(torch.float64).eps
_SMALLEST = 1e-150  # squares of smaller numbers, and of those above its inverse, leave float64's range


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
    their Gram matrix in float32, and refined by residuals in float64, if a step of refinement leaves less than a tenth
    of the errors that it mends least. All others are solved in float64: features whose
    scaled Gram matrix has a condition number below 1e11 by its Cholesky factor, from 1e4 on with one step of iterative
    refinement; the rest by the QR of [H Y] and the singular values of its H part, where values up to max(n, d)·eps of
    the largest count as zero (numpy's lstsq), those of columns of length 1 if λ = 0. The error therefore grows with the
    condition number of H, not with its square as for the printed inverse, and repeated, dead, or more than n features
    are allowed.

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
    if not isinstance(ridge, Real) or not 0.0 <= ridge < float("inf"):
        raise ValueError(f"ridge must be a finite number of at least 0, not {ridge}")
    X = _flat_rows(H, "H")
    _refuse_classes(Y, "Y")
    T, n = _scaled_to_range(_flat_rows(Y, "Y").to(X.device).double()), len(X)
    if len(T) != n:
        raise ValueError(f"H has {n} rows and Y has {len(T)}")
    spread = T - T.mean(0)
    total = float(spread.square().sum())
    # the computed mean of a constant column is off by rounding, and what remains is no spread
    if total <= (n * _EPS) ** 2 * float(T.square().sum()):
        raise Undefined("target linearity is undefined: every row of Y is the same, so Y has no spread to explain")
    mean = None
    if center:
        mean, T = torch.stack([block.sum(0) for _, block in _blocks(X, None)]).sum(0) / n, spread
    X, mean = _without_zero_columns(X, mean)
    residual = _by_single_precision(X, T, mean, ridge) if X.dtype == torch.float32 else None
    if residual is None:
        residual = _by_gram(X, T, mean, ridge)
    if residual is None:
        try:
            residual = _by_qr(X, T, mean, ridge)
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


def _without_zero_columns(X: Tensor, mean: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """The features, and their mean if there is one, without the columns that are zero once it is subtracted.

    Such a column adds nothing to a fit, with a ridge or without, but it makes the Gram matrix singular.
    """
    live = torch.zeros(X.shape[1], dtype=torch.bool, device=X.device)
    for _, block in _blocks(X, mean):
        live |= (block != 0).any(0)
        if bool(live.all()):  # usually after the first block
            return X, mean
    return X[:, live], None if mean is None else mean[live]


def _by_single_precision(X: Tensor, T: Tensor, mean: Tensor | None, ridge: float) -> float | None:
    """The residual of ``_by_gram`` to float64's accuracy, from a Gram matrix in float32 and steps of refinement.

    The factor of the float32 Gram matrix gives steps, whose gradients come from the data in float64. Each step
    multiplies the error by at most the contraction. None if that is not so small that few steps suffice.
    """
    n, d = X.shape
    if n < d or d == 0:
        return None
    width = d + T.shape[1]
    stacked, total = X.new_zeros(1, width, width), X.new_zeros(width, width, dtype=torch.float64)
    shift = None if mean is None else mean.float()
    for start in range(0, n, _SINGLE_ROWS):
        rows = slice(start, start + _SINGLE_ROWS)
        block = torch.cat([X[rows] if shift is None else X[rows] - shift, T[rows].float()], 1).unsqueeze(0)
        add_symmetric(stacked.zero_(), block, block)
        total += stacked[0]
    G, targets_product = mirrored(total[:d, :d].unsqueeze(0))[0], total[:d, d:]
    scale = G.diagonal().sqrt()
    if not bool(((scale > 1e-15) & (scale < 1e15)).all()):  # so that squares stay in float32's range
        return None
    A = ((G + ridge * torch.eye(d, dtype=G.dtype, device=G.device)) / scale / scale.unsqueeze(1)).float()
    factor, failed = torch.linalg.cholesky_ex(A)
    if bool(failed):
        return None

    def solve(b: Tensor) -> Tensor:
        return torch.cholesky_solve((b / scale.unsqueeze(1)).float(), factor).double() / scale.unsqueeze(1)

    beta = solve(targets_product)
    fitted_square = float((beta * targets_product).sum())
    contraction = _contraction(X, mean, ridge, solve, factor, scale)
    for number in range(_MOST_STEPS):
        # transposed, which is the faster order for few targets
        square, transposed = 0.0, torch.zeros_like(beta.mT, memory_format=torch.contiguous_format)
        coefficients = beta.mT.contiguous()
        for rows, block in _blocks(X, mean):
            residual = T[rows].mT - coefficients @ block.mT
            square += float(residual.square().sum())
            transposed.addmm_(residual, block)
        gradient = transposed.mT
        descent = gradient - ridge * beta
        step = solve(descent)
        squared_error = float((step * descent).sum())  # the squared error of beta
        if number == 0:
            relative_step = math.sqrt(max(squared_error, 0.0) / fitted_square) if fitted_square > 0.0 else math.inf
            contraction = max(contraction, relative_step)
        if not contraction < _LARGEST_CONTRACTION:
            return None
        bound = contraction * squared_error + 2 * contraction * ridge * float((step * beta).sum().abs())
        if bound <= _EPS * square:
            return square - 2 * float((step * gradient).sum()) + float((step * (G @ step)).sum())
        beta = beta + step
    return None


def _contraction(
    X: Tensor, mean: Tensor | None, ridge: float, solve: Callable[[Tensor], Tensor], factor: Tensor, scale: Tensor
) -> float:
    """The factor by which a step of refinement multiplies the errors that it mends least.

    They lie along the least directions of the factor of the scaled Gram matrix, where its round-off is the largest
    share. Nearly equal features have a least eigenvalue that is all round-off. A step then leaves the error as it is.
    """
    d = len(scale)
    directions = torch.arange(d * _DIRECTIONS, dtype=factor.dtype, device=X.device).cos().reshape(d, _DIRECTIONS)
    for _ in range(3):  # inverse iteration
        directions = torch.linalg.qr(torch.cholesky_solve(directions, factor)).Q
    error = directions.double() / scale.unsqueeze(1)
    gradient = ridge * error
    for _, block in _blocks(X, mean):
        gradient.addmm_(block.mT, block @ error)
    left = (error - solve(gradient)) * scale.unsqueeze(1)
    lengths = [(factor.double().mT @ array).norm(dim=0) for array in (left, directions.double())]
    return float((lengths[0] / lengths[1]).max())


def _by_gram(X: Tensor, T: Tensor, mean: Tensor | None, ridge: float) -> float | None:
    """‖T − X (XᵀX + λI)⁻¹ XᵀT‖², or None if the features are too ill-conditioned for their Gram matrix."""
    n, d = X.shape
    if n < d or d == 0:
        return None
    stacked = X.new_zeros(1, d, d, dtype=torch.float64)
    targets_product = X.new_zeros(d, T.shape[1], dtype=torch.float64)
    for rows, block in _blocks(X, mean):
        add_symmetric(stacked, block.unsqueeze(0), block.unsqueeze(0))
        targets_product.addmm_(block.mT, T[rows])
    G = mirrored(stacked)[0]
    scale = G.diagonal().sqrt()
    if not bool(((scale > _SMALLEST) & (scale < 1 / _SMALLEST)).all()):  # a dead or out-of-range feature
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
    if not all_finite(inverse):
        return None
    beta = inverse @ targets_product
    if condition < 1e4:  # the rounding of the Gram matrix cannot matter
        return float(T.square().sum()) - 2 * float((beta * targets_product).sum()) + float((beta * (G @ beta)).sum())
    # one step of refinement by the residual of the data themselves
    square, gradient = 0.0, torch.zeros_like(targets_product)
    for rows, block in _blocks(X, mean):
        residual = T[rows] - block @ beta
        square += float(residual.square().sum())
        gradient.addmm_(block.mT, residual)
    step = inverse @ (gradient - ridge * beta)
    return square - 2 * float((step * gradient).sum()) + float((step * (G @ step)).sum())


def _by_qr(X: Tensor, T: Tensor, mean: Tensor | None, ridge: float) -> float:
    """The same residual for any features, by QᵀT in and outside their span and by their singular values."""
    n, d = X.shape
    width = d + T.shape[1]
    R = T.new_zeros(0, width)
    for rows, block in _blocks(X, mean, 2 * _ROWS):
        R = torch.linalg.qr(torch.cat([R, torch.cat([block, T[rows]], 1)]), mode="r").R
    R = torch.cat([R, R.new_zeros(width - R.shape[0], width)])
    features = R[:d, :d]
    if d and ridge == 0.0:  # the span is the same in all units of the features, and so is what counts as zero
        features = _unit_columns(_unit_columns(features, features.abs().amax(0)))
    U, sigma, _ = torch.linalg.svd(features)
    nonzero = sigma > max(n, d) * _EPS * sigma.max() if d else sigma > 0
    # the unfitted share of the target along each direction; all of it where the features are zero
    unfitted_share = torch.where(
        nonzero, ridge / (sigma.square() + ridge).clamp_min(torch.finfo(torch.float64).tiny), 1.0
    )
    unfitted = (U.mT @ R[:d, d:]) * unfitted_share.unsqueeze(1)
    return float(unfitted.square().sum()) + float(R[d:, d:].square().sum())


def _unit_columns(A: Tensor, size: Tensor | None = None) -> Tensor:
    """Columns divided by their sizes, by default their lengths; zeros stay zeros."""
    size = A.norm(dim=0) if size is None else size
    return A / torch.where(size > 0, size, 1.0)


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
    T, V = _flat_rows(Y, "Y").to(X.device), as_finite(W, "W").to(X.device).double()
    if T.shape[0] != X.shape[0]:
        raise ValueError(f"H has {X.shape[0]} rows and Y has {T.shape[0]}")
    V = V.reshape(V.shape[0], -1)
    if V.shape[1] != X.shape[1]:
        raise ValueError(f"W takes {V.shape[1]} features and H has {X.shape[1]}")
    return _check_range(float((V @ _transposed_product(X, T)).square().sum()), "the surrogate", "H, W or Y")


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
    T = _flat_rows(V, "V").to(X.device)
    if T.shape[0] != X.shape[0]:
        raise ValueError(f"H has {X.shape[0]} rows and V has {T.shape[0]}")
    product = _transposed_product(X, T)
    value = float(product.norm())
    if not _SMALLEST < value < 1 / _SMALLEST:  # squares may leave the range where the norm does not
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


def _blocks(X: Tensor, mean: Tensor | None, size: int = _ROWS) -> Iterator[tuple[slice, Tensor]]:
    """Blocks of rows in float64, minus the mean if there is one; on a GPU they have at least ``size`` rows."""
    if X.device.type != "cpu":
        size = max(size, _GPU_NUMBERS // max(X.shape[1], 1))
    for start in range(0, X.shape[0], size):
        rows = slice(start, start + size)
        block = X[rows].double()
        yield rows, block if mean is None else block - mean


def _transposed_product(X: Tensor, T: Tensor) -> Tensor:
    """XᵀT (d, c) in float64."""
    total = X.new_zeros(X.shape[1], T.shape[1], dtype=torch.float64)
    for rows, block in _blocks(X, None):
        total.addmm_(block.mT, T[rows].double())
    return total
