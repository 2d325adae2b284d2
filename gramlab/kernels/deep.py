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
from gramlab.kernels.arguments import number, one_of, placed, tensor, truth, whole
from gramlab.kernels.functions import Kernel, agop, predict
from gramlab.kernels.iterative import dual_refined
from gramlab.kernels.solve import dual
from gramlab.losses import all_finite
from gramlab.measures.collapse import neural_collapse
from gramlab.measures.undefined import Undefined
from gramlab.streams import stream

PLACES = ("data", "agop", "features")
Stage = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class DeepLayer:
    """One layer of a DeepRFM, and how far the training data had collapsed in it.

    ``root`` is M^{1/2} (d, d), None where M = I; ``weight`` (k, d) and ``shift`` (k,), None for ReLU, make the random
    features; ``ridge`` is what the kernel was solved with. ``nc1`` and ``nc2`` (gramlab.neural_collapse) are by place:
    ``data`` normalised as it comes in, after ``agop`` M^{1/2}, and after the random ``features``; a place where one is
    undefined, since the class means coincide, is left out of it.

    ``gram`` is the image of cosines between samples after M^{1/2}, centred at the mean of the class means, sorted by
    class, some of each class; ``within`` and ``across`` are the means of all cosines of two different samples of one
    class, and of two classes.
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
    """A network without backpropagation: X_{l+1} = Φ_l(M_l^{1/2} X_l), M_l the AGOP of a kernel machine fitted to X_l.

    Each layer scales the samples to length 1, fits f_l = K(·, X_l) alpha to labels of ±1, one output a class, and takes
    M_l = (1/n) Σ_i J_iᵀJ_i of f_l (Algorithm 1 has the sum; that scales the data by √n, which Fourier features see and
    ReLU features do not). After the last layer one more machine is fitted, whose labels ``predict`` gives; ``score`` is
    their accuracy.

    Parameters
    ----------
    n_layers : L. kernel : "laplace" or "gaussian" with ``bandwidth``, as gramlab.kernels.functions.Kernel defines them.
    features : "relu", max(0, Wx) with W standard normal; or "fourier", √(2/k) cos(Wx + b) with W Cauchy of ``scale``
        and b uniform, the random Fourier features of the kernel exp(-scale ‖x - z‖₁) (paper D, Appendix C).
    n_features : k. agop : False leaves M_l = I, random features alone.
    ridge : on the kernel matrix's diagonal, 0 for interpolation; a singular kernel is solved with a larger one, and
        said (gramlab.kernels.solve.dual).
    gram_samples : how many samples of each class the Gram images show.
    seed : of the random features. device : "auto" takes a GPU where there is one, or a torch device.
    dtype : "float64"; "float32", which takes about half the time: M^{1/2} then has the digits of √(d eps); or "mixed",
        float64 with the one n x n matrix in float32, half the memory (gramlab.kernels.iterative.dual_refined).

    Attributes
    ----------
    layers_ : a DeepLayer each. classes_ : sorted. X_fit_ : the last layer's output (n, k), scaled to length 1.
    dual_coef_ : of the last machine, (n, classes).

    At most one n x n matrix is held at a time: the kernel's, factored in its place, then that of the AGOP, if it goes
    over pairs of samples (outputs x d > n, not in "mixed").
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
        """Fit to samples X (n, d) and class labels y (n,).

        Raises ValueError on NaN, infinity or other bad input, on numbers beyond ``dtype`` and samples whose lengths
        overflow it, if y has one class, and (BadInput, naming it) on a parameter of a wrong type or out of range.
        """
        kernel = self._checked()
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"DeepRFM needs at least two classes; y holds only one class, {self.classes_[0]!r}")
        x = _unit(self._tensor(X))
        codes = self._tensor(2.0 * (labels[:, None] == np.arange(len(self.classes_))) - 1)
        index = torch.from_numpy(labels).to(x.device)
        self.layers_: list[DeepLayer] = []
        try:
            for _ in range(int(self.n_layers)):
                x = self._next(kernel, x, codes, index)
            alpha, self.ridge_ = self._dual(kernel, x, codes)
        except ArithmeticError as problem:
            raise BadInput(str(problem)) from problem
        self.X_fit_, self.dual_coef_ = x.cpu().numpy(), alpha.cpu().numpy()
        return self

    def _next(self, kernel: Kernel, x: Tensor, codes: Tensor, labels: Tensor) -> Tensor:
        """One layer's output, of length 1; what the layer learned joins ``layers_``."""
        root, used = self._root(kernel, x, codes) if self.agop else (None, self.ridge)
        weight, shift = self._drawn(len(self.layers_), x)
        projected = x if root is None else x @ root
        mapped = _mapped(projected, weight, shift)
        nc1: dict[str, float] = {}
        nc2: dict[str, float] = {}
        for place, h in zip(PLACES, (x, projected, mapped), strict=True):
            found = neural_collapse(h, labels)
            with suppress(Undefined):  # which does not stop the learning
                nc1[place] = found.nc1
            with suppress(Undefined):
                nc2[place] = found.nc2
        gram = _gram(projected, labels, int(self.gram_samples))
        self.layers_.append(DeepLayer(root, weight, shift, used, nc1, nc2, *gram))
        return _unit(mapped)

    def transform(self, X: Any) -> np.ndarray:
        """What comes out of the last layer, scaled to length 1, (n, n_features); (n, d) without layers."""
        return self._forward(X).cpu().numpy()

    def stages(self, X: Any) -> Iterator[Stage]:
        """In each layer: the data (n, d) of length 1, the same after M^{1/2} (n, d), and its features (n, k)."""
        for x, projected, mapped in self._through(self._input(X)):
            yield x.cpu().numpy(), projected.cpu().numpy(), mapped.cpu().numpy()

    def predict(self, X: Any) -> np.ndarray:
        """Labels (n,), by the kernel machine that was fitted to the last layer's output."""
        x = self._forward(X)
        scores = predict(self._checked(), x, self._tensor(self.X_fit_), self._tensor(self.dual_coef_))
        return self.classes_[scores.argmax(1).cpu().numpy()]

    def _forward(self, X: Any) -> Tensor:
        x = self._input(X)
        for _, _, mapped in self._through(x):
            x = mapped
        return _unit(x)

    def _input(self, X: Any) -> Tensor:
        check_is_fitted(self)
        return self._tensor(validate_data(self, X, reset=False, dtype=np.float64))

    def _through(self, x: Tensor) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        for layer in self.layers_:
            x = _unit(x)
            projected = x if layer.root is None else x @ layer.root
            mapped = _mapped(projected, layer.weight, layer.shift)
            yield x, projected, mapped
            x = mapped

    def _dual(self, kernel: Kernel, x: Tensor, codes: Tensor) -> tuple[Tensor, float]:
        if self.dtype == "mixed":
            return dual_refined(kernel, x, codes, self.ridge)
        return dual(lambda: kernel.matrix(x), codes, self.ridge)

    def _root(self, kernel: Kernel, x: Tensor, codes: Tensor) -> tuple[Tensor, float]:
        alpha, used = self._dual(kernel, x, codes)
        M = agop(kernel, x, x, alpha, hold=self.dtype != "mixed")
        values, vectors = torch.linalg.eigh((M + M.mT) / 2)
        kept = values >= len(M) * torch.finfo(x.dtype).eps * values[-1]  # the others are round-off
        vectors = vectors[:, kept]
        return (vectors * values[kept].sqrt()) @ vectors.mT, used

    def _drawn(self, layer: int, x: Tensor) -> tuple[Tensor, Tensor | None]:
        shape = (int(self.n_features), x.shape[1])
        draw = stream("DeepRFM", self.seed, layer)
        if self.features == "relu":
            return self._tensor(draw.normal(size=shape)), None
        weight = self.scale * draw.standard_cauchy(size=shape)
        return self._tensor(weight), self._tensor(draw.uniform(0, 2 * np.pi, size=len(weight)))

    def _checked(self) -> Kernel:
        """The kernel; raises BadInput on parameters of a wrong type or out of range."""
        for name, allowed in (
            ("kernel", ("laplace", "gaussian")), ("features", ("relu", "fourier")),
            ("dtype", ("float64", "float32", "mixed")),
        ):  # fmt: skip
            one_of(name, getattr(self, name), allowed)
        for name, least in (("n_layers", 0), ("n_features", 1), ("gram_samples", 1)):
            whole(name, getattr(self, name), least)
        whole("seed", self.seed, 0)
        number("scale", self.scale)
        number("ridge", self.ridge, positive=False)
        truth("agop", self.agop)
        placed(self.device)
        return Kernel(self.kernel, self.bandwidth)

    def _tensor(self, a: np.ndarray) -> Tensor:
        return tensor(a, "float64" if self.dtype == "mixed" else self.dtype, self.device)


def _unit(x: Tensor) -> Tensor:
    """Rows of length 1; a row of zeros stays one. Raises BadInput where a length overflows."""
    length = x.norm(dim=1, keepdim=True)
    if not all_finite(length):
        raise BadInput(f"a sample's length is beyond {x.dtype}: scale the inputs")
    return x / length.clamp_min(torch.finfo(x.dtype).tiny)


def _mapped(x: Tensor, weight: Tensor, shift: Tensor | None) -> Tensor:
    if shift is None:
        return (x @ weight.mT).relu_()
    return (x @ weight.mT).add_(shift).cos_().mul_((2 / len(weight)) ** 0.5)


def _gram(x: Tensor, labels: Tensor, samples: int) -> tuple[np.ndarray, float, float]:
    """The image of cosines, and their exact means within and across classes, from sums of each class alone."""
    counts = labels.bincount().to(x)
    sums = x.new_zeros(len(counts), x.shape[1]).index_add_(0, labels, x)
    unit = _unit(x - (sums / counts[:, None]).mean(0))
    sums = torch.zeros_like(sums).index_add_(0, labels, unit)
    own = sums.square().sum(1)
    pairs = float((counts * (counts - 1)).sum())
    within = float((own - counts).sum()) / pairs if pairs else 1.0  # classes of one sample have no pair
    across = float(sums.sum(0).square().sum() - own.sum()) / float(counts.sum() ** 2 - counts.square().sum())
    shown = torch.cat([(labels == c).nonzero()[:samples, 0] for c in range(len(counts))])
    return (unit[shown] @ unit[shown].mT).float().cpu().numpy(), within, across
