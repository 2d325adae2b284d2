"""The checks of paper A's lemmas and identities against planted tables: true, and with one part of each false.

Besides, the extremal instances that their bounds' best constants rest on are found again by brute force.
"""

import numpy as np
import pytest

from gramlab import tables
from gramlab.streams import stream
from tasks.checks import a_bce, a_lem1, a_lem2, a_lem5, a_ols, a_thm2
from tasks.experiments import a_linear
from tasks.judge import Rows


def rows(made: list[dict]) -> Rows:
    return Rows(tables.table(made))


def residuals(quantity: str, size: float = 0.1) -> list[dict]:
    return [
        {
            "case": str(case),
            "dtype": dtype,
            "quantity": quantity,
            "value": unit * size * float(stream("test_checks_a", case, dtype).uniform(0.5, 1)),
        }
        for case in range(6)
        for dtype, unit in (("float64", 2.0**-53), ("float32", 2.0**-24))
    ]


def ratios(quantity: str, worst: float = 0.9) -> list[dict]:
    return [
        {"case": str(case), "dtype": "float64", "quantity": quantity, "value": worst / case} for case in range(1, 6)
    ]


EXACT = {a_ols: ["ols/residual"], a_bce: ["bce/residual", "bce/gradient"]}
BOUND = {a_lem2: "lem2/ratio", a_thm2: "thm2/ratio"}


@pytest.mark.parametrize("check", EXACT, ids=lambda check: check.ID)
def test_identities(check):
    names = EXACT[check]
    assert check.rule(rows([row for name in names for row in residuals(name)])).holds
    for broken in names:
        made = [row for name in names for row in residuals(name, 1e3 if name == broken else 0.1)]
        assert check.rule(rows(made)).holds is False
        single = [row for row in made if row["dtype"] == "float64"]
        with pytest.raises(ValueError, match="float32"):
            check.rule(rows(single))


@pytest.mark.parametrize("check", BOUND, ids=lambda check: check.ID)
def test_bounds(check):
    assert check.rule(rows(ratios(BOUND[check]))).holds
    assert check.rule(rows(ratios(BOUND[check], 1.0001))).holds is False


def test_lemma_1_counts_violations_where_no_ratio_is_defined():
    kept = [{"quantity": "lem1/violated", "value": 0.0}]
    assert a_lem1.rule(rows([*ratios("lem1/ratio"), *kept])).holds
    assert a_lem1.rule(rows([*ratios("lem1/ratio", 1.01), *kept])).holds is False
    assert a_lem1.rule(rows([*ratios("lem1/ratio"), *kept, {"quantity": "lem1/violated", "value": 1.0}])).holds is False


def test_lemma_2_reports_the_best_constant():
    found = a_lem2.rule(rows([*ratios("lem2/ratio"), *ratios("lem2/sharp", 0.99)]))
    assert found.holds
    assert found.numbers["worst left / right with the best κ"] == pytest.approx(0.99)


def test_lemma_5():
    assert a_lem5.rule(rows([*ratios("lem5/ratio", 1.0), *residuals("lem5/residual")])).holds
    assert a_lem5.rule(rows([*ratios("lem5/ratio", 1.01), *residuals("lem5/residual")])).holds is False
    assert a_lem5.rule(rows([*ratios("lem5/ratio", 1.0), *residuals("lem5/residual", 1e3)])).holds is False


@pytest.mark.parametrize("r", [1.0, 1.3, 1.61, 1.63, 3.0, 100.0])
def test_best_constant_of_lemma_2(r):
    """Against a fine grid of the weight p on the smallest of the eigenvalues 1 and r."""
    p = np.linspace(0, 1, 100_001)
    assert a_linear._sharp(r) == pytest.approx(((p + (1 - p) / r**2) * (p + (1 - p) * r)).max(), rel=1e-8)


def test_best_constant_of_theorem_2():
    """Against a fine grid of t = lambda_max / lambda and p, the share of the labels in the features' direction."""
    t, p = np.meshgrid(np.geomspace(1e-3, 1e3, 2001), np.linspace(0, 1, 1501))
    value = 4 * t * p * (1 - p + p / (1 + t) ** 2) / (2 + t) ** 2
    assert value.max() == pytest.approx(4 / 27, rel=1e-5)
    assert t.flat[value.argmax()] == pytest.approx(1, rel=1e-2)
    assert p.flat[value.argmax()] == pytest.approx(2 / 3, rel=1e-2)
