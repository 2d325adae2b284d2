"""Surrogate and Target Linearity (lambda = 0) grow throughout training and with the layer's index.

The surrogate grows roughly exponentially, Target Linearity roughly logarithmically: of the two-parameter laws
a e^(bt), a + b t and a + b log(1 + t), fitted by least squares, these leave the smallest squared error.
"""

from dataclasses import replace

import numpy as np

from tasks.judge import Finding, Rows, every, positive

ID = "A.fig4"
KIND = "statistical"
TITLE = "Surrogate and Target Linearity grow in training and with depth"
PRINTED = "both grow; exponential and logarithmic; last-layer TL > 0.5 on CIFAR-10, Figure 4"
QUANTITIES = ("surrogate", "target_linearity")
PARTS = ("surrogate_in_training", "linearity_in_training", "surrogate_with_layer", "linearity_with_layer",
         "surrogate_exponential", "linearity_logarithmic")  # fmt: skip


def rule(rows: Rows) -> Finding:
    """Per seed: the least growth over layers, the least step from layer to layer, and the laws' errors compared."""
    S, T = (_curves(rows.where(quantity=name)) for name in QUANTITIES)
    found = every(
        surrogate_in_training=positive(_least(np.log(S[:, :, -1] / S[:, :, 0])), "log growth of the surrogate"),
        linearity_in_training=positive(_least(T[:, :, -1] - T[:, :, 0]), "growth of Target Linearity"),
        surrogate_with_layer=positive(_least(np.diff(np.log(S[:, :, -1]), axis=1)), "log step to the next layer"),
        linearity_with_layer=positive(_least(np.diff(T[:, :, -1], axis=1)), "step to the next layer"),
        surrogate_exponential=positive(_lead(rows, S, "exponential"), "log error of the next best law over its own"),
        linearity_logarithmic=positive(_lead(rows, T, "logarithmic"), "log error of the next best law over its own"),
    )
    failed = [name.replace("_", " ") for name in PARTS if found.numbers[name] <= 0]
    measured = f"last-layer TL {T[:, -1, 0].mean():.3f} → {T[:, -1, -1].mean():.3f}"
    return replace(found, measured=measured + (f"; not so: {', '.join(failed)}" if failed else ""))


def _curves(rows: Rows) -> np.ndarray:
    """(seeds, layers, epochs)."""
    groups = rows.by("seed", "layer")
    seeds = len({seed for seed, _ in groups})
    return np.array([one.value[np.argsort(one.x)] for one in groups.values()]).reshape(seeds, len(groups) // seeds, -1)


def _least(per_layer: np.ndarray) -> np.ndarray:
    return per_layer.min(axis=1)


def _lead(rows: Rows, curves: np.ndarray, law: str) -> np.ndarray:
    """Per seed, the mean over layers of log(smallest other law's squared error / this law's)."""
    t = np.unique(rows.x)
    leads = np.zeros(curves.shape[:2])
    for at in np.ndindex(leads.shape):
        errors = laws(t, curves[at])
        own = errors.pop(law)
        leads[at] = np.log(min(errors.values()) / own)
    return leads.mean(axis=1)


def laws(t: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Squared errors of the three laws; the exponential's rate is found on a fine grid, its scale in closed form."""

    def linear(u: np.ndarray) -> float:
        design = np.stack([np.ones_like(u), u], 1)
        return float(((y - design @ np.linalg.lstsq(design, y, rcond=None)[0]) ** 2).sum())

    shapes = np.exp(np.linspace(-20, 20, 4001)[:, None] * (t / t.max() - 0.5))
    scales = shapes @ y / (shapes**2).sum(1)
    exponential = ((y - scales[:, None] * shapes) ** 2).sum(1).min()
    return {"exponential": float(exponential), "linear": linear(t), "logarithmic": linear(np.log1p(t))}
