"""Algorithm 1 of paper D in numpy: kernels with their gradients written out, one pair of points after another."""

from collections.abc import Iterator

import numpy as np

from gramlab.streams import stream

EPS = 2.0**-52


def kernel_value(name: str, bandwidth: float, x: np.ndarray, z: np.ndarray) -> float:
    r = float(np.sqrt(((x - z) ** 2).sum()))
    return float(np.exp(-r / bandwidth) if name == "laplace" else np.exp(-(r**2) / (2 * bandwidth**2)))


def kernel_gradient(name: str, bandwidth: float, x: np.ndarray, z: np.ndarray) -> np.ndarray:
    """By x; 0 where the points coincide."""
    r = float(np.sqrt(((x - z) ** 2).sum()))
    if r == 0:
        return np.zeros(len(x))
    slope = 1 / (bandwidth * r) if name == "laplace" else 1 / bandwidth**2
    return -kernel_value(name, bandwidth, x, z) * slope * (x - z)


def kernel_matrix(name: str, bandwidth: float, x: np.ndarray) -> np.ndarray:
    return np.array([[kernel_value(name, bandwidth, a, b) for b in x] for a in x])


def jacobians(name: str, bandwidth: float, x: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """Of f = K(., x) alpha at every point, (n, classes, d)."""
    return np.array([
        sum(np.outer(alpha[j], kernel_gradient(name, bandwidth, point, x[j])) for j in range(len(x))) for point in x
    ])  # fmt: skip


def agop(name: str, bandwidth: float, x: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """(1/n) sum_i J_i^T J_i."""
    return sum(J.T @ J for J in jacobians(name, bandwidth, x, alpha)) / len(x)


def root(M: np.ndarray) -> np.ndarray:
    """M^{1/2}; eigenvalues that are round-off count as 0."""
    values, vectors = np.linalg.eigh(M)
    return sum((np.sqrt(value) * np.outer(v, v) for value, v in zip(values, vectors.T, strict=True)
                if value >= len(M) * EPS * values[-1]), np.zeros_like(M))  # fmt: skip


def ridge(K: np.ndarray) -> float:
    """0, or sqrt(eps) tr(K)/n if the squared pivots of K's Cholesky factor span more than 1/(n eps)."""
    try:
        pivots = np.diag(np.linalg.cholesky(K)) ** 2
    except np.linalg.LinAlgError:
        pivots = np.zeros(1)
    regular = pivots.min() > len(K) * EPS * pivots.max()
    return 0.0 if regular else EPS**0.5 * float(np.trace(K)) / len(K)


def unit(x: np.ndarray) -> np.ndarray:
    """Points of length 1; a point at 0, where ReLU features may leave it, stays there."""
    length = np.sqrt((x**2).sum(1, keepdims=True))
    return x / np.where(length > 0, length, 1)


def features(
    name: str, width: int, d: int, scale: float, seed: int, layer: int
) -> tuple[np.ndarray, np.ndarray | None]:
    """W (width, d), and b (width,) of Fourier features, from the layer's own random stream."""
    draw = stream("DeepRFM", seed, layer)
    if name == "relu":
        return draw.normal(size=(width, d)), None
    W = scale * draw.standard_cauchy(size=(width, d))
    return W, draw.uniform(0, 2 * np.pi, size=width)


def layers(
    x: np.ndarray, y: np.ndarray, *, count: int, kernel: str, bandwidth: float, feature_map: str, width: int,
    scale: float, seed: int, learns: bool = True,
) -> Iterator[dict]:  # fmt: skip
    """By layer the ridge, M, and the points before M^{1/2}, after it, and after the features; then the last points."""
    codes = np.where(y[:, None] == np.unique(y), 1.0, -1.0)
    for layer in range(count):
        x = unit(x)
        used, M = 0.0, np.eye(x.shape[1])
        if learns:
            K = kernel_matrix(kernel, bandwidth, x)
            used = ridge(K)
            M = agop(kernel, bandwidth, x, np.linalg.solve(K + used * np.eye(len(x)), codes))
        W, b = features(feature_map, width, x.shape[1], scale, seed, layer)
        projected = x @ root(M)
        z = projected @ W.T
        mapped = np.maximum(z, 0) if b is None else np.sqrt(2 / width) * np.cos(z + b)
        yield {"ridge": used, "M": M, "data": x, "agop": projected, "features": mapped, "codes": codes}
        x = mapped
