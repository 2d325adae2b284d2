"""A curve has its points in the order of their steps, however the table's rows are ordered."""

import numpy as np
import pytest
from planted_claims import rows

from tasks.judging.rows import Rows
from tasks.judging.statistics import JudgeError, curves


def test_the_order_of_the_rows_does_not_matter():
    values = np.arange(12.0).reshape(2, 2, 3) ** 2
    in_order = [
        {"experiment": "e", "scale": "quick", "arm": "claim", "quantity": "q", "layer": str(layer), "seed": seed,
         "step": 10 * step, "value": values[seed, layer, step]}
        for seed in range(2) for layer in range(2) for step in range(3)
    ]  # fmt: skip
    shuffled = Rows(rows(in_order).frame.iloc[np.random.default_rng(0).permutation(12)])
    np.testing.assert_array_equal(curves(shuffled, "seed", "layer"), values)
    np.testing.assert_array_equal(curves(Rows(shuffled.frame[::-1]), "seed", "layer"), values)


def test_curves_of_different_lengths_are_refused_in_a_line():
    """The error of a table, not of a program: a check prints it without a traceback."""
    uneven = rows(
        [{"quantity": "q", "seed": seed, "step": step, "value": 1.0} for seed in range(2) for step in range(2 + seed)]
    )
    with pytest.raises(JudgeError, match="the curves by seed have 2 to 3 steps, not equally many"):
        curves(uneven, "seed")
