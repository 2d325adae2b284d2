"""Copies that a table may hide: of a seed in one quantity, of a form in a control with fewer quantities."""

import numpy as np
import pytest
from planted_claims import claim, rows, statement, table

from tasks.judging.contract import ContractError
from tasks.judging.finding import find
from tasks.judging.rules import Finding
from tasks.judging.statement import Hypothesis

UP, DOWN = [1.0, 1.1, 1.2], [-1.0, -1.1, -1.2]
BOTH = (statement("first"), statement("second", reads=("r",)))


def findings(table_rows: list[dict], statements=BOTH, hypotheses=()) -> dict:
    return find(claim(statements, hypotheses), "A", rows(table_rows), "e", "quick", {3})


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
        findings(table_rows + table({"control: copy": arms[form]}))


def test_the_claims_own_beginning_is_a_control():
    """Before training the numbers are those of the claim's first step."""
    values = curves()
    first = [{**row, "arm": "control: untrained"} for row in series(values, "q") if row["step"] == 0]
    assert findings(series(values, "q") + series(curves(6), "r") + CONTROL + first)["ran"]


def test_the_claims_own_end_is_no_control():
    values = curves()
    last = [{**row, "arm": "control: c"} for row in series(values, "q") if row["step"] == 4]
    with pytest.raises(ContractError, match="the arm 'control: c' has the same numbers as the arm 'claim'"):
        findings(series(values, "q") + series(curves(6), "r") + last)


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
