"""Neural collapse: within- and between-class variability of features (paper D, Section 3.2)."""

from dataclasses import dataclass

import torch
from torch import Tensor

from gramlab.measures.arrays import Array, as_finite, as_float64
from gramlab.measures.batches import check_batch_size
from gramlab.measures.undefined import Undefined


@dataclass(frozen=True, eq=False)
class Collapse:
    """Class statistics of features, as ``neural_collapse`` returns them.

    Attributes
    ----------
    within, between : float
        tr(S_W) and tr(S_B). Their sum is exactly the total variance tr(S_T).
    means : Tensor of shape (K, d)
        The class means, in the order of the sorted labels.
    mean : Tensor of shape (d,)
        The mean of all samples.
    labels : Tensor of shape (K,)
        The labels, sorted.
    """

    within: float
    between: float
    means: Tensor
    mean: Tensor
    labels: Tensor

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

        Σ_ETF has 1 on its diagonal and −1/(K−1) elsewhere. H̄ is centred at the mean of all samples, so that classes
        of equal size which form a simplex equiangular tight frame have 0. For more than two classes of unequal size an
        exact simplex is above 0: 0.15 for 6, 5, 5 and 5 samples. Of two classes NC2 is always 0: their centred means
        are opposite.
        Raises Undefined if a class mean coincides with the mean of all samples up to round-off.
        """
        centred = self.means - self.mean
        lengths = centred.norm(dim=1)
        # means of features that spread around 0 have the round-off of the features
        if float(lengths.min()) <= 1e-14 * (float(self.means.norm(dim=1).max()) + self.total**0.5):
            label = self.labels[lengths.argmin()].item()
            raise Undefined(f"NC2 is undefined: the mean of class {label} coincides with the mean of all samples")
        if self.between < 1e-305:
            raise Undefined("NC2 is undefined: the squares of the features underflow; scale them")
        unit = centred / lengths.unsqueeze(1)
        K = len(unit)
        etf = (1 + 1 / (K - 1)) * torch.eye(K, dtype=unit.dtype, device=unit.device) - 1 / (K - 1)
        return float((unit @ unit.mT - etf).norm())


class RunningCollapse:
    """``neural_collapse`` of features that come in batches. It keeps the class means (K, d) and no features.

    Batches have any size and any order of the classes. Sums are in float64, and sums within a class are merged around
    that class's mean, so that features that have collapsed lose no digits.

    Examples
    --------
    >>> import gramlab
    >>> running = gramlab.RunningCollapse()
    >>> running.add([[0.0, 1.0], [2.0, 1.0]], [0, 1])
    >>> running.add([[0.0, 3.0], [2.0, 3.0]], [0, 1])
    >>> running.collapse().nc1
    1.0
    """

    def __init__(self) -> None:
        self._labels: Tensor | None = None  # (K,), sorted

    def add(self, H: Array, labels: Array) -> None:
        """Add a batch.

        Parameters
        ----------
        H : array of shape (b, d) or (b, ...)
            Features; further axes are flattened.
        labels : array of shape (b,) or (b, K)
            Integer or one-hot labels.

        Raises
        ------
        ValueError
            On NaN or infinite features, and on wrong shapes.
        """
        X = as_float64(H, "H")
        if X.ndim == 0 or X.shape[0] == 0:
            raise ValueError(f"H has no rows: its shape is {tuple(X.shape)}")
        self._add(X.reshape(X.shape[0], -1), _class_labels(labels, len(X)).to(X.device))

    def _add(self, X: Tensor, y: Tensor) -> None:
        if self._labels is None:
            self._shift = X.mean(0)  # means are kept relative to it: features far from the origin lose no digits
            self._labels, self._sizes, self._within = y[:0], X.new_zeros(0, 1), X.new_zeros(())
            self._means = X.new_zeros(0, X.shape[1])
        if X.shape[1] != self._means.shape[1]:
            raise ValueError(f"H has {X.shape[1]} columns and the batches before had {self._means.shape[1]}")
        X = X - self._shift
        labels, index, counts = y.unique(return_inverse=True, return_counts=True)
        sizes = counts.to(X.dtype).unsqueeze(1)
        means = X.new_zeros(len(labels), X.shape[1]).index_add_(0, index, X) / sizes
        self._within = self._within + X.sub_(means[index]).square_().sum()
        # the union of the labels, and where the labels before and those of the batch stand in it
        merged_labels, places = torch.cat([self._labels, labels]).unique(return_inverse=True)
        places_before, batch_places = places[: len(self._labels)], places[len(self._labels) :]
        K = len(merged_labels)
        total = X.new_zeros(K, 1).index_add_(0, places_before, self._sizes).index_add_(0, batch_places, sizes)
        merged = X.new_zeros(K, X.shape[1]).index_copy_(0, places_before, self._means)
        sizes_before = X.new_zeros(K, 1).index_copy_(0, places_before, self._sizes)[batch_places]
        difference, share = means - merged[batch_places], sizes / total[batch_places]
        self._within = self._within + (sizes_before * share * difference.square()).sum()
        merged.index_add_(0, batch_places, share * difference)
        self._labels, self._sizes, self._means = merged_labels, total, merged

    def collapse(self) -> Collapse:
        """Return the class statistics of all batches.

        Returns
        -------
        Collapse

        Raises
        ------
        Undefined
            If there are fewer than two classes, or the variances overflow.
        """
        if self._labels is None or len(self._labels) < 2:
            K = 0 if self._labels is None else 1
            raise Undefined(f"neural collapse is undefined for {K} class: it compares classes")
        n = float(self._sizes.sum())
        mean = (self._sizes * self._means).sum(0) / n
        between = float((self._sizes * (self._means - mean).square()).sum()) / n
        if not float(self._within) + between < float("inf"):
            raise Undefined("neural collapse is undefined: the squares of the features overflow; scale them")
        means = self._means + self._shift
        return Collapse(float(self._within) / n, between, means, mean + self._shift, self._labels)


def neural_collapse(H: Array, labels: Array, *, batch_size: int = 4096) -> Collapse:
    """Within- and between-class variability of features.

    With class means μ_c, class sizes n_c and the mean μ_G of all samples (paper D, Section 3.2),

        S_W = (1/n) Σ_c Σ_{i∈c} (h_i − μ_c)(h_i − μ_c)ᵀ,    S_B = Σ_c (n_c/n) (μ_c − μ_G)(μ_c − μ_G)ᵀ.

    The paper has classes of equal size, where n_c/n is its 1/K; for other classes these weights keep S_W + S_B = S_T.

    Parameters
    ----------
    H : array of shape (n, d) or (n, ...)
        Features; further axes are flattened.
    labels : array of shape (n,) or (n, K)
        Integer or one-hot labels.
    batch_size : int, default 4096
        Rows taken at a time. Only traces are formed, so memory beside ``H`` does not grow with n.

    Returns
    -------
    Collapse
        With ``nc1`` = tr(S_W)/tr(S_B), ``nc2``, ``within``, ``between``, ``total``, ``means`` and ``mean``.

    Raises
    ------
    ValueError
        On NaN or infinite features, and on wrong shapes.
    Undefined
        If there are fewer than two classes, or the variances overflow.

    See Also
    --------
    RunningCollapse : the same for features that come in batches.

    Examples
    --------
    >>> import gramlab
    >>> collapse = gramlab.neural_collapse([[0.0, 1.0], [0.0, 3.0], [2.0, 1.0], [2.0, 3.0]], [0, 0, 1, 1])
    >>> collapse.within, collapse.between, collapse.nc1
    (1.0, 1.0, 1.0)
    """
    check_batch_size(batch_size)
    X = as_finite(H, "H")
    if X.ndim == 0 or X.shape[0] == 0:
        raise ValueError(f"H has no rows: its shape is {tuple(X.shape)}")
    y = _class_labels(labels, len(X)).to(X.device)
    running = RunningCollapse()
    for start in range(0, len(X), batch_size):
        rows = slice(start, start + batch_size)
        running._add(X[rows].reshape(len(y[rows]), -1).to(torch.float64), y[rows])
    return running.collapse()


def _class_labels(labels: Array, n: int) -> Tensor:
    y = as_finite(labels, "labels")
    y = y.to(torch.uint8) if y.dtype == torch.bool else y  # torch has no argmax of booleans
    if y.ndim == 2 and y.shape[1] > 1:
        if not y.is_floating_point() and bool(((y != 0) & (y.abs() != 1)).any()):
            raise ValueError(
                f"labels of shape {tuple(y.shape)} are no one-hot rows: of labels (n, T) of tokens pass"
                " features.flatten(0, 1) and labels.flatten()"
            )
        largest = y.amax(1, keepdim=True)
        if bool((names_several := (y == largest).sum(1) > 1).any()):
            row = int(names_several.nonzero()[0])
            raise ValueError(f"row {row} of the labels names several classes or none: each sample needs one class")
        # 0 and 1, or -1 and 1: the other entries of a row are all equal, and so are the ones of all rows
        smallest = y.amin()
        if bool((is_not_one_hot := ((y != largest) & (y != smallest)).any(1) | (largest[:, 0] != y.amax())).any()):
            row = int(is_not_one_hot.nonzero()[0])
            raise ValueError(f"row {row} of the labels is not one-hot: for probabilities pass their argmax(1)")
        y = y.argmax(1)
    y = y.reshape(-1)
    if y.is_floating_point() and bool((is_fractional := y != y.round()).any()):
        row = int(is_fractional.nonzero()[0])
        raise ValueError(f"row {row} of the labels is {y[row].item():g}; labels name classes: pass whole numbers")
    if bool((is_ignored := y == -100).any()):
        row = int(is_ignored.nonzero()[0])
        raise ValueError(f"row {row} of the labels is -100, which losses leave out: leave these samples out of both")
    if len(y) != n:
        raise ValueError(f"H has {n} rows and there are {len(y)} labels")
    return y
