"""D.svd: NC1 on the way through a linear layer, on random features and weights.

Before U, the traces come from ``gramlab.neural_collapse`` of S V^T h; after it, from S_W and S_B of W h themselves,
formed as matrices by their definition. What S V^T and ReLU change, and a left factor that is not orthogonal, are the
controls.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

import gramlab
from gramlab.streams import stream
from tasks.settings.simulation import Simulation

DTYPES: tuple[Any, ...] = (np.float64, np.float32)
SHAPES = {"square": (12, 12), "wide": (7, 20), "tall": (20, 7), "deficient": (12, 12), "spread": (15, 15)}  # W, (k, d)


class Settings(Simulation):
    """Settings of this experiment."""


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
            other = draw.normal(size=(k, k)) / np.sqrt(k)
            for dtype in DTYPES:
                w: np.ndarray = W.astype(dtype)
                x: np.ndarray = (h - h.mean(0)).astype(dtype)
                _, S, Vh = np.linalg.svd(w)
                core = np.zeros_like(w)
                np.fill_diagonal(core, S)
                before = x @ (core @ Vh).T
                after = {
                    "claim": x @ w.T,
                    "control: S V^T counted in": x,
                    "control: ReLU counted in": np.maximum(x @ w.T, 0),
                    "control: U not orthogonal": before @ other.astype(dtype).T,
                }
                found = gramlab.neural_collapse(before, labels)
                for arm, z in after.items():
                    within, between = _traces(z, labels)
                    residual = abs(found.within / found.total - within / (within + between))
                    # round-off of z against its spread: what W amplifies and the data cancel
                    size = float(np.linalg.norm(w, 2) ** 2 * np.square(x).sum() / len(x)) / found.total
                    yield {
                        "arm": arm, "case": f"{kind} {instance}", "dtype": np.dtype(dtype).name,
                        "quantity": "svd/residual", "value": residual / (size * (k + d + len(x))),
                    }  # fmt: skip


def _traces(z: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    """tr(S_W) and tr(S_B) of the matrices that paper D defines, classes weighted by their sizes."""
    n, mean = len(z), z.mean(0)
    within, between = (np.zeros((z.shape[1],) * 2, z.dtype) for _ in range(2))
    for label in np.unique(labels):
        own = z[labels == label]
        centre = own.mean(0)
        within += (own - centre).T @ (own - centre) / n
        between += len(own) / n * np.outer(centre - mean, centre - mean)
    return float(np.trace(within)), float(np.trace(between))
