"""Equations that hold in the limit of large matrices."""

from dataclasses import replace

import numpy as np

from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, decided, positive, rate


def falls(rows: Rows) -> Finding:
    """The root mean square error falls with the size: minus its slope in log-log is positive, by the jackknife."""
    slopes = np.array(rate(rows, -1).sample)
    finding = positive(
        -slopes, "the order of the root mean square error's fall in the size (minus its log-log slope, jackknifed)"
    )
    # few pseudo-values are skewed: a refutation asks for half the level
    p_against = min(1.0, 2 * (finding.p_against or 0.0))
    return replace(finding, holds=decided(finding.p, p_against), p_against=p_against)
