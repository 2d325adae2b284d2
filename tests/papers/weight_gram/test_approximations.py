"""The rule and the words for an approximation without a tolerance."""

import numpy as np
import pytest

from tasks.papers.weight_gram.claims.shared.approximations import about, over_smaller_side


@pytest.mark.parametrize(
    ("left", "right"), [(1.9, 1.0), (1.0, 1.9), (2.1, 1.0), (1.0, 2.1), (3.0, 3.0), (1e-30, 1.0), (0.51, 1.0)]
)
def test_an_approximation_holds_where_the_error_is_below_both_sides(left, right):
    """Against the sides themselves, of seeds that differ by a thousandth."""
    seeds = 1 + 1e-3 * np.arange(5)
    good = abs(left - right) < min(left, right)
    finding = about({"first": seeds, "second": seeds * left / right})
    assert finding.holds is good
    error = finding.numbers["second: error over the smaller side"]
    assert error == pytest.approx(abs(left - right) / min(left, right), rel=0.01, abs=0.01)


def test_layers_with_an_error_above_the_smaller_side_are_counted_and_a_few_are_named():
    words = over_smaller_side({"1": 0.5, "2": 1.7, "3": 0.9})
    assert words.endswith("is between 0.50 and 1.70 in the layers, and above 1 in 1 of 3 layers: 2 (1.70)")
    assert over_smaller_side(dict.fromkeys("1234", 2.0)).endswith("and above 1 in 4 of 4 layers")
    assert over_smaller_side({"1": 0.5}).endswith("and above 1 in none of 1 layers")
    assert "between 0.50 and 2.1e+27 in the layers" in over_smaller_side(
        {"1": 0.5, "2": 2107995069571172614608519168.0}
    )
