"""Neural collapse: within- and between-class variability (paper D, Section 3.2)."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from gramlab.measures.arrays import Array, float64
from gramlab.measures.undefined import Undefined


@dataclass(frozen=True, eq=False)
class Collapse:
    """What ``neural_collapse`` found.

    ``within`` = tr(S_W) and ``between`` = tr(S_B), whose sum is exactly the total variance tr(S_T);
    ``means`` (K, d) are the class means, ``mean`` (d,) the mean of all samples.
    """

    within: float
    between: float
    means: Tensor
    mean: Tensor

    @property
    def total(self) -> float:
        """tr(S_T) = tr(S_W) + tr(S_B)."""
        return self.within + self.between

    @property
    def nc1(self) -> float:
        """tr(S_W) / tr(S_B) (paper D, Figure 3). Raises Undefined if the class means coincide."""
        if self.between == 0.0:
            raise Undefined("NC1 is undefined: the class means coincide, so the between-class variance is zero")
        return self.within / self.between

    @property
    def nc2(self) -> float:
        """‖H̄ᵀH̄ − Σ_ETF‖_F of the centred, normalised class means H̄ (paper D, Section 3.2 and Figure 3).

        Σ_ETF has 1 on its diagonal and −1/(K−1) off it. Zero for a simplex equiangular tight frame.
        Raises Undefined if a class mean coincides with the mean of all samples.
        """
        centred = self.means - self.mean
        lengths = centred.norm(dim=1)
        if float(lengths.min()) <= 1e-14 * float(self.means.norm(dim=1).max()):
            which = int(lengths.argmin())
            raise Undefined(f"NC2 is undefined: the mean of class {which} coincides with the mean of all samples")
        unit = centred / lengths.unsqueeze(1)
        K = len(unit)
        etf = (1 + 1 / (K - 1)) * torch.eye(K, dtype=unit.dtype, device=unit.device) - 1 / (K - 1)
        return float((unit @ unit.mT - etf).norm())


def neural_collapse(H: Array, labels: Array) -> Collapse:
    """Within- and between-class variability of features ``H`` (n, d) with integer ``labels`` (n,).

        S_W = (1/n) Σ_c Σ_{i∈c} (h_i − μ_c)(h_i − μ_c)ᵀ,    S_B = Σ_c (n_c/n) (μ_c − μ_G)(μ_c − μ_G)ᵀ

    The paper has classes of one size, where the weights n_c/n are its 1/K; with other classes they keep
    S_W + S_B = S_T. Only traces are formed. ``H`` of more axes is flattened; one-hot labels (n, K) are taken too.
    Raises ValueError on wrong shapes, Undefined if there are fewer than two classes.
    """
    X = float64(H, "H")
    if X.ndim == 0 or X.shape[0] == 0:
        raise ValueError(f"H has no rows: its shape is {tuple(X.shape)}")
    X = X.reshape(X.shape[0], -1)
    y = labels.detach() if isinstance(labels, Tensor) else torch.as_tensor(np.asarray(labels))
    if y.ndim == 2 and y.shape[1] > 1:
        y = y.argmax(1)
    y = y.reshape(-1).to(X.device)
    if len(y) != len(X):
        raise ValueError(f"H has {len(X)} rows and there are {len(y)} labels")
    _, index, counts = y.unique(return_inverse=True, return_counts=True)
    K = len(counts)
    if K < 2:
        raise Undefined(f"neural collapse is undefined for {K} class: it compares classes")
    sizes = counts.to(X.dtype).unsqueeze(1)
    # about a common shift, so that features far from the origin lose no digits
    mean = X.mean(0)
    centred = X - mean
    offsets = X.new_zeros(K, X.shape[1]).index_add_(0, index, centred) / sizes
    within = float((centred - offsets[index]).square().sum()) / len(X)
    between = float((sizes * (offsets - (sizes * offsets).sum(0) / len(X)).square()).sum()) / len(X)
    return Collapse(within=within, between=between, means=mean + offsets, mean=mean)
