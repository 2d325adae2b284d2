"""What the networks of a cell have reached: a critical point, and more than the labels of their training set."""

from collections.abc import Mapping
from typing import Any

CRITICAL = 0.1  # ‖∇L + λW‖ / ‖λW‖ up to which a network counts as being at a critical point
WRONG = 0.95  # a share of test samples that are named wrongly, from which networks only memorise


def at_critical_point(cell: Mapping[str, Any]) -> bool | None:
    """Whether a cell ends at a critical point of the loss with weight decay, where FACT's theorem applies.

    Parameters
    ----------
    cell
        An entry of "cells" in reports/atlas.json.

    Returns
    -------
    bool or None
        None without weight decay.

    Examples
    --------
    >>> [at_critical_point({"weight_decay": 0.01, "facts": {"stationarity": distance}}) for distance in (0.1, 0.11)]
    [True, False]
    """
    return bool(cell["facts"]["stationarity"] <= CRITICAL) if cell["weight_decay"] else None


def memorises(cell: Mapping[str, Any]) -> bool:
    """Whether a cell's networks name nearly every test sample wrongly, so that they have only memorised.

    A task whose answers are numbers has no such samples.

    Examples
    --------
    >>> memorises({"facts": {"test_error": 0.96, "test_accuracy": 0.04}}), memorises({"facts": {"test_error": 1.2}})
    (True, False)
    """
    facts = cell["facts"]
    return "test_accuracy" in facts and facts["test_error"] >= WRONG
