"""The rule on Monte Carlo means: each is within a few standard errors of its expectation."""

import numpy as np

from tasks.judging.rows import Rows
from tasks.judging.rules import Finding

MOST = 4.0  # standard errors; among 100 means one lies farther away with probability 1/150


def within_standard_errors(rows: Rows) -> Finding:
    """``value``, the distance of a mean from its expectation in standard errors, is at most 4 on every instance."""
    worst = float(np.abs(rows.value).max())
    return Finding(worst <= MOST, worst, f"every mean within {MOST:g} standard errors", "exact", high=MOST)
