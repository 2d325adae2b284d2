"""Findings and verdicts: planted truths and falsehoods, controls, forms, hypotheses, and Holm's correction."""

import json

import numpy as np
import pytest
from helpers import rejects
from planted_claims import claim, rows, statement, table

from tasks.judging.finding import find, held_parts
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, equals, equivalent, positive
from tasks.judging.statement import Control, Hypothesis
from tasks.judging.verdict import correct, judge

UP, DOWN, OPEN, NONE = [1.0, 1.1, 1.2], [-1.0, -1.1, -1.2], [-1.0, 0.1, 1.3], [-0.1, 0.0, 0.12]


def judged(module, table_rows: list[dict], seeds: int = 3) -> dict:
    finding = find(module, "A", rows(table_rows), "e", "quick", {seeds})
    return judge({"a_test": json.loads(json.dumps(finding))})["a_test"]


def verdict(printed: list[float], control: list[float], corrected: list[float] | None = None) -> dict:
    arms = {"claim": printed, "control: broken": control, **({"corrected": corrected} if corrected else {})}
    return judged(claim(), table(arms))


@pytest.mark.parametrize(
    ("arms", "wanted"),
    [
        ((UP, DOWN), ("holds", "")),
        ((UP, NONE), ("holds", "")),  # not found of the control, which is unlike the claim
        ((UP, OPEN), ("inconclusive", "control kept")),  # not found, but it could be just like the claim
        ((UP, [2.0, 2.1, 2.3]), ("inconclusive", "control kept")),  # a check that cannot fail shows nothing
        ((DOWN, [-2.0, -2.1, -2.2]), ("fails", "refuted")),
        ((OPEN, DOWN), ("inconclusive", "too few seeds")),
        ((DOWN, [-2.0, -2.1, -2.2], UP), ("holds corrected", "")),
        ((DOWN, [2.0, 2.1, 2.2], UP), ("inconclusive", "control kept")),
        ((DOWN, [-2.0, -2.1, -2.2], [-3.0, -3.1, -3.3]), ("fails", "refuted")),
        ((OPEN, [-2.0, -2.1, -2.2], DOWN), ("fails", "refuted")),  # the corrected form decides, both ways
        ((DOWN, [-2.0, -2.1, -2.2], OPEN), ("inconclusive", "too few seeds")),
    ],
)
def test_verdict_and_reason(arms, wanted):
    result = verdict(*arms)
    assert (result["verdict"], result["reason"]) == wanted


@pytest.mark.parametrize(
    ("control", "undecided"), [(DOWN, False), ([2.0, 2.1, 2.3], False), (NONE, True), (OPEN, True)]
)
def test_a_control_that_its_rule_neither_supports_nor_refutes_is_undecided(control, undecided):
    """Whether it is rejected is another question: NONE is rejected, since it is unlike the claim."""
    (only,) = verdict(UP, control)["statements"]
    assert only["forms"]["claim"]["controls"]["broken"]["undecided"] is undecided


@pytest.mark.parametrize("other", [UP, OPEN])
def test_a_rule_over_all_runs_is_open_where_some_runs_show_it(other):
    """More seeds cannot decide it, whether or not a part beside it is undecided too."""

    def in_all_or_none(measured: Rows) -> Finding:
        share = float(np.mean(measured.where(quantity="q").value > 0))
        return Finding({1.0: True, 0.0: False}.get(share), share, "above 0 in all seeds; fails if in none", "direction")

    def both(measured: Rows) -> Finding:
        return all_of(runs=in_all_or_none(measured), mean=positive(np.array(other), "mean"))

    result = judged(claim([statement(rule=both)]), table({"claim": OPEN, "control: broken": DOWN}))
    assert (result["verdict"], result["reason"]) == ("inconclusive", "seeds disagree")


def test_each_form_is_set_against_its_own_controls():
    """The print is kept by its control; the corrected form is broken by a control of its own."""
    arms = {"claim": UP, "control: c": [1.0, 1.15, 1.2], "corrected": [2.0, 2.1, 2.2], "control: c, corrected": DOWN}
    result = judged(claim(), table(arms))
    assert (result["verdict"], result["statements"][0]["form"]) == ("holds corrected", "corrected")
    assert result["controls"] == {"c, corrected": {"rejected": True, "by": ["first"]}}


def test_asserted_statements_alone_decide():
    statements = [
        statement("first"),
        statement("second", reads=("r",)),
        statement("sharper", kind="ours", reads=("s",)),
        statement("level", kind="printed level", reads=("t",), scales=("paper",)),
    ]
    arms = {"claim": UP, "control: broken": DOWN}
    table_rows = table(arms) + table(arms, "r") + table({"claim": DOWN, "control: broken": [-2.0, -2.1, -2.3]}, "s")
    result = judged(claim(statements), table_rows)
    assert (result["verdict"], result["supported"], result["asserted"]) == ("holds", 2, 2)
    by_name = {statement["name"]: (statement["verdict"], statement["reason"]) for statement in result["statements"]}
    assert by_name["sharper"] == ("fails", "refuted")
    assert by_name["level"] == ("not judged", "reduced too far")
    refuted = table(arms) + table({"claim": DOWN, "control: broken": [-2.0, -2.1, -2.3]}, "r") + table(arms, "s")
    result = judged(claim(statements), refuted)
    assert (result["verdict"], result["reason"], result["supported"]) == ("fails", "refuted", 1)


def test_every_statement_needs_a_control_that_breaks_it():
    """The only control breaks the first statement; the second says what stands in its place, or is inconclusive."""
    table_rows = table({"claim": UP, "control: c": DOWN}) + table({"claim": UP, "control: c": [1.0, 1.1, 1.3]}, "r")
    second = {"name": "second", "reads": ("r",)}
    result = judged(claim([statement(), statement(**second)]), table_rows)
    assert (result["verdict"], result["reason"]) == ("inconclusive", "control kept")
    assert judged(claim([statement(), statement(**second, stands_in="a null")]), table_rows)["verdict"] == "holds"


@pytest.mark.parametrize("reason", ["hypothesis not met", "reduced too far"])
def test_an_unmet_hypothesis_is_never_a_failure(reason):
    hypothesis = Hypothesis("fitted", "it fits", lambda rows: positive(rows.value - 0.9, "accuracy"), ("fit",), reason)
    poor, good = ([level, level + 0.01, level + 0.02] for level in (0.5, 0.95))
    for values in (UP, DOWN):
        arms = {"claim": values, "control: broken": [-2.0, -2.1, -2.3]}
        unmet = judged(claim(hypotheses=[hypothesis]), table(arms) + table({"claim": poor}, "fit"))
        assert (unmet["verdict"], unmet["reason"]) == ("inconclusive", reason)
        missing = judged(claim(hypotheses=[hypothesis]), table(arms))
        assert (missing["verdict"], missing["reason"]) == ("inconclusive", "table out of date")
        met = judged(claim(hypotheses=[hypothesis]), table(arms) + table({"claim": good}, "fit"))
        assert met["verdict"] == ("holds" if values is UP else "fails")


def test_a_control_that_every_statement_keeps():
    """A second control breaks the statement; the first, which none breaks, leaves the claim inconclusive."""
    arms = {"claim": UP, "control: kept": [1.0, 1.15, 1.2], "control: broken": DOWN}
    result = judged(claim(), table(arms))
    assert (result["verdict"], result["reason"], result["supported"]) == ("inconclusive", "control kept", 1)


def test_a_claim_whose_statement_no_control_reads():
    """What stands in for a control does so for a statement; a claim without any control shows nothing."""
    table_rows = table({"claim": UP}) + table({"claim": UP, "control: broken": DOWN}, "r")
    controls = {"broken": Control(has=("r",))}
    only = claim([statement(stands_in="a null"), statement("sharper", kind="ours", reads=("r",))], controls=controls)
    result = judged(only, table_rows)
    assert (result["verdict"], result["reason"], result["supported"]) == ("inconclusive", "control kept", 1)


def test_the_printed_form_decides_where_it_is_found():
    result = verdict(UP, DOWN, [2.0, 2.1, 2.2])
    assert (result["verdict"], result["statements"][0]["form"]) == ("holds", "printed")


def test_the_corrected_form_decides_where_the_printed_settings_miss_a_hypothesis():
    fitted = Hypothesis("fitted", "it fits", lambda rows: positive(rows.value - 0.9, "q"), ("fit",))
    arms = {"claim": UP, "control: broken": DOWN, "corrected": [2.0, 2.1, 2.2]}
    fit = table({"claim": [0.5, 0.51, 0.52], "corrected": [0.95, 0.96, 0.97]}, "fit")
    result = judged(claim(hypotheses=[fitted]), table(arms) + fit)
    assert (result["verdict"], result["statements"][0]["form"]) == ("holds corrected", "corrected")


def test_a_hypothesis_concerns_the_statements_that_it_names():
    poor = Hypothesis(
        "fitted", "it fits", lambda rows: positive(rows.value - 0.9, "q"), ("fit",), statements=("second",)
    )
    both = [statement(), statement("second", kind="ours", reads=("r",))]
    arms = {"claim": UP, "control: broken": DOWN}
    table_rows = table(arms) + table(arms, "r") + table({"claim": [0.5, 0.51, 0.52]}, "fit")
    result = judged(claim(both, [poor]), table_rows)
    assert [statement["verdict"] for statement in result["statements"]] == ["holds", "inconclusive"]
    assert result["verdict"] == "holds"


def test_an_undecided_control_is_rejected_by_a_part_that_is_unlike_the_claims():
    def two(first, second):
        return all_of(first=positive(np.array(first), "q"), second=positive(np.array(second), "q"))

    printed = two(UP, UP)
    assert rejects(two(UP, DOWN), printed)
    assert rejects(two(UP, NONE), printed)
    assert not rejects(two(UP, OPEN), printed)
    assert rejects(two(NONE, OPEN), printed)
    assert not rejects(two(UP, UP), printed)
    assert not rejects(Finding(None, 0.0, "no sample", "direction"), printed)
    assert held_parts(all_of(a=two(UP, NONE), b=positive(np.array(UP), "q"))) == ["a, first", "b"]


def test_an_undecided_control_must_fall_short_of_the_claim():
    """By Welch's test each is unlike the claim; nearer to what the rule asks than the claim, it is not rejected."""
    spread = np.array([-0.2, -0.1, 0.0, 0.1, 0.2])
    for rule, middle, claims in (
        (positive, 0.05, {1.0: True, -1.0: False}),
        (lambda values, label: equivalent(values, 1.0, label), -0.95, {0.0: True, 5.0: False, -3.0: False}),
        (lambda values, label: equals(values, 7.0, 1.0), 7.6, {7.0: True, 9.0: False, 3.0: False}),
    ):
        control = rule(middle + spread, "q")
        assert control.holds is None
        for mean, rejected in claims.items():
            assert rejects(control, rule(mean + spread, "q")) is rejected


def test_a_claim_without_rows_has_not_run_and_counts_its_statements():
    for needs, reason in (("It needs faces.", "data or machine not here"), ("", "takes too long here")):
        module = claim([statement(), statement("second"), statement("third", kind="ours")], needs=needs)
        finding = find(module, "A", rows(table({"control: broken": UP})), "e", "quick", {3})
        assert (finding["ran"], finding["tests"]) == (False, 2)
        result = judge({"a_test": finding})["a_test"]
        assert (result["verdict"], result["reason"]) == ("not run", reason)
        quoted = [tuple(map(entry.get, ("name", "quote", "verdict", "reason"))) for entry in result["statements"]]
        assert quoted == [(name, "a quotation", "not judged", reason) for name in ("first", "second", "third")]
        # programs that read claims.json find the keys of a statement that is judged
        assert [(entry["rule"], entry["numbers"]) for entry in result["statements"]] == [("", {})] * 3


@pytest.mark.parametrize(
    ("data_sets", "reason"),
    [((), "table out of date"), (("digits",), "table out of date"), (("MNIST",), "reduced too far")],
)
def test_a_claim_whose_table_lacks_its_numbers_waits_for_a_new_table_or_for_data(data_sets, reason):
    """The table has other numbers, on the digits."""
    other = table({"claim": UP, "control: broken": DOWN}, "other", case="digits")
    result = judged(claim([statement(data_sets=data_sets)]), other)
    assert (result["verdict"], result["reason"]) == ("not run", reason)


@pytest.mark.parametrize(
    ("scale", "asked_at", "data_sets", "needs", "reason"),
    [
        ("quick", "paper", (), "", "reduced too far"),
        ("paper", "quick", (), "", "table out of date"),
        ("quick", "paper", ("MNIST",), "", "reduced too far"),
        ("quick", "quick", ("MNIST",), "", "reduced too far"),
        ("quick", "quick", ("weight_decay=0.75",), "It needs faces.", "reduced too far"),
        ("paper", "paper", ("CIFAR-100",), "", "takes too long here"),  # which can be had, and takes too long here
        ("paper", "paper", ("CelebA",), "It needs CelebA.", "data or machine not here"),
        ("paper", "quick", ("CIFAR-100",), "", "takes too long here"),
    ],
)
def test_why_a_statement_of_another_scale_or_of_other_data_is_not_judged(scale, asked_at, data_sets, needs, reason):
    module = claim([statement(), statement("second", scales=(asked_at,), data_sets=data_sets)], needs=needs)
    table_rows = [{**row, "scale": scale} for row in table({"claim": UP, "control: broken": DOWN}, case="digits")]
    result = judge({"a_test": find(module, "A", rows(table_rows), "e", scale, {3})})["a_test"]
    assert [statement["reason"] for statement in result["statements"]] == ["", reason]


@pytest.mark.parametrize(("scale", "listed"), [("quick", ["first", "on digits"]), ("paper", ["first"])])
def test_a_statement_on_digits_alone_has_no_place_at_the_papers_scale(scale, listed):
    module = claim([statement("first"), statement("on digits", kind="ours", data_sets=("digits",))])
    case = "digits" if scale == "quick" else "MNIST"
    table_rows = [{**row, "scale": scale} for row in table({"claim": UP, "control: broken": DOWN}, case=case)]
    for found in (rows(table_rows), rows([{**row, "quantity": "other"} for row in table_rows])):
        finding = find(module, "A", found, "e", scale, {3})
        assert [entry["name"] for entry in judge({"a_test": finding})["a_test"]["statements"]] == listed


def form(p: float | None, p_against: float | None = None, certain: bool | None = True) -> dict:
    return {"p": p, "p_against": 1.0 if p_against is None else p_against, "certain": certain, "statistic": 1.0,
            "low": 0.0, "high": 2.0, "rule": "r", "measured": "", "evidence": "direction", "numbers": {},
            "controls": {"c": {"p": 1.0, "p_against": 1e-9, "certain": True, "farther off": []}}}  # fmt: skip


def finding(*forms: dict, ran: bool = True) -> dict:
    names = ("claim", "corrected")
    only = {"name": "first", "kind": "asserted", "stands in": "", "forms": dict(zip(names, forms, strict=False)),
            "lacks its corrected form": False}  # fmt: skip
    return {"ran": ran, "tests": 1, "hypotheses": [], "statements": [only] if ran else []}


def test_holms_correction_is_over_the_statements_of_a_paper():
    verdicts = judge({"x": finding(form(0.001)), "y": finding(form(0.02)), "z": finding(form(0.3))})
    assert [verdict["verdict"] for verdict in verdicts.values()] == ["holds", "inconclusive", "inconclusive"]
    corrected = [verdict["statements"][0]["forms"]["claim"]["p, Holm"] for verdict in verdicts.values()]
    assert corrected == pytest.approx([0.003, 0.04, 0.3])
    assert judge({"x": finding(form(0.02))})["x"]["verdict"] == "holds"
    # a corrected form is a second chance, and counts; so do claims that wait, and claims that did not run
    for verdicts in (
        judge({"x": finding(form(0.02), form(0.5))}),
        judge({"x": finding(form(0.02))}, waiting=1),
        judge({"x": finding(form(0.02)), "y": finding(ran=False)}),
    ):
        assert verdicts["x"]["verdict"] == "inconclusive"
        assert verdicts["x"]["statements"][0]["forms"]["claim"]["p, Holm"] == pytest.approx(0.04)


def test_a_statement_that_is_not_judged_counts_as_a_test_wherever_it_is():
    """The p-values are 0.001, 0.004, 0.009 and 0.02; two more asserted statements have no number, so Holm counts six.

    By hand: 6 * 0.001 = 0.006, 5 * 0.004 = 0.02, 4 * 0.009 = 0.036, 3 * 0.02 = 0.06. Of four tests the largest two
    would be 2 * 0.009 = 0.018 and 1 * 0.02 = 0.02.
    """
    findings = {"x": finding(form(0.001), form(0.02)), "y": finding(form(0.004)), "z": finding(form(0.009))}
    open_ones = [{"name": name, "kind": kind, "stands in": "", "forms": {}, "unjudged": "table out of date"}
                 for name, kind in (("second", "asserted"), ("third", "asserted"), ("fourth", "ours"),
                                    ("fifth", "printed level"))]  # fmt: skip
    findings["x"]["statements"] += open_ones[:1] + open_ones[2:]
    findings["z"]["statements"] += open_ones[1:2]
    forms = [form for key in "xyz" for form in judge(findings)[key]["statements"][0]["forms"].values()]
    assert [form["p, Holm"] for form in forms] == pytest.approx([0.006, 0.06, 0.02, 0.036])
    # it makes no difference whether the rest of its claim ran
    elsewhere = {**{key: finding(form(p)) for key, p in {"u": 0.001, "v": 0.02, "y": 0.004, "z": 0.009}.items()},
                 "w": {**finding(ran=False), "tests": 2}}  # fmt: skip
    alone = [judge(elsewhere)[key]["statements"][0]["forms"]["claim"]["p, Holm"] for key in "uvyz"]
    assert alone == pytest.approx([0.006, 0.06, 0.02, 0.036])


def test_refutations_are_corrected_too():
    assert judge({"x": finding(form(0.98, 0.02))})["x"]["verdict"] == "fails"
    verdicts = judge({"x": finding(form(0.98, 0.02)), "y": finding(form(0.5, 0.5))})
    assert [verdict["verdict"] for verdict in verdicts.values()] == ["inconclusive", "inconclusive"]
    # a refutation without chance needs no correction, nor does a support without chance
    assert judge({"x": finding(form(0.98, 0.02)), "y": finding(form(1e-9, certain=False))})["y"]["verdict"] == "fails"
    assert judge({"x": finding(form(0.5)), "y": finding(form(None))})["y"]["verdict"] == "holds"


def test_statements_of_ours_are_no_tests_of_the_paper():
    """Holm's count is of the asserted statements; ours beside them do not make it larger."""
    both = finding(form(0.02))
    both["statements"].append({**both["statements"][0], "name": "ours", "kind": "ours", "forms": {"claim": form(0.5)}})
    assert judge({"x": both})["x"]["verdict"] == "holds"


def test_the_corrected_form_decides_where_the_print_does_not_survive_holm():
    verdicts = judge({"x": finding(form(0.02), form(1e-5)), "y": finding(form(0.5))})
    assert verdicts["x"]["verdict"] == "holds corrected"
    assert judge({"x": finding(form(0.02), form(0.4))})["x"]["verdict"] == "inconclusive"


def test_holm_against_a_count_by_hand():
    random = np.random.default_rng(0)
    for _ in range(20):
        pairs = random.uniform(0, [0.05, 1.0], size=(6, 2)).tolist()
        forms = [{"p": p, "controls": {"c": {"p": q}, "no chance": {"p": None}}} for p, q in pairs]
        correct(forms, "p", others=2)
        ranked = sorted(forms, key=lambda form: form["p"])
        wanted = [max(min(1.0, (8 - k) * ranked[k]["p"]) for k in range(rank + 1)) for rank in range(6)]
        assert [form["p, Holm"] for form in ranked] == pytest.approx(wanted)
        of_controls = [min(1.0, (8 - rank) * form["controls"]["c"]["p"]) for rank, form in enumerate(ranked)]
        assert [form["controls"]["c"]["p, Holm"] for form in ranked] == pytest.approx(of_controls)
        assert all(form["controls"]["no chance"] == {"p": None} for form in forms)


def test_parts_of_a_statement_are_an_intersection_and_a_union():
    """That all parts hold needs no correction; that a part is refuted is multiplied by their number."""
    holds = [positive(np.array(UP) + shift, "q") for shift in (0.0, 0.3)]
    both = all_of(a=holds[0], b=holds[1])
    assert both.p == max(part.p for part in holds)
    refuted = positive(np.array([-0.2, -0.3, -0.25]), "q")
    assert refuted.holds is False
    parts = {str(index): holds[0] for index in range(9)}
    several = all_of(refuted=refuted, **parts)
    assert several.p_against == pytest.approx(10 * refuted.p_against)
    assert several.holds is None
    assert all_of(a=holds[0], b=Finding(False, 1.0, "exact", "exact")).holds is False
    assert all_of(a=holds[0], b=Finding(None, 1.0, "exact", "exact")).holds is None


def test_rows_are_read_by_statement():
    """A control without a quantity that a statement reads is no control of that statement."""
    statements = [statement("both", lambda rows: positive(rows.where(quantity="r").value, "r"), reads=("q", "r"))]
    table_rows = table({"claim": UP, "control: c": DOWN}) + table({"claim": UP, "control: d": DOWN}, "r")
    controls = {"c": Control(has=("q",)), "d": Control(has=("r",))}
    result = judged(claim(statements, controls=controls), table_rows)
    assert (result["verdict"], result["controls"]) == ("inconclusive", {})
    assert isinstance(rows(table_rows), Rows)


@pytest.mark.parametrize(
    ("printed", "control", "wanted"),
    [
        (DOWN, [-2.0, -2.1, -2.2], ("inconclusive", "table out of date")),
        (OPEN, DOWN, ("inconclusive", "table out of date")),
        (UP, [1.0, 1.15, 1.2], ("inconclusive", "table out of date")),  # its control is kept
        (UP, DOWN, ("holds", "")),
    ],
)
def test_a_print_is_not_refuted_by_a_table_that_is_older_than_its_correction(printed, control, wanted):
    """The corrected form decides a print that is not found; a table without it decides nothing."""
    table_rows = table({"claim": printed, "control: broken": control})
    result = judged(claim(correction="It is sharper."), table_rows)
    assert (result["verdict"], result["reason"]) == wanted
    of_the_print = [
        claim([statement(forms=("claim",))], correction="It concerns another statement."),
        claim([statement(corrected_at=("paper",))], correction="The quick settings need none."),
        claim(),
    ]
    for module in of_the_print:
        assert judged(module, table_rows)["reason"] != "table out of date"


def test_a_statement_on_a_data_set_that_is_not_here_is_not_judged():
    about_two = [statement("here", data_sets=("digits",)), statement("elsewhere", data_sets=("MNIST",))]
    arms = {"claim": UP, "control: broken": DOWN}
    result = judged(claim(about_two), table(arms, case="digits"))
    assert (result["verdict"], result["supported"], result["asserted"]) == ("holds", 1, 2)
    assert [statement["verdict"] for statement in result["statements"]] == ["holds", "not judged"]
    assert judged(claim(about_two[1:]), table(arms, case="digits"))["verdict"] == "not run"
