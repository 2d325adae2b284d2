"""Statistics over seeds: the seed is the unit of every interval."""

import math
from typing import Any

import numpy as np
from scipy import stats

from gramlab.files import BadInput
from tasks.judging.rows import Rows


class JudgeError(BadInput):
    """A table that a rule cannot judge."""


def interval(values: Any, level: float = 0.95) -> tuple[float, float, float]:
    """Mean over seeds and Student's t interval."""
    values = np.asarray(values, float)
    if len(values) < 2:
        raise JudgeError("an interval needs at least two seeds")
    half = stats.t.ppf(0.5 + level / 2, len(values) - 1) * values.std(ddof=1) / math.sqrt(len(values))
    return float(values.mean()), float(values.mean() - half), float(values.mean() + half)


def welch(a: np.ndarray, b: np.ndarray) -> tuple[float, float, float]:
    """Difference of two means, a's minus b's, and Welch's t interval at 95 %, for unequal variances."""
    # not scipy's ttest_ind, which warns of nearly equal samples for the sake of a statistic that nobody reads here
    difference = float(a.mean() - b.mean())
    squares = np.array([sample.var(ddof=1) / len(sample) for sample in (a, b)])
    total = float(squares.sum())
    if total == 0:
        return difference, difference, difference
    freedom = total**2 / float((squares**2 / (np.array([len(a), len(b)]) - 1)).sum())
    half = float(stats.t.ppf(0.975, freedom)) * math.sqrt(total)
    return difference, difference - half, difference + half


def p_above_zero(values: np.ndarray) -> float:
    """One-sided p-value of Student's t test that the mean over seeds is greater than 0."""
    spread = float(np.std(values, ddof=1)) / math.sqrt(len(values))
    if spread == 0:
        return 0.0 if values.mean() > 0 else 1.0
    return float(1 - stats.t.cdf(values.mean() / spread, len(values) - 1))


def kendall(values: np.ndarray) -> float:
    """Kendall's rank correlation (tau-a) of a series with its index: 1 if it only rises, -1 if it only falls."""
    signs = [np.sign(after - before) for index, before in enumerate(values) for after in values[index + 1 :]]
    return float(np.mean(signs))


def fisher(correlations: np.ndarray) -> tuple[float, float, float]:
    """Mean correlation over seeds and its interval, by Fisher's z (a correlation of 1 counts as 1 - 1e-15)."""
    inside = np.clip(np.asarray(correlations, float), -1 + 1e-15, 1 - 1e-15)
    mean, low, high = interval(np.arctanh(inside))
    return float(np.tanh(mean)), float(np.tanh(low)), float(np.tanh(high))


def curves(rows: Rows, *names: str) -> np.ndarray:
    """``value`` by the sorted values of these columns, an axis each, and by step on the last axis."""
    groups = rows.by(*names)
    shape = [len({values[axis] for values in groups}) for axis in range(len(names))]
    return np.array([group.value[np.argsort(group.step)] for group in groups.values()]).reshape(*shape, -1)


def by_number(rows: Rows, *names: str) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of the cases "axis=number", rising, and ``curves`` by seed, these cases and ``names``."""
    numbers = np.array([float(case.rpartition("=")[2]) for case in sorted(set(rows.case.tolist()))])
    order = np.argsort(numbers)
    return numbers[order], curves(rows, "seed", "case", *names)[:, order]
