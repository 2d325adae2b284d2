"""Functions of matrices that several experiments compare with."""

import torch
from torch import Tensor


def root(A: Tensor) -> Tensor:
    """sqrt(A A^T) from A's singular values, because the product A A^T would lose half of the digits."""
    U, S, _ = torch.linalg.svd(A)
    return (U * S) @ U.T
