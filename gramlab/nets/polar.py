"""The orthogonal factor UV^T of a matrix, and the closest matrix to W with a given Gram matrix.

Matrices may be stacked: all functions act on the last two dimensions.
"""

import math
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

METHODS = ("newton-schulz", "svd", "ten-steps")
NEWTON_SCHULZ = (15 / 8, -10 / 8, 3 / 8)
SAFE = 1.01


def orthogonal_factor(A: Tensor, method: str = "newton-schulz") -> Tensor:
    """UV^T of A = U S V^T, (..., k, d) -> (..., k, d); its rows or columns, whichever are fewer, are orthonormal.

    "svd" gives that for every A; where A is rank-deficient the factor is one of many. "newton-schulz" iterates
    odd polynomials of degree 5, each the best on what the one before it left (Amsel et al., "The Polar Express",
    2025), until U V^T is orthonormal within a few eps (1.2e-7 in float32, 2.2e-16 in float64), and gives up on
    singular values far below 16 eps ||A||: they stay below 1, zeros stay 0. "ten-steps" is what paper A's published
    code does, for comparisons with it: ten steps of Newton-Schulz's polynomial from A / ||A||_F, which do not bring
    singular values below some 1/500 of that norm near 1.
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
    """The matrix closest to W (..., k, d) whose Gram matrix is target^T target: paper A, B.1, W^+ = UV^T target.

    U, V are those of W target^T = U S V^T (orthogonal Procrustes). A tall target = QR has the same Gram as R, and
    W^+ = UV^T R with the factor of W R^T: no k x k matrix is needed, and none that is singular for want of columns.
    With "newton-schulz" W target^T must not be singular (see ``orthogonal_factor``): the Gram of W^+ lacks what lies
    in the directions of its singular values below 16 eps times the largest; "svd" has the Gram for every W.
    In 16 bits, for which there are no decompositions, it is float32's matrix, rounded.
    """
    if torch.finfo(W.dtype).bits < 32:
        return same_gram(W.float(), target.float(), method).to(W.dtype)
    if W.shape[-2] > W.shape[-1]:
        target = torch.linalg.qr(target, mode="r").R
    return orthogonal_factor(W @ target.mT, method) @ target


def _newton_schulz(A: Tensor) -> Tensor:
    """``orthogonal_factor`` of square A."""
    eps = torch.finfo(A.dtype).eps
    size = _size(A)
    X = A / size
    low = _lowest(X, 16 * eps)
    for coefficients in _polynomials(low):
        X = _step(X, X.mT @ X, coefficients)
    # a singular value below the estimate of the lowest is not yet at 1; below 16 eps they are left as they are
    for _ in range(4 if low > 16 * eps else 0):
        XX = X.mT @ X
        away = XX.clone()
        away.diagonal(dim1=-2, dim2=-1).sub_(1)
        if float(torch.linalg.matrix_norm(away).max()) <= 4 * eps * A.shape[-1]:
            break
        X = _step(X, XX, NEWTON_SCHULZ)
    return X


def _step(X: Tensor, XX: Tensor, coefficients: tuple[float, float, float]) -> Tensor:
    """X (a + b X^T X + c (X^T X)^2)."""
    a, b, c = coefficients
    polynomial = (XX @ XX).mul_(c).add_(XX, alpha=b)
    polynomial.diagonal(dim1=-2, dim2=-1).add_(a)
    return X @ polynomial


def _size(A: Tensor) -> Tensor:
    """An upper bound of the largest singular value, (..., 1, 1), above it by a factor of at most k^(1/4)."""
    tiny = torch.finfo(A.dtype).tiny
    largest = torch.linalg.matrix_norm(A).clamp_min(tiny)[..., None, None]
    A = A / largest  # so that no fourth power leaves the range of the numbers
    return (largest * torch.linalg.matrix_norm(A.mT @ A).sqrt()[..., None, None]).clamp_min(tiny)


def _lowest(X: Tensor, floor: float) -> float:
    """About half of the smallest singular value in the stack, as a power of 2 not below ``floor``.

    By inverse iteration from a fixed vector; it need not be right, for the result is verified.
    """
    factors, pivots, singular = torch.linalg.lu_factor_ex(X)
    if bool(singular.any()):
        return floor
    v = torch.ones_like(X[..., :1])
    for _ in range(4):
        v = v / torch.linalg.matrix_norm(v)[..., None, None]
        v = torch.linalg.lu_solve(factors, pivots, torch.linalg.lu_solve(factors, pivots, v, adjoint=True))
    # v is now (X^T X)^-1 u for a unit u, about 1 / smallest^2 long
    lowest = float(torch.linalg.matrix_norm(v).max()) ** -0.5
    return max(2.0 ** math.floor(math.log2(lowest / 2)), floor) if lowest > 0 else floor


@lru_cache
def _polynomials(low: float) -> tuple[tuple[float, float, float], ...]:
    """Polynomials a x + b x^3 + c x^5 that one after the other bring all x of [low, 1] to 1 within round-off."""
    found = []
    # from 1 - low = 1e-5 on, Newton-Schulz's own polynomial, the limit of these, leaves (1e-5)^3
    while 1 - low > 1e-5:
        a, b, c, error = _best(low)
        a, b, c = (number / (1 + error) for number in (a, b, c))  # so that x stays at most 1
        if low < 0.5:  # and if round-off brings it above, it must not run away: beyond 1 the best ones are steep
            a, b, c = a / SAFE, b / SAFE**3, c / SAFE**5
        found.append((a, b, c))
        low = a * low + b * low**3 + c * low**5
    return (*found, NEWTON_SCHULZ)


def _best(low: float) -> tuple[float, float, float, float]:
    """The a, b, c with the least error = max |1 - a x - b x^3 - c x^5| on [low, 1], and that error (Remez)."""
    inner = np.array([0.75 * low + 0.25, 0.25 * low + 0.75])
    for _ in range(100):
        x = np.array([low, *inner, 1.0])
        a, b, c, error = np.linalg.solve(np.stack([x, x**3, x**5, [1, -1, 1, -1]], 1), np.ones(4))
        squares = np.roots([5 * c, 3 * b, a])
        if np.iscomplexobj(squares) or (squares <= 0).any():
            break
        before, inner = inner, np.sort(np.sqrt(squares))
        if np.abs(inner - before).max() < 1e-14:
            break
    return float(a), float(b), float(c), float(error)
