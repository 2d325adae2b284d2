"""Remarks beside a number: what a rule asks, what Holm's correction takes away, and that no control breaks a form."""

import pytest

from tasks.reporting import statements, words


def undecided(p: float | None, p_against: float | None) -> dict:
    by_holm = {"p, Holm": 1.0, "p_against, Holm": 1.0}
    return {"certain": True, "holds": None, "p": p, "p_against": p_against, **by_holm}


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [(8.0, None, "3 (must be at least 8)"), (None, 2.0, "3 (must be at most 2)"), (2.0, 4.0, "3 [2, 4]")],
)
def test_a_bound_says_what_the_rule_asks(low, high, text):
    assert words.interval({"statistic": 3.0, "low": low, "high": high}) == text


@pytest.mark.parametrize(("p", "p_against"), [(0.01, 0.99), (0.99, 0.01)])
def test_a_form_that_only_the_correction_leaves_open_says_so(p, p_against):
    against = "against it " * (p_against < p)
    assert words.holm_remark(undecided(p, p_against)) == f"not significant after Holm’s correction (p {against}1)"


def test_a_form_that_is_open_by_itself_needs_no_remark():
    assert words.holm_remark(undecided(0.4, 0.6)) == ""


@pytest.mark.parametrize(("rejected", "remark"), [(False, " (but no control breaks it)"), (True, "")])
def test_a_supported_form_that_no_control_breaks_says_so(rejected, remark):
    supported = {"certain": True, "p": 0.001, "p_against": 0.999, "controls": {"shuffled": {"rejected": rejected}}}
    both = {"forms": {"claim": supported, "corrected": supported}, "stands in": ""}
    assert statements.outcomes({"hypotheses": []}, both) == f"as printed supported{remark}, corrected supported{remark}"


def test_a_supported_form_that_misses_a_condition_names_it():
    supported = {"certain": True, "p": 0.001, "p_against": 0.999, "controls": {"shuffled": {"rejected": True}}}
    statement = {"name": "s", "forms": {"claim": supported, "corrected": supported}, "stands in": ""}
    forms = {"claim": {"holds": False}, "corrected": {"holds": True}}
    claim = {"hypotheses": [{"name": "memorisation", "statements": ["s"], "forms": forms}]}
    assert statements.outcomes(claim, statement) == (
        "as printed supported (but the condition “memorisation” is not met), corrected supported"
    )
    claim["hypotheses"][0]["statements"] = ["another"]
    assert statements.outcomes(claim, statement) == "as printed supported, corrected supported"
