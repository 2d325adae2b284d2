"""NC1 and NC2 of classes that are drawn at random, against the measure itself and against the mean in closed form."""

import numpy as np
import pytest
import torch

import gramlab
from tasks.measuring.nulls import DRAWS, collapse_nulls


def drawn(seed, n=60, d=7, classes=4):
    """Features with a mean and a spectrum of their own, and labels 3, 4, ... of classes of different sizes."""
    random = np.random.default_rng(seed)
    H = random.normal(size=(n, d)) * np.arange(1, d + 1) + random.normal(size=d)
    labels = np.minimum(np.arange(n) // 10, classes - 1) + 3
    return H, labels


@pytest.mark.parametrize("seed", range(3))
def test_the_quantiles_are_those_of_permuted_labels(seed):
    H, labels = drawn(seed)
    random = np.random.default_rng(9)
    by_draw = [gramlab.neural_collapse(H, labels[random.permutation(len(labels))]) for _ in range(DRAWS)]
    chance = collapse_nulls(torch.from_numpy(H), torch.from_numpy(labels), np.random.default_rng(9))
    for name in ("nc1", "nc2"):
        values = sorted(getattr(collapse, name) for collapse in by_draw)
        assert chance[name] == pytest.approx(values[0] + 0.975 * (values[1] - values[0]), rel=1e-12)


def test_many_independent_features_are_near_the_closed_form_and_near_a_simplex():
    """E tr S_B = (K - 1)/(n - 1) tr S_T, so that NC1 is about (n - K)/(K - 1); class means have cosines -1/(K - 1)."""
    random, labels = np.random.default_rng(5), np.arange(400) % 8
    chance = collapse_nulls(torch.from_numpy(random.normal(size=(400, 2000))), torch.from_numpy(labels), random)
    assert chance["nc1"] == pytest.approx(392 / 7, rel=0.05)
    assert chance["nc2"] / (8 * 7) ** 0.5 < 0.03  # root mean square over pairs; about 1 / root of 2000
    few = collapse_nulls(torch.from_numpy(random.normal(size=(400, 3))), torch.from_numpy(labels), random)
    assert few["nc2"] / (8 * 7) ** 0.5 > 0.3
