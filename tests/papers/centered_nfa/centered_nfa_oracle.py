"""Tables compared row by row, and the quadratic network in numpy, for the oracles of this paper's experiments."""

from collections.abc import Iterable

import numpy as np
import pytest

from gramlab import tables
from gramlab.streams import stream

LABELS = ("arm", "case", "seed", "step", "layer", "dtype", "quantity", "x")


def by_labels(rows: Iterable[dict]) -> dict[tuple, list[float]]:
    """The values of a table by all other columns."""
    values: dict[tuple, list[float]] = {}
    for row in tables.table(list(rows)).to_pylist():
        values.setdefault(tuple(row[label] for label in LABELS), []).append(row["value"])
    return values


def assert_same_table(measured: Iterable[dict], expected: Iterable[dict], rel: float = 1e-9, abs: float = 0.0) -> None:
    """Both have the same rows; rows of equal labels come in the same order."""
    actual, correct = by_labels(measured), by_labels(expected)
    assert actual.keys() == correct.keys(), sorted(actual.keys() ^ correct.keys())[:5]
    wrong = {key: (values, correct[key]) for key, values in actual.items()
             if values != pytest.approx(correct[key], rel=rel, abs=abs)}  # fmt: skip
    assert not wrong, f"{len(wrong)} of {len(actual)}: {dict(list(wrong.items())[:3])}"


def cosine(A: np.ndarray, B: np.ndarray) -> float:
    return float(sum(p * q for p, q in zip(A.flat, B.flat, strict=True)) / np.sqrt((A**2).sum() * (B**2).sum()))


def pearson(A: np.ndarray, B: np.ndarray) -> float:
    return float(np.corrcoef(A.flatten(), B.flatten())[0, 1])


def trace(*factors: np.ndarray) -> float:
    """The trace of a product over its dimension."""
    product = np.eye(len(factors[0]))
    for factor in factors:
        product = product @ factor
    return float(sum(product[i, i] for i in range(len(product))) / len(product))


def random_eigenvectors(A: np.ndarray, *name: str | int) -> np.ndarray:
    """Q A Qᵀ with the uniform orthogonal Q of this random stream."""
    Q, R = np.linalg.qr(stream(*name).normal(size=A.shape))
    Q = Q @ np.diag(np.sign(np.diag(R)))
    return Q @ A @ Q.T


def quadratic_derivatives(X: np.ndarray, y: np.ndarray, a: np.ndarray, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """ẆᵀẆ and ẆᵀKẆ of f = ½ Σ_s a_s (w_s·x)² where the residuals are y (n,), sample by sample."""
    W_dot, K = np.zeros(W.shape), np.zeros((len(W), len(W)))
    for x, label in zip(X, y, strict=True):
        slope = np.array([a[s] * sum(W[s] * x) for s in range(len(W))])
        W_dot += label * np.outer(slope, x)
        K += np.outer(slope, slope)
    return W_dot.T @ W_dot, W_dot.T @ K @ W_dot


def moments_of_the_weights(a: np.ndarray, W: np.ndarray) -> list[float]:
    """tr[R], …, tr[R⁴] from the eigenvalues of R = Wᵀ diag(a²) W."""
    R = sum(a[s] ** 2 * np.outer(W[s], W[s]) for s in range(len(W)))
    return [float(np.mean(np.linalg.eigvalsh(R) ** power)) for power in (1, 2, 3, 4)]


def data_matrices(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """M = XᵀYX and B = XᵀX, sample by sample."""
    M = sum(label * np.outer(x, x) for x, label in zip(X, y, strict=True))
    return M, sum(np.outer(x, x) for x in X)


def appendix_e(A: np.ndarray, B: np.ndarray, moments: list[float], last_term: bool) -> tuple[float, float, float]:
    """(20), (22) and (28) from the paper's text; the last term of (28) is 0 as printed."""
    r1, r2, r3, r4 = moments
    a, b, eye = trace(A), trace(B), np.eye(len(A))
    P, Q = A - a * eye, B - b * eye
    numerator = a**2 * b * r3 + 2 * a * r2 * r1 * trace(P, Q) + b * r1 * r2 * trace(P, P) + r1**3 * trace(P, P, Q)
    nfm = trace(A, A) * r1**2 + a**2 * r2 - a**2 * r1**2
    agop = (
        r1**4 * trace(P, Q, P, Q) + 2 * r1**2 * (r2 - r1**2) * trace(P, Q) ** 2
        + 2 * r1**2 * r2 * (b * trace(P, P, Q) + a * trace(P, Q, Q)) + 4 * a * b * r3 * r1 * trace(P, Q)
        + a**2 * b**2 * r4 + a**2 * trace(Q, Q) * r2**2 + last_term * b**2 * trace(P, P) * r2**2
    )  # fmt: skip
    return numerator, nfm, agop


def ratio(traces: tuple[float, float, float]) -> float:
    return traces[0] / (traces[1] * traces[2]) ** 0.5
