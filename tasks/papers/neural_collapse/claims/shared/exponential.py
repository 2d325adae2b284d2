"""Whether NC1 of Deep RFM falls exponentially with the layer: which law fits its curve best."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, positive
from tasks.papers.neural_collapse.claims.shared.deep_rfm import by_layer

OTHERS = {"straight": "a straight line", "power": "a power law", "drop": "a single drop"}
Shape = Callable[[np.ndarray, np.ndarray], np.ndarray]  # layer - 1 and rate to the decay from 1
DECAYS: dict[str, Shape] = {
    "exponential": lambda depth, rate: np.exp(-rate * depth),
    "straight": lambda depth, rate: np.maximum(1 - rate * depth, 0.0),
    "power": lambda depth, rate: (1 + depth) ** -rate,
}
# The search for a law's rate and floor: a grid of their logarithms, then finer grids, each around the best point before
RATES, FLOORS = (1e-4, 30.0), (1e-15, 1e3)  # per layer; relative to what decays, in the first layer; or no floor
GRIDS = ((400, 100), *[(41, 41)] * 16)  # numbers of rates and of floors
REACH = 8  # points of a grid to each side of its best one that the next grid covers


def falls_exponentially(rows: Rows) -> Finding:
    """An exponential fall to a floor fits log NC1 of M^{1/2} X better than three other falls to a floor.

    The paper names no rate, and its theorem allows an error, up to which NC1 converges exponentially: "exponential
    convergence to NC1 and NC2 up to error O(L lambda_k^2 lambda_Phi^-2)". So NC1 may come to rest at a floor. The
    exponential law is a exp(-b (l - 1)) + c with a, b > 0 and c >= 0. It is compared with a straight line that ends at
    a floor, with a power law a l^-b + c, and with a single drop from one level to another between two layers, wherever
    it fits best. Each law has three free numbers. The fit is R^2, the share of the variance of log NC1 over layers that
    the law explains at its best numbers. It lies between 0, the fit of a constant, and 1, so that no seed can spoil the
    mean over seeds. Each difference must be positive (``positive``). NC1 must also be lower in
    the last layer than in the first.
    """
    nc1 = by_layer(rows, "nc1/agop")
    fits = explained(nc1)
    first, last = nc1[:, 0], nc1[:, -1]
    parts = {
        f"against {words}": positive(fits["exponential"] - fits[law], f"R² of an exponential law minus that of {words}")
        for law, words in OTHERS.items()
    }
    parts["fall"] = positive((first - last) / (first + last), "NC1 in the first layer minus that in the last, over sum")
    levels = ", ".join(f"{fits[law].mean():.3g} for {words}" for law, words in OTHERS.items())
    measured = f"R² is {fits['exponential'].mean():.3g} for an exponential law with a floor, {levels}"
    return replace(all_of(**parts), measured=measured)


def explained(nc1: np.ndarray) -> dict[str, np.ndarray]:
    """By law R^2 of each seed's best fit to log NC1; NC1 is (seeds, layers)."""
    logs = np.log(nc1)
    logs = logs - logs.mean(1, keepdims=True)
    layer = np.arange(logs.shape[1])
    drops = [1.0 * (layer > last) for last in layer[:-1]]
    return {
        **{law: np.array([_best_decay(shape, curve) for curve in logs]) for law, shape in DECAYS.items()},
        "drop": np.array([max(_squared_correlation(drop - drop.mean(), curve) for drop in drops) for curve in logs]),
    }


def _squared_correlation(x: np.ndarray, y: np.ndarray) -> float:
    """R^2 of the line of y in x, both of mean 0."""
    return float((x @ y) ** 2 / ((x @ x) * (y @ y)))


def _best_decay(shape: Shape, curve: np.ndarray) -> float:
    """R^2 of the best a (shape + floor) to a curve of logarithms of mean 0; a only shifts the law's logarithms."""
    depth, least = np.arange(len(curve)), float(curve @ curve)
    squares = least
    for has_floor in (False, True):
        ranges = [np.log(RATES), np.log(FLOORS)]
        for counts in GRIDS:
            rates, floors = (np.linspace(ends[0], ends[1], count) for ends, count in zip(ranges, counts, strict=True))
            heights = np.exp(floors) if has_floor else np.zeros(1)
            law = shape(depth, np.exp(rates)[:, None])[:, None] + heights[:, None]  # (rates, floors, layers)
            with np.errstate(divide="ignore", invalid="ignore"):  # a straight line that reaches 0 has no logarithm
                logs = np.log(law)
                residuals = curve - (logs - logs.mean(2, keepdims=True))
            errors = (residuals**2).sum(2)
            row, column = np.unravel_index(np.nanargmin(errors), errors.shape)
            least = min(least, float(errors[row, column]))
            ranges = [
                values[np.clip([place - REACH, place + REACH], 0, len(values) - 1)]
                for values, place in ((rates, row), (floors, column))
            ]
    return 1 - least / squares
