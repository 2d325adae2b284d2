"""Target Linearity with a ridge of nearly equal features, whose fit through the Gram matrix is refined."""

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
