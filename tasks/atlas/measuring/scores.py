"""Score many matrices against a target at once, with nulls."""

from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from tasks.atlas.table import SCORES

DRAWS = 40  # random matrices for a null, as in tasks.measuring.nulls


def haar(d: int, draw: np.random.Generator) -> Tensor:
    """A uniformly random orthogonal matrix (d, d)."""
    Q, R = torch.linalg.qr(torch.from_numpy(draw.normal(size=(d, d))))
    return Q * R.diagonal().sign()


class Rotations:
    """Random rotations for a side of a layer. All its snapshots and targets share them, so that nulls are paired."""

    def __init__(self, d: int, draw: np.random.Generator):
        self.d, self.draw = d, draw

    @cached_property
    def _rotations(self) -> Tensor:
        return torch.stack([haar(self.d, self.draw) for _ in range(DRAWS + 1)])

    def rotated(self, target: Tensor) -> Tensor:
        """The target with random eigenvectors, (DRAWS, d, d)."""
        Q = self._rotations[:-1]
        return Q @ target @ Q.mT

    def random_entrant(self, target: Tensor) -> Tensor:
        """The target with other random eigenvectors, for the entrant "random matrix"."""
        Q = self._rotations[-1]
        return Q @ target @ Q.mT


def scores(matrices: dict[str, Tensor], target: Tensor, null_targets: Tensor | None) -> dict[str, dict[str, float]]:
    """The scores of each matrix, and their nulls: 97.5 % quantiles over the null targets.

    The scores are `gramlab.cosine`, `gramlab.pearson`, and `gramlab.pearson` of the diagonals. One product gives a
    score of all matrices. A constant matrix, or a constant diagonal, has the correlation 0.

    Parameters
    ----------
    matrices : dict of str to Tensor of shape (d, d)
    target : Tensor of shape (d, d)
    null_targets : Tensor of shape (draws, d, d) or None

    Returns
    -------
    dict of str to dict of str to float
        By the matrix's name: "cosine", "pearson", "diagonal" and, with null targets, "null_cosine" and so on.
    """
    if not matrices:
        return {}
    entrants = torch.stack(list(matrices.values()))
    by_matrix: dict[str, dict[str, float]] = {name: {} for name in matrices}
    for score in SCORES:
        units = _units(entrants, score)
        for name, value in zip(matrices, (units @ _units(target[None], score)[0]).tolist(), strict=True):
            by_matrix[name][score] = value
        if null_targets is not None:
            products = units @ _units(null_targets, score).mT
            nulls = torch.quantile(products, 0.975, dim=1).tolist()
            for name, value in zip(matrices, nulls, strict=True):
                by_matrix[name][f"null_{score}"] = value
    return by_matrix


def _units(stack: Tensor, score: str) -> Tensor:
    """Unit vectors of the matrices, whose products are the score; zero for a spread below round-off."""
    vectors = stack.diagonal(dim1=-2, dim2=-1) if score == "diagonal" else stack.flatten(1)
    sizes = vectors.norm(dim=1, keepdim=True)
    if score != "cosine":
        vectors = vectors - vectors.mean(1, keepdim=True)
    norms = vectors.norm(dim=1, keepdim=True)
    return torch.where(norms > 1e-12 * sizes, vectors / norms.clamp_min(torch.finfo(norms.dtype).tiny), 0.0)
