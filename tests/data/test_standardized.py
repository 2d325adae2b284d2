"""Standardised pixels and enlarged digits, against numpy."""

import numpy as np

from gramlab.data import prepare


def test_pixels_have_mean_0_and_variance_1_over_the_training_set(tmp_path):
    plain, made = (prepare("digits", tmp_path, train=300, standardize=wanted) for wanted in (False, True))
    x, test = (part.numpy().astype(float) / 16 for part in (plain.x_train, plain.x_test))
    varies = x.std(0) > 0
    assert 0 < varies.sum() < varies.size
    spread = np.where(varies, x.std(0, ddof=1), 1)
    for part, wanted in ((made.x_train, x), (made.x_test, test)):
        np.testing.assert_allclose(part, np.where(varies, (wanted - x.mean(0)) / spread, 0), atol=2e-5)
    assert made.factor == 1
    assert not made.x_train[:, ~varies].any()


def test_enlarged_digits_repeat_their_pixels(tmp_path):
    small, large = (prepare("digits", tmp_path, enlarge=times).x_train.numpy() for times in (1, 3))
    np.testing.assert_array_equal(large, np.kron(small, np.ones((1, 1, 3, 3), np.uint8)))
