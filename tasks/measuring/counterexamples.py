"""Counterexamples: hypothesis searches for an instance that violates a rule, and shrinks it.

The search runs for the claim and for every control, and it is deterministic. The table holds the rows of the smallest
instance beside the rows of random instances, and one rule judges both. The row "NAME/smallest" shows the instance in
the report.
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
# the largest allowed value in float64 by the last part of a quantity's name, as in judging/rules.py: of the ratio of a
# bound, the count of an impossible event, a slope's distance from its order, and the residual of an identity (8 u)
RESIDUALS = ("residual", "gradient", "gram", "distance", "newton-schulz")
ALLOWED = {"ratio": 1.0, "violated": 0.0, "unequal signs": 0.0, "slope": 0.1, **dict.fromkeys(RESIDUALS, 8 * 2.0**-53)}
NUMBERS = st.integers(-3, 3)


class Arrays:
    """Named vectors and matrices of whole numbers, and λ for a ridge. They shrink towards few numbers and towards 0.

    A shape names its sides by 0, 1, 2, …; sides of the same name have the same length. The search tries only instances
    for which ``is_valid`` returns true.
    """

    def __init__(self, is_valid: Callable[[dict], Any] | None = None, ridge: bool = False, **shapes: tuple[int, ...]):
        self.is_valid, self.ridge, self.shapes = is_valid or (lambda instance: True), ridge, shapes
        self.sides = sorted({side for shape in shapes.values() for side in shape})

    def strategy(self) -> st.SearchStrategy[dict]:
        """The strategy from which hypothesis draws instances."""

        def with_lengths(lengths: list[int]) -> st.SearchStrategy[dict]:
            numbers: dict[str, st.SearchStrategy] = dict.fromkeys(self.shapes, NUMBERS)
            for name, shape in self.shapes.items():
                for side in reversed(shape):
                    numbers[name] = st.lists(numbers[name], min_size=lengths[side], max_size=lengths[side])
            return st.fixed_dictionaries({**numbers, **({"λ": st.integers(1, 9)} if self.ridge else {})})

        count = len(self.sides)
        return (
            st.lists(st.integers(1, LONGEST), min_size=count, max_size=count)
            .flatmap(with_lengths)
            .filter(self.is_valid)
        )

    def smaller_instances(self, instance: dict) -> Iterator[dict]:
        """The instances without one index of one side."""
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
    """Yield for each arm the rows of the smallest violating instance or, without a violation, the number of tries.

    ``rows(instance)`` returns the table's rows for an instance of ``Arrays``. An instance without rows of the arm does
    not count as a try. A quantity above its ALLOWED value violates the rule. The value of "NAME/smallest" is the
    largest ratio of a quantity to its allowed value.
    """
    search = settings(max_examples=EXAMPLES, derandomize=True, database=None, deadline=None,
                   phases=[Phase.generate, Phase.shrink])  # fmt: skip
    for arm in arms:
        tries = 0

        def arm_rows(instance: dict, arm: str = arm) -> list[dict]:
            return [row for row in rows(instance) if row["arm"] == arm and row["quantity"].startswith(f"{name}/")]

        def violates(instance: dict, arm_rows: Callable[[dict], list[dict]] = arm_rows) -> bool:
            nonlocal tries
            measured = arm_rows(instance)
            tries += bool(measured)
            return any(row["value"] > _allowed(row) * (1 + 1e-12) for row in measured)

        labels = {"arm": arm, "dtype": "float64"}
        try:
            instance = find(instances.strategy(), violates, settings=search)
        except NoSuchExample:
            yield {**labels, "quantity": f"{name}/searched", "value": float(tries)}
            continue
        # hypothesis draws new numbers for a shorter side, and may miss that the old ones violate the rule without it
        while smaller := next(
            filter(violates, filter(instances.is_valid, instances.smaller_instances(instance))), None
        ):
            instance = smaller
        measured = arm_rows(instance)
        yield from ({**row, "case": "found by hypothesis"} for row in measured)
        numbers = ", ".join(f"{key} = {value}" for key, value in instance.items())
        worst = max(float(row["value"] / (_allowed(row) or 1)) for row in measured)
        yield {**labels, "quantity": f"{name}/smallest", "case": numbers, "value": worst}


def _allowed(row: dict) -> float:
    limit = ALLOWED.get(row["quantity"].rpartition("/")[2], math.inf)
    return limit if row["dtype"] == "float64" else math.inf
