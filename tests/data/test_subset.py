"""Subsets by class and size."""

import pytest
import torch

from gramlab.data import DataError, prepare


def digits(**options):
    return prepare("digits", ".", **options)


def test_a_smaller_training_set_is_the_beginning_of_a_larger_one():
    small, large = digits(train=50), digits(train=400)
    assert torch.equal(small.x_train, large.x_train[:50])
    assert torch.equal(small.y_train, large.y_train[:50])
    assert torch.equal(small.x_test, digits().x_test)
    assert not torch.equal(small.x_train, digits(train=50, seed=1).x_train)


def test_order_first_takes_the_first_samples():
    assert torch.equal(digits(train=50, order="first").x_train, digits().x_train[:50])


def test_balanced_subsets_have_equally_many_samples_per_class():
    data = digits(train=200, test=50, balanced=True)
    assert torch.bincount(data.y_train).tolist() == [20] * 10
    assert torch.bincount(data.y_test).tolist() == [5] * 10
    assert data.y_train[:10].tolist() != sorted(data.y_train[:10].tolist())  # classes mixed
    largest = torch.bincount(digits(balanced=True).y_train)
    assert largest.tolist() == [int(torch.bincount(digits().y_train).min())] * 10


def test_chosen_classes_are_renumbered():
    data, full = digits(classes=[8, 2]), digits()
    assert (data.classes, data.metadata["kept_classes"]) == (2, [8, 2])
    assert int((data.y_train == 0).sum()) == int((full.y_train == 8).sum())
    twos = {tuple(row) for row in full.x_train[full.y_train == 2].flatten(1).tolist()}
    assert {tuple(row) for row in data.x_train[data.y_train == 1].flatten(1).tolist()} == twos
    assert torch.bincount(digits(classes=[8, 2], train=60, balanced=True).y_train).tolist() == [30, 30]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"train": 5000}, "5000 train samples wanted, it has"),
        ({"test": 400}, "400 test samples wanted, it has"),
        ({"train": 300, "classes": [1]}, r"300 train samples of classes \[1\] wanted, it has"),
        ({"train": 15, "balanced": True}, "15 train samples cannot be balanced over 10 classes"),
        ({"train": 1430, "balanced": True}, "143 train samples of class 8 wanted, it has 139"),
        ({"classes": [3, 10]}, r"classes must be different numbers from 0 to 9, not \[3, 10\]"),
        ({"classes": [3, 3]}, "different numbers"),
        ({"classes": []}, "different numbers"),
        ({"order": "last", "train": 3}, "order must be one of random, first, not 'last'"),
        ({"train": -1}, "train must be a whole number of at least 0, not -1"),
        ({"random_labels": 1.5}, r"the probability must be a number from 0 to 1, not 1.5"),
        ({"test_fraction": 1}, r"test_fraction must be a number from 0 to below 1, not 1"),
    ],
)
def test_impossible_subsets_are_refused_in_one_line(options, says):
    with pytest.raises(DataError, match=says) as error:
        digits(**options)
    assert "\n" not in str(error.value)


def test_a_regression_has_no_classes_to_choose_by():
    for options in ({"classes": [0]}, {"balanced": True}, {"random_labels": 0.5}):
        with pytest.raises(DataError, match="a regression has n"):
            prepare("swiss_roll", ".", samples=5, **options)
    with pytest.raises(DataError, match="another population"):
        prepare("fact_population", ".", train=5)
