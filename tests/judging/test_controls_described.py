"""A claim describes each of its controls, so that a table from which one vanished is refused."""

from pathlib import Path

import pytest
from planted_claims import claim, rows, table

from tasks import papers
from tasks.judging.contract import ContractError, admit, controls_of, refuse_undescribed, without_retired
from tasks.judging.rows import Rows
from tasks.judging.statement import Control, quantities
from tasks.reporting import rows as report_rows
from tasks.settings import load

REPORTS = Path(__file__).resolve().parents[2] / "reports"
SCALES = ("quick", "paper")
SHOWN = [(scale, path.stem) for scale in SCALES for path in sorted((REPORTS / scale / "rows").glob("*.csv"))]
ARMS = {"claim": [1.0, 1.1, 1.2], "control: c": [-1.0, -1.1, -1.2], "control: d": [-2.0, -2.1, -2.2]}
DESCRIBED = claim(controls={"c": Control(), "d": Control()})


@pytest.mark.parametrize(("scale", "key"), SHOWN)
def test_a_claim_describes_the_controls_in_the_report_and_no_others(scale, key):
    module = papers.claim(load(scale).paper[key], key)
    shown = report_rows.read(REPORTS / scale / "rows" / f"{key}.csv")
    arms = set(shown.loc[shown["quantity"].isin(quantities(module)), "arm"])
    data_sets = {"", *(arm.rpartition(", ")[2] for arm in arms)}  # at the paper scale some are not prepared here
    described = {f"control: {name}" for name, control in controls_of(module).items()
                 if scale in control.scales and (scale == "quick" or control.data_set in data_sets)}  # fmt: skip
    assert {arm for arm in arms if arm.startswith("control: ")} == described


@pytest.mark.parametrize("key", load("quick").claims)
def test_every_control_says_what_it_does_otherwise_in_a_sentence(key):
    for name, control in controls_of(papers.claim(load("quick").paper[key], key)).items():
        assert control.text.endswith("."), name
        assert 20 <= len(control.text) <= 160, name


def test_every_control_is_described():
    refuse_undescribed(rows(table(ARMS)), DESCRIBED)
    with pytest.raises(ContractError, match=r"does not describe 'control: d'"):
        refuse_undescribed(rows(table(ARMS)), claim(controls={"c": Control()}))
    with pytest.raises(ContractError, match=r"'control: c', 'control: d'"):
        refuse_undescribed(rows(table(ARMS)), claim())
    refuse_undescribed(rows(table({"claim": ARMS["claim"]}) + table({"control: d": ARMS["claim"]}, "r")), claim())


def test_a_new_table_may_have_a_control_that_the_committed_one_is_older_than():
    newer = claim(controls={"c": Control(), "d": Control(scales=("quick",))})
    whole = rows(table(ARMS)).frame.assign(scale="paper")
    for table_of_papers in (Rows(whole), Rows(whole[whole["arm"] != "control: d"])):
        refuse_undescribed(table_of_papers, newer)
        admit(table_of_papers, newer, list(newer.STATEMENTS), "e", "paper", {3})


def test_an_older_table_of_the_papers_may_have_a_control_that_the_claim_has_no_more():
    newer = claim(controls={"c": Control()})
    newer.RETIRED = {"d": "It tested nothing."}
    older = rows(table(ARMS))
    left = without_retired(older, newer, "paper")
    assert set(left.arm.tolist()) == {"claim", "control: c"}
    refuse_undescribed(left, newer)
    with pytest.raises(ContractError, match=r"does not describe 'control: d'"):
        refuse_undescribed(without_retired(older, newer, "quick"), newer)


def test_no_control_is_described_and_retired():
    for paper in papers.names():
        for key in load("quick").claims_of(paper):
            module = papers.claim(paper, key)
            retired = getattr(module, "RETIRED", {})
            assert not set(retired) & set(controls_of(module)), key
            assert all(reason.endswith(".") for reason in retired.values()), key


@pytest.mark.parametrize("vanished", ["control: c", "control: d"])
def test_a_described_control_does_not_vanish(vanished):
    whole = rows(table(ARMS)).frame
    lost = Rows(whole[whole["arm"] != vanished])
    admit(Rows(whole), DESCRIBED, list(DESCRIBED.STATEMENTS), "e", "quick", {3})
    with pytest.raises(ContractError, match=f"'q' has no rows in the arm '{vanished}'"):
        admit(lost, DESCRIBED, list(DESCRIBED.STATEMENTS), "e", "quick", {3})
