"""A.tl: the ridge residual of Definition 2 against its closed form, and T_0 against the R^2 of least squares.

The closed form of the residual is in the n x n Gram matrix. The R^2 of ordinary least squares is that of a fit with an
intercept. It is compared with T_0 of the features and labels as they are, and of both without their means.
"""

from collections.abc import Iterator

import numpy as np

from gramlab.streams import stream
from tasks.measuring.counterexamples import Arrays, array, smallest
from tasks.papers.weight_gram.experiments.shared.trained_layers import trained_layers
from tasks.settings.simulation import Simulation

CHANGED = "control: lambda of one side changed by a tenth"
ONLY_FEATURES, ONLY_LABELS = "control: only the features centred", "control: only the labels centred"
CENTRED = {"claim": "", "corrected": "HY", ONLY_FEATURES: "H", ONLY_LABELS: "Y"}  # what an arm takes the means from
KINDS = ("random", "ill-conditioned", "ReLU", "one-hot labels")


class Settings(Simulation):
    """``instances`` counts the random features and labels of each kind."""


def measure(settings: Settings) -> Iterator[dict]:
    """Rows: the differences of both sides over the sizes of their terms.

    For the ridge residual this is (n + d) kappa ||Y||^2, kappa = 1 + sigma_max^2 / lambda. The left side solves the
    d x d system of the definition, the right side an n x n system, independently.
    """
    yield from adversaries()
    for instance in range(settings.instances):
        draw = stream("a_tl", instance)
        n, d, c = int(draw.integers(5, 60)), int(draw.integers(2, 40)), int(draw.integers(1, 4))
        decay, ridge = draw.uniform(0, 2), 10.0 ** draw.uniform(-2, 2)
        H = draw.normal(size=(n, d)) * np.arange(1, d + 1) ** -decay
        if instance % 4 == 3:
            H[:, 1:] = H[:, :1]  # rank one
        Y = draw.normal(size=(n, c)) + draw.normal(size=c)
        yield from _residuals(f"n {n}, d {d}, lambda {ridge:.2g}", H, Y, ridge, instance)
        yield from _residuals(f"dead, n {n}", 0 * H, Y, ridge, instance)
        for layer in trained_layers(instance):
            yield from _residuals(f"{layer.kind}, {instance}", layer.H.T, layer.Y[:, None], layer.ridge, instance)
        for kind in KINDS:
            yield from _least_squares(f"{kind}, {instance}", *_regression(kind, instance), instance)


def adversaries() -> Iterator[dict]:
    """The smallest features and labels that violate an equation, by hypothesis."""

    def rows(instance: dict) -> list[dict]:
        return [*_residuals("", array(instance["H"]), array(instance["Y"]), float(instance["λ"]))]

    instances = Arrays(lambda instance: array(instance["Y"]).any(), ridge=True, H=(0, 1), Y=(0, 2))
    yield from smallest("tl", ["claim", CHANGED], instances, rows)

    def of_least_squares(instance: dict) -> list[dict]:
        return [*_least_squares("", array(instance["H"]), array(instance["Y"]))]

    def is_regression(instance: dict) -> bool:
        design = _with_intercept(array(instance["H"]))
        return np.linalg.matrix_rank(design) == design.shape[1] and bool(np.ptp(array(instance["Y"]), axis=0).any())

    yield from smallest("tl0", [*CENTRED], Arrays(is_regression, H=(0, 1), Y=(0, 2)), of_least_squares)


def _residuals(case: str, H: np.ndarray, Y: np.ndarray, ridge: float, instance: int = 0) -> Iterator[dict]:
    for dtype in (np.float64, np.float32):
        for arm, right_ridge in (("claim", ridge), (CHANGED, 1.1 * ridge)):
            left, right, size = _sides(H.astype(dtype), Y.astype(dtype), dtype(ridge), dtype(right_ridge))
            yield {"arm": arm, "case": case, "seed": instance, "dtype": np.dtype(dtype).name,
                   "quantity": "tl/residual", "value": abs(left - right) / size}  # fmt: skip


def _sides(H: np.ndarray, Y: np.ndarray, ridge: np.floating, right_ridge: np.floating) -> tuple[float, float, float]:
    """Left and right side, and the size that their difference is compared with."""
    n, d = H.shape
    fitted = H @ np.linalg.solve(H.T @ H + ridge * np.eye(d, dtype=H.dtype), H.T @ Y)
    dual = np.linalg.solve(right_ridge * np.eye(n, dtype=H.dtype) + H @ H.T, Y)
    kappa = 1 + float(np.linalg.norm(H, 2)) ** 2 / float(ridge)
    size = (n + d) * kappa * float((Y**2).sum())
    return float(((Y - fitted) ** 2).sum()), float(right_ridge**2 * (dual**2).sum()), size


def _regression(kind: str, instance: int) -> tuple[np.ndarray, np.ndarray]:
    """More samples than features, so that the Gram matrix of the features has an inverse; neither has the mean 0."""
    draw = stream("a_tl", "least squares", kind, instance)
    d, c = int(draw.integers(1, 9)), int(draw.integers(2, 4))
    n = 3 * d + int(draw.integers(10, 40))
    H = draw.normal(size=(n, d))
    if kind == "ill-conditioned":
        H *= np.arange(1, d + 1) ** -1.5
    H = np.maximum(H, 0) if kind in ("ReLU", "one-hot labels") else H + draw.normal(size=d)
    if kind == "one-hot labels":
        return H, np.eye(c)[np.arange(n) % c]
    return H, H @ draw.normal(size=(d, c)) + draw.normal(size=(n, c)) + draw.normal(size=c)


def _least_squares(case: str, H: np.ndarray, Y: np.ndarray, instance: int = 0) -> Iterator[dict]:
    """The difference of T_0 and R^2 over (n + d) kappa ||Y||^2 / ||Y - mean||^2.

    kappa is the squared quotient of the largest singular value of H and the least one of the features in the fit. T_0
    solves the d x d system of the definition; R^2 comes from an orthonormal basis of the features and the constant.
    """
    for dtype in (np.float64, np.float32):
        features: np.ndarray = H.astype(dtype)
        labels: np.ndarray = Y.astype(dtype)
        basis = np.linalg.qr(_with_intercept(features))[0]
        right = _share_explained(labels, basis @ (basis.T @ labels))
        for arm, centred in CENTRED.items():
            h: np.ndarray = features - features.mean(0) if "H" in centred else features
            y: np.ndarray = labels - labels.mean(0) if "Y" in centred else labels
            left = _share_explained(y, h @ np.linalg.solve(h.T @ h, h.T @ y))
            kappa = (np.linalg.norm(H, 2) / np.linalg.norm(h.astype(float), -2)) ** 2
            size = sum(H.shape) * kappa * (Y**2).sum() / ((Y - Y.mean(0)) ** 2).sum()
            yield {"arm": arm, "case": case, "seed": instance, "dtype": np.dtype(dtype).name,
                   "quantity": "tl0/residual", "value": abs(left - right) / float(size)}  # fmt: skip


def _with_intercept(H: np.ndarray) -> np.ndarray:
    return np.column_stack([np.ones(len(H), dtype=H.dtype), H])


def _share_explained(Y: np.ndarray, fitted: np.ndarray) -> float:
    """R^2: one minus the squared error over the squared deviations from the mean."""
    return 1 - float(((Y - fitted) ** 2).sum()) / float(((Y - Y.mean(0)) ** 2).sum())
