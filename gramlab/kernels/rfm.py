"""Recursive feature machines: kernel machines that learn their features (paper C, Algorithm 1)."""

import warnings
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import ClassifierTags, RegressorTags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import Tensor

from gramlab.files import BadInput
from gramlab.kernels import automatic
from gramlab.kernels.classes import classes_of, one_hot, project_on_simplex
from gramlab.kernels.functions import Kernel, predict
from gramlab.kernels.iterative import dual_iterative
from gramlab.kernels.saved import load_machine, save_machine
from gramlab.kernels.solve import dual, dual_left_out
from gramlab.kernels.tensors import CHECK, detached, resolve_device, to_tensor
from gramlab.kernels.updates import UPDATES, next_features
from gramlab.losses import all_finite
from gramlab.measures.arrays import as_number
from gramlab.streams import stream

TASKS = ("regression", "classification")


def _classifies(machine: "RFM") -> bool:
    return machine.task == "classification"


class RFM(BaseEstimator):
    """Recursive feature machine: a kernel machine whose feature matrix M is learned (paper C, Algorithm 1).

    From M = I, in turn

        alpha = (K_M(X, X) + ridge I)⁻¹ y,    f = K_M(·, X) alpha,    M ← update(f),

    ``n_iters`` times. A scikit-learn estimator: X is (n, d); standardise it first. In classification y holds labels,
    fitted by least squares to their one-hot codes; in regression y is (n,) or (n, c).

    Parameters
    ----------
    task : {"regression", "classification"}, default "regression"
    kernel : {"laplace", "gaussian", "exponential", "polynomial", "quadratic"}, default "laplace"
        ``gramlab.kernels.functions.Kernel`` has the formulas.
    bandwidth : float or "auto", default "auto"
        In the units of the inputs. "auto" takes 3 or 10 times the root mean square distance of the samples under the
        M of each iterate (``gramlab.kernels.automatic.typical_size``), whichever has the least leave-one-out error at
        M = I on at most 250 samples.
    degree : int, default 3
        Of the polynomial kernel.
    offset : float, default 1.0
        Of the polynomial kernel.
    update : {"agop", "fact", "fact-geometric", "fact-simplified", None}, default "agop"
        M becomes AGOP^power, (FACT FACTᵀ)^{1/2}, (FACT M M FACTᵀ)^{1/4}, or (FACT M)^{1/2} for inner-product kernels
        (``gramlab.kernels.updates.next_features``). None is kernel ridge regression.
    power : float, default 0.5
        The AGOP's, paper C's s: 1 for the RFM of Radhakrishnan et al., 1/2 in paper C's Section 5.
    centered : bool, default False
        Whether the AGOP is of the gradients minus their mean.
    ridge : float or "auto", default "auto"
        The number on the kernel matrix's diagonal: nλ in Algorithm 1. "auto" chooses 0.001, 0.03 or 1, as the
        bandwidth is chosen and together with it.
    solver : {"direct", "iterative"}, default "direct"
        "direct" factors the kernel matrix in its own memory. "iterative" never holds it
        (``gramlab.kernels.iterative.dual_iterative``), solves to a residual of √eps, needs a ridge above 0 and has no
        leave-one-out errors.
    rank : int, default 500
        Of the iterative solver's preconditioner.
    n_iters : int, default 5
        Feature updates; there is one more solve.
    early_stopping : bool, default True
        Whether to keep the iterate with the least squared error on (X_val, y_val), or without these the least
        leave-one-out error in closed form, of at most 500 samples. False keeps the last iterate.
    patience : int, default 1
        With early stopping: the number of consecutive updates without enough progress after which the fit ends. None
        makes all updates.
    tol : float, default 0.05
        An update makes enough progress if its error is below 1 − ``tol`` times the least error before.
    dtype : {"auto", "float64", "float32"}, default "auto"
        "auto" fits in float32 with the direct solver where it is safe (``gramlab.kernels.automatic.suits_float32``),
        and predicts in float64.
    device : str or torch.device, default "auto"
        "auto" takes a GPU where there is one.

    Attributes
    ----------
    features_ : ndarray of shape (d, d)
        M.
    dual_coef_ : ndarray of shape (n, c)
        alpha.
    X_fit_ : ndarray of shape (n, d)
    classes_ : ndarray
        The sorted labels, in classification.
    history_ : list of dict
        For each iterate the ``bandwidth`` and ``ridge`` used, the ``error`` (mean squared, if monitored), the
        ``change`` of the features ‖M − M_before‖/‖M_before‖, and the ``trace`` of M.
    best_iter_ : int
        The iterate that was kept.
    n_iter_ : int
        The number of updates made.
    bandwidth_, ridge_ : float
        The bandwidth and the ridge used for the iterate that was kept.

    Notes
    -----
    A singular kernel matrix is solved with a larger ridge and a SingularKernel warning
    (``gramlab.kernels.solve.dual``). The iteration ends with a ConvergenceWarning, and the best iterate is kept, if an
    update leaves no finite or nonzero features, and, under early stopping, if it diverges after it has converged: the
    best iterate explained at least half of y's variance, and half of that is lost.

    Examples
    --------
    >>> import numpy as np, gramlab
    >>> X = np.random.default_rng(0).normal(size=(200, 10))
    >>> y = X[:, 0] * X[:, 1]
    >>> machine = gramlab.RFM(kernel="gaussian", bandwidth=5.0, n_iters=3).fit(X[:150], y[:150])
    >>> machine.score(X[150:], y[150:]) > 0.9
    True
    >>> sorted(np.diag(machine.features_).argsort()[-2:].tolist())  # the two coordinates that y depends on
    [0, 1]
    """

    features_: np.ndarray
    dual_coef_: np.ndarray

    def __init__(
        self, task: str = "regression", *, kernel: str = "laplace", bandwidth: float | str = "auto", degree: int = 3,
        offset: float = 1.0, update: str | None = "agop", power: float = 0.5, centered: bool = False,
        ridge: float | str = "auto", solver: str = "direct", rank: int = 500, n_iters: int = 5,
        early_stopping: bool = True, patience: int | None = 1, tol: float = 0.05, dtype: str = "auto",
        device: str = "auto",
    ):  # fmt: skip
        self.task = task
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.degree = degree
        self.offset = offset
        self.update = update
        self.power = power
        self.centered = centered
        self.ridge = ridge
        self.solver = solver
        self.rank = rank
        self.n_iters = n_iters
        self.early_stopping = early_stopping
        self.patience = patience
        self.tol = tol
        self.dtype = dtype
        self.device = device

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        if _classifies(self):
            tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        else:
            tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
            tags.target_tags.multi_output = True
        return tags

    def fit(self, X: Any, y: Any, X_val: Any = None, y_val: Any = None) -> Self:
        """Fit the machine.

        Parameters
        ----------
        X : array of shape (n, d)
        y : array of shape (n,) or (n, c)
            Labels, or values.
        X_val : array of shape (m, d), optional
        y_val : array of shape (m,) or (m, c), optional
            Samples that choose the iterate.

        Returns
        -------
        RFM
            Itself.

        Raises
        ------
        ValueError
            On NaN, infinity and other bad input, on numbers beyond ``dtype``, and on distances that overflow. BadInput,
            a ValueError, names a parameter of a wrong type or out of range.
        """
        kernel = self._check_parameters()
        if (X_val is None) != (y_val is None):
            raise ValueError("X_val and y_val must be given together")
        X, y, X_val, y_val = map(detached, (X, y, X_val, y_val))
        shape = np.asarray(y).shape
        if _classifies(self) and len(shape) == 2 and shape[1] > 1:
            raise ValueError(
                f"y has the shape {shape}, and a classification needs one label a sample: of one-hot rows pass"
                " y.argmax(1), or use task='regression'"
            )
        if self.solver == "iterative" and self.early_stopping and self.update and X_val is None:
            raise ValueError("solver iterative has no leave-one-out errors: give X_val, y_val or early_stopping=False")
        X, y = validate_data(
            self, X, y, dtype=np.float64, y_numeric=not _classifies(self), multi_output=not _classifies(self)
        )
        targets = self._encode(y, fit=True)
        dtype = self._precision(kernel, X, targets)
        held_out = None
        if X_val is not None:
            X_val, y_val = validate_data(
                self, X_val, y_val, reset=False, dtype=np.float64, multi_output=not _classifies(self)
            )
            held_out = self._tensor(X_val, dtype), self._tensor(self._encode(y_val), dtype)
            if held_out[1].shape[1] != targets.shape[1]:
                raise BadInput(f"y_val has {held_out[1].shape[1]} outputs, y {targets.shape[1]}")
        # leave-one-out errors are of the last samples: some from all parts of the data
        order = np.arange(len(X)) if len(X) <= automatic.SAMPLES else stream("RFM", len(X)).permutation(len(X))
        self._iterate(kernel, self._tensor(X[order], dtype), self._tensor(targets[order], dtype), held_out)
        stored_dtype = np.float64 if self.dtype == "auto" else np.dtype(self.dtype)
        self.features_ = self.features_.astype(stored_dtype)
        self.dual_coef_ = self.dual_coef_[np.argsort(order)].astype(stored_dtype)
        self.X_fit_ = X
        return self

    def _precision(self, kernel: Kernel, X: np.ndarray, y: np.ndarray) -> str:
        if self.dtype != "auto":
            return self.dtype
        ridge = min(automatic.RIDGES) if self.ridge == "auto" else float(as_number(self.ridge))
        suits = automatic.suits_float32(kernel, X, y, ridge)
        return "float32" if self.solver == "direct" and suits else "float64"

    def _iterate(self, kernel: Kernel, x: Tensor, y: Tensor, held_out: tuple[Tensor, Tensor] | None) -> None:
        variance = float((y - y.mean(0)).square().mean())
        M = torch.eye(x.shape[1], dtype=x.dtype, device=x.device)
        self.history_: list[dict[str, float]] = []
        best_step, last_gain, least_error, change, ridge = 0, 0, float("inf"), 0.0, 0.0
        updates = int(self.n_iters) if self.update else 0
        for step in range(updates + 1):
            try:
                if step == 0:
                    kernel, ridge = automatic.choose(kernel, x, y, as_number(self.bandwidth), as_number(self.ridge))
                alpha, used_ridge, error = self._solve(kernel, ridge, x, y, M, held_out)
            except ArithmeticError as failure:
                if step == 0:
                    raise ValueError(str(failure)) from failure
                self._warn(f"{failure} at iterate {step}", best_step)
                break
            entry = {"bandwidth": kernel.bandwidth, "ridge": used_ridge, "trace": float(M.diagonal().sum()),
                     "change": change}  # fmt: skip
            self.history_.append(entry if error is None else {**entry, "error": error})
            if error is not None and error < (1 - self.tol) * least_error:
                last_gain = step
            if error is None or error < least_error or step == 0:
                best_step, least_error = step, float("inf") if error is None else error
                self.features_, self.dual_coef_ = M.cpu().numpy(), alpha.cpu().numpy()
                self.bandwidth_, self.ridge_ = kernel.bandwidth, used_ridge
            elif least_error < variance / 2 and error - least_error > (variance - least_error) / 2:
                self._warn(f"diverged at iterate {step}", best_step)
                break
            if self.patience is not None and error is not None and step - last_gain >= self.patience:
                break
            if step < updates:
                M_before = M
                M = next_features(str(self.update), kernel, x, alpha, M, power=self.power, centered=self.centered)
                if not all_finite(M) or not bool(M.any()):
                    self._warn(f"no finite or nonzero feature is left at iterate {step + 1}", best_step)
                    break
                change = float((M - M_before).norm() / M_before.norm())
                if self.bandwidth == "auto":
                    kernel = automatic.rescale(kernel, x, M_before, M)
        self.best_iter_, self.n_iter_ = best_step, len(self.history_) - 1

    def _warn(self, problem: str, best_step: int) -> None:
        warnings.warn(f"update {self.update}: {problem}; iterate {best_step} is kept", ConvergenceWarning, stacklevel=4)

    def _solve(
        self, kernel: Kernel, ridge: float, x: Tensor, y: Tensor, M: Tensor, held_out: tuple[Tensor, Tensor] | None
    ) -> tuple[Tensor, float, float | None]:
        """Dual weights, the ridge used, and the squared error that judges the iterate."""
        if self.early_stopping and held_out is None and len(x) > 1 and self.update:
            alpha, used_ridge, errors = dual_left_out(lambda: kernel.matrix(x, None, M), y, ridge, automatic.MONITORED)
            return alpha, used_ridge, float(errors.square().mean())
        if self.solver == "iterative":
            used_ridge, tolerance = ridge, torch.finfo(x.dtype).eps ** 0.5
            alpha, _ = dual_iterative(kernel, x, y, used_ridge, M, rank=int(self.rank), tolerance=tolerance)
        else:
            alpha, used_ridge = dual(lambda: kernel.matrix(x, None, M), y, ridge)
        if held_out is None or not self.early_stopping:
            return alpha, used_ridge, None
        return alpha, used_ridge, float((predict(kernel, held_out[0], x, alpha, M) - held_out[1]).square().mean())

    def predict(self, X: Any) -> np.ndarray:
        """Return labels (n,), or in regression values in the shape of y, for samples X (n, d)."""
        scores = self._scores(X)
        if _classifies(self):
            return self.classes_[scores.argmax(1)]
        return scores[:, 0] if self._flat else scores

    @available_if(_classifies)
    def decision_function(self, X: Any) -> np.ndarray:
        """Return the fitted one-hot codes (n, classes); of two classes the second's minus the first's, (n,)."""
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    @available_if(_classifies)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return probabilities of the classes (n, classes): the nearest ones to the fitted one-hot codes.

        The codes are fitted by least squares, so that they estimate the probabilities, up to negative numbers and sums
        off one. They are projected on the simplex, which keeps their order.
        """
        return project_on_simplex(self._scores(X))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy, or in regression R², on samples X (n, d) and y."""
        metric = accuracy_score if _classifies(self) else r2_score
        return float(metric(detached(y), self.predict(X), sample_weight=detached(sample_weight)))

    def save(self, path: Path | str) -> None:
        """Write the fitted machine to one safetensors file, without pickle, completely or not at all.

        Parameters
        ----------
        path : Path or str
        """
        check_is_fitted(self)
        save_machine(self, Path(path), _classifies(self))

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Return the machine that ``save`` wrote.

        Parameters
        ----------
        path : Path or str

        Returns
        -------
        RFM

        Raises
        ------
        BadInput
            If the file is not a saved machine.
        """
        return load_machine(cls, Path(path))

    def _check_parameters(self) -> Kernel:
        """Return the kernel. Raises BadInput on parameters of a wrong type or out of range."""
        for name, allowed in (
            ("task", TASKS), ("update", (*UPDATES, None)), ("solver", ("direct", "iterative")),
            ("dtype", ("auto", "float64", "float32")),
        ):  # fmt: skip
            CHECK.choice(name, getattr(self, name), allowed)
        for name, minimum in (("n_iters", 0), ("patience", 1), ("rank", 1)):
            if name != "patience" or self.patience is not None:
                CHECK.integer(name, getattr(self, name), minimum)
        CHECK.number("power", self.power, "a positive number")
        CHECK.number("tol", self.tol, "a number of at least 0")
        for name in ("bandwidth", "ridge"):
            value = as_number(getattr(self, name))
            if not isinstance(value, str) or value != "auto":
                CHECK.number(name, value, "a positive number" if name == "bandwidth" else "a number of at least 0")
        for name in ("early_stopping", "centered"):
            CHECK.boolean(name, getattr(self, name))
        resolve_device(self.device)
        return self._kernel(1.0 if isinstance(self.bandwidth, str) else as_number(self.bandwidth))

    def _kernel(self, bandwidth: float) -> Kernel:
        return Kernel(self.kernel, bandwidth, self.degree, self.offset)

    def _encode(self, y: np.ndarray, fit: bool = False) -> np.ndarray:
        """Targets (n, c): the one-hot codes of the labels, or the values themselves."""
        if not _classifies(self):
            if fit:
                self._flat = y.ndim == 1
                self.__dict__.pop("classes_", None)  # of an earlier fit to labels
            return y.reshape(len(y), -1).astype(np.float64)
        if fit:
            self._flat, self.classes_ = True, classes_of(y)
        return one_hot(y, self.classes_)

    def _scores(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        X = validate_data(self, detached(X), reset=False, dtype=np.float64)
        dtype = self.features_.dtype.name
        parts = (self._tensor(part, dtype) for part in (X, self.X_fit_, self.dual_coef_, self.features_))
        return predict(self._kernel(self.bandwidth_), *parts).cpu().numpy()

    def _tensor(self, values: np.ndarray, dtype: str) -> Tensor:
        return to_tensor(values, dtype, self.device)
