"""Claims on features at convergence, near critical points, against planted tables: true, and false in one part."""

import numpy as np
import pytest

from gramlab import tables
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding
from tasks.papers.fact.claims import c_rem3_3, c_thm3_1, c_thma_1


def rows(records: list[dict]) -> Rows:
    return Rows(tables.table(records))


def remainders(quantity: str, power: float) -> list[dict]:
    return [
        {"case": str(case), "layer": "0", "dtype": "float64", "quantity": quantity, "x": x, "value": x**power}
        for case in range(6)
        for x in 2.0 ** -np.arange(21)
    ]


def reached(quantity: str) -> list[dict]:
    row = {"layer": "0", "dtype": "float64", "quantity": quantity, "x": 1e-12, "value": 1e-12}
    return [{**row, "case": str(case)} for case in range(6)]


def test_features_at_convergence():
    ratio = {"quantity": "fact/ratio", "value": 0.7}
    valid = [*remainders("fact/error", 1), *reached("fact/error"), ratio]
    assert c_thm3_1.rule(rows(valid)).holds
    assert not c_thm3_1.rule(rows([*remainders("fact/error", 1), ratio])).holds  # stops above 1e-9
    assert not c_thm3_1.rule(rows([*remainders("fact/error", 0), *reached("fact/error"), ratio])).holds
    assert not c_thm3_1.rule(rows([*valid, {**ratio, "value": 1.01}])).holds


@pytest.mark.parametrize("claim", [c_rem3_3, c_thma_1])
def test_other_forms_of_features_at_convergence(claim):
    def finding(**other: float) -> Finding:
        powers = {**dict.fromkeys(claim.QUANTITIES, 1.0), **other}
        return claim.rule(rows([row for name, p in powers.items() for row in [*remainders(name, p), *reached(name)]]))

    assert finding().holds
    for quantity in claim.QUANTITIES:
        assert not finding(**{quantity: 0.5}).holds


def test_fact_is_psd_at_critical_points_only():
    everywhere = {"layer": "0", "dtype": "float64", "quantity": "fact/cone/error", "x": 2.0, "value": 1e-6}
    valid = [row for quantity in c_rem3_3.QUANTITIES for row in [*remainders(quantity, 1), *reached(quantity)]]
    assert not c_rem3_3.rule(rows([*valid, *({**everywhere, "case": str(case)} for case in range(6))])).holds
