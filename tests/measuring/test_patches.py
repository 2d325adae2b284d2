"""The mean entries of a matrix between patches of an image, against sums entry by entry."""

import itertools

import numpy as np
import pytest
import torch

from tasks.measuring.patches import image_rows, patch_means


def patch(pixel, shape):
    """The patch (row, column) of a pixel's number in the flat form of (channels, height, width)."""
    _, row, column = np.unravel_index(pixel, shape)
    return int(np.floor(row / shape[1] * 4)), int(np.floor(column / shape[2] * 4))


@pytest.mark.parametrize("shape", [(1, 8, 8), (3, 4, 8), (2, 9, 6), (1, 2, 3)])
def test_patch_means_are_means_over_pairs_of_pixels(shape):
    size = int(np.prod(shape))
    matrix = torch.from_numpy(np.random.default_rng(0).normal(size=(size, size)))
    sums, counts = {}, {}
    for first, second in itertools.product(range(size), repeat=2):
        pair = patch(first, shape), patch(second, shape)
        sums[pair] = sums.get(pair, 0) + float(matrix[first, second])
        counts[pair] = counts.get(pair, 0) + 1
    patches = sorted({pair[0] for pair in sums})
    expected = [[sums[a, b] / counts[a, b] for b in patches] for a in patches]
    assert len(patches) == min(shape[1], 4) * min(shape[2], 4)
    np.testing.assert_allclose(patch_means(matrix, shape).numpy(), expected, atol=1e-12)


def test_image_rows_number_the_entries_row_by_row():
    matrix = torch.arange(36.0).reshape(6, 6)
    rows = list(image_rows({"gram": matrix}, (1, 2, 3), {"seed": 0}))
    assert [row["x"] for row in rows] == list(range(36))
    assert [row["value"] for row in rows] == list(range(36))
    assert {(row["quantity"], row["seed"]) for row in rows} == {("image/gram", 0)}
