"""Kernels that differ in their eigenvectors alone."""

import torch
from torch import Tensor


def with_eigenvalues_of(K: Tensor, other: Tensor) -> Tensor:
    """The matrix with the eigenvalues of K and the eigenvectors of another symmetric matrix, both in rising order."""
    vectors = torch.linalg.eigh(other).eigenvectors
    return vectors * torch.linalg.eigvalsh(K) @ vectors.mT
