"""Null values: correlations with matrices in random directions, and collapse to random classes.

Two positive semi-definite matrices always correlate, so 0 is no fair null of a correlation. The means of random classes
of many features are nearly a simplex, so NC2 is small without any collapse.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import one_hot

import gramlab

DRAWS = 40  # random matrices, or permutations of the labels


def nulls(
    matrices: dict[str, Tensor], gram: Tensor, random: np.random.Generator,
    correlation: Callable[[Tensor, Tensor], float] = gramlab.pearson,
) -> dict[str, float]:  # fmt: skip
    """The 97.5 % quantile of each matrix's correlation with random matrices of the Gram's spectrum.

    All matrices are (d, d). ``gram`` may be any symmetric matrix, for example the change of a Gram matrix.
    """
    eigenvalues = torch.linalg.eigvalsh(gram)
    cutoff = len(eigenvalues) * torch.finfo(eigenvalues.dtype).eps * eigenvalues.abs().max()
    eigenvalues = eigenvalues[eigenvalues.abs() > cutoff]  # eigenvectors of a zero eigenvalue have no effect
    correlations = []
    for _ in range(DRAWS):
        random_matrix = in_random_directions(eigenvalues, len(gram), random)
        correlations.append([correlation(matrix, random_matrix) for matrix in matrices.values()])
    return dict(zip(matrices, np.quantile(correlations, 0.975, axis=0).tolist(), strict=True))


def in_random_directions(eigenvalues: Tensor, d: int, random: np.random.Generator) -> Tensor:
    """A (d, d) matrix with these eigenvalues, zeros as the others, and uniformly random eigenvectors."""
    vectors, _ = torch.linalg.qr(torch.from_numpy(random.normal(size=(d, len(eigenvalues)))).to(eigenvalues.device))
    return (vectors * eigenvalues) @ vectors.mT


def collapse_nulls(H: Tensor, labels: Tensor, random: np.random.Generator) -> dict[str, float]:
    """The 2.5 % quantiles of NC1 and NC2 of features H (n, d) under random permutations of their labels (n,).

    For any features the mean of tr(S_B) over permutations is (K - 1)/(n - 1) tr(S_T).
    """
    classes = one_hot(labels.unique(return_inverse=True)[1]).double()  # (n, K)
    n, K = classes.shape
    centred = H.double() - H.double().mean(0)
    orders = torch.from_numpy(np.stack([random.permutation(n) for _ in range(DRAWS)])).to(H.device)
    permuted = centred.new_empty(DRAWS, K, n)  # held once, for one product of all draws: one a draw rounds differently
    for draw, order in zip(permuted, orders, strict=True):
        draw.copy_(classes.mT[:, order])
    means = (permuted.flatten(0, 1) @ centred).unflatten(0, (DRAWS, K)) / classes.sum(0)[:, None]
    del permuted
    lengths = means.norm(dim=2)
    between = lengths.square() @ classes.mean(0)
    unit = means / lengths[..., None]
    simplex = (torch.eye(K, dtype=torch.float64, device=H.device) * K - 1) / (K - 1)
    values = {
        "nc1": centred.square().sum() / n / between - 1,
        "nc2": torch.linalg.matrix_norm(unit @ unit.mT - simplex),
    }
    return {name: float(torch.quantile(by_draw, 0.025)) for name, by_draw in values.items()}
