"""Reduce a matrix between pixels to means between patches of the image, for readers to look at."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

SIDE = 4  # patches along each side of an image


def patch_means(matrix: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Average a matrix between pixels over each pair of patches, and over the channels.

    Parameters
    ----------
    matrix : Tensor
        (d, d), between the numbers of a flattened input.
    shape : tuple of int
        The input's shape, (channels, height, width), with d numbers in all.

    Returns
    -------
    Tensor
        (16, 16) in double precision, patches row by row; fewer for an image with fewer than four pixels along a side.
    """
    channels, height, width = shape
    rows, columns = (torch.arange(length) * SIDE // length for length in (height, width))
    patch = (SIDE * rows[:, None] + columns).flatten().repeat(channels)
    is_in_patch = (patch == patch.unique()[:, None]).to(matrix.device, torch.float64)
    means = is_in_patch / is_in_patch.sum(1, keepdim=True)
    return means @ matrix.double() @ means.T


def image_rows(matrices: dict[str, Tensor], shape: tuple[int, ...], labels: dict[str, Any]) -> Iterator[dict]:
    """Rows image/NAME of each matrix's patch means: ``x`` counts the entries row by row."""
    for name, matrix in matrices.items():
        for entry, value in enumerate(patch_means(matrix, shape).flatten().tolist()):
            yield {**labels, "quantity": f"image/{name}", "x": float(entry), "value": value}
