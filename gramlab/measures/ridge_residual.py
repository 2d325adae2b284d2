"""The residual ‖T − X (XᵀX + λI)⁻¹ XᵀT‖² of a ridge regression in float64's accuracy, by several ways.

X (n, d) are features and T (n, c) targets in float64; ``mean`` (d,) is subtracted from the features' rows, unless it is
None, and ``ridge`` is λ. A way that the features do not allow returns None.
"""

import math
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from gramlab.losses import all_finite
from gramlab.measures.products import add_symmetric, mirrored

_ROWS = 512  # rows taken at once on a CPU; a block of them stays in cache
# numbers in a block on a GPU, 256 MiB: starting an operation there takes longer than a product of a few hundred rows
_GPU_NUMBERS = 2**25
_SINGLE_ROWS = 4096  # the same for products in float32
_MOST_STEPS = 8  # steps of refinement after a solution in float32; one takes a few columns' share of a Gram matrix
_LARGEST_CONTRACTION = 0.1  # of the error by a step of refinement
_DIRECTIONS = 4  # in which the contraction is measured
_EPS = torch.finfo(torch.float64).eps
SMALLEST = 1e-150  # squares of smaller numbers, and of those above its inverse, leave float64's range


def row_blocks(X: Tensor, mean: Tensor | None, size: int = _ROWS) -> Iterator[tuple[slice, Tensor]]:
    """Blocks of rows in float64, minus the mean if there is one; on a GPU they have at least ``size`` rows."""
    if X.device.type != "cpu":
        size = max(size, _GPU_NUMBERS // max(X.shape[1], 1))
    for start in range(0, X.shape[0], size):
        rows = slice(start, start + size)
        block = X[rows].double()
        yield rows, block if mean is None else block - mean


def without_zero_columns(X: Tensor, mean: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """The features, and their mean if there is one, without the columns that are zero once it is subtracted.

    Such a column adds nothing to a fit, with a ridge or without, but it makes the Gram matrix singular.
    """
    live = torch.zeros(X.shape[1], dtype=torch.bool, device=X.device)
    for _, block in row_blocks(X, mean):
        live |= (block != 0).any(0)
        if bool(live.all()):  # usually after the first block
            return X, mean
    return X[:, live], None if mean is None else mean[live]


def residual_by_single_precision(X: Tensor, T: Tensor, mean: Tensor | None, ridge: float) -> float | None:
    """The residual from a Gram matrix in float32 and steps of refinement.

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
        for rows, block in row_blocks(X, mean):
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
    for _, block in row_blocks(X, mean):
        gradient.addmm_(block.mT, block @ error)
    left = (error - solve(gradient)) * scale.unsqueeze(1)
    lengths = [(factor.double().mT @ array).norm(dim=0) for array in (left, directions.double())]
    return float((lengths[0] / lengths[1]).max())


def residual_by_gram(X: Tensor, T: Tensor, mean: Tensor | None, ridge: float) -> float | None:
    """The residual from the Gram matrix, or None if the features are too ill-conditioned for it."""
    n, d = X.shape
    if n < d or d == 0:
        return None
    stacked = X.new_zeros(1, d, d, dtype=torch.float64)
    targets_product = X.new_zeros(d, T.shape[1], dtype=torch.float64)
    for rows, block in row_blocks(X, mean):
        add_symmetric(stacked, block.unsqueeze(0), block.unsqueeze(0))
        targets_product.addmm_(block.mT, T[rows])
    G = mirrored(stacked)[0]
    scale = G.diagonal().sqrt()
    if not bool(((scale > SMALLEST) & (scale < 1 / SMALLEST)).all()):  # a dead or out-of-range feature
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
    for rows, block in row_blocks(X, mean):
        residual = T[rows] - block @ beta
        square += float(residual.square().sum())
        gradient.addmm_(block.mT, residual)
    step = inverse @ (gradient - ridge * beta)
    return square - 2 * float((step * gradient).sum()) + float((step * (G @ step)).sum())


def residual_by_qr(X: Tensor, T: Tensor, mean: Tensor | None, ridge: float) -> float:
    """The residual for any features, by QᵀT in and outside their span and by their singular values."""
    n, d = X.shape
    width = d + T.shape[1]
    R = T.new_zeros(0, width)
    for rows, block in row_blocks(X, mean, 2 * _ROWS):
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
