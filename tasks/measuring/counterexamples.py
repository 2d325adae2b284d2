"""Counterexamples: hypothesis searches for an instance that violates a rule, and shrinks it to the smallest it can.

It does so for the claim and for every control. The rows of the instance it ends with stand in the table beside the
drawn instances and are judged like them. "NAME/smallest" names it for the report. The search is deterministic.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from hypothesis import Phase, find, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

EXAMPLES = 300
LONGEST = 4  # sides of an array
# the largest value of a quantity in float64, by the last part of its name: the ratio of a bound, the count of an event
# that must never happen, a slope's distance from its order, residuals of identities (8 u); as in judging/rules.py
RESIDUALS = ("residual", "gradient", "gram", "distance", "newton-schulz")
ALLOWED = {"ratio": 1.0, "violated": 0.0, "opposite signs": 0.0, "slope": 0.1, **dict.fromkeys(RESIDUALS, 8 * 2.0**-53)}
NUMBERS = st.integers(-3, 3)


class Arrays:
    """Named vectors and matrices of whole numbers, and λ for a ridge. They shrink towards few numbers and towards 0.

    A shape names its sides by 0, 1, 2, …; sides of the same name have the same length. Instances that ``keep`` rejects
    are not tried.
    """

    def __init__(self, keep: Callable[[dict], Any] | None = None, ridge: bool = False, **shapes: tuple[int, ...]):
        self.keep, self.ridge, self.shapes = keep or (lambda instance: True), ridge, shapes
        self.sides = sorted({side for shape in shapes.values() for side in shape})

    def strategy(self) -> st.SearchStrategy[dict]:
        """The strategy from which hypothesis draws instances."""

        def drawn(lengths: list[int]) -> st.SearchStrategy[dict]:
            numbers: dict[str, st.SearchStrategy] = dict.fromkeys(self.shapes, NUMBERS)
            for name, shape in self.shapes.items():
                for side in reversed(shape):
                    numbers[name] = st.lists(numbers[name], min_size=lengths[side], max_size=lengths[side])
            return st.fixed_dictionaries({**numbers, **({"λ": st.integers(1, 9)} if self.ridge else {})})

        count = len(self.sides)
        return st.lists(st.integers(1, LONGEST), min_size=count, max_size=count).flatmap(drawn).filter(self.keep)

    def fewer(self, instance: dict) -> Iterator[dict]:
        """The instances that are left when one index of one side is removed."""
        for side in self.sides:
            axes = [
                (name, axis) for name, shape in self.shapes.items() for axis, label in enumerate(shape) if label == side
            ]
            length = np.shape(instance[axes[0][0]])[axes[0][1]]
            for index in range(length if length > 1 else 0):
                smaller = dict(instance)
                for name, axis in axes:
                    smaller[name] = np.delete(smaller[name], index, axis).tolist()
                yield smaller


def array(numbers: Any) -> np.ndarray:
    """Lists of numbers in float64."""
    return np.array(numbers, dtype=float)


def smallest(name: str, arms: list[str], instances: Arrays, rows: Callable[[dict], list[dict]]) -> Iterator[dict]:
    """For each arm the rows of the smallest instance that violates its rule, or how many instances were tried in vain.

    ``rows(instance)`` gives the rows of a table for an instance of ``Arrays``; an instance without rows of the arm does
    not count. A quantity above its ALLOWED value violates the rule. The value of "NAME/smallest" is the largest ratio
    of a quantity to its allowed value.
    """
    search = settings(max_examples=EXAMPLES, derandomize=True, database=None, deadline=None,
                   phases=[Phase.generate, Phase.shrink])  # fmt: skip
    for arm in arms:
        tried = 0

        def arm_rows(instance: dict, arm: str = arm) -> list[dict]:
            return [row for row in rows(instance) if row["arm"] == arm and row["quantity"].startswith(f"{name}/")]

        def violates(instance: dict, arm_rows: Callable[[dict], list[dict]] = arm_rows) -> bool:
            nonlocal tried
            measured = arm_rows(instance)
            tried += bool(measured)
            return any(row["value"] > _allowed(row) * (1 + 1e-12) for row in measured)

        labels = {"arm": arm, "dtype": "float64"}
        try:
            instance = find(instances.strategy(), violates, settings=search)
        except NoSuchExample:
            yield {**labels, "quantity": f"{name}/searched", "value": float(tried)}
            continue
        # hypothesis draws all numbers anew when a side gets shorter, so it may miss that a shorter side is enough
        while smaller := next(
            (fewer for fewer in instances.fewer(instance) if instances.keep(fewer) and violates(fewer)), None
        ):
            instance = smaller
        measured = arm_rows(instance)
        yield from ({**row, "case": "found by hypothesis"} for row in measured)
        text = ", ".join(f"{key} = {value}" for key, value in instance.items())
        worst = max(float(row["value"] / (_allowed(row) or 1)) for row in measured)
        yield {**labels, "quantity": f"{name}/smallest", "case": text, "value": worst}


def _allowed(row: dict) -> float:
    limit = ALLOWED.get(row["quantity"].rpartition("/")[2], math.inf)
    return limit if row["dtype"] == "float64" else math.inf
