"""Which numbers of two reports differ: one that is not a number differs from every number."""

import math

from tasks.reporting.comparison import compare, numbers


def test_nan_differs_from_every_number_and_from_no_nan():
    def changes(before: float, now: float) -> int:
        reports = ({"A.one": {"verdict": "holds", "statistic": value}} for value in (before, now))
        return len(compare(*reports).changes)

    assert changes(math.nan, math.nan) == 0
    for value in (0.0, 1.0, -1.0):
        assert changes(math.nan, value) == changes(value, math.nan) == 1
    assert [value for _, value in numbers({"a": math.nan})] == [math.inf]


def test_round_off_is_told_from_a_difference_and_the_largest_difference_comes_first():
    before = {"A.x": {"verdict": "holds", "a": 1.0, "b": 3e-15}, "A.y": {"verdict": "holds", "a": 1.0},
              "A.z": {"verdict": "holds", "a": 1.0}}  # fmt: skip
    now = {"A.x": {"verdict": "holds", "a": 1.0 + 1e-12, "b": 1e-15}, "A.y": {"verdict": "holds", "a": 2.0},
           "A.z": {"verdict": "fails", "a": 1.1}}  # fmt: skip
    differs = compare(before, now)
    assert [change.claim for change in differs.changes if change.round_off] == ["A.x", "A.x"]
    assert differs.by_size == ["A.z", "A.y", "A.x"]
