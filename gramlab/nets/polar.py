"""The orthogonal polar factor of a matrix, and the closest matrix with a given Gram matrix.

All functions act on the last two dimensions, so matrices can be stacked along the others.
"""

import math
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

METHODS = ("newton-schulz", "svd", "ten-steps")
NEWTON_SCHULZ = (15 / 8, -10 / 8, 3 / 8)
SAFETY = 1.01  # polynomials are made for slightly more than [low, 1]


def orthogonal_factor(A: Tensor, method: str = "newton-schulz") -> Tensor:
    """The orthogonal factor ``U V^T`` of ``A = U S V^T``; its rows or its columns, the fewer ones, are orthonormal.

    Parameters
    ----------
    A : Tensor of shape (..., k, d)
    method : {"newton-schulz", "svd", "ten-steps"}, optional
        - "svd" is exact for every A. If A is rank-deficient the factor is one of many.
        - "newton-schulz" iterates odd polynomials of degree 5, each the best one for the singular values that the
          previous one left (Amsel et al., "The Polar Express", 2025), until the factor is orthonormal up to a few
          eps (1.2e-7 in float32, 2.2e-16 in float64). Where a singular value is below about 16 eps ||A||, which
          polynomials do not lift to 1, "svd" takes over.
        - "ten-steps" repeats the published code of paper A: ten Newton-Schulz steps from A / ||A||_F. They leave
          singular values below about 1/500 of that norm far from 1.

    Returns
    -------
    Tensor of shape (..., k, d)

    Examples
    --------
    >>> import torch
    >>> orthogonal_factor(torch.tensor([[2.0, 0.0], [0.0, -3.0]]), "svd")
    tensor([[ 1.,  0.],
            [ 0., -1.]])
    """
    if method == "svd":
        U, _, Vh = torch.linalg.svd(A, full_matrices=False)
        return U @ Vh
    if A.shape[-2] < A.shape[-1]:
        return orthogonal_factor(A.mT, method).mT
    if method == "ten-steps":
        X = A / torch.linalg.matrix_norm(A).clamp_min(torch.finfo(A.dtype).tiny)[..., None, None]
        for _ in range(10):
            X = _step(X, X.mT @ X, NEWTON_SCHULZ)
        return X
    if A.shape[-2] > A.shape[-1]:
        Q, R = torch.linalg.qr(A)
        return Q @ _newton_schulz(R)
    return _newton_schulz(A)


def same_gram(W: Tensor, target: Tensor, method: str = "newton-schulz") -> Tensor:
    """The matrix closest to W with the Gram matrix of the target, ``W^+ = U V^T target`` (paper A, B.1).

    ``W^+ = argmin ||W^+ - W||`` subject to ``W^+^T W^+ = target^T target`` is an orthogonal Procrustes problem, solved
    by the singular value decomposition ``W target^T = U S V^T``. A tall target = QR has the Gram matrix of R, so R
    takes its place: the k x k matrix W target^T, which is singular, is not needed.

    Parameters
    ----------
    W, target : Tensor of shape (..., k, d)
        Weights in 16 bits, for which torch has no decompositions, are computed in float32 and rounded.
    method : {"newton-schulz", "svd", "ten-steps"}, optional
        See `orthogonal_factor`. "svd" and "newton-schulz" give the Gram matrix of the target for every W.

    Returns
    -------
    Tensor of shape (..., k, d)

    Examples
    --------
    >>> import torch
    >>> W, target = torch.eye(2), torch.tensor([[0.0, 2.0], [2.0, 0.0]])
    >>> moved = same_gram(W, target, "svd")
    >>> torch.allclose(moved.T @ moved, target.T @ target)
    True
    """
    if torch.finfo(W.dtype).bits < 32:
        return same_gram(W.float(), target.float(), method).to(W.dtype)
    if W.shape[-2] > W.shape[-1]:
        target = torch.linalg.qr(target, mode="r").R
    return orthogonal_factor(W @ target.mT, method) @ target


def _newton_schulz(A: Tensor) -> Tensor:
    """`orthogonal_factor` of square A."""
    eps = torch.finfo(A.dtype).eps
    X = A / _norm_bound(A)
    low = _smallest_singular_value(X, 16 * eps)
    if low <= 16 * eps:  # a weight that is zero in some directions would stay zero there
        return orthogonal_factor(A, "svd")
    for coefficients in _polynomials(low):
        X = _step(X, X.mT @ X, coefficients)
    for _ in range(4):  # a singular value below the estimate needs more steps to reach 1
        XX = X.mT @ X
        error = XX.clone()
        error.diagonal(dim1=-2, dim2=-1).sub_(1)
        if float(torch.linalg.matrix_norm(error).max()) <= 4 * eps * A.shape[-1]:
            return X
        X = _step(X, XX, NEWTON_SCHULZ)
    # a step cubes the error; before the last one it is too large if the estimate missed a far smaller singular value,
    # whose singular vector is orthogonal to the first vector of the iteration
    return X if float(torch.linalg.matrix_norm(error).max()) <= eps ** (1 / 3) else orthogonal_factor(A, "svd")


def _step(X: Tensor, XX: Tensor, coefficients: tuple[float, float, float]) -> Tensor:
    """X (a + b X^T X + c (X^T X)^2), with XX = X^T X."""
    a, b, c = coefficients
    polynomial = (XX @ XX).mul_(c).add_(XX, alpha=b)
    polynomial.diagonal(dim1=-2, dim2=-1).add_(a)
    return X @ polynomial


def _norm_bound(A: Tensor) -> Tensor:
    """A bound of the largest singular value, (..., 1, 1), at most k^(1/4) times as large."""
    tiny = torch.finfo(A.dtype).tiny
    norm = torch.linalg.matrix_norm(A).clamp_min(tiny)[..., None, None]
    A = A / norm  # so that no fourth power overflows
    return (norm * torch.linalg.matrix_norm(A.mT @ A).sqrt()[..., None, None]).clamp_min(tiny)


def _smallest_singular_value(X: Tensor, floor: float) -> float:
    """About half of the smallest singular value in the stack, as a power of 2 of at least `floor`.

    It is an estimate by inverse iteration from a fixed vector; the caller verifies the result.
    """
    factors, pivots, singular = torch.linalg.lu_factor_ex(X)
    if bool(singular.any()):
        return floor
    v = torch.ones_like(X[..., :1])
    for _ in range(4):
        v = v / torch.linalg.matrix_norm(v)[..., None, None]
        v = torch.linalg.lu_solve(factors, pivots, torch.linalg.lu_solve(factors, pivots, v, adjoint=True))
    # v = (X^T X)^-1 u for a unit vector u, so its length is about 1 / smallest^2
    smallest = float(torch.linalg.matrix_norm(v).max()) ** -0.5
    return max(2.0 ** math.floor(math.log2(smallest / 2)), floor) if smallest > 0 else floor


@lru_cache
def _polynomials(low: float) -> tuple[tuple[float, float, float], ...]:
    """Polynomials a x + b x^3 + c x^5 that map [low, 1] to 1 up to round-off, applied one after the other."""
    polynomials = []
    # from 1 - low = 1e-5 on, the Newton-Schulz polynomial, their limit, leaves an error of (1e-5)^3
    while 1 - low > 1e-5:
        a, b, c, error = _minimax_polynomial(low)
        a, b, c = (number / (1 + error) for number in (a, b, c))  # so that values stay at most 1
        if low < 0.5:  # the best polynomials are steep beyond 1, so a value that round-off lifts above 1 would grow
            a, b, c = a / SAFETY, b / SAFETY**3, c / SAFETY**5
        polynomials.append((a, b, c))
        low = a * low + b * low**3 + c * low**5
    return (*polynomials, NEWTON_SCHULZ)


def _minimax_polynomial(low: float) -> tuple[float, float, float, float]:
    """The a, b, c with the smallest max |1 - a x - b x^3 - c x^5| on [low, 1], and that error, by Remez exchange."""
    extrema = np.array([0.75 * low + 0.25, 0.25 * low + 0.75])
    for _ in range(100):
        x = np.array([low, *extrema, 1.0])
        a, b, c, error = np.linalg.solve(np.stack([x, x**3, x**5, [1, -1, 1, -1]], 1), np.ones(4))
        squares = np.roots([5 * c, 3 * b, a])
        if np.iscomplexobj(squares) or (squares <= 0).any():
            break
        previous, extrema = extrema, np.sort(np.sqrt(squares))
        if np.abs(extrema - previous).max() < 1e-14:
            break
    return float(a), float(b), float(c), float(error)
