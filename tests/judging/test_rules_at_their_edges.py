"""Where a rule's verdict turns: how far residuals may shrink, and how well a slope is known."""

import math

import numpy as np
import pytest
from scipy.stats import linregress

from gramlab import tables
from tasks.judging.rows import Rows
from tasks.judging.rules import _best_window, equals, equivalent, exact, positive, trend
from tasks.judging.statistics import JudgeError


def residuals(bits: float) -> Rows:
    """Residuals of ten instances that shrink by so many bits from float32 to float64."""
    return Rows(tables.table([
        {"arm": "claim", "quantity": "r", "case": str(case), "dtype": dtype, "value": (1 + 0.01 * case) * size}
        for case in range(10) for dtype, size in (("float64", 2.0**-54), ("float32", 2.0 ** (bits - 54)))
    ]))  # fmt: skip


@pytest.mark.parametrize(("bits", "holds"), [(24, False), (26, True), (29, True), (32, True), (34, False), (45, False)])
def test_residuals_shrink_as_much_as_the_precisions_differ(bits, holds):
    assert exact(residuals(bits)).holds is holds


def test_the_error_of_a_slope_is_that_of_least_squares():
    random = np.random.default_rng(3)
    x = np.arange(9.0)
    y = 2 * x + random.normal(size=9)
    slope, error, count = _best_window(x, y, points=9)
    wanted = linregress(x, y)
    assert (slope, error, count) == (pytest.approx(wanted.slope), pytest.approx(wanted.stderr), 9)


@pytest.mark.parametrize("undefined", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(
    "rule",
    [lambda values: positive(values, "q"), lambda values: equivalent(values, 1.0, "q"),
     lambda values: equals(values, 0.0, 1.0), lambda values: trend(np.add.outer(values, np.arange(4.0)), "q")],
    ids=["positive", "equivalent", "equals", "trend"],
)  # fmt: skip
def test_a_number_that_is_not_finite_is_no_evidence(rule, undefined):
    """A comparison with nan is False, so that it would refute a statement, or leave it to the order of the parts."""
    values = np.array([0.1, 0.2, undefined, 0.3])
    with pytest.raises(JudgeError, match=r"of 4 seeds .* not finite .*: 2$"):
        rule(values)
