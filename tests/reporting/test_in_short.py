"""The first lines of a claim's page: how many statements hold, what was measured, and why the verdict is as it is."""

from dataclasses import asdict

import numpy as np
import pytest

from gramlab import tables
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, bound, positive, trend
from tasks.judging.statement import NOT_AT_HAND, OLD_TABLE, TOO_LONG
from tasks.reporting.in_short import how_many, in_short
from tasks.reporting.words import amount, probability

LEAD = np.array([-0.1, -0.2, -0.3])


def form(finding, **more):
    """A finding as claims.json has it, with a control that breaks it."""
    control = {"rejected": True, "undecided": finding.holds is None, "kept": [], **asdict(finding)}
    return {**asdict(finding), "controls": {"shuffled labels": control}, **more}


def claim(verdict, reason, of_form, **more):
    statement = {"name": "faster", "kind": "asserted", "verdict": verdict, "reason": reason, "form": "printed",
                 "quote": "it is faster", "printed": "", "place": "Section 2", "stands in": "",
                 "lacks its corrected form": False, "forms": {"claim": of_form}}  # fmt: skip
    return {"verdict": verdict, "reason": reason, "deciding": "faster", "statements": [statement | more],
            "hypotheses": [], "measured": of_form["measured"]}  # fmt: skip


def statement(verdict, kind="asserted", judged=True, reason=""):
    return {"verdict": verdict, "kind": kind, "reason": reason, "forms": {"claim": {}} if judged else {}}


@pytest.mark.parametrize(("verdicts", "text"), [
    (["holds", "fails", "inconclusive"], "Of the paper's 3 statements 1 holds, 1 fails, 1 is undecided"),
    (["holds"] * 12, "All 12 statements of the paper hold"),
    (["inconclusive"] * 2, "Both statements of the paper are undecided"),
    (["inconclusive"], "The paper's statement is undecided"),
    (["holds corrected", "holds corrected", "holds"],
     "Of the paper's 3 statements 1 holds, 2 hold corrected"),
])  # fmt: skip
def test_statements_are_counted_by_verdict(verdicts, text):
    ours = statement("fails", kind="ours")  # which decides nothing
    assert how_many({"statements": [*map(statement, verdicts), ours]}) == text


def test_statements_that_were_not_judged_are_counted_with_their_reasons():
    waiting = [statement("not judged", judged=False, reason=reason) for reason in (TOO_LONG, NOT_AT_HAND)]
    counted = how_many({"statements": [statement("holds"), *waiting, waiting[0]]})
    assert (
        counted
        == f"Of the paper's 4 statements 1 holds, 2 are not judged ({TOO_LONG}), 1 is not judged ({NOT_AT_HAND})"
    )


def test_a_claim_that_holds_shows_what_was_measured_alone():
    of_form = form(positive(-LEAD, "lead"), measured="lead 1e-08")
    assert in_short(claim("holds", "", of_form)) == [("Measured", "lead 1·10⁻⁸")]


def test_a_claim_that_fails_shows_the_papers_words_the_threshold_and_the_p_value_against_it():
    of_form = form(positive(LEAD, "whitened minus original"), measured="5 epochs later", **{"p_against, Holm": 0.00247})
    lines = dict(in_short(claim("fails", "refuted", of_form)))
    assert lines["Fails"] == "“faster”. The paper: “it is faster” (Section 2)"
    assert lines["Measured"] == "5 epochs later"
    assert lines["Why"].startswith("whitened minus original must be above 0, and is −0.2 [−0.4")
    assert lines["Why"].endswith(" (p-value against the statement: 0.0025 after Holm’s correction)")


def test_a_quotation_is_followed_by_what_it_leads_to_unless_it_has_a_formula():
    of_form = form(positive(LEAD, "lead"))
    leading = dict(in_short(claim("fails", "refuted", of_form, quote="the network has cost", printed="2 Σᵢ σᵢ")))
    assert leading["Fails"] == "“faster”. The paper: “the network has cost”; 2 Σᵢ σᵢ (Section 2)"
    formula = dict(in_short(claim("fails", "refuted", of_form, quote="the cost is ≥ 2 Σᵢ σᵢ.", printed="2 Σᵢ σᵢ")))
    assert formula["Fails"] == "“faster”. The paper: “the cost is ≥ 2 Σᵢ σᵢ” (Section 2)"


def test_words_too_long_for_a_first_screen_are_left_to_the_table():
    of_form = form(positive(LEAD, "lead"))
    lines = dict(in_short(claim("fails", "refuted", of_form, quote="word " * 60, printed="S ≥ 1")))
    assert lines["Fails"] == "“faster”. The paper: S ≥ 1 (Section 2)"
    passages = f"It arises in training. … {'word ' * 60}"
    lines = dict(in_short(claim("fails", "refuted", of_form, quote=passages)))
    assert lines["Fails"] == "“faster”. The paper: “It arises in training …” (Section 2)"


def test_the_first_sentences_stay_of_words_too_long_for_a_first_screen():
    of_form = form(positive(LEAD, "lead"))
    quote = f"It improves in all layers (see Figure 3). Note {'word ' * 60}."
    lines = dict(in_short(claim("fails", "refuted", of_form, quote=quote)))
    assert lines["Fails"] == "“faster”. The paper: “It improves in all layers (see Figure 3) …” (Section 2)"
    leading = f"Assume x. Then {'word ' * 60}the bound is"
    lines = dict(in_short(claim("fails", "refuted", of_form, quote=leading, printed="S ≥ 1")))
    assert lines["Fails"] == "“faster”. The paper: S ≥ 1 (Section 2)"


def test_every_refuted_statement_is_named_and_undecided_ones_with_their_reasons():
    of_form = form(positive(LEAD, "lead"), measured="0.2 behind")
    failing = claim("fails", "refuted", of_form)
    failing["statements"].append(failing["statements"][0] | {"name": "larger", "quote": "it is larger"})
    failing["statements"].append(failing["statements"][0] | {"name": "sharper", "kind": "ours"})
    assert in_short(failing)[-1] == (
        "Fails too", "“larger”. The paper: “it is larger” (Section 2). Measured: 0.2 behind"
    )  # fmt: skip
    undecided = claim("inconclusive", "too few seeds", form(positive(np.array([0.3, -0.2, 0.1]), "lead")))
    undecided["statements"].append(undecided["statements"][0] | {"name": "larger", "reason": "control kept"})
    assert in_short(undecided)[-1] == ("Undecided too", "“larger” (control kept)")


def test_an_interval_that_does_not_decide_is_told_from_a_p_value_among_many():
    undecided = form(positive(np.array([0.3, -0.2, 0.1]), "lead"), **{"p, Holm": 1.0})
    alone = dict(in_short(claim("inconclusive", "too few seeds", undecided)))["Why"]
    assert (
        f"this does not decide: p is {probability(undecided['p'])} before Holm’s correction, and must be at most 0.025"
        in alone
    )
    steady = form(positive(np.array([0.2, 0.21, 0.22]), "lead"), **{"p, Holm": 0.348})
    text = dict(in_short(claim("inconclusive", "too few seeds", steady)))["Why"]
    assert (
        "alone this would decide, but not among all the paper’s statements: p after Holm’s correction is 0.35" in text
    )


def test_a_trend_against_the_claim_shows_the_p_value_of_the_opposite():
    falling = form(trend(np.tile([3.0, 2.0, 1.0], (5, 1)), "loss"), **{"p, Holm": 1.0, "p_against, Holm": 0.0961})
    text = dict(in_short(claim("inconclusive", "too few seeds", falling)))["Why"]
    assert "the p-value against the statement after Holm’s correction is 0.096, and must be at most 0.025" in text


def test_a_p_value_against_a_rule_of_several_parts_says_that_it_is_corrected_for_them():
    falls = trend(np.tile([3.0, 2.0, 1.0], (5, 1)), "loss")
    falling = form(all_of(first=falls, second=falls), **{"p, Holm": 1.0, "p_against, Holm": 0.0961})
    text = dict(in_short(claim("inconclusive", "too few seeds", falling)))["Why"]
    assert "the p-value against the statement, corrected for the number of the rule’s parts, after Holm’s" in text


def test_a_control_that_passes_is_named():
    of_form = form(positive(-LEAD, "lead"))
    control = of_form["controls"]["shuffled labels"]
    control |= {"rejected": False, "undecided": False}
    text = dict(in_short(claim("inconclusive", "control kept", of_form)))["Why"]
    assert text.startswith("the rule finds it (lead must be above 0, and is 0.2 [")
    assert text.endswith("but it does not reject the control “shuffled labels”, so it does not test the statement")
    of_form["controls"]["random K"] = control | {}
    text = dict(in_short(claim("inconclusive", "control kept", of_form)))["Why"]
    assert text.endswith("the controls “shuffled labels” and “random K”, so it does not test the statement")
    del of_form["controls"]["random K"]
    control["undecided"] = True
    text = dict(in_short(claim("inconclusive", "control kept", of_form)))["Why"]
    assert text.endswith(
        "it leaves the control “shuffled labels” undecided, so it does not tell the claim from its control"
    )


def test_a_condition_that_is_not_met_is_named_with_what_was_measured_all_the_same():
    fitted = asdict(positive(LEAD, "training accuracy minus 0.9"))
    of_form = form(positive(-LEAD, "lead"), measured="lead +0.2")
    unmet = claim("inconclusive", "hypothesis not met", of_form)
    unmet["hypotheses"] = [{"name": "fitted", "reason": "hypothesis not met", "statements": [],
                            "forms": {"claim": fitted}}]  # fmt: skip
    lines = dict(in_short(unmet))
    assert lines["Measured"] == "lead +0.2"
    assert "judged only where the condition “fitted” is met, and here it is not; training accuracy" in lines["Why"]


def test_both_forms_of_a_corrected_claim_stand_side_by_side():
    printed = form(positive(LEAD, "lead"), measured="0.2 behind")
    corrected = form(positive(-LEAD / 100, "lead"), measured="0.002 ahead")
    forms = {"claim": printed, "corrected": corrected}
    lines = dict(in_short(claim("holds corrected", "", corrected, form="corrected", forms=forms)))
    assert lines["Corrected"].startswith("“faster”. The paper: ")
    assert lines["Measured"] == "as printed, 0.2 behind; in the corrected form, 0.002 ahead"
    assert lines["Why"].startswith("lead must be above 0. As printed it is −0.2 [")
    assert "In the corrected form, below, it is 0.002 [" in lines["Why"]


def test_a_print_that_a_control_passes_too_says_why_the_corrected_form_decides():
    printed = form(positive(np.array([0.2, 0.21, 0.22]), "lead"))
    printed["controls"]["shuffled labels"]["rejected"] = False
    open_form = form(positive(np.array([0.3, -0.2, 0.1]), "lead"))
    forms = {"claim": printed, "corrected": open_form}
    undecided = claim("inconclusive", "too few seeds", open_form, form="corrected", forms=forms)
    text = dict(in_short(undecided))["Why"]
    assert "this does not decide" in text
    assert ". As printed the statement is supported (0.21 [" in text
    assert text.endswith(
        "), but no control breaks it. So it is not found to hold as printed, and the corrected form decides"
    )


def test_two_refuted_forms_are_told_in_one_sentence():
    behind = np.array([-0.2, -0.21, -0.22])
    printed, corrected = form(positive(behind, "lead")), form(positive(behind / 2, "lead"))
    forms = {"claim": printed, "corrected": corrected}
    text = dict(in_short(claim("fails", "refuted", corrected, form="corrected", forms=forms)))["Why"]
    assert ". As printed the statement is refuted (−0.21 [" in text
    assert text.endswith("), too")
    forms["claim"] = form(positive(np.array([0.3, -0.2, 0.1]), "lead"))
    text = dict(in_short(claim("fails", "refuted", corrected, form="corrected", forms=forms)))["Why"]
    assert text.endswith("). So it is not found to hold as printed, and the corrected form decides")


def test_a_corrected_form_that_was_not_measured_is_told():
    printed = form(positive(np.array([0.3, -0.2, 0.1]), "lead"))
    waiting = claim("inconclusive", OLD_TABLE, printed, **{"lacks its corrected form": True})
    text = dict(in_short(waiting))["Why"]
    assert text.startswith("as printed the statement is undecided (0.06667 [")
    assert text.endswith("; the corrected form, which then decides, has not been measured")
    waiting["hypotheses"] = [{"name": "memorisation", "statements": [], "forms": {"claim": {"holds": False}},
                              "reason": "hypothesis not met"}]  # fmt: skip
    assert dict(in_short(waiting))["Why"].startswith("as printed the condition “memorisation” is not met; ")


def test_units_of_round_off_are_spelled_out():
    rows = Rows(tables.table([{"arm": "claim", "quantity": "q", "value": 2.0}]))
    large = form(Finding(False, 3e15, "float64 residual <= 8 u on every instance", "exact", high=8.0))
    assert dict(in_short(claim("fails", "refuted", large)))["Why"] == (
        "largest residual (in units of round-off) must be at most 8 u, and is 3.0·10¹⁵ u"
    )
    assert dict(in_short(claim("fails", "refuted", form(bound(rows)))))["Why"] == (
        "largest ratio of the left side to the right must be at most 1, and is 2"
    )


def test_a_part_of_a_rule_over_instances_or_seeds_is_named():
    share = {name: Finding(None, value, "accuracy at least 0.995: in all of 5 seeds; fails if in none", "direction")
             for name, value in (("FACT-RFM", 0.6), ("NFA-RFM", 1.0))}  # fmt: skip
    text = dict(in_short(claim("inconclusive", "too few seeds", form(all_of(**share)))))["Why"]
    assert text == (
        "share of seeds with accuracy at least 0.995 (part “FACT-RFM”) must be 1, and is 0.6, which neither supports "
        "nor refutes the statement"
    )


def test_a_claim_that_was_not_run_has_no_lines():
    assert in_short({"statements": [], "deciding": "", "verdict": "not run", "reason": "", "hypotheses": []}) == []


def test_a_residual_below_a_unit_of_round_off_has_no_digits():
    """They differ between processors."""
    rule = "on at least 4 instances every float64 residual <= 8 u (normwise)"
    shown = [amount({"statistic": value, "rule": rule}) for value in (0.0, 0.011, 0.999, 1.0, 1.629)]
    assert shown == ["0 u", "below 1 u", "below 1 u", "1 u", "1.629 u"]
    assert amount({"statistic": 0.5, "rule": "must be above 0"}) == "0.5"
