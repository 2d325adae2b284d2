"""The null of a correlation is the 97.5 % quantile of 40 draws, also for a matrix with negative eigenvalues."""

import numpy as np
import pytest
import torch

import gramlab
from tasks.measuring.nulls import nulls


@pytest.mark.parametrize("signs", [[1, 1, 1, 1], [1, -1, 1, -1]])
def test_the_quantile_of_forty_draws(signs):
    random = np.random.default_rng(0)
    vectors = np.linalg.qr(random.normal(size=(6, 6)))[0]
    spectrum = np.array([*np.multiply(signs, [4.0, 3.0, 2.0, 1.0]), 0.0, 0.0])
    matrix, other = (vectors * spectrum) @ vectors.T, random.normal(size=(6, 6))
    nonzero = np.sort(spectrum[spectrum != 0])
    draw, correlations = np.random.default_rng(1), []
    for _ in range(40):
        Q = np.linalg.qr(draw.normal(size=(6, 4)))[0]
        correlations.append(np.corrcoef(other.ravel(), (Q @ np.diag(nonzero) @ Q.T).ravel())[0, 1])
    values = np.sort(correlations)
    expected = values[38] + 0.025 * (values[39] - values[38])  # at 0.975 * 39 of the sorted draws
    measured = nulls({"other": torch.from_numpy(other)}, torch.from_numpy(matrix), np.random.default_rng(1))
    assert measured == {"other": pytest.approx(expected, rel=1e-10)}
    diagonals = nulls({"other": torch.from_numpy(other)}, torch.from_numpy(matrix), np.random.default_rng(1),
                      lambda a, b: gramlab.cosine(a, b, diagonal=True))  # fmt: skip
    assert diagonals["other"] != pytest.approx(expected, rel=1e-3)
