"""The committed calibration is of the present rules, and no rule errs more often than it says."""

import json

import pytest
from scipy import stats

from tasks import calibrate
from tasks.judging.calibration import DRAWS, limit, table
from tasks.judging.power import power_of, seeds_needed


@pytest.fixture(scope="module")
def committed() -> dict:
    return json.loads(calibrate.RESULT.read_text(encoding="utf-8"))


def test_the_committed_table_is_of_these_rules(committed):
    assert committed["code"] == calibrate.code_hash(), "run `make calibrate`"
    assert [row["rule"] for row in committed["rules"]] == [row["rule"] for row in table(draws=10)]


def test_no_rule_errs_more_often_than_it_says(committed):
    for row in committed["rules"]:
        assert row["draws"] >= DRAWS
        assert all(row[answer] <= limit(row["draws"]) for answer in row["wrong"]), row
        assert row["wrong"] or "outside" in row, row
        if "power" in row:
            assert row["power"] >= row["promised power"]


def test_the_limit_is_a_quantile_of_the_draws():
    assert stats.binom.cdf(int(limit(DRAWS) * DRAWS), DRAWS, 0.025) == pytest.approx(0.999, abs=5e-4)


@pytest.mark.parametrize(("effect", "tests"), [(0.7, 1), (1.0, 20), (2.0, 1), (3.0, 40)])
def test_power_against_simulated_samples(effect, tests):
    """statsmodels is no dependency: the power is that of scipy's own t test on normal samples."""
    seeds = seeds_needed(effect, tests)
    samples = stats.norm.rvs(effect, size=(20_000, seeds), random_state=3)
    share = (stats.ttest_1samp(samples, 0, axis=1, alternative="greater").pvalue <= 0.025 / tests).mean()
    assert share == pytest.approx(power_of(effect, seeds, 0.025 / tests), abs=0.01)
    assert share >= 0.89
    assert power_of(effect, seeds - 1, 0.025 / tests) < 0.9
