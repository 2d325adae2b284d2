"""Roots of matrices W^T K W of a layer with fewer outputs than inputs, without an eigen-decomposition (d, d)."""

import torch
from torch import Tensor

import gramlab


def root_of_product(weight: Tensor, K: Tensor) -> tuple[Tensor, Tensor]:
    """The eigenvalues other than 0 of (W^T K W)^{1/2}, (r,), and its eigenvectors (d, r).

    W is (k, d), K (k, k) symmetric and positive semi-definite. K^{1/2} W = U S V^T, and the root is V S V^T.
    """
    _, values, vectors = torch.linalg.svd(gramlab.psd_power(K, 0.5) @ weight.double(), full_matrices=False)
    return values, vectors.mT
