"""What the networks of a cell have reached: a critical point, and more than the labels of their training set."""

import math
from collections.abc import Mapping
from typing import Any

CRITICAL = 0.1  # ‖∇L + λW‖ / ‖λW‖ up to which a network counts as being at a critical point
ELSEWHERE = ("adamw", "muon", "whitened")  # those of standstill.py, which loads torch; the report does without
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


def end_of(cell: Mapping[str, Any]) -> str | None:
    """Where the networks of a cell with weight decay end.

    Parameters
    ----------
    cell
        An entry of "cells" in reports/atlas.json.

    Returns
    -------
    str or None
        - "critical": at a critical point of the loss with decay
        - "kink": ‖∇L + λW‖ is too large at every step and small for the mean gradient of the last steps, so that the
          gradient jumps around a point of rest, as it does where a minimum lies on kinks of ReLUs
        - "elsewhere": where an optimizer rests that does not rest at critical points, within the same limit
        - "moving": at none of these, because training was too short
        - None without weight decay

    Examples
    --------
    >>> facts = {"stationarity": 0.2, "averaged_stationarity": 0.02}
    >>> end_of({"optimizer": "adam", "weight_decay": 0.1, "facts": facts})
    'kink'
    """
    if not cell["weight_decay"]:
        return None
    facts = cell["facts"]
    if at_critical_point(cell):
        return "critical"
    if cell["optimizer"] in ELSEWHERE:
        return "elsewhere" if facts.get("distance_from_rest", math.inf) <= CRITICAL else "moving"
    return "kink" if facts.get("averaged_stationarity", math.inf) <= CRITICAL else "moving"


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
