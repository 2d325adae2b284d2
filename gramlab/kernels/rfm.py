"""Recursive feature machines: kernel machines that learn their features (paper C, Algorithm 1)."""

import json
import warnings
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import ClassifierTags, RegressorTags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import Tensor

from gramlab.files import BadInput, atomic
from gramlab.kernels.arguments import number, one_of, placed, tensor, truth, whole
from gramlab.kernels.functions import Kernel, predict
from gramlab.kernels.iterative import dual_iterative
from gramlab.kernels.solve import dual, dual_left_out
from gramlab.kernels.updates import UPDATES, updated

TASKS = ("regression", "classification")
ARRAYS = ("features_", "dual_coef_", "X_fit_")  # of a fitted machine, and its other attributes, which a file holds
ABOUT = ("history_", "best_iter_", "n_iter_", "ridge_", "_flat")


def _classifies(machine: "RFM") -> bool:
    return machine.task == "classification"


class RFM(BaseEstimator):
    """A kernel machine f = K_M(·, X) alpha whose features M are learned by a fixed-point iteration.

    In turn alpha = (K_M(X, X) + ridge I)⁻¹ y, and M becomes what ``update`` says, ``n_iters`` times from M = I. A
    scikit-learn estimator: inputs are (n, d); standardise them first. In classification y holds labels, fitted by
    least squares to their one-hot codes; in regression it is (n,) or (n, c).

    Parameters
    ----------
    task : "regression" or "classification".
    kernel : laplace, gaussian, exponential, polynomial or quadratic, with ``bandwidth``, ``degree`` and ``offset``;
        gramlab.kernels.functions.Kernel has the formulas.
    update : "agop" (M = AGOP^power), "fact", "fact-geometric", "fact-simplified" (inner-product kernels), as
        gramlab.kernels.updates.updated defines them, or None: kernel regression.
    power : the AGOP's; paper C's s. 1 is the RFM of Radhakrishnan et al., 1/2 paper C's Section 5.
    centered : subtract the gradients' mean from them in the AGOP.
    ridge : on the kernel matrix's diagonal: nλ in paper C's Algorithm 1.
    solver : "direct" factors the kernel matrix, in the memory of one; "iterative" never holds it, for more samples than
        fit (gramlab.kernels.iterative.dual_iterative, with a preconditioner of ``rank``), to a residual of √eps. It
        needs a ridge above 0 and has no leave-one-out errors.
    n_iters : feature updates; one more solve than that.
    early_stopping : keep the iterate with the least squared error on (X_val, y_val), or without these the least
        leave-one-out error in closed form, which costs as much again as the solve. False keeps the last.
    patience : with early stopping, end after so many updates without a smaller error; None goes on to the end.
    dtype : "float64" or "float32". device : "auto" takes a GPU where there is one, or a torch device.

    A singular kernel matrix is solved with a larger ridge, and said (gramlab.kernels.solve.dual). The iteration ends
    with a ConvergenceWarning where an update leaves no finite or nonzero features, and, under early stopping, where
    it diverges after it has converged: the best iterate explained at least half of y's variance, and half of that is
    lost. The best iterate is kept.

    Attributes
    ----------
    features_ : M, (d, d). dual_coef_ : alpha, (n, c). X_fit_ : (n, d). classes_ : in classification, sorted.
    history_ : one dict an iterate: ``ridge`` used, ``error`` (mean squared, if monitored), ``change`` of the features
        ‖M - M_before‖/‖M_before‖, ``trace`` of M. best_iter_ : the iterate kept. n_iter_ : updates made.
    ridge_ : on the diagonal of the iterate kept.
    """

    def __init__(
        self, task: str = "regression", *, kernel: str = "laplace", bandwidth: float = 10.0, degree: int = 3,
        offset: float = 1.0, update: str | None = "agop", power: float = 0.5, centered: bool = False,
        ridge: float = 1e-3, solver: str = "direct", rank: int = 500, n_iters: int = 5, early_stopping: bool = True,
        patience: int | None = None, dtype: str = "float64", device: str = "auto",
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
        """Fit to X (n, d) and y; (X_val, y_val), if given, choose the iterate.

        Raises ValueError on NaN, infinity or other bad input, on numbers beyond ``dtype``, on distances that overflow,
        and (BadInput, naming it) on a parameter of a wrong type or out of range.
        """
        kernel = self._checked()
        if (X_val is None) != (y_val is None):
            raise ValueError("X_val and y_val must be given together")
        if self.solver == "iterative" and self.early_stopping and self.update and X_val is None:
            raise ValueError("solver iterative has no leave-one-out errors: give X_val, y_val or early_stopping=False")
        X, y = validate_data(
            self, X, y, dtype=np.float64, y_numeric=not _classifies(self), multi_output=not _classifies(self)
        )
        x, targets = self._tensor(X), self._tensor(self._encoded(y, fit=True))
        held_out = None
        if X_val is not None:
            X_val, y_val = validate_data(
                self, X_val, y_val, reset=False, dtype=np.float64, multi_output=not _classifies(self)
            )
            held_out = self._tensor(X_val), self._tensor(self._encoded(y_val))
            if held_out[1].shape[1] != targets.shape[1]:
                raise BadInput(f"y_val has {held_out[1].shape[1]} outputs, y {targets.shape[1]}")
        self._iterate(kernel, x, targets, held_out)
        self.X_fit_ = X
        return self

    def _iterate(self, kernel: Kernel, x: Tensor, y: Tensor, held_out: tuple[Tensor, Tensor] | None) -> None:
        variance = float((y - y.mean(0)).square().mean())
        M = torch.eye(x.shape[1], dtype=x.dtype, device=x.device)
        self.history_: list[dict[str, float]] = []
        best, least, change = 0, float("inf"), 0.0
        updates = int(self.n_iters) if self.update else 0
        for step in range(updates + 1):
            try:
                alpha, used, error = self._solved(kernel, x, y, M, held_out)
            except ArithmeticError as problem:
                if step == 0:
                    raise ValueError(str(problem)) from problem
                self._warn(f"{problem} at iterate {step}", best)
                break
            about = {"ridge": used, "trace": float(M.diagonal().sum()), "change": change}
            self.history_.append(about if error is None else {**about, "error": error})
            if error is None or error < least or step == 0:
                best, least = step, float("inf") if error is None else error
                self.features_, self.dual_coef_, self.ridge_ = M.cpu().numpy(), alpha.cpu().numpy(), used
            elif least < variance / 2 and error - least > (variance - least) / 2:
                self._warn(f"diverged at iterate {step}", best)
                break
            elif self.patience is not None and step - best >= self.patience:
                break
            if step < updates:
                before, M = M, updated(str(self.update), kernel, x, alpha, M, power=self.power, centered=self.centered)
                if not bool(torch.isfinite(M).all()) or not bool(M.any()):
                    self._warn(f"no finite or nonzero feature is left at iterate {step + 1}", best)
                    break
                change = float((M - before).norm() / before.norm())
        self.best_iter_, self.n_iter_ = best, len(self.history_) - 1

    def _warn(self, what: str, best: int) -> None:
        warnings.warn(f"update {self.update}: {what}; iterate {best} is kept", ConvergenceWarning, stacklevel=4)

    def _solved(
        self, kernel: Kernel, x: Tensor, y: Tensor, M: Tensor, held_out: tuple[Tensor, Tensor] | None
    ) -> tuple[Tensor, float, float | None]:
        """Dual weights, the ridge used, and the squared error by which the iterate is judged."""
        if self.early_stopping and held_out is None and len(x) > 1 and self.update:
            alpha, used, errors = dual_left_out(lambda: kernel.matrix(x, None, M), y, self.ridge)
            return alpha, used, float(errors.square().mean())
        if self.solver == "iterative":
            used, tolerance = float(self.ridge), torch.finfo(x.dtype).eps ** 0.5
            alpha, _ = dual_iterative(kernel, x, y, used, M, rank=int(self.rank), tolerance=tolerance)
        else:
            alpha, used = dual(lambda: kernel.matrix(x, None, M), y, self.ridge)
        if held_out is None or not self.early_stopping:
            return alpha, used, None
        return alpha, used, float((predict(kernel, held_out[0], x, alpha, M) - held_out[1]).square().mean())

    def predict(self, X: Any) -> np.ndarray:
        """Labels (n,), or in regression the values, in the shape of y."""
        scores = self._scores(X)
        if _classifies(self):
            return self.classes_[scores.argmax(1)]
        return scores[:, 0] if self._flat else scores

    @available_if(_classifies)
    def decision_function(self, X: Any) -> np.ndarray:
        """The fitted one-hot codes (n, classes); of two classes the second's less the first's, (n,)."""
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy, or in regression R²."""
        measure = accuracy_score if _classifies(self) else r2_score
        return float(measure(y, self.predict(X), sample_weight=sample_weight))

    def save(self, path: Path | str) -> None:
        """Write the fitted machine to one safetensors file, without pickle, whole or not at all."""
        check_is_fitted(self)
        arrays = {name: torch.from_numpy(np.ascontiguousarray(getattr(self, name))) for name in ARRAYS}
        about = {name: getattr(self, name) for name in ABOUT}
        if _classifies(self):
            about["classes_"] = {"dtype": self.classes_.dtype.str, "values": self.classes_.tolist()}
        if hasattr(self, "feature_names_in_"):
            about["feature_names_in_"] = {"dtype": "|O", "values": self.feature_names_in_.tolist()}
        about = {"parameters": self.get_params(), **about}
        with atomic(Path(path)) as temporary:
            save_file(arrays, temporary, {"gramlab.RFM": json.dumps(about, default=_plain)})

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """The machine that ``save`` wrote. Raises gramlab.files.BadInput, naming the file, if it is not one."""
        try:
            with safe_open(path, "pt") as file:
                about = json.loads((file.metadata() or {})["gramlab.RFM"])
                machine = cls(**about.pop("parameters"))
                found = {name: about.pop(name) for name in ABOUT}
                found |= {name: file.get_tensor(name).numpy() for name in ARRAYS}
            for name, coded in about.items():
                found[name] = np.array(coded["values"], dtype=coded["dtype"])
            for name, value in {**found, "n_features_in_": found["X_fit_"].shape[1]}.items():
                setattr(machine, name, value)
        except (OSError, SafetensorError, KeyError, TypeError, ValueError, AttributeError) as error:
            raise BadInput(f"{path}: not a saved RFM ({type(error).__name__}: {error})") from error
        return machine

    def _checked(self) -> Kernel:
        """The kernel; raises BadInput on parameters of a wrong type or out of range."""
        for name, allowed in (
            ("task", TASKS), ("update", (*UPDATES, None)), ("solver", ("direct", "iterative")),
            ("dtype", ("float64", "float32")),
        ):  # fmt: skip
            one_of(name, getattr(self, name), allowed)
        for name, least in (("n_iters", 0), ("patience", 1), ("rank", 1)):
            if name != "patience" or self.patience is not None:
                whole(name, getattr(self, name), least)
        number("power", self.power)
        number("ridge", self.ridge, positive=False)
        for name in ("early_stopping", "centered"):
            truth(name, getattr(self, name))
        placed(self.device)
        return self._kernel()

    def _kernel(self) -> Kernel:
        return Kernel(self.kernel, self.bandwidth, self.degree, self.offset)

    def _encoded(self, y: np.ndarray, fit: bool = False) -> np.ndarray:
        """Targets (n, c): the one-hot codes of the labels, or the values themselves."""
        if not _classifies(self):
            if fit:
                self._flat = y.ndim == 1
            return y.reshape(len(y), -1).astype(np.float64)
        check_classification_targets(y)
        if fit:
            self._flat, self.classes_ = True, np.unique(y)
            if len(self.classes_) < 2:
                raise ValueError(f"RFM needs at least two classes; y holds only one class, {self.classes_[0]!r}")
        if unknown := set(np.unique(y).tolist()) - set(self.classes_.tolist()):
            raise ValueError(f"y_val holds classes that y lacks: {sorted(unknown)}")
        return (y[:, None] == self.classes_).astype(np.float64)

    def _scores(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        parts = (self._tensor(part) for part in (X, self.X_fit_, self.dual_coef_, self.features_))
        return predict(self._kernel(), *parts).cpu().numpy()

    def _tensor(self, a: np.ndarray) -> Tensor:
        return tensor(a, self.dtype, self.device)


def _plain(value: Any) -> Any:
    """What JSON has in place of a parameter's value: a grid search sets numpy's numbers."""
    return value.item() if isinstance(value, np.generic) else str(torch.device(value))
