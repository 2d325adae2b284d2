"""How a table differs from the paper's experiment: what its rows tell, and settings that both scales replace."""

from types import SimpleNamespace

import pandas as pd
import pytest

from tasks import papers
from tasks.judging.statement import Statement
from tasks.reporting.deviations import COLUMNS, deviations
from tasks.reporting.settings import left_out, settings_of
from tasks.settings import ROOT, load

SETTINGS = load("paper")
PRINTING = [(SETTINGS.paper[key], key) for key in SETTINGS.claims
            if hasattr(papers.claim(SETTINGS.paper[key], key), "PRINTED_SETTINGS")]  # fmt: skip


def claim(reads: tuple[str, ...] = ("loss",), **constants) -> SimpleNamespace:
    statement = Statement(name="one", quote="", place="", rule=None, reads=reads)
    return SimpleNamespace(STATEMENTS=(statement,), **constants)


def rows(*cells: tuple[str, str, str, float]) -> pd.DataFrame:
    return pd.DataFrame(cells, columns=["arm", "case", "quantity", "x"]).assign(seed=0)[COLUMNS]


def test_a_set_that_stands_in_is_named_where_a_statement_reads_its_rows():
    table = rows(("claim", "cifar10-jpeg, laplace, relu", "loss", 0), ("claim", "mnist", "accuracy", 0))
    assert deviations(table, claim()) == ["CIFAR-10: JPEG-recompressed"]
    assert deviations(table, claim(reads=("accuracy",))) == []
    assert deviations(rows(("claim", "cifar10, laplace, relu", "loss", 0)), claim()) == []
    assert deviations(rows(("control: M = I", "cifar10-jpeg", "loss", 0), ("claim", "", "loss", 0)), claim()) == []


def test_a_printed_form_at_fewer_points_than_the_corrected_one_says_at_which():
    printed = [("claim", "n = 4", "loss", x) for x in (0.5, 1.0)]
    corrected = [("corrected", "n = 4", "loss", x) for x in (0.5, 0.75, 1.0)]
    text = "the printed form has 2 of the corrected form's 3 balances (0.5, 1)"
    assert deviations(rows(*printed, *corrected), claim(POINTS="balances")) == [text]
    assert deviations(rows(*printed, *corrected), claim()) == [text.replace("balances", "values of x")]
    assert deviations(rows(*printed, *corrected[::2]), claim()) == []
    assert deviations(rows(*printed), claim()) == []
    assert deviations(rows(*corrected), claim()) == []  # a statement with a corrected form alone


@pytest.mark.parametrize(
    ("experiment", "notes"),
    [
        ("d_deep_rfm", ["CIFAR-10: JPEG-recompressed"]),
        ("b_fig3", ["the printed form has 3 of the corrected form's 11 balances (0.05, 0.5, 1)"]),
        ("b_rmt", []),
    ],
)
def test_the_committed_tables_name_what_stands_in_and_the_missing_points(experiment, notes):
    table = pd.read_parquet(ROOT / "reports" / "paper" / "tables" / f"{experiment}.parquet", columns=COLUMNS)
    for key in (key for key, other in SETTINGS.claims.items() if other == experiment):
        assert deviations(table, papers.claim(SETTINGS.paper[key], key)) == notes, key


@pytest.mark.parametrize(("paper", "key"), PRINTING)
def test_a_printed_setting_that_both_scales_replace_is_listed_at_the_paper_scale(paper, key):
    printed = papers.claim(paper, key).PRINTED_SETTINGS
    entry = SETTINGS.entry("simulate", SETTINGS.claims[key])
    for name, (value, words) in printed.items():
        assert f"{words} {entry[name]} instead of {value}" in left_out(SETTINGS, key, printed=printed)
        (row,) = (row for row in settings_of(SETTINGS, SETTINGS.claims[key], printed=printed)
                  if row["name"] == f"simulate.{name}")  # fmt: skip
        assert (row["paper"], row["run"], row["same"]) == (value, entry[name], False)
        equal = {name: (entry[name], words)}
        assert left_out(SETTINGS, key, printed=equal) == left_out(SETTINGS, key)
    assert left_out(load("quick"), key, printed=printed) == left_out(load("quick"), key)


def test_the_figures_of_the_centerings_name_their_steps():
    assert {key for _, key in PRINTING} == {"b_fig2", "b_fig4", "b_fig5", "b_fig7", "b_fig8"}
