"""Deep recursive feature machines: AGOP, then random features, layer after layer (paper D, Algorithm 1)."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import Tensor

from gramlab.files import BadInput
from gramlab.kernels.functions import Kernel, agop, predict
from gramlab.kernels.iterative import dual_refined
from gramlab.kernels.solve import dual
from gramlab.kernels.tensors import CHECK, detached, resolve_device, to_tensor
from gramlab.losses import all_finite
from gramlab.measures.collapse import neural_collapse
from gramlab.measures.undefined import Undefined
from gramlab.streams import stream

PLACES = ("data", "agop", "features")
Stage = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class DeepLayer:
    """One layer of a DeepRFM, and the collapse of the training data in it.

    Attributes
    ----------
    root : Tensor of shape (d, d), or None
        M^{1/2}, None where M = I.
    weight : Tensor of shape (k, d)
        Of the random features.
    shift : Tensor of shape (k,), or None
        Of the random Fourier features, None for ReLU.
    ridge : float
        The ridge that the kernel was solved with.
    nc1, nc2 : dict of str to float
        ``gramlab.neural_collapse`` of the normalised ``data``, after M^{1/2} (``agop``), and of the random
        ``features``. A place where it is undefined, since the class means coincide, is missing.
    gram : ndarray of shape (m, m)
        Cosines between m samples after M^{1/2}, centred at the mean of the class means: the first samples of each
        class, sorted by class.
    within, across : float
        The mean cosine of two different samples of the same class, and that of samples of two classes.
    """

    root: Tensor | None
    weight: Tensor
    shift: Tensor | None
    ridge: float
    nc1: dict[str, float]
    nc2: dict[str, float]
    gram: np.ndarray
    within: float
    across: float


class DeepRFM(ClassifierMixin, TransformerMixin, BaseEstimator):
    """Deep recursive feature machine: a deep network without backpropagation (paper D, Algorithm 1).

        X_{l+1} = Φ_l(M_l^{1/2} X_l),    M_l the AGOP of a kernel machine f_l fitted to X_l

    Each layer scales the samples to length 1, fits f_l = K(·, X_l) alpha to labels of ±1, one output a class, and takes
    M_l = (1/n) Σ_i J_iᵀJ_i of f_l. (Algorithm 1 has the sum, which scales the data by √n; Fourier features see that,
    ReLU features do not.) One more machine is fitted after the last layer; ``predict`` returns its labels, and
    ``score`` their accuracy.

    Parameters
    ----------
    n_layers : int, default 18
        L.
    kernel : {"laplace", "gaussian"}, default "laplace"
        ``gramlab.kernels.functions.Kernel`` has the formulas.
    bandwidth : float, default 2.0
        Of the kernel, for samples of length 1.
    features : {"relu", "fourier"}, default "relu"
        "relu" is max(0, Wx) with W standard normal. "fourier" is √(2/k) cos(Wx + b) with W Cauchy of ``scale`` and b
        uniform, the random Fourier features of the kernel exp(-scale ‖x - z‖₁) (paper D, Appendix C).
    n_features : int, default 1024
        k.
    scale : float, default 0.05
        Of the Fourier features.
    agop : bool, default True
        False keeps M_l = I: random features only.
    ridge : float, default 0.0
        On the kernel matrix's diagonal; 0 interpolates. A singular kernel is solved with a larger ridge and a
        SingularKernel warning (``gramlab.kernels.solve.dual``).
    gram_samples : int, default 20
        Samples of each class in the Gram images.
    seed : int, default 0
        Of the random features.
    dtype : {"float64", "float32", "mixed"}, default "float64"
        float32 takes about half the time, and M^{1/2} then has the digits of √(d eps). "mixed" is float64 with the one
        n x n matrix in float32, half the memory (``gramlab.kernels.iterative.dual_refined``).
    device : str or torch.device, default "auto"
        "auto" takes a GPU where there is one.

    Attributes
    ----------
    layers_ : list of DeepLayer
    classes_ : ndarray
        The sorted labels.
    X_fit_ : ndarray of shape (n, k)
        The last layer's output, scaled to length 1.
    dual_coef_ : ndarray of shape (n, classes)
        Of the last machine.

    Notes
    -----
    At most one n x n matrix is held at a time: the kernel's, factored in its place, then that of the AGOP, if it goes
    over pairs of samples (outputs x d > n, not in "mixed").

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> import gramlab
    >>> X, y = load_digits(return_X_y=True)
    >>> machine = gramlab.DeepRFM(n_layers=2, n_features=64).fit(X[:100], y[:100])
    >>> [layer.nc1["agop"] < layer.nc1["data"] for layer in machine.layers_]  # the AGOP lowers NC1
    [True, True]
    >>> machine.transform(X[:5]).shape
    (5, 64)
    """

    def __init__(
        self, n_layers: int = 18, *, kernel: str = "laplace", bandwidth: float = 2.0, features: str = "relu",
        n_features: int = 1024, scale: float = 0.05, agop: bool = True, ridge: float = 0.0, gram_samples: int = 20,
        seed: int = 0, dtype: str = "float64", device: str = "auto",
    ):  # fmt: skip
        self.n_layers = n_layers
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.features = features
        self.n_features = n_features
        self.scale = scale
        self.agop = agop
        self.ridge = ridge
        self.gram_samples = gram_samples
        self.seed = seed
        self.dtype = dtype
        self.device = device

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the layers and the last machine.

        Parameters
        ----------
        X : array of shape (n, d)
        y : array of shape (n,)
            Class labels.

        Returns
        -------
        DeepRFM
            Itself.

        Raises
        ------
        ValueError
            On NaN, infinity and other bad input, on numbers beyond ``dtype`` and samples whose lengths overflow it, and
            if y has one class. BadInput, a ValueError, names a parameter of a wrong type or out of range.
        """
        kernel = self._check_parameters()
        X, y = validate_data(self, detached(X), detached(y), dtype=np.float64)
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            (label,) = self.classes_.tolist()
            raise ValueError(f"DeepRFM needs at least two classes; y holds only one class, {label!r}")
        x = _unit_rows(self._tensor(X))
        codes = self._tensor(2.0 * (labels[:, None] == np.arange(len(self.classes_))) - 1)
        index = torch.from_numpy(labels).to(x.device)
        self.layers_: list[DeepLayer] = []
        try:
            for _ in range(int(self.n_layers)):
                x = self._fit_layer(kernel, x, codes, index)
            alpha, self.ridge_ = self._dual(kernel, x, codes)
        except ArithmeticError as error:
            raise BadInput(str(error)) from error
        self.X_fit_, self.dual_coef_ = x.cpu().numpy(), alpha.cpu().numpy()
        return self

    def _fit_layer(self, kernel: Kernel, x: Tensor, codes: Tensor, labels: Tensor) -> Tensor:
        """Append a layer to ``layers_`` and return its output, scaled to length 1."""
        root, ridge = self._agop_root(kernel, x, codes) if self.agop else (None, self.ridge)
        weight, shift = self._draw_features(len(self.layers_), x)
        projected = x if root is None else x @ root
        mapped = _random_features(projected, weight, shift)
        nc1: dict[str, float] = {}
        nc2: dict[str, float] = {}
        for place, h in zip(PLACES, (x, projected, mapped), strict=True):
            collapse = neural_collapse(h, labels)
            with suppress(Undefined):  # an undefined measure does not stop the learning
                nc1[place] = collapse.nc1
            with suppress(Undefined):
                nc2[place] = collapse.nc2
        gram, within, across = _gram(projected, labels, int(self.gram_samples))
        self.layers_.append(DeepLayer(root, weight, shift, ridge, nc1, nc2, gram, within, across))
        return _unit_rows(mapped)

    def transform(self, X: Any) -> np.ndarray:
        """Return the last layer's output, scaled to length 1, for samples X (n, d): (n, n_features), or (n, d)."""
        return self._forward(X).cpu().numpy()

    def stages(self, X: Any) -> Iterator[Stage]:
        """Yield for each layer the data (n, d) of length 1, these after M^{1/2} (n, d), and the features (n, k)."""
        for stage in self._layer_values(self._input(X)):
            x, projected, mapped = (values.cpu().numpy() for values in stage)
            yield x, projected, mapped

    def predict(self, X: Any) -> np.ndarray:
        """Return labels (n,) for samples X (n, d), by the last machine."""
        return self._labels(self._forward(X))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy on samples X (n, d) and labels y (n,)."""
        return float(super().score(X, detached(y), detached(sample_weight)))

    def training_labels(self) -> np.ndarray:
        """Return ``predict`` of the samples of ``fit``, (n,), without mapping them through the layers again."""
        check_is_fitted(self)
        return self._labels(self._tensor(self.X_fit_))

    def _labels(self, x: Tensor) -> np.ndarray:
        """The last machine's labels of the last layer's output."""
        scores = predict(self._check_parameters(), x, self._tensor(self.X_fit_), self._tensor(self.dual_coef_))
        return self.classes_[scores.argmax(1).cpu().numpy()]

    def _forward(self, X: Any) -> Tensor:
        x = self._input(X)
        for _, _, mapped in self._layer_values(x):
            x = mapped
        return _unit_rows(x)

    def _input(self, X: Any) -> Tensor:
        check_is_fitted(self)
        return self._tensor(validate_data(self, detached(X), reset=False, dtype=np.float64))

    def _layer_values(self, x: Tensor) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        for layer in self.layers_:
            x = _unit_rows(x)
            projected = x if layer.root is None else x @ layer.root
            mapped = _random_features(projected, layer.weight, layer.shift)
            yield x, projected, mapped
            x = mapped

    def _dual(self, kernel: Kernel, x: Tensor, codes: Tensor) -> tuple[Tensor, float]:
        if self.dtype == "mixed":
            return dual_refined(kernel, x, codes, self.ridge)
        return dual(lambda: kernel.matrix(x), codes, self.ridge)

    def _agop_root(self, kernel: Kernel, x: Tensor, codes: Tensor) -> tuple[Tensor, float]:
        """M^{1/2}, and the ridge that was used."""
        alpha, ridge = self._dual(kernel, x, codes)
        M = agop(kernel, x, x, alpha, hold=self.dtype != "mixed")
        values, vectors = torch.linalg.eigh((M + M.mT) / 2)
        nonzero = values >= len(M) * torch.finfo(x.dtype).eps * values[-1]  # the others are round-off
        vectors = vectors[:, nonzero]
        return (vectors * values[nonzero].sqrt()) @ vectors.mT, ridge

    def _draw_features(self, layer: int, x: Tensor) -> tuple[Tensor, Tensor | None]:
        shape = (int(self.n_features), x.shape[1])
        random = stream("DeepRFM", int(self.seed), layer)  # a stream is named by the repr
        if self.features == "relu":
            return self._tensor(random.normal(size=shape)), None
        weight = self.scale * random.standard_cauchy(size=shape)
        return self._tensor(weight), self._tensor(random.uniform(0, 2 * np.pi, size=len(weight)))

    def _check_parameters(self) -> Kernel:
        """Return the kernel. Raises BadInput on parameters of a wrong type or out of range."""
        for name, allowed in (
            ("kernel", ("laplace", "gaussian")), ("features", ("relu", "fourier")),
            ("dtype", ("float64", "float32", "mixed")),
        ):  # fmt: skip
            CHECK.choice(name, getattr(self, name), allowed)
        for name, minimum in (("n_layers", 0), ("n_features", 1), ("gram_samples", 1), ("seed", 0)):
            CHECK.integer(name, getattr(self, name), minimum)
        CHECK.number("scale", self.scale, "a positive number")
        CHECK.number("ridge", self.ridge, "a number of at least 0")
        CHECK.boolean("agop", self.agop)
        resolve_device(self.device)
        return Kernel(self.kernel, self.bandwidth)

    def _tensor(self, values: np.ndarray) -> Tensor:
        return to_tensor(values, "float64" if self.dtype == "mixed" else self.dtype, self.device)


def _unit_rows(x: Tensor) -> Tensor:
    """Rows scaled to length 1; a row of zeros stays zero. Raises BadInput if a length overflows."""
    length = x.norm(dim=1, keepdim=True)
    if not all_finite(length):
        raise BadInput(f"a sample's length is beyond {x.dtype}: scale the inputs")
    return x / length.clamp_min(torch.finfo(x.dtype).tiny)


def _random_features(x: Tensor, weight: Tensor, shift: Tensor | None) -> Tensor:
    if shift is None:
        return (x @ weight.mT).relu_()
    return (x @ weight.mT).add_(shift).cos_().mul_((2 / len(weight)) ** 0.5)


def _gram(x: Tensor, labels: Tensor, samples: int) -> tuple[np.ndarray, float, float]:
    """The image of cosines, and their exact means within and across classes, from each class's sum alone."""
    counts = labels.bincount().to(x)
    sums = x.new_zeros(len(counts), x.shape[1]).index_add_(0, labels, x)
    unit = _unit_rows(x - (sums / counts[:, None]).mean(0))
    sums = torch.zeros_like(sums).index_add_(0, labels, unit)
    squares = sums.square().sum(1)
    pairs = float((counts * (counts - 1)).sum())
    within = float((squares - counts).sum()) / pairs if pairs else 1.0  # classes of one sample have no pair
    across = float(sums.sum(0).square().sum() - squares.sum()) / float(counts.sum() ** 2 - counts.square().sum())
    rows = torch.cat([(labels == c).nonzero()[:samples, 0] for c in range(len(counts))])
    return (unit[rows] @ unit[rows].mT).float().cpu().numpy(), within, across
