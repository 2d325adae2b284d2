"""Neural collapse: within- and between-class variability (paper D, Section 3.2)."""

from dataclasses import dataclass

import torch
from torch import Tensor

from gramlab.measures.arrays import Array, float64, real
from gramlab.measures.batches import whole_rows
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
        """tr(S_W) / tr(S_B) (paper D, Figure 3). Raises Undefined if the class means coincide up to round-off."""
        if self.between <= 1e-28 * (self.total + float(self.mean.square().sum())):
            raise Undefined("NC1 is undefined: the class means coincide, so the between-class variance is zero")
        if self.between < 1e-305:
            raise Undefined("NC1 is undefined: the squares of the features underflow; scale them")
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


class RunningCollapse:
    """``neural_collapse`` of features that come in batches: it keeps the class means, (K, d), and no features.

    Batches of any sizes, in any order of the classes, in float64: sums within classes are merged about the classes'
    own means, so that features that have collapsed lose no digits.
    """

    def __init__(self) -> None:
        self._labels: Tensor | None = None  # (K,), sorted

    def add(self, H: Array, labels: Array) -> None:
        """Features ``H`` (b, d), of more axes flattened, with integer ``labels`` (b,) or one-hot ones (b, K).

        Raises ValueError on NaN or infinity, and on wrong shapes.
        """
        X = float64(H, "H")
        if X.ndim == 0 or X.shape[0] == 0:
            raise ValueError(f"H has no rows: its shape is {tuple(X.shape)}")
        self._add(X.reshape(X.shape[0], -1), _classes(labels, len(X)).to(X.device))

    def _add(self, X: Tensor, y: Tensor) -> None:
        if self._labels is None:
            self._shift = X.mean(0)  # about which means are kept: features far from the origin lose no digits
            self._labels, self._sizes, self._within = y[:0], X.new_zeros(0, 1), X.new_zeros(())
            self._means = X.new_zeros(0, X.shape[1])
        if X.shape[1] != self._means.shape[1]:
            raise ValueError(f"H has {X.shape[1]} columns, and {self._means.shape[1]} before")
        X = X - self._shift
        labels, index, counts = y.unique(return_inverse=True, return_counts=True)
        sizes = counts.to(X.dtype).unsqueeze(1)
        means = X.new_zeros(len(labels), X.shape[1]).index_add_(0, index, X) / sizes
        self._within = self._within + X.sub_(means[index]).square_().sum()
        # the classes of both, and where each one's stand among them
        both, place = torch.cat([self._labels, labels]).unique(return_inverse=True)
        old, new = place[: len(self._labels)], place[len(self._labels) :]
        total = X.new_zeros(len(both), 1).index_add_(0, old, self._sizes).index_add_(0, new, sizes)
        merged = X.new_zeros(len(both), X.shape[1]).index_copy_(0, old, self._means)
        before = X.new_zeros(len(both), 1).index_copy_(0, old, self._sizes)[new]
        apart, share = means - merged[new], sizes / total[new]
        self._within = self._within + (before * share * apart.square()).sum()
        merged.index_add_(0, new, share * apart)
        self._labels, self._sizes, self._means = both, total, merged

    def collapse(self) -> Collapse:
        """Of all that was added. Raises Undefined if there are fewer than two classes, or variances overflow."""
        K = 0 if self._labels is None else len(self._labels)
        if K < 2:
            raise Undefined(f"neural collapse is undefined for {K} class: it compares classes")
        n = float(self._sizes.sum())
        mean = (self._sizes * self._means).sum(0) / n
        between = float((self._sizes * (self._means - mean).square()).sum()) / n
        if not float(self._within) + between < float("inf"):
            raise Undefined("neural collapse is undefined: the squares of the features overflow; scale them")
        return Collapse(float(self._within) / n, between, self._means + self._shift, mean + self._shift)


def neural_collapse(H: Array, labels: Array, *, batch_size: int = 4096) -> Collapse:
    """Within- and between-class variability of features ``H`` (n, d) with integer ``labels`` (n,).

        S_W = (1/n) Σ_c Σ_{i∈c} (h_i − μ_c)(h_i − μ_c)ᵀ,    S_B = Σ_c (n_c/n) (μ_c − μ_G)(μ_c − μ_G)ᵀ

    The paper has classes of one size, where the weights n_c/n are its 1/K; with other classes they keep
    S_W + S_B = S_T. Only traces are formed, from ``batch_size`` rows at a time: nothing of the size of ``H`` beside it.
    ``H`` of more axes is flattened; one-hot labels (n, K) are taken too. ``RunningCollapse`` takes batches.
    Raises ValueError on wrong shapes and NaN, Undefined if there are fewer than two classes, or variances overflow.
    """
    whole_rows(batch_size)
    X = real(H, "H")
    if X.ndim == 0 or X.shape[0] == 0:
        raise ValueError(f"H has no rows: its shape is {tuple(X.shape)}")
    y = _classes(labels, len(X)).to(X.device)
    found = RunningCollapse()
    for start in range(0, len(X), batch_size):
        part = slice(start, start + batch_size)
        found._add(X[part].reshape(len(y[part]), -1).to(torch.float64), y[part])
    return found.collapse()


def _classes(labels: Array, n: int) -> Tensor:
    y = real(labels, "labels")
    if y.ndim == 2 and y.shape[1] > 1:
        y = y.argmax(1)
    y = y.reshape(-1)
    if len(y) != n:
        raise ValueError(f"H has {n} rows and there are {len(y)} labels")
    return y
