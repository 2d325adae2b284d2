"""The rules of judging, fixed before anything is run: what each finds of the rows of one arm.

How the findings of a claim's arms become its verdict stands in tasks/verdict.py.
"""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gramlab.files import BadInput

UNIT = {"float64": 2.0**-53, "float32": 2.0**-24}  # unit round-off


@dataclass(frozen=True)
class Finding:
    """What a rule found: ``holds`` True, False, or None where the interval does not decide."""

    holds: bool | None
    statistic: float
    rule: str  # in words, with its thresholds
    evidence: str  # exact, order, bound, direction, matches print
    low: float | None = None
    high: float | None = None
    p: float | None = None  # one-sided, for statistical rules; the report corrects it by Holm within a paper
    numbers: dict[str, float] = field(default_factory=dict)  # more of what was measured, for the report
    measured: str = ""  # in the print's own terms, where the statistic is not
    part: str = ""  # of several rules, the one whose statistic this is
    parts: dict[str, "Finding"] = field(default_factory=dict)  # and all of them
    sample: tuple[float, ...] = ()  # what the interval is of, one number a seed
    wanted: float = math.inf  # what the rule has its mean be: a number, or as large as may be


class JudgeError(BadInput):
    """A table that a rule cannot judge."""


class Rows:
    """A table's columns as arrays; ``where`` selects, and each column is an attribute."""

    def __init__(self, table: Any):
        names = getattr(table, "column_names", None)
        self._columns: dict[str, np.ndarray] = {name: _array(table[name]) for name in names} if names else dict(table)

    def __getattr__(self, name: str) -> np.ndarray:
        try:
            return self.__dict__["_columns"][name]
        except KeyError:
            raise AttributeError(name) from None

    def __len__(self) -> int:
        return len(self._columns["value"])

    def where(self, **wanted: Any) -> "Rows":
        """The rows whose columns equal the given values, or are among them where a set is given."""
        keep = np.ones(len(self), bool)
        for name, value in wanted.items():
            column = self._columns[name]
            keep &= np.isin(column, list(value)) if isinstance(value, set) else column == value
        return Rows({name: column[keep] for name, column in self._columns.items()})

    def by(self, *names: str) -> dict[tuple, "Rows"]:
        """The rows grouped by these columns, in sorted order of their values."""
        found = sorted(set(zip(*(self._columns[name].tolist() for name in names), strict=True)))
        return {values: self.where(**dict(zip(names, values, strict=True))) for values in found}


def _array(column: Any) -> np.ndarray:
    # not by Arrow's to_numpy, which imports pandas: a check would take three times as long to start
    whole = column.combine_chunks()
    if str(whole.type) != "string":
        return np.from_dlpack(whole)
    coded = whole.dictionary_encode()
    return np.array(coded.dictionary.to_pylist(), dtype=object)[np.from_dlpack(coded.indices)]


def exact(rows: Rows, unit: str = "float64", factor: float = 8.0, cases: int = 5) -> Finding:
    """Both sides agree to round-off.

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
    tiny = np.finfo(float).tiny
    both = [np.log2(np.maximum(part.value[part.value > 0], tiny)).mean() if (part.value > 0).any() else -math.inf
            for part in (single, double)]  # fmt: skip
    # residuals that are 0 throughout cannot shrink: both sides are one computation
    shrink = both[0] - both[1] if math.isfinite(both[0]) and math.isfinite(both[1]) else 0.0
    enough = len(set(double.case.tolist())) >= cases
    holds = bool(enough and worst <= factor and (25 <= shrink <= 33))
    passing = float(np.mean(double.value <= factor * UNIT[unit]))
    numbers = {"log2 of float32 / float64": float(shrink), "share of instances within": passing}
    return Finding(holds, worst, rule, "exact", high=factor, numbers=numbers)


def order(rows: Rows, power: float, points: int = 8) -> Finding:
    """A remainder ``value`` shrinks with the step ``x`` as x^power, on every case.

    The fit's window of at least ``points`` steps is found, not picked: of all windows the one whose line in
    log-log has the smallest standard error, so neither truncation's beginning nor round-off's floor can enter.
    """
    rule = f"on every instance the slope's 95 % interval, on a found window of {points}+ steps, is in {power:g} +- 0.1"
    ends = []
    for one in rows.where(dtype="float64").by("case", "layer").values():
        keep = one.value > 0
        at = np.argsort(one.x[keep])
        slope, error, n = _best_window(np.log2(one.x[keep][at]), np.log2(one.value[keep][at]), points)
        half = t_quantile(0.975, n - 2) * error
        ends.append((slope - half, slope + half))
    low, high = min(end[0] for end in ends), max(end[1] for end in ends)
    middle = [(a + b) / 2 for a, b in ends]
    holds = bool(low >= power - 0.1 and high <= power + 0.1)
    passing = float(np.mean([power - 0.1 <= end[0] and end[1] <= power + 0.1 for end in ends]))
    numbers = {"instances": float(len(ends)), "share of instances within": passing}
    return Finding(holds, float(np.median(middle)), rule, "order", low, high, numbers=numbers)


def _best_window(x: np.ndarray, y: np.ndarray, points: int) -> tuple[float, float, int]:
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
    """A random error ``value`` of mean square e² falls with the size ``x`` as e ~ x^power, e over seeds and cases.

    Not the mean of log |value|, whose slope also changes with the distribution's shape. The seed is the unit: Student's
    interval of the jackknife's pseudo-values.
    """
    seeds, of_seed = np.unique(rows.seed, return_inverse=True)
    sizes, of_size = np.unique(rows.x, return_inverse=True)
    total, count = np.zeros((2, len(seeds), len(sizes)))
    np.add.at(total, (of_seed, of_size), rows.value**2)
    np.add.at(count, (of_seed, of_size), 1)
    squares, x = total / count, np.log(sizes)
    n, x = len(squares), x - x.mean()
    slope = lambda found: float(x @ np.log(found.mean(0)) / (2 * x @ x))  # noqa: E731
    whole = slope(squares)
    _, low, high = interval(np.array([n * whole - (n - 1) * slope(np.delete(squares, at, 0)) for at in range(n)]))
    inside, outside = power - within <= low and high <= power + within, high < power - within or power + within < low
    rule = f"the slope of the root mean square error is {power:g} +- {within:g}, jackknife over {n} seeds at 95 %"
    return Finding(inside or (False if outside else None), whole, rule, "order", low, high)


def equivalent(values: np.ndarray, margin: float, what: str, units: str = "seeds") -> Finding:
    """The mean over seeds of ``values`` is 0 within a margin fixed beforehand: two one-sided tests at 5 %."""
    mean, low, high = interval(values, 0.90)
    holds = True if -margin < low and high < margin else (False if low > margin or high < -margin else None)
    rule = f"{what} is 0 +- {margin:g}, Student's t interval over {len(values)} {units} at 90 % (TOST)"
    return Finding(holds, mean, rule, "direction", low, high, sample=tuple(values.tolist()), wanted=0.0)


def below(rows: Rows, least: float) -> Finding:
    """On every instance ``value`` comes below a fixed number at its smallest ``x``."""
    ends = np.array([one.value[one.x.argmin()] for one in rows.by("case", "layer").values()])
    rule = f"at the smallest x of every instance at most {least:g}"
    return Finding(bool(ends.max() <= least), float(ends.max()), rule, "exact", high=least)


def none(rows: Rows, what: str) -> Finding:
    """What must never happen: ``value`` counts it, on each instance."""
    if not len(rows):
        raise JudgeError("nothing was counted")
    count = float(rows.value.sum())
    share = float(np.mean(rows.value > 0))
    return Finding(count == 0, count, f"no {what} on any instance", "bound", numbers={"share of instances": share})


def positive(values: np.ndarray, what: str, evidence: str = "direction", units: str = "seeds") -> Finding:
    """The mean over seeds of a per-seed number is greater than 0, by Student's t at 95 %."""
    mean, low, high = interval(values)
    holds = True if low > 0 else (False if high <= 0 else None)
    spread = float(np.std(values, ddof=1)) / math.sqrt(len(values))
    p = 1 - t_cdf(mean / spread, len(values) - 1) if spread > 0 else (0.0 if mean > 0 else 1.0)
    rule = f"{what}, mean over {len(values)} {units}, Student's t interval at 95 % above 0"
    return Finding(holds, mean, rule, evidence, low, high, p, sample=tuple(values.tolist()))


def every(**parts: Finding) -> Finding:
    """All of the named findings together; the statistic and interval are those of the weakest one.

    Their joint p-value is the largest (an intersection-union test needs no correction).
    """
    rank = {False: 0, None: 1, True: 2}
    part, weakest = min(parts.items(), key=lambda item: (rank[item[1].holds], -(item[1].p or 0)))
    numbers = {name: one.statistic for name, one in parts.items()}
    for name, one in parts.items():
        numbers |= {f"{name}, {what}": value for what, value in one.numbers.items()}
    alike: dict[str, list[str]] = {}
    for name, one in parts.items():
        alike.setdefault(one.rule, []).append(name.replace("_", " "))
    rule = "; and ".join(f"{'each of ' * (len(of) > 1)}{'; '.join(of)}: {rule}" for rule, of in alike.items())
    p = max((one.p for one in parts.values() if one.p is not None), default=None)
    return Finding(
        weakest.holds, weakest.statistic, rule, weakest.evidence, weakest.low, weakest.high, p, numbers, part=part,
        parts=parts,
    )  # fmt: skip


def interval(values: np.ndarray, level: float = 0.95) -> tuple[float, float, float]:
    """Mean and Student-t interval; the seed is the unit."""
    values = np.asarray(values, float)
    if len(values) < 2:
        raise JudgeError("an interval needs at least two seeds")
    half = t_quantile(0.5 + level / 2, len(values) - 1) * values.std(ddof=1) / math.sqrt(len(values))
    return float(values.mean()), float(values.mean() - half), float(values.mean() + half)


def welch(a: np.ndarray, b: np.ndarray) -> tuple[float, float, float]:
    """Difference of two means, a's less b's, and Welch's t interval at 95 %, of unlike variances."""
    squares = np.array([one.var(ddof=1) / len(one) for one in (a, b)])
    total, gap = float(squares.sum()), float(a.mean() - b.mean())
    if total == 0:
        return gap, gap, gap
    freedom = total**2 / float((squares**2 / (np.array([len(a), len(b)]) - 1)).sum())
    half = t_quantile(0.975, freedom) * math.sqrt(total)
    return gap, gap - half, gap + half


def kendall(values: np.ndarray) -> float:
    """Kendall's rank correlation of a series with its index: 1 if it only rises, -1 if it only falls."""
    signs = [np.sign(after - before) for index, before in enumerate(values) for after in values[index + 1 :]]
    return float(np.mean(signs))


def fisher(correlations: np.ndarray) -> tuple[float, float, float]:
    """Mean correlation over seeds and its interval, by Fisher's z (correlations of 1 are taken just below)."""
    inside = np.clip(np.asarray(correlations, float), -1 + 1e-15, 1 - 1e-15)
    return tuple(float(np.tanh(z)) for z in interval(np.arctanh(inside)))  # type: ignore[return-value]


def equals(values: np.ndarray, printed: float, unit: float) -> Finding:
    """Two one-sided t tests at 5 %: the mean over seeds equals the printed number, or differs, or neither is shown.

    The margin is half a unit of the last printed digit plus the standard deviation over seeds.
    """
    mean, low, high = interval(values, 0.9)
    margin = unit / 2 + float(np.std(values, ddof=1))
    below, above = printed - margin, printed + margin
    holds = True if below < low and high < above else (False if high < below or above < low else None)
    rule = f"equals {printed:g} ± {margin:.2g}, Student's t interval over seeds at 90 % (TOST)"
    return Finding(holds, mean, rule, "matches print", low, high, sample=tuple(values.tolist()), wanted=printed)


def matches(values: np.ndarray, printed: float, unit: float) -> bool:
    """Whether the mean over seeds is shown to equal the printed number."""
    return equals(values, printed, unit).holds is True


def curves(rows: Rows, *names: str) -> np.ndarray:
    """``value`` by the sorted values of these columns, an axis each, and by step on the last axis."""
    groups = rows.by(*names)
    shape = [len({key[axis] for key in groups}) for axis in range(len(names))]
    return np.array([one.value[np.argsort(one.step)] for one in groups.values()]).reshape(*shape, -1)


def by_number(rows: Rows, *names: str) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of the cases "axis=number", rising, and ``curves`` by seed, these cases and ``names``."""
    numbers = np.array([float(case.rpartition("=")[2]) for case in sorted(set(rows.case.tolist()))])
    order = np.argsort(numbers)
    return numbers[order], curves(rows, "seed", "case", *names)[:, order]


def t_quantile(q: float, freedom: float) -> float:
    """Quantile of Student's t."""
    from scipy.special import stdtrit  # here, since exact checks and bounds need no scipy to start

    return float(stdtrit(freedom, q))


def t_cdf(t: float, freedom: float) -> float:
    """Distribution function of Student's t."""
    from scipy.special import stdtr

    return float(stdtr(freedom, t))
