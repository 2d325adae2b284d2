"""The noise of the alignment-reversing data has the printed size, whatever the scale of the inputs."""

from math import sqrt

import pytest

from gramlab.data.alignment import alignment_reversing


@pytest.mark.parametrize("scale", [0.01, 1.0, 20.0])
def test_the_noise_does_not_depend_on_the_scale(scale):
    n, d = 40, 30
    noisy, clean = (alignment_reversing(n, d, 0.4, scale=scale, noise=noise).x_train for noise in (1e-2, 0.0))
    assert float((noisy - clean).std()) == pytest.approx(1e-2, rel=5 / sqrt(2 * n * d))
