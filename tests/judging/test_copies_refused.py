"""Copies that a table may hide: of a seed in one quantity, of a form in a control with fewer quantities."""

import numpy as np
import pytest
from planted_claims import claim, rows, statement, table

from tasks import papers
from tasks.judging.contract import ContractError, is_discrete
from tasks.judging.finding import find
from tasks.judging.rules import Finding
from tasks.judging.statement import Control, Hypothesis
from tasks.settings import load

UP, DOWN = [1.0, 1.1, 1.2], [-1.0, -1.1, -1.2]
BOTH = (statement("first"), statement("second", reads=("r",)))


ONLY_Q = Control(has=("q",))


def findings(table_rows: list[dict], statements=BOTH, controls=None) -> dict:
    return find(claim(statements, controls=controls), "A", rows(table_rows), "e", "quick", {3})


def series(values: dict[int, list[float]], quantity: str) -> list[dict]:
    """Rows by seed, a step for each number."""
    common = {"experiment": "e", "scale": "quick", "arm": "claim", "quantity": quantity}
    return [{**common, "seed": seed, "step": step, "value": value}
            for seed, numbers in values.items() for step, value in enumerate(numbers)]  # fmt: skip


def curves(count: int = 5) -> dict[int, list[float]]:
    random = np.random.default_rng(0)
    return {seed: random.normal(size=count).tolist() for seed in range(3)}


CONTROL = table({"control: c": DOWN}) + table({"control: c": [-1.0, -1.3, -1.2]}, "r")


def test_seeds_that_differ_are_judged():
    assert findings(series(curves(), "q") + series(curves(6), "r") + CONTROL)["ran"]


def test_one_quantity_of_a_seed_copied_from_another_is_refused():
    copied = curves()
    copied[2] = copied[0]
    with pytest.raises(ContractError, match="seeds 0 and 2 of 'r' in the arm 'claim' are equal"):
        findings(series(curves(), "q") + series(copied, "r") + CONTROL)


def test_few_numbers_may_agree_in_one_quantity_and_not_in_all():
    same = {seed: [0.1, 0.5, 1.0] for seed in range(3)}
    assert findings(series(curves(), "q") + series(same, "r") + CONTROL)["ran"]
    with pytest.raises(ContractError, match="seeds 0 and 1 of the arm 'claim' are equal"):
        findings(series(same, "q") + series(same, "r") + CONTROL)
    two = {seed: [0.1, 1.0] for seed in range(3)}
    with pytest.raises(ContractError, match="seeds 0 and 1 of the arm 'claim' are equal"):
        findings(series(two, "q") + series(two, "r") + CONTROL)


def test_seeds_that_are_numbered_otherwise_are_refused():
    table_rows = table({"claim": UP, "control: c": DOWN}) + table({"claim": UP, "control: c": DOWN}, "r")
    renumbered = [{**row, "seed": 3 if row["seed"] == 2 else row["seed"]} for row in table_rows]
    with pytest.raises(ContractError, match=r"has the seeds \[0, 1, 3\]"):
        findings(renumbered)


@pytest.mark.parametrize("form", ["claim", "corrected"])
def test_a_control_of_one_quantity_with_a_forms_numbers_is_refused(form):
    arms = {"claim": UP, "corrected": [2.0, 2.1, 2.2]}
    table_rows = table(arms) + table({"claim": DOWN, "corrected": UP}, "r") + CONTROL
    with pytest.raises(ContractError, match=f"the arm 'control: copy' has the same numbers as the arm '{form}'"):
        findings(table_rows + table({"control: copy": arms[form]}), controls={"copy": ONLY_Q})


def test_the_claims_own_beginning_is_a_control():
    """Before training the numbers are those of the claim's first step."""
    values = curves()
    first = [{**row, "arm": "control: untrained"} for row in series(values, "q") if row["step"] == 0]
    both = series(values, "q") + series(curves(6), "r") + CONTROL
    assert findings(both + first, controls={"untrained": ONLY_Q})["ran"]


def test_the_claims_own_end_is_no_control():
    values = curves()
    last = [{**row, "arm": "control: c"} for row in series(values, "q") if row["step"] == 4]
    with pytest.raises(ContractError, match="the arm 'control: c' has the same numbers as the arm 'claim'"):
        findings(series(values, "q") + series(curves(6), "r") + last, controls={"c": ONLY_Q})


def test_some_of_the_claims_cases_are_no_control():
    """Without steps there is nothing before training."""
    instances = [{**row, "case": str(row["seed"])} for row in table({"claim": UP})]
    copied = [{**row, "arm": "control: c"} for row in instances if row["case"] != "2"]
    with pytest.raises(ContractError, match="the arm 'control: c' has the same numbers as the arm 'claim'"):
        find(claim(kind="exact"), "A", rows(instances + copied), "e", "quick", set())


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_hypothesis_without_a_finite_number_is_refused(value):
    met = Hypothesis("met", "It is met.", lambda rows: Finding(True, 1.0, "", "bound"), reads=("h",))
    table_rows = table({"claim": UP, "control: c": DOWN}) + table({"claim": UP, "control: c": DOWN}, "r")
    planted = rows(table_rows + table({"claim": [1.0, 1.0, 2.0]}, "h"))
    assert find(claim(BOTH, [met]), "A", planted, "e", "quick", {3})["ran"]
    planted.frame.loc[planted.frame["quantity"] == "h", "value"] = value
    with pytest.raises(ContractError, match="3 rows without a finite number: arm claim, quantity h"):
        find(claim(BOTH, [met]), "A", planted, "e", "quick", {3})


CONTINUOUS, OTHERS = [0.123456789, 0.234567891, 0.345678912], [-0.1234567, -0.2345678, -0.3456789]


def test_one_quantity_of_a_control_with_a_forms_numbers_is_refused_unless_the_claim_says_so():
    planted = table({"claim": CONTINUOUS, "control: c": CONTINUOUS})
    planted += table({"claim": UP, "control: c": DOWN}, "r")
    with pytest.raises(ContractError, match="'q' has the same numbers in the arm 'control: c' as in the arm 'claim'"):
        findings(planted)
    described = claim(BOTH, controls={"c": Control(equal_quantities=("q",), equal_because="It breaks r alone.")})
    assert find(described, "A", rows(planted), "e", "quick", {3})["ran"]
    other = claim(BOTH, controls={"c": Control(equal_quantities=("r",), equal_because="It breaks q alone.")})
    with pytest.raises(ContractError, match="'q' has the same numbers"):
        find(other, "A", rows(planted), "e", "quick", {3})


def test_a_control_is_compared_only_with_statements_that_read_what_it_breaks():
    """It shares q with the claim, so that a statement on q alone would judge the claim's own numbers again."""
    planted = table({"claim": CONTINUOUS, "control: c": CONTINUOUS, "control: d": OTHERS})
    planted += table({"claim": UP, "control: c": DOWN, "control: d": DOWN}, "r")
    shares_q = Control(equal_quantities=("q",), equal_because="It breaks r alone.")
    statements = (*BOTH, statement("both", reads=("q", "r")))
    judged = findings(planted, statements, {"c": shares_q, "d": Control()})["statements"]
    compared = {entry["name"]: set(entry["forms"]["claim"]["controls"]) for entry in judged}
    assert compared == {"first": {"d"}, "second": {"c", "d"}, "both": {"c", "d"}}


def test_a_control_is_not_compared_with_a_statement_that_reads_rows_of_a_form_alone():
    """The rule of the statement reads rows in which the control is the form; the quantity has others too."""
    planted = table({"claim": UP, "control: c": DOWN, "control: d": DOWN})
    equal = Control(equal_statements=("first",), equal_because="There the control is the claim.")
    statements = (statement("first"), statement("second"))
    judged = findings(planted, statements, {"c": equal, "d": Control()})["statements"]
    compared = {entry["name"]: set(entry["forms"]["claim"]["controls"]) for entry in judged}
    assert compared == {"first": {"d"}, "second": {"c", "d"}}


def test_statements_that_controls_share_with_a_form_are_statements_of_the_claim():
    settings = load("quick")
    for key in settings.claims:
        module = papers.claim(settings.paper[key], key)
        names = {each.name for each in module.STATEMENTS}
        for control in getattr(module, "CONTROLS", {}).values():
            assert set(control.equal_statements) <= names, key


@pytest.mark.parametrize(("field", "name"), [("equal_quantities", "q"), ("equal_statements", "first")])
def test_a_control_shares_nothing_without_a_reason(field, name):
    with pytest.raises(ValueError, match=f"say why a control shares {name}"):
        Control(**{field: (name,)})


def test_accuracies_that_agree_in_a_control_are_no_copy():
    """Three networks that fit their data have an accuracy of 1, whatever the labels are."""
    planted = table({"claim": [1.0, 1.0, 0.95], "control: c": [1.0, 1.0, 0.95]}) + table(
        {"claim": UP, "control: c": DOWN}, "r"
    )
    assert findings(planted)["ran"]


ACCURACIES = [0.25, 0.5, 0.625, 0.75, 0.875, 1.0]  # of a seed, step by step: shares of eight samples


def accuracies(copied: int) -> list[dict]:
    """Three seeds' accuracies at steps; the last seed has the first ``copied`` values of the first seed."""
    first, second, third = ACCURACIES, ACCURACIES[::-1], [value - 0.125 for value in ACCURACIES]
    by_seed = [first, second, first[:copied] + third[copied:]]
    return [
        row
        for step in range(len(first))
        for row in table({"claim": [values[step] for values in by_seed]}, "q", step=step)
    ]


def test_a_series_of_accuracies_copied_to_another_seed_is_refused():
    """Accuracies are discrete, but two seeds do not agree in more than three different ones by chance."""
    others = table({"claim": UP, "control: c": DOWN}, "r")
    only_r = {"c": Control(has=("r",))}
    assert findings(accuracies(copied=5) + others, controls=only_r)["ran"]
    with pytest.raises(ContractError, match="seeds 0 and 2 of 'q' in the arm 'claim' are equal"):
        findings(accuracies(copied=6) + others, controls=only_r)


@pytest.mark.parametrize(("different", "is_refused"), [(3, False), (4, True)])
def test_how_many_different_accuracies_two_seeds_may_share(different, is_refused):
    values = (ACCURACIES[:different] * 2)[: 2 * different]
    rows_of_q = [
        row for step, value in enumerate(values) for row in table({"claim": [value, value, 0.125]}, "q", step=step)
    ]
    planted = rows_of_q + table({"claim": UP, "control: c": DOWN}, "r")
    only_r = {"c": Control(has=("r",))}
    if is_refused:
        with pytest.raises(ContractError, match="seeds 0 and 1 of 'q' in the arm 'claim' are equal"):
            findings(planted, controls=only_r)
    else:
        assert findings(planted, controls=only_r)["ran"]


def test_two_seeds_with_one_continuous_number_in_common_are_refused():
    planted = table({"claim": [*CONTINUOUS[:2], CONTINUOUS[0]], "control: c": OTHERS})
    planted += table({"claim": UP, "control: c": DOWN}, "r")
    with pytest.raises(ContractError, match="seeds 0 and 2 of 'q' in the arm 'claim' are equal"):
        findings(planted)
    same_minimum = claim(BOTH, equal_seeds={"q": "Both seeds reach one minimum."})
    assert find(same_minimum, "A", rows(planted), "e", "quick", {3})["ran"]


@pytest.mark.parametrize(
    "values", [[0.0, 1.0, 0.5], [1 / 3, 0.1 + 0.2], [0.97493036211698], [7 / 359, 49_999 / 50_000]]
)
def test_shares_of_samples_are_discrete(values):
    assert is_discrete(np.array([*values, 359 / 360])) == (values != [0.97493036211698])


def test_random_numbers_are_not_discrete():
    random = np.random.default_rng(0)
    assert not any(is_discrete(random.random(1)) for _ in range(2000))
