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
