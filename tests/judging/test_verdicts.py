"""Findings and verdicts: planted truths and falsehoods, controls, and Holm's correction."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from gramlab import tables
from tasks.judging.finding import find, held_parts, rejects
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding, all_of, bound, equals, equivalent, positive
from tasks.judging.verdict import judge


def rows(table: list[dict]) -> Rows:
    return Rows(tables.table([{"arm": "claim", "quantity": "q", **row} for row in table]))


def verdict(claim: list[float], control: list[float], corrected: list[float] | None = None) -> dict:
    arms = {"claim": claim, "control: broken": control, **({"corrected": corrected} if corrected else {})}
    table_rows = rows(
        [
            {"arm": arm, "seed": seed, "value": value}
            for arm, values in arms.items()
            for seed, value in enumerate(values)
        ]
    )
    check = SimpleNamespace(
        __name__="a_test",
        __doc__="A test.",
        ID="A.test",
        KIND="statistical",
        TITLE="T",
        PRINTED="p",
        CORRECTION="c",
        QUANTITIES=("q",),
        rule=lambda rows: positive(rows.value, "q"),
    )
    return judge({"a_test": json.loads(json.dumps(find(check, "A", table_rows)))})["a_test"]


UP, DOWN, OPEN, NONE = [1.0, 1.1, 1.2], [-1.0, -1.1, -1.2], [-1.0, 0.1, 1.3], [-0.1, 0.0, 0.12]


def test_verdicts():
    assert verdict(UP, DOWN)["verdict"] == "holds"
    assert verdict(UP, NONE)["verdict"] == "holds"  # not found of the control, which is unlike the claim
    assert verdict(UP, OPEN)["verdict"] == "inconclusive"  # not found, but it could be just like the claim
    assert verdict(UP, UP)["verdict"] == "inconclusive"  # a check that cannot fail shows nothing
    assert verdict(DOWN, DOWN)["verdict"] == "fails"
    assert verdict(OPEN, DOWN)["verdict"] == "inconclusive"
    assert verdict(DOWN, DOWN, UP)["verdict"] == "holds corrected"
    assert verdict(DOWN, UP, UP)["verdict"] == "inconclusive"
    assert verdict(DOWN, DOWN, DOWN)["verdict"] == "fails"
    assert verdict(UP, DOWN)["control"] == {"name": "broken", "statistic": pytest.approx(-1.1), "rejected": True}
    assert not verdict(UP, UP)["control"]["rejected"]


def test_an_undecided_control_is_rejected_by_a_part_that_is_unlike_the_claims():
    def two(one, other):
        return all_of(one=positive(np.array(one), "q"), other=positive(np.array(other), "q"))

    claim = two(UP, UP)
    assert rejects(two(UP, DOWN), claim)
    assert rejects(two(UP, NONE), claim)
    assert not rejects(two(UP, OPEN), claim)
    assert rejects(two(NONE, OPEN), claim)
    assert not rejects(two(UP, UP), claim)
    assert not rejects(Finding(None, 0.0, "no sample", "direction"), claim)
    assert held_parts(all_of(a=two(UP, NONE), b=positive(np.array(UP), "q"))) == ["a, one", "b"]


def test_an_undecided_control_must_fall_short_of_the_claim():
    """By Welch's test each is unlike the claim; nearer to what the rule asks than the claim, it is not rejected."""
    spread = np.array([-0.2, -0.1, 0.0, 0.1, 0.2])
    for rule, middle, claims in (
        (positive, 0.05, {1.0: True, -1.0: False}),
        (lambda values, what: equivalent(values, 1.0, what), -0.95, {0.0: True, 5.0: False, -3.0: False}),
        (lambda values, what: equals(values, 7.0, 1.0), 7.6, {7.0: True, 9.0: False, 3.0: False}),
    ):
        control = rule(middle + spread, "q")
        assert control.holds is None
        for mean, rejected in claims.items():
            assert rejects(control, rule(mean + spread, "q")) is rejected


def test_a_claim_without_rows_was_not_run():
    check = SimpleNamespace(ID="Z.one", TITLE="one", QUANTITIES=("one/there",), rule=None, __name__="one")
    finding = find(check, "Z", rows([{"quantity": "two/there", "value": 1.0}]))
    assert finding == {"id": "Z.one", "title": "one", "ran": False}
    assert judge({"z_one": finding}) == {}


def test_a_misspelt_control_is_not_passed_over():
    made = [{"arm": arm, "seed": seed} for arm in ("claim", "control: a", "contrl: b") for seed in range(3)]
    check = SimpleNamespace(__name__="a_test", QUANTITIES=("q",), rule=lambda rows: positive(rows.value, "q"))
    with pytest.raises(ValueError, match=r"a_test: no arm 'contrl: b'"):
        find(check, "A", rows([{**row, "value": 1.0 + row["seed"]} for row in made]))


def test_each_part_has_a_line_with_its_own_verdict():
    """Of two parts one needs its correction; the control breaks the other one alone."""

    def two(rows_: Rows) -> Finding:
        return all_of(**{name: bound(rows_.where(case=name)) for name in ("one", "two")})

    ends = {"claim": (0.5, 2.0), "corrected": (0.5, 0.5), "control: c": (2.0, 0.5)}
    made = [
        {"arm": arm, "case": case, "value": value}
        for arm, pair in ends.items()
        for case, value in zip(("one", "two"), pair, strict=True)
    ]
    check = SimpleNamespace(ID="A.x", KIND="bound", TITLE="", PRINTED="", QUANTITIES=("q",), CORRECTION="", rule=two,
                            FORMS={"two": ("p", "d")}, __doc__="", __name__="x")  # fmt: skip
    finding = find(check, "A", rows(made))
    assert (finding["holds"], finding["form"]) == (True, "corrected")
    one, other = finding["lines"]
    assert (one["verdict"], one["control"], one["forms"]) == ("holds", "rejected", [])
    assert (other["verdict"], other["control"], other["forms"]) == ("holds corrected", "not rejected", ["p", "d"])
    assert (other["printed"]["statistic"], other["corrected"]["statistic"]) == (2.0, 0.5)


def test_a_check_without_a_control_is_no_check():
    check = SimpleNamespace(__name__="a_test", QUANTITIES=("q",), rule=lambda rows: positive(rows.value, "q"))
    with pytest.raises(ValueError, match="no control"):
        find(check, "A", rows([{"value": 1.0}, {"value": 2.0}]))


def finding(p: float, **more) -> dict:
    """A finding that supports its claim and rejects its control."""
    return {"ran": True, "holds": True, "form": "printed", "p": p, "rule": "r", "corrected form": None,
            "control": {"rejected": True}, "printed form": {"holds": True}, **more}  # fmt: skip


def test_holms_correction_is_over_the_claims_of_a_paper():
    verdicts = judge({"one": finding(0.001), "two": finding(0.02), "three": finding(0.3, holds=None)})
    assert [claim["verdict"] for claim in verdicts.values()] == ["holds", "inconclusive", "inconclusive"]
    assert [claim["p, Holm"] for claim in verdicts.values()] == pytest.approx([0.003, 0.04, 0.3])
    assert "Holm's correction over 3 forms" in verdicts["two"]["rule"]
    assert judge({"one": finding(0.02)})["one"]["verdict"] == "holds"
    # a corrected form is a second chance, and counts; so do claims that wait, and claims that did not run
    (twice,) = judge({"one": finding(0.02, **{"corrected form": {"holds": False}})}).values()
    assert (twice["verdict"], twice["p, Holm"]) == ("inconclusive", pytest.approx(0.04))
    for verdicts in (judge({"one": finding(0.02)}, waiting=1), judge({"one": finding(0.02), "two": {"ran": False}})):
        assert (verdicts["one"]["verdict"], verdicts["one"]["p, Holm"]) == ("inconclusive", pytest.approx(0.04))


def test_a_corrected_form_is_judged_where_the_print_does_not_survive_holm():
    form = {"what": "w", "holds": True, "statistic": 5.0, "low": 4.0, "high": 6.0, "p": 1e-5, "rule": "r",
            "numbers": {}, "evidence": "direction", "measured": "", "part": ""}  # fmt: skip
    verdicts = judge({"one": finding(0.02, **{"corrected form": form}), "two": finding(0.5, holds=None)})
    assert (verdicts["one"]["verdict"], verdicts["one"]["statistic"]) == ("holds corrected", 5.0)
    assert verdicts["one"]["p, Holm"] == pytest.approx(3e-5)  # of two claims, one with two forms
