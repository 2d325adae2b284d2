"""D.svd: NC1 before and after the left singular vectors of a linear layer, on random features and weights.

Before U, the traces come from ``gramlab.neural_collapse`` of S V^T h. After U, they come from the matrices S_W and S_B
of W h, by their definition. Two controls compare across S V^T or across ReLU too; the third replaces U by a factor that
is not orthogonal.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

import gramlab
from gramlab.streams import stream
from tasks.settings.simulation import Simulation


class Settings(Simulation):
    """``instances`` counts random features and weights of every shape in SHAPES."""


DTYPES: tuple[Any, ...] = (np.float64, np.float32)
SHAPES = {"square": (12, 12), "wide": (7, 20), "tall": (20, 7), "deficient": (12, 12), "spread": (15, 15)}  # W, (k, d)


def measure(settings: Settings) -> Iterator[dict]:
    """Rows: svd/residual by instance, arm and precision."""
    for instance in range(settings.instances):
        for kind, (k, d) in SHAPES.items():
            draw = stream("d_svd", kind, instance)
            W = draw.normal(size=(k, d))
            if kind == "deficient":
                W = draw.normal(size=(k, 4)) @ draw.normal(size=(4, d))
            elif kind == "spread":
                W = W * 10.0 ** -np.arange(k, dtype=float)[:, None]
            classes = int(draw.integers(2, 6))
            sizes = draw.integers(2, 15, size=classes) if instance % 2 else np.full(classes, 10)
            labels = np.repeat(np.arange(classes), sizes)
            h = draw.normal(size=(classes, d))[labels] + draw.uniform(0.1, 2) * draw.normal(size=(len(labels), d))
            not_orthogonal = draw.normal(size=(k, k)) / np.sqrt(k)
            for dtype in DTYPES:
                w, x, other = (array.astype(dtype) for array in (W, h - h.mean(0), not_orthogonal))
                for arm, residual in _residuals(w, x, other, labels).items():
                    yield {
                        "arm": arm, "case": f"{kind} {instance}", "dtype": np.dtype(dtype).name,
                        "quantity": "svd/residual", "value": residual,
                    }  # fmt: skip


def _residuals(W: np.ndarray, h: np.ndarray, not_orthogonal: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """By arm: the difference of tr(S_W)/tr(S_T) before and after U, relative to round-off."""
    _, S, Vh = np.linalg.svd(W)
    core = np.zeros_like(W)
    np.fill_diagonal(core, S)
    before = h @ (core @ Vh).T
    after = {
        "claim": h @ W.T,
        "control: S V^T counted in": h,
        "control: ReLU counted in": np.maximum(h @ W.T, 0),
        "control: U not orthogonal": before @ not_orthogonal.T,
    }
    traces = gramlab.neural_collapse(before, labels)
    # round-off of W h against its spread: what W amplifies and the data cancel
    size = float(np.linalg.norm(W, 2) ** 2 * np.square(h).sum() / len(h)) / traces.total
    residuals = {}
    for arm, z in after.items():
        within, between = _traces(z, labels)
        difference = abs(traces.within / traces.total - within / (within + between))
        residuals[arm] = difference / (size * (sum(W.shape) + len(h)))
    return residuals


def _traces(z: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    """tr(S_W) and tr(S_B) of the matrices that paper D defines, with classes weighted by their sizes."""
    n, mean = len(z), z.mean(0)
    within, between = (np.zeros((z.shape[1],) * 2, z.dtype) for _ in range(2))
    for label in np.unique(labels):
        samples = z[labels == label]
        class_mean = samples.mean(0)
        within += (samples - class_mean).T @ (samples - class_mean) / n
        between += len(samples) / n * np.outer(class_mean - mean, class_mean - mean)
    return float(np.trace(within)), float(np.trace(between))
