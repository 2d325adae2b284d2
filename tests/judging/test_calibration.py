"""The committed calibration is of the present rules, and no rule errs more often than it says."""

import json

import pytest
from scipy import stats

from gramlab import tables
from tasks import calibrate
from tasks.judging import calibration_of_means
from tasks.judging.calibration import AGAIN, DRAWS, EXCESSES, limit, table
from tasks.judging.power import ALPHA, POWER, power_of, seeds_needed


@pytest.fixture(scope="module")
def committed() -> dict:
    return json.loads(calibrate.RESULT.read_text(encoding="utf-8"))


def test_the_committed_table_is_of_these_rules(committed, monkeypatch):
    monkeypatch.setattr(calibration_of_means, "BLOCKS", 32)
    assert committed["code"] == calibrate.code_hash(), "run `make calibrate`"
    assert [row["rule"] for row in committed["rules"]] == [row["rule"] for row in table(draws=10)]


def test_no_rule_errs_more_often_than_it_says(committed):
    excesses = {}
    for row in committed["rules"]:
        assert row["draws"] >= DRAWS
        most = max((row[answer] for answer in row["wrong"]), default=0.0)
        if "excess" in row:
            excesses[row["rule"], row["number"]] = row["excess"]
            assert most > ALPHA, f"{row['rule']} no longer errs too often"
        else:
            assert most <= limit(row["draws"]), row
            assert most <= ALPHA or row["draws"] == AGAIN * DRAWS, row
        assert row["wrong"] or "outside" in row, row
    assert excesses == EXCESSES


def test_every_rule_has_the_power_that_is_promised(committed):
    for row in committed["rules"]:
        assert row["power"] or "outside" in row, row
        assert all(power["share"] >= power.get("promised", 0) for power in row["power"]), row
    promised = {row["rule"] for row in committed["rules"] for power in row["power"] if "promised" in power}
    assert promised == {"positive", "within"}


def test_a_row_above_the_level_is_run_again(committed):
    """On new draws, which give another share."""
    repeated = [row for row in committed["rules"] if "first" in row]
    assert repeated
    for row in repeated:
        assert row["first"]["draws"] == DRAWS
        assert row["draws"] == AGAIN * DRAWS
        assert any(row["first"][answer] != row[answer] for answer in row["wrong"])


@pytest.mark.parametrize("means", calibration_of_means.TABLES, ids=lambda means: means.name)
def test_as_many_means_are_simulated_as_a_table_has(committed, means):
    claim, scale = means.name.removeprefix("Monte Carlo means, ").split(", ")
    table, quantity = {"D.propA.1": ("d_lemmas", "propA1/away"), "D.alg1": ("d_alg1", "alg1/away")}[claim]
    rows = tables.read(calibrate.RESULT.parent / scale / "tables" / f"{table}.parquet").to_pandas()
    measured = ((rows["quantity"] == quantity) & (rows["arm"] == "claim")).sum()
    (row,) = (row for row in committed["rules"] if row["rule"] == means.name)
    assert (row["number"], row["units"]) == (measured, "means")
    assert row["wrong"] == ["fails"]
    (power,) = row["power"]
    assert power["share"] >= POWER


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
