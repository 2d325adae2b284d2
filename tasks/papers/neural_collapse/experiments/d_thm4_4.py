"""D.thm4.4: the minimum over A of tr A(k^2 + mu k)A^T - 2 tr A k Y^T, over kernel matrices k with unit diagonal.

Y is C x Cn and one-hot, with n samples in a class. The printed value at k* is the negative of the minimum: the
corrected arm has the minus, and the same candidates. Feasible kernels have positive entries. Candidates are kernels of
random points with random M, and the results of gradient ascent.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import optimize

from gramlab.streams import stream
from tasks.settings.simulation import Simulation


class Settings(Simulation):
    """``instances`` counts values of mu, each with its own candidates, for every (C, n) in SIZES."""


DTYPES: tuple[Any, ...] = (np.float64, np.float32)
SIZES = {f"C = {C}, n = {n}": (C, n) for C, n in ((2, 3), (3, 1), (3, 6), (10, 4), (1, 5))}
ARMS = ("claim", "corrected")  # they differ only in the sign of the value at k*
DIAGONAL, SIGNED = "control: diagonal 1.05", "control: not positive semi-definite"
NEARLY = -0.999  # times mu, the least eigenvalue of the control near k*
PROFILES: dict[str, Callable[[np.ndarray], np.ndarray]] = {  # kernels of the squared distance
    "Laplace": lambda square: np.exp(-np.sqrt(square)),
    "Gaussian": lambda square: np.exp(-square),
    "rational": lambda square: 1 / (1 + square),
}


def measure(settings: Settings) -> Iterator[dict]:
    """Rows: the objective at k*, at candidates over the bound Cn n/(n+mu), and near k*."""
    for instance in range(settings.instances):
        for size, (C, n) in SIZES.items():
            draw = stream("d_thm4_4", size, instance)
            mu = 10.0 ** draw.uniform(-2, 2)
            for rows in (
                construction(size, C, n, mu), search(size, C, n, mu, draw), near_optimum(size, C, n, mu, draw),
            ):  # fmt: skip
                yield from ({**row, "seed": instance} for row in rows)


def objective(k: np.ndarray, Y: np.ndarray, mu: float) -> float:
    """The negative of Problem (3)'s minimum over A, at A = Y (k + mu I)^-1, by Problem (3)'s own formula."""
    A = np.linalg.solve(k + mu * np.eye(len(k)), Y.T).T
    return float(2 * np.trace(A @ k @ Y.T) - np.trace(A @ (k @ k + mu * k) @ A.T))


def labels(C: int, n: int) -> np.ndarray:
    """One-hot labels, (C, C n), sorted by class."""
    return np.kron(np.eye(C), np.ones((1, n)))


def construction(size: str, C: int, n: int, mu: float) -> Iterator[dict]:
    """The minimum of Problem (3) over A at k*, from its singular normal equations, against +-Cn n/(n + mu)."""
    for dtype in DTYPES:
        Y = labels(C, n).astype(dtype)
        for scale, signs in ((1.0, {"claim": 1, "corrected": -1}), (1.05, {DIAGONAL: -1})):
            k = dtype(scale) * Y.T @ Y
            normal = k @ k + dtype(mu) * k
            A = np.linalg.lstsq(normal, k @ Y.T, rcond=C * n * np.finfo(dtype).eps)[0].T
            value = float(np.trace(A @ normal @ A.T) - 2 * np.trace(A @ k @ Y.T))
            # terms: traces of products of these norms, over C n samples
            length = float(np.linalg.norm(A) * np.linalg.norm(k) * np.linalg.norm(Y))
            length += float(np.linalg.norm(A) ** 2 * np.linalg.norm(normal))
            for arm, sign in signs.items():
                residual = abs(value - sign * C * n * n / (n + mu)) / (C * n * length)
                yield {"arm": arm, "case": size, "dtype": np.dtype(dtype).name, "quantity": "thm4_4/residual",
                       "value": residual}  # fmt: skip


def search(size: str, C: int, n: int, mu: float, draw: np.random.Generator) -> Iterator[dict]:
    """The objective over the bound, for kernels of random points and at the end of ascents from random starts."""
    Y, N = labels(C, n), C * n
    bound = N * n / (n + mu)
    for arms, name, k in candidates(Y, C, n, mu, draw):
        value = objective(k, Y, mu) / bound
        for arm in arms:
            yield {"arm": arm, "case": name, "layer": size, "dtype": "float64", "quantity": "thm4_4/ratio", "x": mu,
                   "value": value}  # fmt: skip


def candidates(
    Y: np.ndarray, C: int, n: int, mu: float, draw: np.random.Generator
) -> Iterator[tuple[tuple[str, ...], str, np.ndarray]]:
    """The arms, the name and the matrix of every kernel that is compared with k*."""
    N = C * n
    for name, profile in PROFILES.items():
        points = draw.normal(size=(N, 4)) + 2 * draw.normal(size=(C, 4)).repeat(n, 0)
        root = draw.normal(size=(4, 4)) * 10.0 ** draw.uniform(-1, 1)
        differences = (points[:, None] - points) @ root
        yield ARMS, name, profile((differences**2).sum(-1))
    yield ARMS, "ascent, positive entries", ascend(Y, mu, draw, positive=True)
    yield ARMS, "ascent, any signs", ascend(Y, mu, draw, positive=False)
    yield (DIAGONAL,), "k* times 1.05", 1.05 * Y.T @ Y
    if N > 2:
        yield (SIGNED,), "one eigenvalue below −μ", indefinite(Y, mu)


def ascend(Y: np.ndarray, mu: float, draw: np.random.Generator, positive: bool, steps: int = 150) -> np.ndarray:
    """Projected gradient ascent of the objective over k = Z Z^T, Z with unit rows and, if asked, positive entries."""
    N = Y.shape[1]

    def feasible(Z: np.ndarray) -> np.ndarray:
        Z = np.maximum(Z, 1e-4) if positive else Z
        return Z / np.linalg.norm(Z, axis=1, keepdims=True)

    Z = feasible(np.abs(draw.normal(size=(N, N))) if positive else draw.normal(size=(N, N)))
    rate, value = 1.0, objective(Z @ Z.T, Y, mu)
    for _ in range(steps):
        inner = np.linalg.solve(Z @ Z.T + mu * np.eye(N), Y.T)
        slope = 2 * mu * inner @ (inner.T @ Z)  # of sum_c y_c^T k (k + mu I)^-1 y_c
        slope -= (slope * Z).sum(1, keepdims=True) * Z
        candidate = feasible(Z + rate * slope / max(float(np.abs(slope).max()), 1e-300))
        candidate_value = objective(candidate @ candidate.T, Y, mu)
        if candidate_value > value:
            Z, value, rate = candidate, candidate_value, 1.5 * rate
        else:
            rate /= 2
    return Z @ Z.T


def indefinite(Y: np.ndarray, mu: float, least: float = -1.5) -> np.ndarray:
    """k* with a larger entry between its first and last samples, so that an eigenvalue is ``least`` mu."""
    best, last = Y.T @ Y, Y.shape[1] - 1

    def with_entry(added: float) -> np.ndarray:
        k = best.copy()
        k[0, last] = k[last, 0] = best[0, last] + added
        return k

    def distance(added: float) -> float:
        return float(np.linalg.eigvalsh(with_entry(added))[0]) - least * mu

    upper = 1.0
    while distance(upper) > 0:
        upper *= 2
    return with_entry(optimize.brentq(distance, 0.0, upper, xtol=1e-14))


def near_optimum(size: str, C: int, n: int, mu: float, draw: np.random.Generator) -> Iterator[dict]:
    """Positive definite kernels near k*: how far the objective is below the optimum, over Cn ||k - k*|| / mu.

    The control's kernel has an eigenvalue just above -mu, where the objective has no lower bound.
    """
    Y, N = labels(C, n), C * n
    best = Y.T @ Y
    Z = np.abs(draw.normal(size=(N, N)))
    Z /= np.linalg.norm(Z, axis=1, keepdims=True)
    kernels: list[tuple[tuple[str, ...], float, np.ndarray]] = [
        (ARMS, float(t), (1 - t) * best + t * (Z @ Z.T)) for t in 10.0 ** -np.arange(1, 6)
    ]
    if N > 2:
        kernels.append(((SIGNED,), 0.0, indefinite(Y, mu, NEARLY)))
    for arms, t, k in kernels:
        shortfall = N * n / (n + mu) - objective(k, Y, mu)
        scale = N * float(np.linalg.norm(k - best, 2)) / mu
        for arm in arms:
            yield {"arm": arm, "case": "near k*", "layer": size, "dtype": "float64", "quantity": "thm4_4/near",
                   "x": t, "value": shortfall / scale}  # fmt: skip
