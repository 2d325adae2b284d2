"""Whether NC1 of Deep RFM falls exponentially with the layer: which law fits its curve best."""

from dataclasses import replace

import numpy as np

from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, positive
from tasks.papers.neural_collapse.claims.shared.deep_rfm import by_layer

OTHERS = {"straight": "a straight line in NC1", "power": "a power law", "drop": "a single drop"}


def falls_exponentially(rows: Rows) -> Finding:
    """A straight line in the layer fits log NC1 of M^{1/2} X better than three other laws fit NC1.

    The paper names no rate. So the exponential law is compared with a steady decline a + b l, with a power law a l^b,
    which a decline that comes to rest resembles more, and with a single drop of log NC1 from one level to another
    between two layers, wherever it fits best. The fit is R^2, the share of the variance over layers that the law
    explains, each in its own scale. It lies between 0 and 1, so that no seed can spoil the mean over seeds. Each
    difference must be positive (``positive``). An exponential rise is no improvement: NC1 must also be lower in the
    last layer than in the first.
    """
    nc1 = by_layer(rows, "nc1/agop")
    fits = explained(nc1)
    first, last = nc1[:, 0], nc1[:, -1]
    parts = {
        f"against {words}": positive(fits["exponential"] - fits[law], f"R² of a line in log NC1 minus that of {words}")
        for law, words in OTHERS.items()
    }
    parts["fall"] = positive((first - last) / (first + last), "NC1 in the first layer minus that in the last, over sum")
    levels = ", ".join(f"of {words} {fits[law].mean():.3g}" for law, words in OTHERS.items())
    measured = f"R² of an exponential law is {fits['exponential'].mean():.3g}, {levels}"
    return replace(all_of(**parts), measured=measured)


def explained(nc1: np.ndarray) -> dict[str, np.ndarray]:
    """By law R^2 of each seed's line; NC1 is (seeds, layers)."""
    layer = np.arange(1.0, nc1.shape[1] + 1)
    return {
        "exponential": _squared_correlations(layer, np.log(nc1)),
        "straight": _squared_correlations(layer, nc1),
        "power": _squared_correlations(np.log(layer), np.log(nc1)),
        "drop": np.max([_squared_correlations(1.0 * (layer > last), np.log(nc1)) for last in layer[:-1]], axis=0),
    }


def _squared_correlations(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """R^2 of the line of each row of y in x."""
    x, y = x - x.mean(), y - y.mean(1, keepdims=True)
    return (y @ x) ** 2 / ((x @ x) * (y * y).sum(1))
