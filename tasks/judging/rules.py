"""The rules of judging, fixed before anything runs: what each finds in the rows of one arm.

Every test is one-sided at 2.5 %, in both directions: that a statement holds, and that it is refuted.
``tasks/judging/verdict.py`` turns the findings of a claim's arms into its verdict.
"""

import math
from dataclasses import dataclass, field, replace

import numpy as np
from scipy import special

from tasks.judging.power import ALPHA
from tasks.judging.rows import Rows
from tasks.judging.statistics import (
    JudgeError,
    deviation,
    interval,
    kendall,
    p_above,
    p_inside,
    p_trend,
    quantile,
    round_off,
)  # fmt: skip

UNIT = {"float64": 2.0**-53, "float32": 2.0**-24}  # unit round-off


@dataclass(frozen=True)
class Finding:
    """What a rule finds: ``holds`` is True, False, or None where the data do not decide."""

    holds: bool | None
    statistic: float
    rule: str  # in words, with its thresholds
    evidence: str  # exact, order, bound, direction, matches print
    low: float | None = None
    high: float | None = None
    p: float | None = None  # of the one-sided test that it holds, before Holm's correction; None if nothing is random
    p_against: float | None = None  # of the one-sided test that it is refuted
    numbers: dict[str, float] = field(default_factory=dict)  # more measurements, for the report
    measured: str = ""  # the measurement in the print's terms, where the statistic is in others
    part: str = ""  # name of the part whose statistic this is, where the rule has several parts
    parts: dict[str, "Finding"] = field(default_factory=dict)
    sample: tuple[float, ...] = ()  # the numbers behind the interval, one a seed
    target: float = math.inf  # target value of the sample's mean; inf means the larger the better
    certain: bool | None = True  # what the parts without a p-value show together

    def __post_init__(self) -> None:
        if self.p is None:
            object.__setattr__(self, "certain", self.holds)


def exact(rows: Rows, factor: float = 8.0, cases: int = 5) -> Finding:
    """Both sides of an identity agree to round-off.

    ``value`` is ||A - B||_F over (the sum's length) x (the norms of the factors), so that round-off alone stays
    below a small multiple of the unit round-off u (Higham, gamma_k). Rule: on at least ``cases`` instances every
    float64 residual is at most ``factor`` u, and the residuals shrink from float32 to float64 by 2^29, give or
    take a factor 2^4 (geometric mean): a difference that is not round-off does not shrink.
    """
    rule = (
        f"on at least {cases} instances every float64 residual <= {factor:g} u (normwise), and residuals shrink "
        f"from float32 to float64 by a factor of 2^25 to 2^33"
    )
    double, single = rows.where(dtype="float64"), rows.where(dtype="float32")
    if not len(double) or not len(single):
        raise JudgeError("an exact check needs residuals in float64 and in float32")
    worst = float(double.value.max() / UNIT["float64"])
    levels = [_mean_log2(precision.value) for precision in (single, double)]
    # residuals that are 0 throughout cannot shrink: both sides are one computation
    shrink = levels[0] - levels[1] if all(map(math.isfinite, levels)) else 0.0
    enough = len(set(double.case.tolist())) >= cases
    holds = bool(enough and worst <= factor and (25 <= shrink <= 33))
    within = float(np.mean(double.value <= factor * UNIT["float64"]))
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
    rule = (
        f"on every instance the 95 % interval of the slope, in the window of at least {points} steps with the least "
        f"standard error, is in {power:g} +- 0.1"
    )
    intervals = []
    if not len(rows.where(dtype="float64")):
        raise JudgeError("the table has no remainder in float64")
    for place, group in rows.where(dtype="float64").by("case", "layer").items():
        nonzero = group.value > 0
        if nonzero.sum() < points:
            where = ", ".join(filter(None, map(str, place))) or "the table"
            raise JudgeError(f"{where} has a remainder above 0 at {nonzero.sum()} steps; a slope needs {points}")
        ascending = np.argsort(group.x[nonzero])
        slope, error, count = _best_window(
            np.log2(group.x[nonzero][ascending]), np.log2(group.value[nonzero][ascending]), points
        )
        half = quantile(0.975, count - 2) * error
        intervals.append((slope - half, slope + half))
    low, high = min(lows for lows, _ in intervals), max(highs for _, highs in intervals)
    middles = [(start + end) / 2 for start, end in intervals]
    holds = bool(low >= power - 0.1 and high <= power + 0.1)
    within = float(np.mean([power - 0.1 <= start and end <= power + 0.1 for start, end in intervals]))
    numbers = {"instances": float(len(intervals)), "share of instances within": within}
    return Finding(holds, float(np.median(middles)), rule, "order", float(low), float(high), numbers=numbers)


def _best_window(x: np.ndarray, y: np.ndarray, points: int) -> tuple[float, float, int]:
    """Slope, standard error and number of points of the window with the smallest standard error."""
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


def rate(rows: Rows, power: float, margin: float = 0.25) -> Finding:
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
    label = "the jackknifed slope of the root mean square error in the size"
    finding = within(np.array(pseudo_values), power - margin, power + margin, label)
    # the distribution of few pseudo-values is skewed, so a refutation has to be significant at half the level
    p_against = min(1.0, 2 * (finding.p_against or 0.0))
    return replace(finding, holds=decided(finding.p, p_against), statistic=estimate, p_against=p_against)


def within(values: np.ndarray, lowest: float, highest: float, label: str, units: str = "seeds") -> Finding:
    """The mean over seeds lies in a range fixed beforehand: two one-sided t tests at 2.5 % each."""
    p, p_against = p_inside(values, lowest, highest)
    mean, low, high = interval(values)
    rule = _of_mean(label, f"lies in [{lowest:g}, {highest:g}]", len(values), units)
    target = (lowest + highest) / 2
    return Finding(decided(p, p_against), mean, rule, "direction", low, high, p, p_against,
                   sample=tuple(np.asarray(values).tolist()), target=target)  # fmt: skip


def _of_mean(label: str, verb: str, count: int, units: str) -> str:
    """What a rule asks of a mean, as a sentence; a label with a comma ends with one."""
    comma = "," if "," in label else ""
    return f"{label}{comma} {verb} in the mean over {count} {units}, by Student's t interval at 95 %"


def equivalent(values: np.ndarray, margin: float, label: str, units: str = "seeds") -> Finding:
    """The mean over seeds of ``values`` is 0 within a margin fixed beforehand."""
    return within(values, -margin, margin, label, units)


def decided(p: float | None, p_against: float | None, certain: bool | None = True) -> bool | None:
    """True if p is significant and nothing certain speaks against it; False if it is refuted; else None."""
    if certain is False or (p_against is not None and p_against <= ALPHA):
        return False
    return True if certain and (p is None or p <= ALPHA) else None


def below(rows: Rows, limit: float, label: str, x: str = "") -> Finding:
    """On every instance ``value``, with this label, is at most a fixed number at its smallest ``x``, if it has one."""
    ends = np.array([group.value[~(group.x > group.x.min())].max() for group in rows.by("case", "layer").values()])
    where = f"at the smallest {x} of" if x else "on"
    rule = f"{label}: at most {limit:g} {where} every instance"
    return Finding(bool(ends.max() <= limit), float(ends.max()), rule, "exact", high=limit)


def never(rows: Rows, event: str) -> Finding:
    """An event never happens: ``value`` counts it on each instance."""
    if not len(rows):
        raise JudgeError("nothing was counted")
    count = float(rows.value.sum())
    share = float(np.mean(rows.value > 0))
    return Finding(count == 0, count, f"no {event} on any instance", "bound", numbers={"share of instances": share})


def positive(values: np.ndarray, label: str, evidence: str = "direction", units: str = "seeds") -> Finding:
    """The mean over seeds of a number of each seed is greater than 0: Student's t test at 2.5 %, one-sided."""
    mean, low, high = interval(values)
    p, p_against = p_above(values), p_above(-np.asarray(values))
    rule = _of_mean(label, "is above 0", len(values), units)
    sample = tuple(np.asarray(values).tolist())
    return Finding(decided(p, p_against), mean, rule, evidence, low, high, p, p_against, sample=sample)


def trend(series: np.ndarray, says: str) -> Finding:
    """Series, (seeds, points), rise: exact permutation test of the sum of Kendall's statistics, at 2.5 %.

    ``says`` is the statement as a clause: "TL rises with the epoch". If a quantity falls, the series are minus the
    quantity, and the clause says that the quantity falls.

    The statistic is the mean of Kendall's tau. Student's t on the taus would be wrong: they are few, discrete and
    bounded, and equal taus have no spread.

    The null is that all orders of a series' points are equally likely, as for networks of different widths. Points
    along training or from layer to layer depend on their neighbours: ``trend_along`` judges these. How many seeds rise
    is among the numbers.
    """
    if series.shape[1] < 2:
        raise JudgeError(f"“{says}”: a trend needs two points, and the table has {series.shape[1]}")
    p, p_against = p_trend(series)
    taus = [kendall(values) for values in series]
    rule = f"{says}, by Kendall's tau over {len(series)} seeds, exact permutation test at 2.5 %"
    return Finding(decided(p, p_against), float(np.mean(taus)), rule, "direction", None, None, p, p_against,
                   numbers={"share of seeds that rise": float(np.mean(np.array(taus) > 0))},
                   sample=tuple(taus))  # fmt: skip


def trend_along(series: np.ndarray, says: str) -> Finding:
    """Curves along training or from layer to layer, (seeds, points), rise: ``trend``, and Student's t test over seeds.

    Each point of such a curve depends on the point before it. So the orders of its points are not equally likely, and
    ``trend`` alone finds that driftless random walks rise in 28 % of the draws. But the seeds are independent. So the
    curves must also end higher than they begin, in the mean over seeds. They do not rise if they end lower, or if the
    mean of their Kendall's taus is below 0: a curve that jumps up and then falls for the rest of the time does not
    rise, though it may end higher. These are two tests, each at half the level. Taus are discrete, and equal taus have
    no spread; their deviation counts as that of rounding at least.
    """
    of_points = trend(series, says)
    taus, rises = np.array(of_points.sample), series[:, -1] - series[:, 0]
    resolution = 2 / math.comb(series.shape[1], 2) / math.sqrt(12)  # the deviation that rounding to a tau makes
    p = max(of_points.p or 0.0, p_above(rises))
    p_falls = min(p_above(-rises), p_above(-taus, least_deviation=resolution))
    p_against = max(of_points.p_against or 0.0, min(1.0, 2 * p_falls))
    rule = f"{of_points.rule}, and from its first point to its last, Student's t test at 2.5 %"
    numbers = {**of_points.numbers, "rise from first to last": float(rises.mean())}
    return replace(of_points, holds=decided(p, p_against), rule=rule, p=p, p_against=p_against, numbers=numbers)


def equals(values: np.ndarray, printed: float, unit: float, runs: int = 1) -> Finding:
    """The mean over seeds equals the printed number, which is itself the mean of a few runs, rounded.

    It holds if the mean is shown to lie within half a unit of the last printed digit plus the standard deviation over
    seeds (two one-sided t tests at 2.5 %). It is refuted if the print, give or take half a unit, lies outside the
    97.5 % prediction interval for the mean of ``runs`` further runs.
    """
    values = np.asarray(values, float)
    over_seeds = deviation(values)
    margin = unit / 2 + over_seeds
    p, _ = p_inside(values, printed - margin, printed + margin)
    distance = max(0.0, abs(float(values.mean()) - printed) - unit / 2)
    spread = over_seeds * math.sqrt(1 / runs + 1 / len(values))
    if spread:
        tail = float(special.stdtr(len(values) - 1, -distance / spread))
    else:
        tail = 2.0 ** -len(values) if distance > round_off(values, printed) else 0.5
    p_against = min(1.0, 2 * tail)
    mean, low, high = interval(values)
    rule = (
        f"the mean over {len(values)} seeds equals {printed:g} ± {margin:.2g}, by Student's t interval at 95 % (TOST); "
        "it differs if the printed number, give or take half a unit of its last digit, lies outside the 97.5 % "
        f"prediction interval of {runs} further run{'s' * (runs > 1)}"
    )
    return Finding(decided(p, p_against), mean, rule, "matches print", low, high, p, p_against,
                   sample=tuple(values.tolist()), target=printed)  # fmt: skip


def _strength(finding: Finding) -> tuple[float, ...]:
    """Order of the parts of a rule, the weakest first: refuted, undecided, supported; then by their p-values.

    The p-values of several refuted parts may be 1 up to round-off, which differs between machines. They count as equal.
    """
    rank = {False: 0, None: 1, True: 2}[finding.holds]
    return rank, -float(f"{finding.p or 0:.13g}"), finding.p_against or 0.0


def all_of(**parts: Finding) -> Finding:
    """All of the named findings together; the statistic and interval are those of the weakest part.

    That all hold is an intersection-union test: its p-value is the largest and needs no correction. That at least one
    is refuted is a union: its p-value is the least times the number of tests (Bonferroni).
    """
    certainties = [finding.certain for finding in parts.values()]
    certain = False if False in certainties else None if None in certainties else True
    p = max((finding.p for finding in parts.values() if finding.p is not None), default=None)
    against = [finding.p_against for finding in parts.values() if finding.p_against is not None]
    p_against = min(1.0, len(against) * min(against)) if against else None
    part, weakest = min(parts.items(), key=lambda item: _strength(item[1]))
    numbers = {name: finding.statistic for name, finding in parts.items()}
    for name, finding in parts.items():
        numbers |= {f"{name}, {label}": value for label, value in finding.numbers.items()}
    names_by_rule: dict[str, list[str]] = {}
    for name, finding in parts.items():
        names_by_rule.setdefault(finding.rule, []).append(name.replace("_", " "))
    rule = "; and ".join(
        f"{'each of ' * (len(names) > 1)}{'; '.join(names)}: {words}" for words, names in names_by_rule.items()
    )
    return Finding(
        decided(p, p_against, certain), weakest.statistic, rule, weakest.evidence, weakest.low, weakest.high, p,
        p_against, numbers, part=part, parts=parts, certain=certain,
    )  # fmt: skip
