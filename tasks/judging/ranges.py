"""Which numbers a quantity can have. A rule would judge a correlation of 1.2 or a negative norm in silence.

A range is here only if it is a mathematical fact for the quantity as it is measured. Predicted correlations
(``fig3/predicted``) are not here, because a formula may predict more than 1. Differences of two norms and quadratic
forms are not here either.
"""

import math
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

SLACK = 1e-9  # all numbers are sums in float64, whose round-off is far below it (1e-15 in the committed tables)
NEAREST = 1 - 1e-15  # Fisher's z of a correlation of 1 would be infinite


@dataclass(frozen=True)
class Range:
    """The closed range from ``low`` to ``high``; round-off may leave it by ``slack``."""

    low: float
    high: float
    slack: float = SLACK

    def __str__(self) -> str:
        if math.isinf(self.high):
            return f"{self.low:g} and above"
        return f"at most {self.high:g}" if math.isinf(self.low) else f"{self.low:g} to {self.high:g}"

    def excludes(self, values: pd.Series) -> pd.Series:
        """Which values lie outside."""
        return (values < self.low - self.slack) | (values > self.high + self.slack)


CORRELATION = Range(-1, 1)  # of two vectors or matrices, about the mean or not; the difference of two accuracies
SHARE = Range(0, 1)  # accuracies and other shares of a whole
EXPLAINED = Range(-math.inf, 1)  # 1 minus a sum of squares over another, which may be the larger
NORM = Range(0, math.inf, slack=0)  # norms, losses and counts, which no round-off makes negative

# by the names of quantities; * stands for any characters
RANGES = {
    CORRELATION: (
        "*/chosen lead", "*/lead", "cosine/*", "egop/*", "even/nfa", "fig3/alignment", "fig3/observed", "fig4/adam/*",
        "fig4/minimiser/*", "fig4/null/fact", "fig6/observed*", "gap", "gap, *", "gram/across", "gram/within", "lead",
        "lead, *", "lem3/correlation", "lem3/null", "modular/*correlation", "nfa", "nfa/*", "null/agop*",
        "null/back_*", "null/centered", "null/double_centered", "null/egop_*", "null/enfa", "null/fact", "null/fig*",
        "null/modular/*", "null/nfa", "null/ptk_centered*", "null/root *", "null/symmetric fact",
        "null/thm3.4/correlation", "null/uncentered", "null/vcs_*", "pearson/*", "thm3.4/correlation", "thm4/nfa",
    ),
    SHARE: (
        "*/accuracy, own features", "*/chosen mass", "*/mass", "*accuracy", "between", "even/normalised",
        "majority share", "modular/circulancy", "null/normalised", "null/within", "thm4/normalised", "within",
    ),
    EXPLAINED: ("*/fit", "*target_linearity*", "r2/*"),
    NORM: (
        "*/error", "*/remainder", "*/residual", "*_loss", "*reconstruction", "alg1/agop", "alg1/dual", "alg1/features",
        "alg1/normalised", "alg1/projected", "bce/*", "eq1/convolution", "even/before", "even/bound", "even/ratio",
        "even/step", "even/surrogate", "even/with readout", "fact/ratio", "fig4/distance", "interpolation/*",
        "lem1/violated", "lem3/size", "lem4/*", "lemB2/*", "lemd2/*", "loss", "nc1/*", "nc2/*", "null/nc1/*",
        "null/nc2/*", "null/prop2/*", "prop1/*", "prop2/distance", "prop2/gram", "prop2/nc1", "prop2/nc2",
        "prop2/without NC2", "prop3/by linearity", "prop3/ratio", "prop4/*", "prop51/*", "propA1/moment",
        "propA1/nc1 *", "sharpness", "stationarity", "surrogate*", "target/*", "thm2/ratio", "thm3.4/fact",
        "thm3.4/no minimum", "thm4/before", "thm4/bound", "thm4/ratio", "thm4/step", "thm4/surrogate",
        "thm4/with readout", "thm4_3/*", "whiten/*",
    ),
}  # fmt: skip


@cache
def range_of(quantity: str) -> Range | None:
    """The range of a quantity; None if no range is declared."""
    ranges = [limits for limits, names in RANGES.items() if any(fnmatchcase(quantity, name) for name in names)]
    if len(ranges) > 1:
        raise ValueError(f"{quantity!r} has {len(ranges)} ranges: {', '.join(map(str, ranges))}")
    return ranges[0] if ranges else None


def rows_out_of_range(frame: pd.DataFrame) -> dict[Range, pd.Series]:
    """Which rows have a value outside of their quantity's range, by range."""
    ranges = {quantity: range_of(quantity) for quantity in frame["quantity"].unique()}
    return {
        limits: frame["quantity"].isin([name for name, own_range in ranges.items() if own_range == limits])
        & limits.excludes(frame["value"])
        for limits in RANGES
    }


def fisher_z(correlations: Any) -> np.ndarray:
    """Fisher's z. A correlation of 1, or above it by round-off, counts as 1 - 1e-15; the same at -1."""
    return np.arctanh(np.clip(np.asarray(correlations, float), -NEAREST, NEAREST))
