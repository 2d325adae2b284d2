"""What a correlation is compared with: matrices of the same spectrum in random directions.

Positive semi-definite matrices are never uncorrelated, so that 0 is no fair comparison.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

import gramlab

DRAWS = 40  # random matrices


def nulls(
    matrices: dict[str, Tensor], gram: Tensor, random: np.random.Generator,
    correlation: Callable[[Tensor, Tensor], float] = gramlab.pearson,
) -> dict[str, float]:  # fmt: skip
    """The 97.5 % quantile of each matrix's correlation with random matrices of the Gram's spectrum; all are (d, d)."""
    eigenvalues = torch.linalg.eigvalsh(gram)
    cutoff = len(eigenvalues) * torch.finfo(eigenvalues.dtype).eps * eigenvalues[-1]
    eigenvalues = eigenvalues[eigenvalues > cutoff]  # the directions of a 0 make no difference
    correlations = []
    for _ in range(DRAWS):
        random_matrix = in_random_directions(eigenvalues, len(gram), random)
        correlations.append([correlation(matrix, random_matrix) for matrix in matrices.values()])
    return dict(zip(matrices, np.quantile(correlations, 0.975, axis=0).tolist(), strict=True))


def in_random_directions(eigenvalues: Tensor, d: int, random: np.random.Generator) -> Tensor:
    """A (d, d) matrix with these eigenvalues, and 0 for the rest, and uniformly random eigenvectors."""
    vectors, _ = torch.linalg.qr(torch.from_numpy(random.normal(size=(d, len(eigenvalues)))).to(eigenvalues.device))
    return (vectors * eigenvalues) @ vectors.mT
