"""Subsets by class and size, and labels drawn at random."""

from itertools import pairwise
from math import sqrt

import pytest
import torch

from gramlab.data import DataError, DataSet, prepare, random_labels, with_random_labels


def digits(**options):
    return prepare("digits", ".", **options)


def test_a_smaller_training_set_is_the_beginning_of_a_larger_one():
    small, large = digits(train=50), digits(train=400)
    assert torch.equal(small.x_train, large.x_train[:50])
    assert torch.equal(small.y_train, large.y_train[:50])
    assert torch.equal(small.x_test, digits().x_test)
    assert not torch.equal(small.x_train, digits(train=50, seed=1).x_train)


def test_the_first_ones_are_the_first_ones():
    assert torch.equal(digits(train=50, order="first").x_train, digits().x_train[:50])


def test_an_exact_balance():
    data = digits(train=200, test=50, balanced=True)
    assert torch.bincount(data.y_train).tolist() == [20] * 10
    assert torch.bincount(data.y_test).tolist() == [5] * 10
    assert data.y_train[:10].tolist() != sorted(data.y_train[:10].tolist())  # classes mixed
    everything = torch.bincount(digits(balanced=True).y_train)
    assert everything.tolist() == [int(torch.bincount(digits().y_train).min())] * 10


def test_some_classes_only_numbered_anew():
    data, whole = digits(classes=[8, 2]), digits()
    assert (data.classes, data.about["kept_classes"]) == (2, [8, 2])
    assert int((data.y_train == 0).sum()) == int((whole.y_train == 8).sum())
    wanted = {tuple(row) for row in whole.x_train[whole.y_train == 2].flatten(1).tolist()}
    assert {tuple(row) for row in data.x_train[data.y_train == 1].flatten(1).tolist()} == wanted
    assert torch.bincount(digits(classes=[8, 2], train=60, balanced=True).y_train).tolist() == [30, 30]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"train": 5000}, "5000 train samples wanted, it has"),
        ({"test": 400}, "400 test samples wanted, it has"),
        ({"train": 300, "classes": [1]}, r"300 train samples of classes \[1\] wanted, it has"),
        ({"train": 15, "balanced": True}, "15 train samples can't be balanced over 10 classes"),
        ({"train": 1430, "balanced": True}, "143 train samples of class 8 wanted, it has 139"),
        ({"classes": [3, 10]}, r"classes must be different numbers from 0 to 9, not \[3, 10\]"),
        ({"classes": [3, 3]}, "different numbers"),
        ({"classes": []}, "different numbers"),
        ({"order": "last", "train": 3}, "order must be one of random, first, not 'last'"),
        ({"train": -1}, "train must be a whole number of at least 0, not -1"),
        ({"random_labels": 1.5}, r"the probability must lie in \[0, 1\], not 1.5"),
        ({"test_fraction": 1}, r"test_fraction must lie in \[0, 1\), not 1"),
    ],
)
def test_what_can_not_be_chosen_is_refused_in_one_line(options, says):
    with pytest.raises(DataError, match=says) as error:
        digits(**options)
    assert "\n" not in str(error.value)


def test_a_regression_has_no_classes_to_choose_by():
    for options in ({"classes": [0]}, {"balanced": True}, {"random_labels": 0.5}):
        with pytest.raises(DataError, match="a regression has n"):
            prepare("swiss_roll", ".", samples=5, **options)
    with pytest.raises(DataError, match="another population"):
        prepare("fact_population", ".", train=5)


# ----------------------------------------------------------------------------------------- random labels


@pytest.mark.parametrize("p", [0.0, 0.25, 0.5, 0.75, 1.0])
def test_a_label_is_drawn_anew_with_the_probability(p):
    n, c = 30_000, 10
    clean = torch.arange(n) % c
    noisy = random_labels(clean, c, p, "test", 0)
    share = p * (1 - 1 / c)  # of the labels that differ; a new label equals the old one once in c times
    spread = sqrt(share * (1 - share) / n)
    assert abs(float((noisy != clean).double().mean()) - share) <= 5 * spread
    # whatever the old label, each other one is as likely: five binomial standard errors of each of the counts
    table = torch.zeros(c, c).index_put_((clean, noisy), torch.ones(n), accumulate=True)
    off = table[~torch.eye(c, dtype=torch.bool)] / (n / c)
    assert float((off - p / c).abs().max()) <= 5 * sqrt(p / c * (1 - p / c) / (n / c))


def test_what_is_random_at_p_is_random_at_every_larger_p():
    clean = torch.zeros(2000, dtype=torch.int64)
    levels = [random_labels(clean, 7, p, "test", 0) for p in (0.25, 0.5, 1.0)]
    for less, more in pairwise(levels):
        assert torch.equal(less[less != clean], more[less != clean])


def test_the_true_labels_are_kept_beside_the_random_ones(tmp_path):
    clean, noisy = digits(train=400), digits(train=400, random_labels=0.5)
    assert torch.equal(noisy.x_train, clean.x_train)
    assert torch.equal(noisy.clean_train, clean.y_train)
    assert torch.equal(noisy.changed_train, noisy.y_train != clean.y_train)
    assert torch.equal(noisy.y_test, clean.y_test)
    assert noisy.about["random_labels"] == 0.5
    assert not clean.changed_train.any()
    noisy.save(tmp_path / "noisy.safetensors")
    assert torch.equal(DataSet.load(tmp_path / "noisy.safetensors").changed_train, noisy.changed_train)
    kept = noisy.rows(train=torch.arange(10))
    assert torch.equal(kept.clean_train, noisy.clean_train[:10])
    assert not torch.equal(with_random_labels(clean, 0.5, seed=1).y_train, noisy.y_train)
