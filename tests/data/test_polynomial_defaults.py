"""What a polynomial data set has unless it is asked for: training samples alone."""

import pytest

from gramlab.data.polynomials import chain_monomial, gaussian, high_rank_polynomial, staircase

SETS = {
    "chain": lambda: chain_monomial(7, 5, rank=3),
    "high rank": lambda: high_rank_polynomial(7, 5),
    "staircase": lambda: staircase(7, 5),
    "gaussian": lambda: gaussian(7, 5),
}


@pytest.mark.parametrize("name", SETS)
def test_there_are_no_test_samples(name):
    data = SETS[name]()
    assert (len(data.x_train), len(data.x_test), len(data.y_test)) == (7, 0, 0)
