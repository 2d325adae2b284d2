"""A curve has its points in the order of their steps, however the table's rows are ordered."""

import numpy as np
from planted_claims import rows

from tasks.judging.rows import Rows
from tasks.judging.statistics import curves


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
