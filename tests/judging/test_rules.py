"""The rules of judging against planted truths and planted falsehoods, and their statistics against scipy's."""

import itertools
import math
import statistics
from dataclasses import replace

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from gramlab import tables
from gramlab.streams import stream
from tasks.judging.rows import Rows
from tasks.judging.rules import (
    Finding,
    all_of,
    below,
    bound,
    equals,
    equivalent,
    exact,
    never,
    order,
    positive,
    rate,
    trend,
    trend_along,
)
from tasks.judging.statistics import (
    JudgeError,
    deviation,
    fisher,
    interval,
    kendall,
    log_variance_ratio,
    p_above,
    p_inside,
    p_trend,
    welch,
)  # fmt: skip
from tasks.measuring.counterexamples import ALLOWED, RESIDUALS


def rows(columns_of_rows: list[dict]) -> Rows:
    return Rows(tables.table([{"arm": "claim", "quantity": "q", **row} for row in columns_of_rows]))


def residuals(double: float, single: float, cases: int = 6) -> Rows:
    draw = stream("test_judge", str(double), str(single))
    return rows(
        [
            {"case": str(case), "dtype": dtype, "value": size * draw.uniform(0.3, 1)}
            for case in range(cases)
            for dtype, size in (("float64", double), ("float32", single))
        ]
    )


def test_exact_wants_round_off_that_shrinks_with_the_precision():
    assert exact(residuals(2.0**-53, 2.0**-24)).holds
    assert not exact(residuals(2.0**-40, 2.0**-24)).holds  # far above round-off in float64
    assert not exact(residuals(2.0**-53, 2.0**-53)).holds  # does not shrink: both sides are one computation
    assert not exact(residuals(2.0**-53, 2.0**-24, cases=4)).holds  # too few instances
    zero = residuals(2.0**-53, 2.0**-24)
    assert exact(Rows(zero.frame.assign(value=0.0))).holds is False  # nor does nothing
    with pytest.raises(ValueError, match="float32"):
        exact(residuals(2.0**-53, 2.0**-24).where(dtype="float64"))


def powers(power: float, floor: float = 0.0, bend: float = 0.0, cases: int = 3) -> Rows:
    draw = stream("test_judge", "powers", str(power))
    return rows(
        [
            {
                "case": str(case),
                "dtype": "float64",
                "x": x,
                "value": 3 * x**power + bend * x ** (power + 1) + floor * draw.uniform(),
            }
            for case in range(cases)
            for x in 2.0 ** -np.arange(21)
        ]
    )


@given(st.floats(0.5, 4))
def test_order_finds_the_slope(power):
    finding = order(powers(power), power)
    assert finding.holds
    assert finding.statistic == pytest.approx(power, abs=1e-6)


def test_order_finds_its_window_between_truncation_and_round_off():
    assert order(powers(2, floor=1e-9, bend=30), 2).holds
    assert not order(powers(1), 2).holds
    assert not order(powers(1.85), 2).holds
    assert not order(powers(2), 1).holds


def test_order_is_judged_on_every_case():
    mixed = powers(2, cases=3)
    wrong = mixed.value.copy()
    wrong[mixed.case == "1"] = mixed.x[mixed.case == "1"]
    assert not order(Rows(mixed.frame.assign(value=wrong)), 2).holds


def test_bound_and_never():
    assert bound(rows([{"value": value} for value in (0.2, 1.0)])).holds
    assert not bound(rows([{"value": value} for value in (0.2, 1.0 + 1e-9)])).holds
    assert never(rows([{"value": 0.0}] * 3), "sign").holds
    assert not never(rows([{"value": 0.0}, {"value": 1.0}]), "sign").holds


def test_below_reads_the_end_of_each_line():
    def line(case: str, last: float) -> list[dict]:
        return [{"case": case, "x": x, "value": value} for x, value in ((1.0, 5.0), (0.01, last), (0.1, 3.0))]

    assert below(rows(line("a", 0.1) + line("b", 0.2)), 0.2, "error", x="step").holds
    assert below(rows(line("a", 0.1) + line("b", 0.3)), 0.2, "error", x="step").holds is False
    assert below(rows(line("a", 0.1) + line("b", 0.3)), 0.2, "error", x="step").statistic == 0.3
    two_seeds = [{**row, "seed": seed} for seed, last in enumerate((0.1, 0.4)) for row in line("a", last)]
    assert below(rows(two_seeds), 0.2, "error", x="step").statistic == 0.4
    assert below(rows([{"value": value} for value in (0.1, 0.5)]), 0.2, "error").statistic == 0.5


def test_too_little_to_judge_is_named():
    with pytest.raises(JudgeError, match="“c rises”: a trend needs two points, and the table has 1"):
        trend(np.ones((3, 1)), "c rises")
    with pytest.raises(JudgeError, match="2 seeds; the jackknife of a variance needs three"):
        log_variance_ratio(np.eye(2), np.eye(2))
    with pytest.raises(JudgeError, match="no remainder in float64"):
        order(rows([{"value": 1.0, "dtype": "float32"}]), 2)
    steps = [{"case": "swish", "layer": "0", "dtype": "float64", "x": 2.0**-step, "value": 4.0**-step * (step < 3)}
             for step in range(9)]  # fmt: skip
    with pytest.raises(JudgeError, match="swish, 0 has a remainder above 0 at 3 steps; a slope needs 8"):
        order(rows(steps), 2)


@given(st.lists(st.floats(-100, 100), min_size=3, max_size=12).filter(lambda values: np.ptp(values) > 1e-3))
def test_intervals_and_p_values_are_students(values):
    mean, low, high = interval(np.array(values))
    want = scipy.stats.ttest_1samp(values, 0, alternative="two-sided").confidence_interval()
    assert (mean, low, high) == pytest.approx((np.mean(values), want.low, want.high), rel=1e-9, abs=1e-9)
    finding = positive(np.array(values), "q")
    assert finding.p == pytest.approx(
        scipy.stats.ttest_1samp(values, 0, alternative="greater").pvalue, rel=1e-6, abs=1e-12
    )
    assert finding.holds == (True if want.low > 0 else False if want.high <= 0 else None)


@pytest.mark.parametrize("count", [3, 6])
def test_the_jackknife_of_two_variances_leaves_out_a_seed_at_a_time(count):
    """The pseudo-value of a seed is n θ - (n - 1) θ without it, with θ = log(variance / variance)."""
    first, second = stream("test_judge", "jackknife").normal(size=(2, count, 4)) * [[[2.0]], [[0.5]]]

    def variance(curves: list[list[float]]) -> float:
        return sum(statistics.variance(values) for values in zip(*curves, strict=True))

    def log_ratio(left_out: int | None = None) -> float:
        kept = [[curve for seed, curve in enumerate(curves.tolist()) if seed != left_out] for curves in (first, second)]
        return math.log(variance(kept[0]) / variance(kept[1]))

    expected = [count * log_ratio() - (count - 1) * log_ratio(seed) for seed in range(count)]
    assert log_variance_ratio(first, second) == pytest.approx(expected, rel=1e-12)


def test_an_interval_covers_as_often_as_it_says():
    """Student's t on three seeds covers 95 %, where a percentile bootstrap covers 75 %."""
    draws = stream("test_judge", "coverage").normal(size=(4000, 3))
    covered = np.mean([low <= 0 <= high for _, low, high in map(interval, draws)])
    assert abs(covered - 0.95) < 3 * np.sqrt(0.95 * 0.05 / 4000)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_correlation_of_one_counts_as_one_minus_1e_15(sign):
    """Its z is that of 1 - 1e-15, ln(2e15) / 2 up to the rounding of 1 - 1e-15 in float64."""
    mean, low, high = fisher(np.array([1.0, 0.5, 0.5]) * sign)
    z = np.array([np.log(2e15) / 2, np.log(3) / 2, np.log(3) / 2]) * sign
    half = scipy.stats.t.ppf(0.975, 2) * z.std(ddof=1) / np.sqrt(3)
    wanted = np.tanh([z.mean(), z.mean() - half, z.mean() + half])
    assert (mean, low, high) == pytest.approx(wanted, abs=1e-3)
    assert fisher(np.full(3, float(sign))) == pytest.approx((sign,) * 3, abs=1e-14)


def test_fisher_and_kendall():
    correlations = np.array([0.2, 0.9, 0.99])
    wanted = np.tanh(interval(np.log((1 + correlations) / (1 - correlations)) / 2))
    assert fisher(correlations) == pytest.approx(tuple(wanted))
    assert fisher(np.array([0.5, 0.5, 0.5]))[0] == pytest.approx(0.5)
    assert kendall(np.array([1.0, 3.0, 2.0])) == pytest.approx(scipy.stats.kendalltau([0, 1, 2], [1, 3, 2]).statistic)


def test_every_is_as_strong_as_its_weakest_part():
    holds, open_, fails = (positive(np.array(values), "q") for values in ([1, 1.02], [-1, 2.0], [-1, -1.02]))
    assert all_of(a=holds, b=holds).holds is True
    assert all_of(a=holds, b=open_).holds is None
    assert all_of(a=open_, b=fails, c=holds).holds is False
    assert all_of(a=holds, b=fails).p == fails.p
    assert all_of(first=holds, second=open_).numbers["second"] == open_.statistic
    other = positive(np.array([1, 1.02]), "r")
    sentence = all_of(in_training=holds, at_the_end=other, throughout=open_).rule  # a rule of several is said once
    assert sentence == f"each of in training; throughout: {holds.rule}; and at the end: {other.rule}"


def test_round_off_of_p_values_near_1_does_not_choose_the_weakest_part():
    """The distribution of a trend's statistic is a sum, which differs in its last digit between machines."""
    parts = {name: Finding(False, statistic, "r", "direction", p=1.0, p_against=p_against)
             for name, statistic, p_against in (("layer_3", -0.77, 1e-17), ("layer_4", -0.68, 7e-15))}  # fmt: skip
    below_1 = replace(parts["layer_3"], p=float(np.nextafter(1, 0)))
    assert all_of(**parts).part == all_of(**{**parts, "layer_3": below_1}).part == "layer_3"


@pytest.mark.parametrize(
    ("weakest", "other"),
    [
        ([0.5, 0.9, 0.7], [5, 5.1, 5.2]),  # both hold
        ([-1, 0.5, 0.1], [-1, 2.0, 1.0]),  # both are open
        ([-0.5, 2.0, 1.0], [5, 5.1, 5.2]),
        ([-1, -1.02, -1.04], [-1, 2.0, 1.0]),
        ([-5, -5.1, -5.2], [-0.5, -0.9, -0.7]),  # both are refuted
    ],
)
def test_several_parts_show_the_number_and_interval_of_the_weakest(weakest, other):
    for parts in ({"weakest": weakest, "other": other}, {"other": other, "weakest": weakest}):
        finding = all_of(**{name: positive(np.array(values), "q") for name, values in parts.items()})
        wanted = scipy.stats.t.interval(0.95, 2, np.mean(weakest), scipy.stats.sem(weakest))
        assert finding.part == "weakest"
        assert (finding.statistic, finding.low, finding.high) == pytest.approx((np.mean(weakest), *wanted))


def test_welchs_interval():
    random = np.random.default_rng(0)
    for _ in range(200):
        a, b = random.normal(size=3), random.normal(random.uniform(0, 4), random.uniform(0.5, 3), size=5)
        wanted = scipy.stats.ttest_ind(a, b, equal_var=False).confidence_interval(0.95)
        assert welch(a, b) == pytest.approx((a.mean() - b.mean(), *wanted))
    assert welch(np.ones(3), np.zeros(3)) == (1, 1, 1)


def test_nothing_is_not_nothing_wrong():
    with pytest.raises(JudgeError, match="nothing was counted"):
        never(rows([]), "violation")


def random_errors(power: float, seeds: int = 200) -> Rows:
    draw = stream("test_judge", "rate", str(power))
    return rows(
        [
            {"seed": seed, "x": x, "case": case, "value": float(draw.normal()) * x**power}
            for seed in range(seeds)
            for x in (16.0, 32.0, 64.0, 128.0)
            for case in ("a", "b")
        ]
    )


def test_the_rate_of_a_random_error():
    for power in (-1.0, -0.5, 0.0):
        finding = rate(random_errors(power), power)
        assert finding.holds
        assert finding.low < power < finding.high
        # the jackknife's interval is about the asymptotic one: log of a mean of 400 squares
        spread = 1.972 * np.sqrt(0.5 / 400 / (np.log(2) ** 2 * 5))
        assert (finding.high - finding.low) / 2 == pytest.approx(spread, rel=0.3)
    assert rate(random_errors(-0.5), -1).holds is False
    assert rate(random_errors(-1.0, seeds=4), -1).holds is None  # too few to decide
    assert rate(random_errors(-1.0), -1).p < 1e-3 < 0.5 < rate(random_errors(-1.0), -1).p_against


def test_equivalence_is_two_one_sided_tests():
    values = stream("test_judge", "equivalent").normal(size=30)
    ends = [scipy.stats.ttest_1samp(values, 0).confidence_interval(0.95)[at] for at in (0, 1)]
    widest = max(map(abs, ends))
    assert equivalent(values, 1.01 * widest, "it").holds
    assert equivalent(values, 0.99 * widest, "it").holds is None
    assert equivalent(values + 9, 1.0, "it").holds is False


def brute_force_trend(series: np.ndarray) -> tuple[float, float]:
    """Over all orders of all series, the shares whose sum of signs is at least, and at most, the observed."""

    def signs(values) -> int:
        return sum(int(np.sign(after - before)) for before, after in itertools.combinations(values, 2))

    sums = np.array([
        sum(combination)
        for combination in itertools.product(*([signs(order) for order in itertools.permutations(s)] for s in series))
    ])  # fmt: skip
    observed = sum(map(signs, series))
    return float(np.mean(sums >= observed)), float(np.mean(sums <= observed))


@pytest.mark.parametrize("shape", [(1, 5), (2, 4), (3, 3)])
def test_trends_by_brute_force_over_all_orders(shape):
    random = np.random.default_rng(1)
    for largest in (2, 4, 1000):  # with many ties, with some, with none
        series = random.integers(0, largest, size=shape).astype(float)
        assert p_trend(series) == pytest.approx(brute_force_trend(series))


def test_a_trend_of_few_points_is_judged_by_its_orders():
    """Three seeds of three rising points: 6^-3. Student's t on the taus (1, 1, 1) would say p = 0."""
    rising = np.array([[1.0, 2.0, 3.0]] * 3)
    assert trend(rising, "it").p == pytest.approx(6**-3)
    assert trend(rising, "it").holds is True
    assert trend(-rising, "it").holds is False
    assert trend(rising[:1], "it").holds is None  # one order of six
    assert trend(rising, "it").statistic == 1.0


def test_a_curve_along_training_is_judged_by_its_seeds_too():
    """Student's t tests of scipy: of the rise from first to last, and of scipy's taus against a rise."""
    walks = stream("test_judge", "walks").normal(size=(5, 12)).cumsum(axis=1) + 0.3 * np.arange(12)
    for series in (walks, -walks, np.sqrt(np.arange(12.0)) + 0.01 * walks, 0.2 * walks):
        finding, of_points = trend_along(series, "it"), trend(series, "it")
        rises = series[:, -1] - series[:, 0]
        taus = [scipy.stats.kendalltau(np.arange(12), values).statistic for values in series]
        up = scipy.stats.ttest_1samp(rises, 0, alternative="greater").pvalue
        down = min(scipy.stats.ttest_1samp(of_seeds, 0, alternative="less").pvalue for of_seeds in (taus, rises))
        assert finding.p == pytest.approx(max(of_points.p, up))
        assert finding.p_against == pytest.approx(max(of_points.p_against, min(1, 2 * down)))
        assert finding.statistic == pytest.approx(np.mean(taus))
        assert finding.numbers["rise from first to last"] == pytest.approx(rises.mean())
    assert trend_along(np.sqrt(np.arange(12.0)) + 0.01 * walks, "it").holds is True


def test_a_curve_that_jumps_up_and_then_falls_does_not_rise():
    noise = 0.001 * stream("test_judge", "falls").normal(size=(5, 12))  # all taus are equal, and have no spread
    series = np.array([0.0, *np.linspace(1.0, 0.5, 11)]) + noise
    assert trend_along(series, "it").holds is False
    assert (series[:, -1] > series[:, 0]).all()
    assert trend_along(-np.arange(12.0) + noise, "it").holds is False  # its taus are all -1
    ends_low = np.array([1.0, *np.linspace(0.0, 0.9, 11)]) + noise  # it rises after a fall, and ends lower
    assert trend(ends_low, "it").holds is True
    assert trend_along(ends_low, "it").holds is None


def test_a_sample_without_spread_has_the_sign_tests_p_value():
    assert p_above(np.ones(5)) == 2.0**-5
    assert p_above(-np.ones(5)) == p_above(np.zeros(5)) == 1.0
    assert positive(np.ones(5), "q").holds is None
    assert positive(np.ones(6), "q").holds is True
    assert positive(-np.ones(6), "q").holds is False
    assert equivalent(np.zeros(6), 1.0, "q").p == 2.0**-6
    assert equals(np.full(6, 3.0), 3.0, 0.1).holds is True


CONSTANTS = st.floats(-1e6, 1e6).filter(lambda value: value == 0 or abs(value) > 1e-6)


@given(CONSTANTS, CONSTANTS, st.integers(2, 12), st.randoms(use_true_random=False))
def test_equal_numbers_that_are_rounded_otherwise_have_no_spread(constant, level, seeds, random):
    """Six times 0.1 have a deviation of 1.5e-17 in floating point, from which Student's t made p = 8.7e-81."""
    values = np.array([constant * (1 + random.choice([-1, 0, 1]) * np.finfo(float).eps) for _ in range(seeds)])
    assert p_above(values, level) == (2.0**-seeds if constant - level > 1e-6 else 1.0)
    inside, outside = p_inside(values, level - 1, level + 1)
    assert min(inside, outside) >= 2.0**-seeds
    assert inside == (2.0**-seeds if abs(constant - level) < 1 - 1e-6 else 1.0 if abs(constant - level) > 1 else inside)
    mean, low, high = interval(values)
    assert low == mean == high
    difference, low, high = welch(values, np.full(seeds, constant))
    assert difference == low == high == 0
    assert min(equals(values, level, 0.5).p_against, equals(values, level, 0.5).p) >= 2.0**-seeds


@pytest.mark.parametrize("level", [0.0, 0.1, 0.9935])
def test_round_off_about_the_level_is_not_above_it(level):
    """Numbers of order 1 whose differences are round-off, such as two cosines that are both 1."""
    assert p_above(np.array([1e-16, 2e-16, 1e-16]) + level, level) == 1.0
    assert p_above(np.array([0.0, 2e-16, 1e-16]) + level + 0.5, level) == 2.0**-3
    assert p_above(np.array([1.0, 1 - 1e-16, 1.0, 1.0]) - 0.9935) == 2.0**-4


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=8).filter(lambda values: np.ptp(values) > 1e-9))
def test_a_spread_that_is_no_round_off_is_kept(values):
    assert deviation(values) == pytest.approx(np.sqrt(np.sum((np.array(values) - np.mean(values)) ** 2)
                                                      / (len(values) - 1)))  # fmt: skip


@pytest.mark.parametrize("runs", [1, 3])
def test_a_printed_mean_of_runs_is_judged_by_its_prediction_interval(runs):
    """Refuted just outside the 97.5 % prediction interval for the mean of so many runs, and not just inside."""
    values = stream("test_judge", "equals").normal(size=8)
    half = scipy.stats.t.ppf(0.9875, 7) * np.std(values, ddof=1) * np.sqrt(1 / runs + 1 / 8)
    assert equals(values, values.mean() + 0.05 + 1.001 * half, 0.1, runs).holds is False
    assert equals(values, values.mean() + 0.05 + 0.999 * half, 0.1, runs).holds is not False


@given(st.lists(st.floats(-100, 100), min_size=3, max_size=12).filter(lambda values: np.ptp(values) > 1e-3))
def test_p_values_are_right_from_both_sides(values):
    finding = positive(np.array(values), "q")
    assert finding.p_against == pytest.approx(
        scipy.stats.ttest_1samp(values, 0, alternative="less").pvalue, rel=1e-6, abs=1e-12
    )
    inside = equivalent(np.array(values), 10.0, "q")
    one_sided = [
        scipy.stats.ttest_1samp(values, end, alternative=side).pvalue
        for end, side in ((-10, "greater"), (10, "less"), (10, "greater"), (-10, "less"))
    ]
    assert inside.p == pytest.approx(max(one_sided[:2]), rel=1e-6, abs=1e-12)
    assert inside.p_against == pytest.approx(min(one_sided[2:]), rel=1e-6, abs=1e-12)


@pytest.mark.parametrize(("nudge", "allowed"), [(-1e-3, True), (1e-3, False)])
def test_the_search_for_counterexamples_has_the_limits_of_the_rules(nudge, allowed):
    for name in RESIDUALS:
        largest = ALLOWED[name] * (1 + nudge)
        values = [(str(case), dtype, size) for case in range(5) for dtype, size in
                  (("float64", largest), ("float32", largest * 2.0**29))]  # fmt: skip
        finding = exact(rows([{"case": case, "dtype": dtype, "value": value} for case, dtype, value in values]))
        assert finding.holds is allowed
    steps = 2.0 ** -np.arange(10)
    for sign in (-1, 1):
        slope = 2 + sign * ALLOWED["slope"] * (1 + nudge)
        law = [{"case": "0", "dtype": "float64", "x": x, "value": x**slope} for x in steps]
        assert order(rows(law), 2).holds is allowed
    assert bound(rows([{"value": ALLOWED["ratio"] * (1 + nudge)}])).holds is allowed
    for name in ("violated", "unequal signs"):
        assert never(rows([{"value": ALLOWED[name] + max(nudge, 0)}]), "event").holds is allowed
