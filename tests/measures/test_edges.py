"""The edges of the measures: groups of a convolution, NC2 pair by pair, and the words of refusals."""

import numpy as np
import pytest
import torch
from torch import nn

import gramlab
from gramlab.measures.similarity import ratio


def grouped(weight):
    """The measured layer of a convolution with two groups of 1 x 1 kernels; ``weight`` is (2, k, d)."""
    groups, k, d = weight.shape
    layer = nn.Conv2d(groups * d, groups * k, 1, groups=groups, bias=False).double()
    layer.weight.data = torch.from_numpy(weight).reshape(groups * k, d, 1, 1)
    return gramlab.measure(layer, torch.ones(3, groups * d, 1, 1).double())[""]


def entropy_rank(matrix):
    shares = np.linalg.svd(matrix, compute_uv=False)
    shares = shares[shares > 0] / shares.sum()
    return np.exp(-(shares * np.log(shares)).sum())


def test_the_effective_rank_of_groups_is_their_mean():
    weight = np.random.default_rng(0).normal(size=(2, 3, 4)) * [[[1.0]], [[20.0]]]
    assert grouped(weight).effective_rank == pytest.approx(np.mean([entropy_rank(W) for W in weight]), rel=1e-6)


def test_a_group_of_zeros_has_no_effective_rank():
    weight = np.random.default_rng(0).normal(size=(2, 3, 4))
    weight[1] = 0
    with pytest.raises(gramlab.Undefined, match="zero weights"):
        _ = grouped(weight).effective_rank


@pytest.mark.parametrize("rank", [1, 3])
def test_the_effective_rank_of_a_matrix_of_low_rank(rank):
    """A root of an eigenvalue that is round-off, 1e-8, would count as a direction of its own."""
    random = np.random.default_rng(0)
    left, right = (np.linalg.qr(random.normal(size=(60, rank)))[0] for _ in range(2))
    weight = left @ np.diag(0.5 ** np.arange(rank)) @ right.T
    layer = nn.Linear(60, 60, bias=False).double()
    layer.weight.data = torch.from_numpy(weight)
    measured = gramlab.measure(layer, torch.ones(3, 60).double(), quantities="gram")[""]
    assert measured.effective_rank == pytest.approx(entropy_rank(np.diag(0.5 ** np.arange(rank))), rel=1e-12)


def test_layers_are_compared_by_identity():
    """Their tensors have no truth value, so that fields cannot be compared."""
    first, second = (grouped(np.ones((2, 3, 4))) for _ in range(2))
    assert first != second
    assert len({first, second}) == 2


def test_nc2_is_the_distance_to_the_simplex_pair_by_pair():
    random = np.random.default_rng(1)
    labels = np.arange(40) % 4
    H = random.normal(size=(40, 6)) + 3 * random.normal(size=(4, 6))[labels]
    means = [H[labels == label].mean(0) - H.mean(0) for label in range(4)]
    squares = 0.0
    for a in range(4):
        for b in range(4):
            cosine = means[a] @ means[b] / np.linalg.norm(means[a]) / np.linalg.norm(means[b])
            squares += (cosine - (1 if a == b else -1 / 3)) ** 2
    assert gramlab.neural_collapse(H, labels).nc2 == pytest.approx(np.sqrt(squares), rel=1e-12)


def test_a_class_without_nc2_is_named_by_its_label():
    H = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0]])
    with pytest.raises(gramlab.Undefined, match="the mean of class 8 coincides"):
        _ = gramlab.neural_collapse(H, [2, 5, 8]).nc2


REFUSED = {
    "features of W": (lambda: gramlab.surrogate(np.ones((5, 4)), np.ones((2, 3)), np.ones(5)),
                      "W takes 3 features and H has 4"),
    "a number for features": (lambda: gramlab.target_linearity(1.0, np.arange(5.0)), "H has no rows"),
    "columns of a batch": (lambda: two_batches(5, 3), "H has 3 columns and the batches before had 5"),
    "the first has no spread": (lambda: ratio(0.0, 1.0, 0.0), "the first array has no spread"),
    "the second has no spread": (lambda: ratio(1.0, 0.0, 0.0), "the second array has no spread"),
}  # fmt: skip


def two_batches(columns, others):
    running = gramlab.RunningCollapse()
    running.add(np.ones((4, columns)), [0, 0, 1, 1])
    running.add(np.ones((4, others)), [0, 0, 1, 1])


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_names_the_right_numbers(name):
    act, message = REFUSED[name]
    with pytest.raises(ValueError, match=message):
        act()
