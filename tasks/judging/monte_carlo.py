"""The rule on Monte Carlo means: each is within a few standard errors of its expectation.

The identity is exact, but its left side is a mean of random draws. The rule rejects at a fixed number of standard
errors. It has no p-value and no part in Holm's correction. It supports an identity by not rejecting it, so its power
matters: ``tasks/judging/calibration_of_means.py`` measures how often it rejects a true identity, and how small an error
it finds.
"""

import numpy as np

from tasks.judging.rows import Rows
from tasks.judging.rules import Finding

MOST = 4.0  # standard errors


def within_standard_errors(rows: Rows) -> Finding:
    """``value``, the distance of a mean from its expectation in standard errors, is at most 4 on every instance."""
    worst = float(np.abs(rows.value).max())
    rule = f"every mean within {MOST:g} standard errors of its expectation"
    return Finding(worst <= MOST, worst, rule, "Monte Carlo", high=MOST)
