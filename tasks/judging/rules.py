"""The rules of judging, fixed before anything runs: what each finds in the rows of one arm.

``tasks/judging/verdict.py`` turns the findings of a claim's arms into its verdict.
"""

import math
from dataclasses import dataclass, field

import numpy as np
from scipy import stats

from tasks.judging.rows import Rows
from tasks.judging.statistics import JudgeError, interval, p_above_zero

UNIT = {"float64": 2.0**-53, "float32": 2.0**-24}  # unit round-off


@dataclass(frozen=True)
class Finding:
    """What a rule finds: ``holds`` is True, False, or None where the interval does not decide."""

    holds: bool | None
    statistic: float
    rule: str  # in words, with its thresholds
    evidence: str  # exact, order, bound, direction, matches print
    low: float | None = None
    high: float | None = None
    p: float | None = None  # one-sided, before Holm's correction
    numbers: dict[str, float] = field(default_factory=dict)  # more measurements, for the report
    measured: str = ""  # the measurement in the print's terms, where the statistic is in others
    part: str = ""  # name of the part whose statistic this is, where the rule has several parts
    parts: dict[str, "Finding"] = field(default_factory=dict)
    sample: tuple[float, ...] = ()  # the numbers behind the interval, one a seed
    target: float = math.inf  # target value of the sample's mean; inf means the larger the better


def exact(rows: Rows, unit: str = "float64", factor: float = 8.0, cases: int = 5) -> Finding:
    """Both sides of an identity agree to round-off.

    ``value`` is ||A - B||_F over (the sum's length) x (the norms of the factors), so that round-off alone stays
    below a small multiple of the unit round-off u (Higham, gamma_k). Rule: on at least ``cases`` instances every
    float64 residual is at most ``factor`` u, and the residuals shrink from float32 to float64 by 2^29, give or
    take a factor 2^4 (geometric mean): a difference that is not round-off does not shrink.
    """
    rule = (
        f"on at least {cases} instances every float64 residual <= {factor:g} u (normwise), and residuals shrink "
        f"from float32 to float64 by 2^25 to 2^33"
    )
    double, single = rows.where(dtype="float64"), rows.where(dtype="float32")
    if not len(double) or not len(single):
        raise JudgeError("an exact check needs residuals in float64 and in float32")
    worst = float(double.value.max() / UNIT[unit])
    levels = [_mean_log2(precision.value) for precision in (single, double)]
    # residuals that are 0 throughout cannot shrink: both sides are one computation
    shrink = levels[0] - levels[1] if all(map(math.isfinite, levels)) else 0.0
    enough = len(set(double.case.tolist())) >= cases
    holds = bool(enough and worst <= factor and (25 <= shrink <= 33))
    within = float(np.mean(double.value <= factor * UNIT[unit]))
    numbers = {"log2 of float32 / float64": float(shrink), "share of instances within": within}
    return Finding(holds, worst, rule, "exact", high=factor, numbers=numbers)


def _mean_log2(residuals: np.ndarray) -> float:
    positive_residuals = residuals[residuals > 0]
    if not len(positive_residuals):
        return -math.inf
    return np.log2(np.maximum(positive_residuals, np.finfo(float).tiny)).mean()


def order(rows: Rows, power: float, points: int = 8) -> Finding:
    """A remainder ``value`` shrinks with the step ``x`` as x^power, on every case.

    The fit's window of at least ``points`` steps is found, not picked: of all windows the one whose line in
    log-log has the smallest standard error, so neither truncation's beginning nor round-off's floor can enter.
    """
    rule = f"on every instance the slope's 95 % interval, on a found window of {points}+ steps, is in {power:g} +- 0.1"
    intervals = []
    for group in rows.where(dtype="float64").by("case", "layer").values():
        nonzero = group.value > 0
        ascending = np.argsort(group.x[nonzero])
        slope, error, count = _best_window(
            np.log2(group.x[nonzero][ascending]), np.log2(group.value[nonzero][ascending]), points
        )
        half = stats.t.ppf(0.975, count - 2) * error
        intervals.append((slope - half, slope + half))
    low, high = min(lows for lows, _ in intervals), max(highs for _, highs in intervals)
    middles = [(start + end) / 2 for start, end in intervals]
    holds = bool(low >= power - 0.1 and high <= power + 0.1)
    within = float(np.mean([power - 0.1 <= start and end <= power + 0.1 for start, end in intervals]))
    numbers = {"instances": float(len(intervals)), "share of instances within": within}
    return Finding(holds, float(np.median(middles)), rule, "order", float(low), float(high), numbers=numbers)


def _best_window(x: np.ndarray, y: np.ndarray, points: int) -> tuple[float, float, int]:
    """Slope, standard error and number of points of the window with the smallest standard error."""
    if len(x) < points:
        raise JudgeError(f"{len(x)} steps with a remainder; a slope needs {points}")
    best: tuple[float, float, int] = (math.nan, math.inf, points)
    for first in range(len(x)):
        for last in range(first + points, len(x) + 1):
            a, b = x[first:last] - x[first:last].mean(), y[first:last] - y[first:last].mean()
            slope = float(a @ b / (a @ a))
            error = float(np.sqrt(((b - slope * a) ** 2).sum() / (len(a) - 2) / (a @ a)))
            if error < best[1]:
                best = (slope, error, len(a))
    return best


def bound(rows: Rows, slack: float = 1e-12) -> Finding:
    """An inequality left <= right holds on every instance: ``value`` is left / right, at most 1 (and round-off)."""
    worst = float(rows.value.max())
    numbers = {"instances": float(len(rows)), "median left / right": float(np.median(rows.value))}
    rule = f"left / right <= 1 + {slack:g} on every instance"
    return Finding(worst <= 1 + slack, worst, rule, "bound", high=1.0, numbers=numbers)


def rate(rows: Rows, power: float, within: float = 0.25) -> Finding:
    """The root mean square of a random error ``value``, over seeds and cases, falls with the size ``x`` as x^power.

    The mean of log |value| is not fitted, because it also depends on the distribution's shape. The seed is the unit:
    Student's interval of the jackknife's pseudo-values.
    """
    seeds, seed_index = np.unique(rows.seed, return_inverse=True)
    sizes, size_index = np.unique(rows.x, return_inverse=True)
    total, count = np.zeros((2, len(seeds), len(sizes)))
    np.add.at(total, (seed_index, size_index), rows.value**2)
    np.add.at(count, (seed_index, size_index), 1)
    squares, x = total / count, np.log(sizes)
    n, x = len(squares), x - x.mean()

    def slope(of_seeds: np.ndarray) -> float:
        return float(x @ np.log(of_seeds.mean(0)) / (2 * x @ x))

    estimate = slope(squares)
    pseudo_values = [n * estimate - (n - 1) * slope(np.delete(squares, seed, 0)) for seed in range(n)]
    _, low, high = interval(pseudo_values)
    inside, outside = power - within <= low and high <= power + within, high < power - within or power + within < low
    rule = f"the slope of the root mean square error is {power:g} +- {within:g}, jackknife over {n} seeds at 95 %"
    return Finding(inside or (False if outside else None), estimate, rule, "order", low, high)


def equivalent(values: np.ndarray, margin: float, what: str, units: str = "seeds") -> Finding:
    """The mean over seeds of ``values`` is 0 within a margin fixed beforehand: two one-sided tests at 5 %."""
    mean, low, high = interval(values, 0.90)
    holds = True if -margin < low and high < margin else (False if low > margin or high < -margin else None)
    rule = f"{what} is 0 +- {margin:g}, Student's t interval over {len(values)} {units} at 90 % (TOST)"
    return Finding(holds, mean, rule, "direction", low, high, sample=tuple(values.tolist()), target=0.0)


def below(rows: Rows, least: float) -> Finding:
    """On every instance ``value`` comes below a fixed number at its smallest ``x``."""
    ends = np.array([group.value[group.x.argmin()] for group in rows.by("case", "layer").values()])
    rule = f"at the smallest x of every instance at most {least:g}"
    return Finding(bool(ends.max() <= least), float(ends.max()), rule, "exact", high=least)


def never(rows: Rows, what: str) -> Finding:
    """An event never happens: ``value`` counts it on each instance."""
    if not len(rows):
        raise JudgeError("nothing was counted")
    count = float(rows.value.sum())
    share = float(np.mean(rows.value > 0))
    return Finding(count == 0, count, f"no {what} on any instance", "bound", numbers={"share of instances": share})


def positive(values: np.ndarray, what: str, evidence: str = "direction", units: str = "seeds") -> Finding:
    """The mean over seeds of a number of each seed is greater than 0, by Student's t at 95 %."""
    mean, low, high = interval(values)
    holds = True if low > 0 else (False if high <= 0 else None)
    rule = f"{what}, mean over {len(values)} {units}, Student's t interval at 95 % above 0"
    return Finding(holds, mean, rule, evidence, low, high, p_above_zero(values), sample=tuple(values.tolist()))


def equals(values: np.ndarray, printed: float, unit: float) -> Finding:
    """Two one-sided t tests at 5 %: True if the mean is shown to equal the printed number, False if shown to differ.

    The margin is half a unit of the last printed digit plus the standard deviation over seeds.
    """
    mean, low, high = interval(values, 0.9)
    margin = unit / 2 + float(np.std(values, ddof=1))
    lowest, highest = printed - margin, printed + margin
    holds = True if lowest < low and high < highest else (False if high < lowest or highest < low else None)
    rule = f"equals {printed:g} ± {margin:.2g}, Student's t interval over seeds at 90 % (TOST)"
    return Finding(holds, mean, rule, "matches print", low, high, sample=tuple(values.tolist()), target=printed)


def matches(values: np.ndarray, printed: float, unit: float) -> bool:
    """Whether the mean over seeds is shown to equal the printed number."""
    return equals(values, printed, unit).holds is True


def all_of(**parts: Finding) -> Finding:
    """All of the named findings together; the statistic and interval are those of the weakest part.

    Their joint p-value is the largest (an intersection-union test needs no correction).
    """
    rank = {False: 0, None: 1, True: 2}
    part, weakest = min(parts.items(), key=lambda item: (rank[item[1].holds], -(item[1].p or 0)))
    numbers = {name: finding.statistic for name, finding in parts.items()}
    for name, finding in parts.items():
        numbers |= {f"{name}, {label}": value for label, value in finding.numbers.items()}
    names_by_rule: dict[str, list[str]] = {}
    for name, finding in parts.items():
        names_by_rule.setdefault(finding.rule, []).append(name.replace("_", " "))
    rule = "; and ".join(
        f"{'each of ' * (len(names) > 1)}{'; '.join(names)}: {words}" for words, names in names_by_rule.items()
    )
    p = max((finding.p for finding in parts.values() if finding.p is not None), default=None)
    return Finding(
        weakest.holds, weakest.statistic, rule, weakest.evidence, weakest.low, weakest.high, p, numbers, part=part,
        parts=parts,
    )  # fmt: skip
