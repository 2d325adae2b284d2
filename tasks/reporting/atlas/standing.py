"""What the networks of a cell have reached: a critical point, their training set, and more than its labels."""

import math
from collections.abc import Mapping
from typing import Any

CRITICAL = 0.1  # ‖∇L + λW‖ / ‖λW‖ up to which a network counts as being at a critical point
ELSEWHERE = ("adamw", "muon", "whitened")  # those of standstill.py, which loads torch; the report does without
WRONG = 0.95  # a share of test samples that are named wrongly, from which networks only memorise
FIT_ACCURACY = 0.99  # on the training set; this limit and the next are those of the pilot in docs/atlas.md
FIT_LOSS = 0.12  # on the training set, as a share of the variance of the test targets


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


def fits(cell: Mapping[str, Any]) -> bool:
    """Whether a cell's networks fit their training set.

    Without a test set the variance is unknown, and the networks count as fitting.

    Examples
    --------
    >>> [fits({"facts": {"train_accuracy": accuracy}}) for accuracy in (0.995, 0.6)]
    [True, False]
    >>> [fits({"facts": {"train_loss": loss, "test_loss": 1.0, "test_error": 0.5}}) for loss in (0.2, 0.3)]
    [True, False]
    """
    facts = cell["facts"]
    if "train_accuracy" in facts:
        return facts["train_accuracy"] >= FIT_ACCURACY
    # the test error is the loss over the variance
    return "test_loss" not in facts or facts["train_loss"] * facts["test_error"] <= FIT_LOSS * facts["test_loss"]


def memorises(cell: Mapping[str, Any]) -> bool:
    """Whether a cell's networks fit their training set and name nearly every test sample wrongly.

    A task whose answers are numbers has no such samples.

    Examples
    --------
    >>> memorises({"facts": {"train_accuracy": 1.0, "test_error": 0.96, "test_accuracy": 0.04}})
    True
    >>> memorises({"facts": {"train_accuracy": 0.3, "test_error": 0.96, "test_accuracy": 0.04}})
    False
    """
    facts = cell["facts"]
    return "test_accuracy" in facts and facts["test_error"] >= WRONG and fits(cell)
