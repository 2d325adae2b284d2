"""The line under a verdict: on which statement and measurement it rests, and which condition or control decides it."""

from dataclasses import asdict
from types import SimpleNamespace

import numpy as np
import pytest

from gramlab import tables
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, bound, never, positive, trend
from tasks.reporting import controls, statements, words
from tasks.reporting.site.pages import violations
from tasks.reporting.typesetting import typeset


def form(finding, **more):
    """A finding as claims.json has it, with a control that breaks it."""
    rejected = {"rejected": True, "undecided": finding.holds is None, "kept": [], **asdict(finding)}
    return {**asdict(finding), "controls": {"shuffled labels": rejected}, **more}


def claim(verdict, reason, of_form, hypotheses=(), measured="", **more):
    statement = {"name": "faster", "verdict": verdict, "reason": reason, "form": "printed", "forms": {"claim": of_form}}
    return {"verdict": verdict, "reason": reason, "deciding": "faster", "statements": [statement | more],
            "hypotheses": list(hypotheses), "measured": measured}  # fmt: skip


LEAD = np.array([-0.1, -0.2, -0.3])


def test_a_refuted_claim_names_its_statement_the_measure_and_the_threshold():
    text = words.why(claim("fails", "refuted", form(positive(LEAD, "whitened minus original"))))
    assert text.startswith("“faster”: whitened minus original: −0.2 [")
    assert text.endswith("; must be above 0")


def test_a_claim_that_is_found_shows_what_was_measured():
    assert words.why(claim("holds", "", form(positive(-LEAD, "lead")), measured="lead 1e-08")) == "lead 1·10⁻⁸"


def test_the_weakest_part_is_named():
    finding = all_of(MNIST=positive(-LEAD, "lead"), CIFAR_10=positive(LEAD, "lead"))
    assert "“faster”: lead (part “CIFAR 10”): −0.2" in words.why(claim("fails", "refuted", form(finding)))


def test_an_undecided_claim_shows_its_corrected_p_value():
    text = words.why(claim("inconclusive", "too few seeds", form(positive(-LEAD, "lead"), **{"p, Holm": 0.348})))
    assert text.endswith("p after Holm 0.348, must be at most 0.025")


def test_a_corrected_form_is_called_so():
    of_form = form(positive(LEAD, "lead"))
    refuted = claim("fails", "refuted", of_form, form="corrected", forms={"claim": of_form, "corrected": of_form})
    assert words.why(refuted).startswith("“faster”: in the corrected form, lead: ")


def test_kept_controls_are_named():
    of_form = form(positive(-LEAD, "lead"))
    of_form["controls"]["shuffled labels"]["rejected"] = False
    assert words.why(claim("inconclusive", "control kept", of_form)).endswith("; not rejected: shuffled labels")


@pytest.mark.parametrize("statements", [[], ["faster"]])
def test_a_condition_that_is_not_met_is_named_with_its_measurement(statements):
    fitted = asdict(positive(LEAD, "training accuracy minus 0.9"))
    condition = {"name": "fitted", "reason": "hypothesis not met", "statements": statements, "forms": {"claim": fitted}}
    text = words.why(claim("inconclusive", "hypothesis not met", form(positive(-LEAD, "lead")), [condition]))
    assert text.startswith(
        "“faster” needs the condition “fitted”, which is not met; training accuracy minus 0.9: −0.2 "
    )


def test_a_condition_that_the_deciding_form_alone_misses_is_named():
    met, unmet = asdict(positive(-LEAD, "accuracy minus 0.9")), asdict(positive(LEAD, "accuracy minus 0.9"))
    of_form = form(positive(-LEAD, "lead"))
    forms = {"claim": of_form, "corrected": of_form}
    for deciding, by_form in (
        ("corrected", {"claim": met, "corrected": unmet}),
        ("printed", {"claim": unmet, "corrected": met}),
    ):
        condition = {"name": "fitted", "reason": "hypothesis not met", "statements": [], "forms": by_form}
        open_claim = claim("inconclusive", "hypothesis not met", of_form, [condition], form=deciding, forms=forms)
        text = words.why(open_claim)
        assert text.startswith("“faster” needs the condition “fitted”, which is not met; accuracy minus 0.9: −0.2 "), (
            deciding
        )


def test_a_condition_names_its_measure_once_and_each_value_with_its_scale_and_form():
    sure = np.array([0.2, 0.21, 0.19])
    met, unmet = asdict(positive(sure, "gradient")), asdict(positive(-sure, "gradient"))
    results = {
        "quick": {"hypotheses": [{"name": "critical", "forms": {"claim": unmet, "corrected": met}}]},
        "paper": {"hypotheses": [{"name": "critical", "forms": {"claim": unmet}}, {"name": "x", "forms": {}}]},
    }
    ((measure, values),) = words.condition_rows(results, "critical")
    assert measure == "gradient"
    assert {scale: len(lines) for scale, lines in values.items()} == {"quick": 2, "paper": 1}
    assert [line.rpartition(", ")[2] for line in values["quick"] + values["paper"]] == ["not met", "met", "not met"]
    assert values["quick"][0].startswith("−0.2 [")
    assert values["quick"][1].startswith("corrected form: 0.2 [")


def test_a_condition_of_several_data_sets_is_worded_once():
    names = {"fit": "It fits.", "fit on B": "It fits.", "critical": "No gradient."}
    hypotheses = [{"name": name, "text": text} for name, text in names.items()]
    by_text = words.hypotheses_by_text(hypotheses)
    names_by_text = {text: [hypothesis["name"] for hypothesis in alike] for text, alike in by_text.items()}
    assert names_by_text == {"It fits.": ["fit", "fit on B"], "No gradient.": ["critical"]}


def test_what_is_measured_beside_a_condition_stands_behind_it():
    met = {**asdict(positive(np.array([0.2, 0.21, 0.19]), "accuracy")), "measured": "largest loss 0.004"}
    assert words.condition(met).endswith("]; largest loss 0.004")
    results = {scale: {"hypotheses": [{"name": "fit", "forms": {"claim": met}}]} for scale in ("quick", "paper")}
    ((measure, values),) = words.condition_rows(results, "fit")
    assert measure == "accuracy"
    assert all(line.endswith(", met; largest loss 0.004") for (line,) in values.values())
    assert list(values) == ["quick", "paper"]


def test_the_total_decay_stands_behind_the_condition():
    met = {"rule": "gradient at most 0.5", "statistic": 0.3, "low": None, "high": 0.5}
    assert words.condition({**met, "total decay": {"digits": 7.7628}}).endswith("0.3; total decay 7.763")
    several = words.condition({**met, "total decay": {"1K": 0.16, "2K": 0.32}})
    assert several.endswith("; total decay 0.16 (1K), 0.32 (2K)")
    at_two_rates = words.condition({**met, "total decay": {"decay-1e-3": 78.2, "digits, decay 8e-4": 3.68}})
    assert at_two_rates.endswith("; total decay 78.2 (decay 10⁻³), 3.68 (digits, decay 8·10⁻⁴)")
    assert words.condition({**met, "total decay": {"L2": 2.0, "L3": 2.0}}).endswith("; total decay 2")
    assert "decay" not in words.condition({**met, "total decay": {}})


def test_a_condition_of_another_statement_is_not_named():
    fitted = asdict(positive(LEAD, "training accuracy minus 0.9"))
    condition = {"name": "fitted", "reason": "hypothesis not met", "statements": ["x"], "forms": {"claim": fitted}}
    undecided = claim("inconclusive", "too few seeds", form(positive(-LEAD, "lead")), [condition])
    assert words.unmet_condition(undecided, undecided["statements"][0]) is None


def test_rules_over_instances_say_what_their_number_is():
    rows = Rows(tables.table([{"arm": "claim", "quantity": "q", "value": value} for value in (2.0, 0.5)]))
    assert (
        words.why(claim("fails", "refuted", form(bound(rows))))
        == "“faster”: largest ratio of the left side to the right: 2; must be at most 1"
    )
    counted = words.why(claim("fails", "refuted", form(never(rows, "opposite sign"))))
    assert counted == "“faster”: number of times that “opposite sign” occurs: 2.5; must be 0"


@pytest.mark.parametrize(
    ("rule", "shown"),
    [
        (
            "left / right <= 1 + 1e-12 on every instance",
            "largest ratio of the left side to the right: 0.5; must be at most 1",
        ),
        (
            "for some C, left / right <= 1 + 1e-12 on every instance",
            "largest ratio of the left side to the right: 0.5; must be at most 1",
        ),
        (
            "twice the λ_k raises the rate of a layer by 1% or more: ratio <= 0.99",
            "largest ratio of rates: 0.5; must be at most 0.99",
        ),
        ("TL rises with the epoch, by Kendall's tau over 5 seeds", "Kendall’s τ: 0.5; must be above 0"),
        (
            "from every r to the next the ratio of squared distances rises: ratio <= 1 - 1e-09",
            "largest ratio of neighbours: 0.5; must be at most 1 − 1·10⁻⁹",
        ),
        ("median over Q of the distance at most 0.01", "median over Q of the distance: 0.5; must be at most 0.01"),
        (
            "trace outside: at every small ratio at most 0.99 times that at every large ratio, on every instance",
            "trace outside, largest at a small ratio over least at a large ratio: 0.5; must be at most 0.99",
        ),
        ("largest distance from a set: above 1e-09", "largest distance from a set: 0.5; must be above 1·10⁻⁹"),
        (
            "every mean within 4 standard errors of its expectation",
            "largest distance from an expectation, in standard errors: 0.5; must be at most 4",
        ),
        ("error at every minimiser at most 1e-09", "largest error: 0.5; must be at most 1·10⁻⁹"),
    ],
)
def test_a_number_in_the_table_of_a_claims_page_has_a_name(rule, shown):
    finding = Finding(True, 0.5, rule, "bound")
    of_form = {**asdict(finding), "p": None, "p_against": None, "controls": {}}
    rows = statements.form_rows({"forms": {"claim": of_form}})
    assert rows[0]["number"] == shown
    assert rows[0]["statistic"] == ("TL rises with the epoch" if "Kendall" in rule else "")


def test_a_number_without_words_of_its_own_is_named_by_its_rule():
    lead = form(positive(np.array([0.2, 0.21, 0.19]), "the lead"))
    (bare,), (told,) = (
        statements.form_rows({"forms": {"claim": of_form}}) for of_form in (lead, {**lead, "measured": "by 2"})
    )
    assert (bare["statistic"], told["statistic"]) == ("the lead", "")


def test_a_trend_is_called_kendalls():
    falling = trend(np.tile([3.0, 2.0, 1.0], (5, 1)), "TL rises with the epoch")
    text = words.why(claim("fails", "refuted", form(falling)))
    assert text == "“faster”: Kendall’s τ for “TL rises with the epoch”: −1; must be above 0"


def searched(corrected, quick, paper=None):
    results = {"quick": {"smallest violations": quick}, "paper": {"smallest violations": paper or {}}}
    return SimpleNamespace(scales_run=list(results), corrected=corrected, refuted=[], results=results)


def test_a_search_that_found_nothing_is_not_shown_of_a_print_that_does_not_hold():
    nothing = "none among 300 instances"
    assert violations(searched(True, {"claim": nothing, "corrected": nothing})) == [
        ("as corrected, quick scale", nothing)
    ]
    assert violations(searched(False, {"claim": nothing})) == [("as printed, quick scale", nothing)]
    shown = violations(searched(True, {"claim": "x = [1]: 2e+14 times"}))
    assert shown == [("as printed, quick scale", "x = [1]: 2·10¹⁴ times")]


def test_a_search_says_at_which_scale_it_was_made():
    few, many = "none among 237 instances", "none among 1299 instances"
    assert violations(searched(False, {"claim": few}, {"claim": many})) == [
        ("as printed, quick scale", few), ("as printed, paper scale", many)
    ]  # fmt: skip
    assert violations(searched(False, {"claim": few}, {"claim": few})) == [("as printed, quick and paper scales", few)]


def test_a_control_that_passes_in_a_few_parts_names_them_and_in_many_counts_them():
    control = {"rejected": False, "undecided": False, "kept": ["ReLU, layer_1", "tanh, layer_1"]}
    assert controls.rejection(control) == "not rejected; it passes in “ReLU, layer 1”, “tanh, layer 1”"
    assert controls.rejection(control | {"kept": ["part"] * 9}) == "not rejected; it passes in 9 parts"
    assert controls.rejection(control | {"rejected": True, "kept": ["a"]}) == "rejected; it passes in “a” alone"


def test_a_control_that_passes_in_all_parts_before_holms_correction_does_not_pass_in_them_alone():
    passing = {"layer_1": part(0.02, 0.01, True), "layer_2": part(0.03, 0.01, True)}
    control = {"rejected": True, "undecided": True, "kept": list(passing), "certain": True, "parts": passing}
    farther = "rejected, significantly farther off than the claim"
    assert controls.rejection(control) == f"{farther}; before Holm’s correction it passes in “layer 1”, “layer 2”"
    one_part = controls.rejection(control | {"kept": ["layer_1"]})
    assert one_part == f"{farther}; it passes in “layer 1” alone"


def part(statistic: float, half: float | None, holds: bool | None) -> dict:
    low, high = (None, None) if half is None else (statistic - half, statistic + half)
    return {"statistic": statistic, "low": low, "high": high, "holds": holds, "p": 0.3, "evidence": "direction",
            "rule": "x, mean over 5 seeds", "parts": {}}  # fmt: skip


def test_a_control_that_is_farther_off_names_the_part_in_which_it_is():
    """Control and claim each show their weakest part, so that the shown number of the control may be the nearer one."""

    def said(farther_off: list[str], weakest: str) -> str:
        parts = {"layer_1": part(0.02, 0.05, None), "layer_2": part(-0.01, 0.05, None), "layer_3": part(0.9, 0.1, True)}
        ours = {"layer_1": part(0.9, 0.05, True), "layer_2": part(0.3, 0.05, None), "layer_3": part(0.9, 0.1, True)}
        control = {"rejected": True, "undecided": True, "kept": [], "farther off": farther_off, "part": "layer_2",
                   "parts": parts}  # fmt: skip
        return controls.rejection(control, {"part": weakest, "parts": ours})

    farther = "rejected, significantly farther off than the claim"
    assert said(["layer_1"], "layer_2") == farther + " in “layer 1” (0.02 against 0.9)"
    assert said(["layer_1", "layer_2"], "layer_2") == farther  # the shown parts are a pair that differs
    assert said(["layer_1", "layer_2"], "layer_1") == farther + " in “layer 2” (−0.01 against 0.3)"
    alone = {"rejected": True, "undecided": True, "kept": [], "farther off": [""], **part(0.0, 0.1, None)}
    assert controls.rejection(alone, part(0.9, 0.1, True)) == controls.rejection(alone) == farther
    shown = alone | {"farther off": ["a"], "part": "a", "parts": {"a": part(0.0, 0.1, None)}}
    assert controls.rejection(shown, {"part": "a", "parts": {"a": part(0.9, 0.1, True)}}) == farther
    inner, ours = shown | {"farther off": ["b, a"], "part": ""}, {"part": "a", "parts": {"a": part(0.9, 0.1, True)}}
    nested = inner | {"parts": {"b": {"parts": inner["parts"]}}}
    assert controls.rejection(nested, {"parts": {"b": ours}}) == farther + " in “b, a” (0 against 0.9)"
    kept = alone | {"rejected": False, "farther off": []}
    assert controls.rejection(kept, part(0.9, 0.1, True)) == "not rejected, as undecided"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("decay-1e-3: FACT 0.872; decay-1e-4: FACT 0.7", "decay 10⁻³: FACT 0.872; decay 10⁻⁴: FACT 0.7"),
        ("5K, root enfa: 0.7277", "5K, √eNFA: 0.7277"),
        ("digits, decay 4e-4, fact, low", "digits, decay 4·10⁻⁴, FACT, low"),
        ("each of cifar10-jpeg, laplace, fourier; mnist, gaussian, relu", "each of CIFAR-10 (JPEG), Laplace kernel, "
         "Fourier features; MNIST, Gaussian kernel, ReLU features"),
        ("pearson/root enfa and null/fact, in fact, it is", "pearson/root enfa and null/fact, in fact, it is"),
    ],
)  # fmt: skip
def test_names_of_the_tables_are_shown_in_the_words_of_the_field(text, shown):
    assert typeset(text) == shown


def test_a_part_that_repeats_the_name_around_it_is_named_once():
    inner = {"part": "ReLU², digits", "parts": {"ReLU², digits": {}, "ReLU², staircase": {}}}
    assert words.part_names({"part": "ReLU²", "parts": {"ReLU²": inner, "ReLU": {}}}) == ["ReLU², digits"]
    assert words.part_names({"part": "slope", "parts": {"slope": inner, "end": {}}}) == ["slope", "ReLU², digits"]


def test_both_forms_of_a_statement_are_told():
    against = form(positive(np.array([-0.2, -0.21, -0.19]), "lead"))
    undecided = form(positive(np.array([0.3, -0.2, 0.1]), "lead"))
    refuted = claim("fails", "refuted", against, form="corrected", forms={"claim": undecided, "corrected": against})
    assert statements.outcomes_in_forms(refuted) == "as printed undecided, corrected refuted"
    assert words.why(refuted).partition(". As printed it is ")[2].startswith("undecided: 0.06667 [")
    rows = statements.form_rows(refuted["statements"][0])
    assert [(row["form"], row["outcome"]) for row in rows] == [("as printed", "undecided"), ("corrected", "refuted")]
    assert rows[1]["number"] == "−0.2; must be above 0"
    assert rows[1]["interval"].startswith("[−0.")
    assert "against: " in rows[1]["p"]
    assert "against: " not in rows[0]["p"]


def test_a_control_that_cannot_break_a_statement_stands_beside_the_reason():
    accepted = form(positive(-LEAD, "lead"))
    accepted["controls"]["shuffled labels"]["rejected"] = False
    waived = claim("holds", "", accepted, **{"stands in": "A null does.", "kind": "asserted", "rejecting controls": []})
    lines = statements.control_lines(waived["statements"][0])
    assert len(lines) == 2
    assert "not rejected" in lines[0]
    assert lines[1] == "No rejected control is needed: A null does."
    assert controls.waived(waived) == waived["statements"]


def test_a_condition_without_a_measure_has_its_numbers_typeset():
    text = words.condition({"rule": "distance <= 1e-08 at every seed", "statistic": 2e-13, "low": None, "high": 1e-8})
    assert text == "distance ≤ 10⁻⁸ at every seed: 2.0·10⁻¹³ (must be at most 1.0·10⁻⁸)"


def test_a_claim_counts_the_controls_that_some_statement_rejects_and_names_the_statement_that_rejects_none():
    reasons = {"high": "", "late": "too few seeds", "early": "control kept"}
    judged = [{"name": name, "kind": "asserted", "reason": reason, "forms": {"claim": {}}, "stands in": "",
               "rejecting controls": []} for name, reason in reasons.items()]  # fmt: skip
    of_claim = {"controls": {"no training": {"rejected": True}, "random K": {"rejected": False}}, "statements": judged}
    assert controls.controls(of_claim) == "1 of 2 rejected, but none by “early”; not rejected: random K"
