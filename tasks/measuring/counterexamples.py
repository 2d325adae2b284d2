"""Adversarial instances: hypothesis looks for one that violates a rule, and shrinks it to the smallest it can find.

For the claim as for every control: what is found stands in the table beside the drawn instances, and counts as they
do; "NAME/smallest" names it, and the verdict and the report show it. The search is deterministic.
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
# what a quantity may be in float64, by the last part of its name: a bound's ratio, how often happens what must never,
# how far a slope may be from its order, and the residuals of identities, with the 8 u; all as in tasks/judge.py
RESIDUALS = ("residual", "gradient", "gram", "distance", "newton-schulz")
ALLOWED = {"ratio": 1.0, "violated": 0.0, "opposite signs": 0.0, "slope": 0.1, **dict.fromkeys(RESIDUALS, 8 * 2.0**-53)}
NUMBERS = st.integers(-3, 3)


class Arrays:
    """Named vectors and matrices of whole numbers, and λ for a ridge, which shrink towards few numbers and towards 0.

    A shape names sides by 0, 1, 2, …; sides of one name are equally long. ``keep`` says which instances are meant.
    """

    def __init__(self, keep: Callable[[dict], Any] | None = None, ridge: bool = False, **shapes: tuple[int, ...]):
        self.keep, self.ridge, self.shapes = keep or (lambda one: True), ridge, shapes
        self.sides = sorted({side for shape in shapes.values() for side in shape})

    def strategy(self) -> st.SearchStrategy[dict]:
        """That from which hypothesis draws."""

        def drawn(lengths: list[int]) -> st.SearchStrategy[dict]:
            numbers: dict[str, st.SearchStrategy] = dict.fromkeys(self.shapes, NUMBERS)
            for name, shape in self.shapes.items():
                for side in reversed(shape):
                    numbers[name] = st.lists(numbers[name], min_size=lengths[side], max_size=lengths[side])
            return st.fixed_dictionaries({**numbers, **({"λ": st.integers(1, 9)} if self.ridge else {})})

        count = len(self.sides)
        return st.lists(st.integers(1, LONGEST), min_size=count, max_size=count).flatmap(drawn).filter(self.keep)

    def fewer(self, instance: dict) -> Iterator[dict]:
        """What is left of the instance without one index of one side."""
        for side in self.sides:
            cut = [(name, axis) for name, shape in self.shapes.items() for axis, own in enumerate(shape) if own == side]
            length = np.shape(instance[cut[0][0]])[cut[0][1]]
            for index in range(length if length > 1 else 0):
                left = dict(instance)
                for name, axis in cut:
                    left[name] = np.delete(left[name], index, axis).tolist()
                yield left


def array(numbers: Any) -> np.ndarray:
    """Lists of numbers in float64."""
    return np.array(numbers, dtype=float)


def smallest(name: str, arms: list[str], instances: Arrays, rows: Callable[[dict], list[dict]]) -> Iterator[dict]:
    """For each arm the rows of the smallest instance that violates its rule; where there is none, how many were tried.

    ``rows(instance)`` are a table's, of an instance as ``Arrays`` gives it; without rows of the arm it does not count.
    A rule is violated by a quantity above what is ALLOWED; of "NAME/smallest" the value is the largest such ratio.
    """
    how = settings(max_examples=EXAMPLES, derandomize=True, database=None, deadline=None,
                   phases=[Phase.generate, Phase.shrink])  # fmt: skip
    for arm in arms:
        tried = 0

        def own(instance: dict, arm: str = arm) -> list[dict]:
            return [row for row in rows(instance) if row["arm"] == arm and row["quantity"].startswith(f"{name}/")]

        def violates(instance: dict, own: Callable[[dict], list[dict]] = own) -> bool:
            nonlocal tried
            found = own(instance)
            tried += bool(found)
            return any(row["value"] > _allowed(row) * (1 + 1e-12) for row in found)

        about = {"arm": arm, "dtype": "float64"}
        try:
            instance = find(instances.strategy(), violates, settings=how)
        except NoSuchExample:
            yield {**about, "quantity": f"{name}/searched", "value": float(tried)}
            continue
        # hypothesis draws all numbers anew where a side gets shorter, and so may not find that it can
        while left := next((one for one in instances.fewer(instance) if instances.keep(one) and violates(one)), None):
            instance = left
        found = own(instance)
        yield from ({**row, "case": "found by hypothesis"} for row in found)
        text = ", ".join(f"{key} = {value}" for key, value in instance.items())
        worst = max(float(row["value"] / (_allowed(row) or 1)) for row in found)
        yield {**about, "quantity": f"{name}/smallest", "case": text, "value": worst}


def _allowed(row: dict) -> float:
    limit = ALLOWED.get(row["quantity"].rpartition("/")[2], math.inf)
    return limit if row["dtype"] == "float64" else math.inf
