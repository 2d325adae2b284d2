"""Claims on features at convergence, near critical points, against planted tables: true, and false in one part."""

import numpy as np
import pytest
from helpers import rows

from tasks.judging.statistics import JudgeError
from tasks.papers.fact.claims import c_rem3_3, c_thm3_1, c_thma_1

CASES = [f"{case}: tanh{', skip' if case % 2 else ''}" for case in range(6)]


def remainders(quantity: str, power: float) -> list[dict]:
    return [
        {"case": CASES[case], "layer": "0", "dtype": "float64", "quantity": quantity, "x": x, "value": x**power}
        for case in range(6)
        for x in 2.0 ** -np.arange(21)
    ]


def reached(quantity: str) -> list[dict]:
    row = {"layer": "0", "dtype": "float64", "quantity": quantity, "x": 1e-12, "value": 1e-12}
    return [{**row, "case": CASES[case]} for case in range(6)]


def holds(claim, name: str, records: list[dict]) -> bool | None:
    statement = next(statement for statement in claim.STATEMENTS if statement.name == name)
    return statement.rule(rows([row for row in records if row["quantity"] in statement.reads])).holds


def near(quantity: str, power: float = 1) -> list[dict]:
    return [*remainders(quantity, power), *reached(quantity)]


EVERYWHERE = [
    (claim, statement.name, statement.reads[0])
    for claim in (c_thm3_1, c_thma_1, c_rem3_3)
    for statement in claim.STATEMENTS
    if statement.reads[0].endswith("/error") and statement.name != "not psd elsewhere"
]


@pytest.mark.parametrize(("claim", "name", "quantity"), EVERYWHERE)
def test_errors_that_vanish_with_the_gradient(claim, name, quantity):
    assert holds(claim, name, near(quantity))
    assert not holds(claim, name, near(quantity, 0.5))
    assert not holds(claim, name, remainders(quantity, 1))  # stops above 1e-9


def test_the_premise_is_measured():
    (hypothesis,) = c_thm3_1.HYPOTHESES
    assert hypothesis.rule(rows(near("fact/error"))).holds
    assert not hypothesis.rule(rows(remainders("fact/error", 1))).holds


def test_networks_with_skip_connections_are_judged_on_their_own():
    plain = [row for row in near("fact/error") if "skip" not in row["case"]]
    skip = [row for row in near("fact/error", 0) if "skip" in row["case"]]
    assert not holds(c_thm3_1, "beside skip connections", [*plain, *skip])
    with pytest.raises(JudgeError, match="skip"):
        holds(c_thm3_1, "beside skip connections", plain)


def test_the_gradient_bounds_the_error():
    ratio = {"quantity": "fact/ratio", "value": 0.7}
    assert holds(c_thm3_1, "the gradient bounds the error", [ratio])
    assert not holds(c_thm3_1, "the gradient bounds the error", [ratio, {**ratio, "value": 1.01}])


def test_fact_is_not_psd_elsewhere():
    far = {"layer": "0", "dtype": "float64", "quantity": "fact/cone/error", "x": 2.0, "case": CASES[0]}
    psd = [{**row, "value": 1e-17} for row in near("fact/cone/error")]
    assert not holds(c_rem3_3, "not psd elsewhere", psd)
    assert holds(c_rem3_3, "not psd elsewhere", [*psd, {**far, "value": 0.1}])
