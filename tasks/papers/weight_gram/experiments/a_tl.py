"""A.tl: the ridge residual of Definition 2 against its closed form in the n x n Gram matrix."""

from collections.abc import Iterator

import numpy as np

from gramlab.streams import stream
from tasks.measuring.counterexamples import Arrays, array, smallest
from tasks.papers.weight_gram.experiments.shared.trained_layers import trained_layers
from tasks.settings.simulation import Simulation

CHANGED = "control: lambda of one side changed by a tenth"


class Settings(Simulation):
    """``instances`` counts the random features and labels."""


def measure(settings: Settings) -> Iterator[dict]:
    """Rows: the difference of both sides over (n + d) kappa ||Y||^2, kappa = 1 + sigma_max^2 / lambda.

    The left side solves the d x d system of the definition, the right side an n x n system, independently.
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


def adversaries() -> Iterator[dict]:
    """The smallest features and labels that violate the equation, by hypothesis."""

    def rows(instance: dict) -> list[dict]:
        return [*_residuals("", array(instance["H"]), array(instance["Y"]), float(instance["λ"]))]

    instances = Arrays(lambda instance: array(instance["Y"]).any(), ridge=True, H=(0, 1), Y=(0, 2))
    yield from smallest("tl", ["claim", CHANGED], instances, rows)


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
