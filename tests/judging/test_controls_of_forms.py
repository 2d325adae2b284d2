"""Each form has its own controls, the weakest statement decides wherever it stands, and Welch's interval is scipy's."""

import json
from dataclasses import replace

import numpy as np
import pytest
from planted_claims import claim, rows, statement, table
from scipy import optimize
from scipy.stats import ttest_ind

from gramlab.streams import stream
from tasks.judging.finding import farther_off, find
from tasks.judging.rules import Finding, all_of, positive
from tasks.judging.statistics import welch
from tasks.judging.verdict import judge

UP, DOWN, OPEN = [1.0, 1.1, 1.2], [-1.0, -1.1, -1.2], [-1.0, 0.1, 1.3]


def findings(module, table_rows: list[dict]) -> dict:
    return json.loads(json.dumps(find(module, "A", rows(table_rows), "e", "quick", {3})))


def judged(module, table_rows: list[dict]) -> dict:
    return judge({"a_test": findings(module, table_rows)})["a_test"]


def test_a_form_has_its_own_controls_and_those_of_both():
    arms = {"claim": UP, "corrected": [2.0, 2.1, 2.2], "control: a": DOWN, "control: a, corrected": [-2.0, -2.1, -2.3],
            "control: b": [-3.0, -3.1, -3.3]}  # fmt: skip
    (first,) = findings(claim(), table(arms))["statements"]
    controls = {form: set(finding["controls"]) for form, finding in first["forms"].items()}
    assert controls == {"claim": {"a", "b"}, "corrected": {"a, corrected", "b"}}


@pytest.mark.parametrize("undecided_first", [True, False])
def test_an_inconclusive_statement_decides_over_a_corrected_one(undecided_first):
    corrected, undecided = statement("corrected"), statement("undecided", reads=("r",))
    order = [undecided, corrected] if undecided_first else [corrected, undecided]
    table_rows = table({"claim": DOWN, "corrected": UP, "control: c": [-2.0, -2.1, -2.3]})
    result = judged(claim(order), table_rows + table({"claim": OPEN, "control: c": DOWN}, "r"))
    assert {statement["name"]: statement["verdict"] for statement in result["statements"]} == {
        "corrected": "holds corrected", "undecided": "inconclusive",
    }  # fmt: skip
    assert (result["verdict"], result["reason"], result["deciding"]) == ("inconclusive", "too few seeds", "undecided")


@pytest.mark.parametrize("undecided_first", [True, False])
def test_a_refuted_statement_decides_over_an_inconclusive_one(undecided_first):
    refuted, undecided = statement("refuted"), statement("undecided", reads=("r",))
    order = [undecided, refuted] if undecided_first else [refuted, undecided]
    table_rows = table({"claim": DOWN, "control: c": [-2.0, -2.1, -2.3]})
    result = judged(claim(order), table_rows + table({"claim": OPEN, "control: c": DOWN}, "r"))
    assert {statement["name"]: statement["verdict"] for statement in result["statements"]} == {
        "refuted": "fails", "undecided": "inconclusive",
    }  # fmt: skip
    assert (result["verdict"], result["reason"], result["deciding"]) == ("fails", "refuted", "refuted")


@pytest.mark.parametrize(("level", "matches"), [(UP, True), (DOWN, False), (None, False)])
def test_only_a_level_that_holds_matches_the_print(level, matches):
    statements = [statement("first"), *([statement("level", kind="printed level", reads=("r",))] if level else [])]
    table_rows = table({"claim": UP, "control: c": DOWN})
    table_rows += table({"claim": level, "control: c": [3.0, 3.1, 3.3]}, "r") if level else []
    result = judged(claim(statements), table_rows)
    assert result["verdict"] == "holds"
    assert (result["evidence"] == "matches print") is matches


def test_a_claim_that_fails_matches_no_print():
    statements = [statement("first"), statement("level", kind="printed level", reads=("r",))]
    table_rows = table({"claim": DOWN, "control: c": [-2.0, -2.1, -2.3]}) + table(
        {"claim": UP, "control: c": DOWN}, "r"
    )
    result = judged(claim(statements), table_rows)
    assert (result["verdict"], result["evidence"] == "matches print") == ("fails", False)


@pytest.mark.parametrize(("first", "second"), [(4, 4), (4, 7), (5, 8), (3, 12)])
def test_welchs_interval_is_scipys(first, second):
    random = np.random.default_rng(first)
    a, b = random.normal(1, 2, first), random.normal(0, 0.3, second)
    difference, low, high = welch(a, b)
    wanted = ttest_ind(a, b, equal_var=False).confidence_interval(0.95)
    assert difference == pytest.approx(a.mean() - b.mean())
    assert (low, high) == pytest.approx((wanted.low, wanted.high), rel=1e-9)


def parts(**means: tuple[float, float]) -> Finding:
    """`all_of` over samples of 12 seeds with these means and spreads."""
    unit = np.linspace(-1, 1, 12)
    return all_of(**{name: positive(mean + spread * unit, name) for name, (mean, spread) in means.items()})


def test_a_control_that_holms_correction_leaves_open_is_compared_with_the_claim():
    """Its only part is supported before the correction, by an effect that is a hundredth of the claim's."""
    large, small = parts(a=(1.0, 0.1)), parts(a=(0.01, 0.015))
    assert small.holds
    assert 0.001 < small.p < 0.025
    assert farther_off(small, large) == ["a"]
    assert farther_off(large, large) == []
    assert farther_off(large, small) == []


def test_a_control_of_one_seed_has_no_spread_to_compare():
    """Its Welch interval is not a number, which is no significant difference."""
    claim = positive(1 + 0.1 * np.linspace(-1, 1, 12), "q")
    single = replace(claim, holds=None, sample=(-5.0,))
    assert farther_off(single, claim) == []
    assert farther_off(replace(claim, holds=None, sample=(-5.0, -5.1)), claim) == [""]


def test_the_part_that_is_left_open_decides():
    """Part b has a hundredth of the claim's effect and is sure; part a, with the largest p, is the claim's own."""
    claim = parts(a=(0.01, 0.015), b=(1.0, 0.01))
    control = parts(a=(0.01, 0.015), b=(0.01, 0.001))
    assert control.holds
    assert farther_off(control, claim) == []
    assert farther_off(parts(a=(0.01, 0.015), b=(0.01, 0.02)), claim) == ["b"]  # now b has the largest p


def test_a_part_without_a_p_value_does_not_keep_a_control_that_holm_leaves_open():
    exact = Finding(True, 0.0, "", "exact")
    control, claim = (all_of(exact=exact, **parts(b=b).parts) for b in ((0.5, 0.2), (9.0, 0.2)))
    assert control.holds
    assert control.p is not None
    assert farther_off(control, claim) == ["b"]
    assert farther_off(all_of(exact=exact), all_of(exact=exact)) == []


@pytest.mark.parametrize(("count", "rejected"), [(1, True), (2, True), (20, False)])
def test_a_control_of_many_parts_may_differ_by_chance_in_one(count, rejected):
    """Part a differs at 98 %, which is significant alone and in a pair; the others are the claim's own numbers."""
    draw = stream("many parts", 1)
    same = {f"same {index}": positive(draw.normal(size=12), "q") for index in range(count - 1)}
    of_claim, of_control = (sample - sample.mean() for sample in draw.normal(size=(2, 12)))

    def p(shift: float) -> float:
        return ttest_ind(of_control - shift, of_claim, equal_var=False).pvalue

    shift = optimize.brentq(lambda shift: p(shift) - 0.02, 0, 5)
    claim = all_of(a=positive(of_claim, "q"), **same)
    control = all_of(a=positive(of_control - shift, "q"), **same)
    undecided = [name for name, part in control.parts.items() if part.holds is not True]
    assert len(undecided) > 10 or count < 20
    assert bool(farther_off(control, claim)) is rejected
