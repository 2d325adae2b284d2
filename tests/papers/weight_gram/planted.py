"""Planted tables, in which a claim holds or one part of it does not."""

import numpy as np
from helpers import rows

from gramlab.streams import stream
from tasks.judging.rows import Rows

SEEDS = range(5)
UNITS = {"float64": 2.0**-53, "float32": 2.0**-24}


def noise(*name) -> float:
    return float(stream("test_checks", *name).normal())


def residuals(quantity: str, size: float = 0.1) -> list[dict]:
    """Of an identity, in units of round-off."""
    return [
        {
            "case": str(case),
            "dtype": dtype,
            "quantity": quantity,
            "value": unit * size * float(stream("test_checks_a", case, dtype).uniform(0.5, 1)),
        }
        for case in range(6)
        for dtype, unit in UNITS.items()
    ]


def ratios(quantity: str, worst: float = 0.9) -> list[dict]:
    """Left over right side of an inequality."""
    return [
        {"case": str(case), "dtype": "float64", "quantity": quantity, "value": worst / case} for case in range(1, 6)
    ]


def remainders(quantity: str, power: float) -> list[dict]:
    return [
        {"case": str(case), "layer": "0", "dtype": "float64", "quantity": quantity, "x": x, "value": x**power}
        for case in range(6)
        for x in 2.0 ** -np.arange(21)
    ]


def series(size: float = 0.003, scale: str = "quick", **quantities) -> Rows:
    """Rows of every seed for quantities {(case, layer, x): value}, with noise of this size."""
    records = []
    for quantity, values in quantities.items():
        for (case, layer, x), value in values.items():
            for seed in SEEDS:
                wobble = size * float(stream("test_checks_growth", quantity, case, layer, int(10 * x), seed).normal())
                records.append({"scale": scale, "seed": seed, "case": case, "layer": layer, "step": int(x), "x": x,
                                "quantity": quantity, "value": value + wobble})  # fmt: skip
    return rows(records)
