"""Target Linearity with a ridge of nearly equal features, whose fit through the Gram matrix is refined."""

from fractions import Fraction

import numpy as np
import pytest

import gramlab


@pytest.mark.parametrize("ridge", [1e-5, 3e-5, 1e-4])
def test_a_ridge_of_nearly_equal_features(ridge):
    random = np.random.default_rng(0)
    u, v = random.normal(size=(2, 60))
    H, Y = np.column_stack([u, u + 1e-3 * v]), v + 0.1 * random.normal(size=60)
    # the fit with a ridge is that of least squares with two more samples; no Gram matrix is formed
    fitted = H @ np.linalg.lstsq(np.vstack([H, ridge**0.5 * np.eye(2)]), np.append(Y, [0.0, 0.0]), rcond=None)[0]
    expected = 1 - ((Y - fitted) ** 2).sum() / ((Y - Y.mean()) ** 2).sum()
    assert 0.05 < expected < 0.95
    assert gramlab.target_linearity(H, Y, ridge) == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("seed", range(3))
def test_a_ridge_of_almost_equal_features_in_exact_fractions(seed):
    """By Cramer's rule. With a ridge a step of refinement changes the residual in first order."""
    ridge = 1e-7
    u, v = np.random.default_rng(seed).normal(size=(2, 60))
    H, Y = np.column_stack([u, u + 1e-4 * v]), v + 0.1 * np.random.default_rng(seed + 10).normal(size=60)
    rows, y, penalty = [[*map(Fraction, row)] for row in H.tolist()], [*map(Fraction, Y.tolist())], Fraction(ridge)
    a, b, c = (sum(row[i] * row[j] for row in rows) + penalty * (i == j) for i, j in ((0, 0), (0, 1), (1, 1)))
    p, q = (sum(row[i] * target for row, target in zip(rows, y, strict=True)) for i in (0, 1))
    first, second = (c * p - b * q) / (a * c - b**2), (a * q - b * p) / (a * c - b**2)
    residual = sum((t - first * row[0] - second * row[1]) ** 2 for row, t in zip(rows, y, strict=True))
    expected = 1 - residual / sum((target - sum(y) / 60) ** 2 for target in y)
    assert gramlab.target_linearity(H, Y, ridge) == pytest.approx(float(expected), rel=1e-11)


def features(kind, n=1500, d=40):
    random = np.random.default_rng(1)
    H = random.normal(size=(n, d))
    if kind == "rectified":
        H = np.maximum(H @ random.normal(size=(d, d)) / d**0.5 + 0.3, 0.0)
    if kind == "scaled":  # columns of unlike size, which scaling mends
        H = H * np.logspace(-3, 3, d)
    if kind == "near":  # beyond float32, whose Gram matrix is no guide
        H[:, 1] = H[:, 0] + 1e-4 * H[:, 1]
    if kind == "shifted":
        H = H + 30.0
    Y = H[:, :3] / H[:, :3].std(0) + random.normal(size=(n, 3))
    return H.astype(np.float32), Y.astype(np.float32)


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("ridge", [0.0, 1e-3, 10.0, 1e4])
@pytest.mark.parametrize("kind", ["normal", "rectified", "scaled", "near", "shifted"])
def test_float32_features_are_fitted_as_in_float64(kind, ridge, center):
    H, Y = features(kind)
    X, T = H.astype(np.float64), Y.astype(np.float64)
    spread = T - T.mean(0)
    if center:
        X, T = X - X.mean(0), spread
    rows = np.vstack([X, ridge**0.5 * np.eye(X.shape[1])])
    fitted = X @ np.linalg.lstsq(rows, np.vstack([T, np.zeros((X.shape[1], 3))]), rcond=None)[0]
    expected = 1 - ((T - fitted) ** 2).sum() / (spread**2).sum()
    assert gramlab.target_linearity(H, Y, ridge, center) == pytest.approx(expected, rel=1e-10, abs=1e-10)
    assert gramlab.target_linearity(H.astype(np.float64), Y, ridge, center) == pytest.approx(expected, abs=1e-10)
