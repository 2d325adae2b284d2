"""Statistics over seeds: the seed is the unit of every interval."""

import math
from functools import cache
from itertools import accumulate
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from gramlab.files import BadInput
from tasks.judging.ranges import fisher_z
from tasks.judging.rows import Rows

ROUND_OFF = 8 * np.finfo(float).eps  # relative to numbers that a few operations round differently


class JudgeError(BadInput):
    """A table that a rule cannot judge."""


def round_off(*numbers: Any) -> float:
    """The largest difference of such numbers that counts as round-off: ``ROUND_OFF`` times the largest of them, or 1.

    It is never less than ``ROUND_OFF``, because most values are differences of cosines, accuracies or correlations.
    Their round-off is that of numbers of order 1, however small the differences are.
    """
    return ROUND_OFF * max(1.0, *(float(np.abs(values).max()) for values in numbers))


def finite(values: Any) -> np.ndarray:
    """Numbers over seeds as an array; a table's values are finite, but a rule may divide by 0 or take a logarithm.

    Raises
    ------
    JudgeError
        If a number is not finite; a comparison with it would be False, and so look like evidence.
    """
    values = np.asarray(values, float)
    undefined = [seed for seed, of_seed in enumerate(values) if not np.isfinite(of_seed).all()]
    if undefined:
        rows = ", ".join(map(str, undefined))
        raise JudgeError(f"of {len(values)} seeds these have a number that is not finite (by position): {rows}")
    return values


def deviation(values: Any) -> float:
    """Standard deviation over seeds; exactly 0 where the values differ by round-off alone.

    The mean of equal numbers is rounded, so that numpy's deviation of six times 0.1 is 1.5e-17, and a t statistic
    divided by it is enormous.
    """
    values = np.asarray(values, float)
    return 0.0 if np.ptp(values) <= round_off(values) else float(values.std(ddof=1))


def interval(values: Any, level: float = 0.95) -> tuple[float, float, float]:
    """Mean over seeds and Student's t interval."""
    values = finite(values)
    if len(values) < 2:
        raise JudgeError("an interval needs at least two seeds")
    half_width = quantile(0.5 + level / 2, len(values) - 1) * deviation(values) / math.sqrt(len(values))
    return float(values.mean()), float(values.mean() - half_width), float(values.mean() + half_width)


def quantile(probability: float, freedom: float) -> float:
    """A quantile of Student's t distribution."""
    return float(special.stdtrit(freedom, probability))  # scipy.stats takes a second longer to load


def welch(a: np.ndarray, b: np.ndarray, level: float = 0.95) -> tuple[float, float, float]:
    """Difference of two means, a's minus b's, and Welch's t interval, for unequal variances."""
    # not scipy's ttest_ind, which warns of nearly equal samples for the sake of a statistic that nobody reads here
    difference = float(a.mean() - b.mean())
    squares = np.array([deviation(sample) ** 2 / len(sample) for sample in (a, b)])
    total = float(squares.sum())
    if total == 0:
        difference *= abs(difference) > round_off(a, b)
        return difference, difference, difference
    freedom = total**2 / float((squares**2 / (np.array([len(a), len(b)]) - 1)).sum())
    half = quantile(0.5 + level / 2, freedom) * math.sqrt(total)
    return difference, difference - half, difference + half


def p_above(values: Any, level: float = 0.0, least_deviation: float = 0.0) -> float:
    """One-sided p-value of Student's t test that the mean over seeds is greater than ``level``.

    The deviation over seeds counts as ``least_deviation`` if it is less, for numbers that are rounded. A sample without
    spread has no t statistic. Its p-value is that of the sign test: 2^-n if all n values are above the level, else 1. A
    sample whose distance from the level is round-off is not above it.
    """
    values = finite(values)
    spread = max(deviation(values), least_deviation) / math.sqrt(len(values))
    if spread == 0:
        return 2.0 ** -len(values) if (values - level).min() > round_off(values, level) else 1.0
    return float(special.stdtr(len(values) - 1, (level - values.mean()) / spread))


def p_inside(values: Any, lowest: float, highest: float) -> tuple[float, float]:
    """p-values that the mean over seeds is inside the range (two one-sided tests), and that it is outside."""
    values = np.asarray(values, float)
    inside = max(p_above(values, lowest), p_above(-values, -highest))
    return inside, min(p_above(values, highest), p_above(-values, -lowest))


def log_variance_ratio(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Jackknife pseudo-values, one for each seed, of log(first's variance / second's) of curves (seeds, points).

    Variances over seeds are summed over the points. Student's t test of such pseudo-values is Miller's test (1968) of
    two variances, which does not assume a normal distribution.
    """

    def log_ratio(kept: np.ndarray) -> float:
        first_variance, second_variance = (
            max(float(curves[kept].var(0, ddof=1).sum()), 1e-12) for curves in (first, second)
        )
        return math.log(first_variance / second_variance)

    seeds = np.arange(len(first))
    if len(seeds) < 3:
        raise JudgeError(f"{len(seeds)} seeds; the jackknife of a variance needs three")
    estimate = log_ratio(np.full(len(seeds), True))
    return np.array([len(seeds) * estimate - (len(seeds) - 1) * log_ratio(seeds != seed) for seed in seeds])


def kendall(values: np.ndarray) -> float:
    """Kendall's rank correlation (tau-a) of a series with its index: 1 if it only rises, -1 if it only falls."""
    before, after = np.triu_indices(len(values), 1)
    return float(np.sign(values[after] - values[before]).mean())


def p_trend(series: Any) -> tuple[float, float]:
    """Exact p-values that series rise, and that they fall, if every order of a series were equally likely.

    ``series`` is (seeds, points). The statistic is the sum over seeds of concordant minus discordant pairs, whose
    distribution is the convolution of the seeds'. The number of inversions of n values with groups of ties has the
    generating function [n]_q! / prod [ties]_q! (the q-multinomial coefficient).
    """
    series = finite(series)
    ties = [tuple(sorted(np.unique(values, return_counts=True)[1].tolist())) for values in series]
    probabilities = _sums_of_inversions(series.shape[1], tuple(sorted(ties)))
    before, after = np.triu_indices(series.shape[1], 1)
    observed = float(np.sign(series[:, after] - series[:, before]).sum())
    sums = 2 * np.arange(len(probabilities)) - (len(probabilities) - 1)  # from all pairs discordant to all concordant
    rises, falls = (float(probabilities[beyond].sum()) for beyond in (sums >= observed, sums <= observed))
    least = np.finfo(float).tiny  # a product of many small probabilities underflows
    return min(1.0, max(rises, least)), min(1.0, max(falls, least))


@cache
def _sums_of_inversions(length: int, ties: tuple[tuple[int, ...], ...]) -> np.ndarray:
    """Probabilities of the sums of inversions of several series."""
    probabilities = np.ones(1)
    for tied in ties:
        probabilities = np.convolve(probabilities, _inversions(length, tied))
    return probabilities


@cache
def _inversions(length: int, ties: tuple[int, ...]) -> np.ndarray:
    """Probabilities of 0, 1, 2, ... inversions in a random order of values with groups of ties of these sizes."""
    counts = [1]
    for size in range(2, length + 1):  # times 1 + q + ... + q^(size - 1)
        sums = [0, *accumulate(counts), *([sum(counts)] * (size - 1))]
        counts = [sums[k + 1] - sums[max(0, k + 1 - size)] for k in range(len(counts) + size - 1)]
    for size in (size for tied in ties for size in range(2, tied + 1)):  # divided by 1 + q + ... + q^(size - 1)
        quotient: list[int] = []
        for k in range(len(counts) - size + 1):
            below = counts[k - 1] if k else 0
            quotient.append(counts[k] - below + (quotient[k - size] if k >= size else 0))
        counts = quotient
    total = sum(counts)
    return np.array([count / total for count in counts])


def fisher(correlations: np.ndarray) -> tuple[float, float, float]:
    """Mean correlation over seeds and its interval, by Fisher's z (a correlation of 1 counts as 1 - 1e-15)."""
    mean, low, high = interval(fisher_z(correlations))
    return float(np.tanh(mean)), float(np.tanh(low)), float(np.tanh(high))


def curves(rows: Rows, *names: str) -> np.ndarray:
    """The array of ``value``: an axis for the sorted values of each of these columns, and a last axis for the steps."""
    places, values = zip(*(pd.factorize(rows.frame[name], sort=True) for name in names), strict=True)
    shape = tuple(len(of_column) for of_column in values)
    counts = np.bincount(np.ravel_multi_index(places, shape), minlength=math.prod(shape))
    if (counts != counts[0]).any():
        raise JudgeError(
            f"the curves by {', '.join(names)} have {counts.min()} to {counts.max()} steps, not equally many"
        )
    return rows.value[np.lexsort([rows.step, *reversed(places)])].reshape(*shape, -1)


def by_number(rows: Rows, *names: str) -> tuple[np.ndarray, np.ndarray]:
    """The rising numbers of the cases "axis=number", and ``curves`` with axes for seeds, these cases and ``names``."""
    numbers = np.array([float(case.rpartition("=")[2]) for case in sorted(set(rows.case.tolist()))])
    order = np.argsort(numbers)
    return numbers[order], curves(rows, "seed", "case", *names)[:, order]
