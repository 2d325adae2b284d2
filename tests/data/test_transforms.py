"""Standardised pixels and enlarged digits against numpy; random labels against their distribution."""

from itertools import pairwise
from math import sqrt

import numpy as np
import pytest
import torch

from gramlab.data import DataSet, prepare, random_labels, with_random_labels


def digits(**options):
    return prepare("digits", ".", **options)


def test_standardised_pixels_have_mean_0_and_variance_1_over_the_training_set():
    plain, scaled = (digits(train=300, standardize=standardize) for standardize in (False, True))
    x, test = (part.numpy().astype(float) / 16 for part in (plain.x_train, plain.x_test))
    varies = x.std(0) > 0
    assert 0 < varies.sum() < varies.size
    deviation = np.where(varies, x.std(0, ddof=1), 1)
    for part, pixels in ((scaled.x_train, x), (scaled.x_test, test)):
        np.testing.assert_allclose(part, np.where(varies, (pixels - x.mean(0)) / deviation, 0), atol=2e-5)
    assert scaled.factor == 1
    assert not scaled.x_train[:, ~varies].any()


def test_enlarged_digits_repeat_their_pixels():
    small, large = (digits(enlarge=times).x_train.numpy() for times in (1, 3))
    np.testing.assert_array_equal(large, np.kron(small, np.ones((1, 1, 3, 3), np.uint8)))


@pytest.mark.parametrize("p", [0.0, 0.25, 0.5, 0.75, 1.0])
def test_labels_are_random_with_the_probability(p):
    n, c = 30_000, 10
    clean = torch.arange(n) % c
    noisy = random_labels(clean, c, p, "test", 0)
    share = p * (1 - 1 / c)  # expected share of changed labels; one in c random labels equals the true one
    deviation = sqrt(share * (1 - share) / n)
    assert abs(float((noisy != clean).double().mean()) - share) <= 5 * deviation
    # each other class is equally likely, whatever the true class: five binomial standard errors of each count
    table = torch.zeros(c, c).index_put_((clean, noisy), torch.ones(n), accumulate=True)
    frequency = table[~torch.eye(c, dtype=torch.bool)] / (n / c)
    assert float((frequency - p / c).abs().max()) <= 5 * sqrt(p / c * (1 - p / c) / (n / c))


def test_random_labels_are_independent_and_so_not_balanced():
    """Chi-square with 9 degrees of freedom: below 0.5 in one of 100,000 draws, 0 where classes are balanced."""
    counts = torch.bincount(random_labels(torch.zeros(30_000, dtype=torch.long), 10, 1.0, "test", 1)).double()
    assert 0.5 < float(((counts - 3000) ** 2 / 3000).sum()) < 40


def test_labels_random_at_p_are_the_same_at_every_larger_p():
    clean = torch.zeros(2000, dtype=torch.int64)
    levels = [random_labels(clean, 7, p, "test", 0) for p in (0.25, 0.5, 1.0)]
    for less, more in pairwise(levels):
        assert torch.equal(less[less != clean], more[less != clean])


def test_clean_train_holds_the_true_labels(tmp_path):
    clean, noisy = digits(train=400), digits(train=400, random_labels=0.5)
    assert torch.equal(noisy.x_train, clean.x_train)
    assert torch.equal(noisy.clean_train, clean.y_train)
    assert torch.equal(noisy.changed_train, noisy.y_train != clean.y_train)
    assert torch.equal(noisy.y_test, clean.y_test)
    assert noisy.metadata["random_labels"] == 0.5
    assert not clean.changed_train.any()
    noisy.save(tmp_path / "noisy.safetensors")
    assert torch.equal(DataSet.load(tmp_path / "noisy.safetensors").changed_train, noisy.changed_train)
    first_rows = noisy.rows(train=torch.arange(10))
    assert torch.equal(first_rows.clean_train, noisy.clean_train[:10])
    assert not torch.equal(with_random_labels(clean, 0.5, seed=1).y_train, noisy.y_train)
