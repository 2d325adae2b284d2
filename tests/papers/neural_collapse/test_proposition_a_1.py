"""Proposition A.1 of paper D and the sentences after it, on planted tables."""

import math

import numpy as np
import pytest
from planted_collapse import finding_of

from tasks.papers.neural_collapse.claims import d_propa_1
from tasks.papers.neural_collapse.experiments import d_lemmas


def proposition_a_1(away: float = 1.0, order: float = 1.0) -> list[dict]:
    return [
        {"case": str(r), "dtype": "float64", "quantity": f"propA1/{name}", "x": x, "value": value}
        for r in range(3)
        for x in 2.0 ** -np.arange(3, 12)
        for name, value in (("away", away), ("remainder", x**order))
    ]


def test_proposition_a_1_judges_a_mean_and_a_variance():
    by_random_w, variance = "closed form, by random W", "variance"
    assert finding_of(d_propa_1, by_random_w, proposition_a_1()).holds
    assert finding_of(d_propa_1, variance, proposition_a_1()).holds
    assert finding_of(d_propa_1, by_random_w, proposition_a_1(away=5.0)).holds is False
    assert finding_of(d_propa_1, variance, proposition_a_1(order=0.5)).holds is False
    assert d_lemmas.closed_form(np.float64(0.0)) == pytest.approx(1 / np.pi)
    assert d_lemmas.closed_form(np.float64(1.0)) == pytest.approx(1.0)


def expansions(law, arm: str = "claim") -> list[dict]:
    """The squared distance before the features over that after them, at nine values of r in no order."""
    return [
        {"arm": arm, "case": f"r = {r}", "dtype": "float64", "x": r, "quantity": "propA1/distance", "value": 1 / law(r)}
        for r in (0.3, -1.0, 0.9999, -0.7, 0.0, -0.999, 0.99, -0.2, 0.8)
    ]


@pytest.mark.parametrize(
    ("law", "as_printed", "as_derived"),
    [
        (lambda r: 0.75 + r / 4, False, True),  # no distance grows, but those of near points shrink less
        (lambda r: 1.9 + r, False, True),  # all distances grow but that at r = -1
        (lambda r: 2 + r, False, True),  # and here this one stays
        (lambda r: 3 + r, True, True),
        (lambda r: 1.0, False, False),
        (lambda r: 3 - r, False, False),
        (lambda r: 3 + r if r < 0.999 else 3.9, False, False),  # it falls at the last r alone
    ],
)
def test_near_points_expand_more(law, as_printed, as_derived):
    assert finding_of(d_propa_1, "near points expand more", expansions(law)).holds is as_printed
    for arm in ("corrected", "control: sign, corrected"):
        inverse = expansions(lambda r: 1 / law(r), arm)  # after over before
        assert finding_of(d_propa_1, "near points expand more", inverse).holds is as_derived


@pytest.mark.parametrize(("growth", "holds"), [(1.0, True), (0.5, True), (2.0, False), (1.25, False)])
def test_moments_of_a_sub_exponential_variable_grow_like_factorials(growth, holds):
    """(2 E Z^p / p!)^(1/p) over b, where E Z^p = (b^p p! / 2)^growth."""
    rows = [
        {"case": str(r), "dtype": "float64", "x": float(p), "quantity": "propA1/moment",
         "value": 0.65 * (math.factorial(p) / 2) ** ((growth - 1) / p)}
        for r in range(9)
        for p in (1, 2, 4, 8, 16, 32)
    ]  # fmt: skip
    finding = finding_of(d_propa_1, "sub-exponential", rows)
    assert finding.holds is holds
    assert "p up to 32" in finding.measured


def nc1_rows(factor: float, spread: float = 0.05, cases=("apart", "overlapping"), other: float = 1.2) -> list[dict]:
    """NC1 of ten data sets of each kind: of the first kind it changes by ``factor``, of the second by ``other``."""
    draw = np.random.default_rng(5).normal(size=(2, 10))
    return [
        {"case": case, "seed": seed, "dtype": "float64", "quantity": f"propA1/nc1 {name}",
         "value": (10.0**seed) * (float(change * np.exp(spread * noise[seed])) if name == "after" else 1.0)}
        for case, change, noise in zip(cases, (factor, other), draw, strict=True)
        for seed in (3, 1, 0, 2, 9, 8, 7, 6, 5, 4)
        for name in ("before", "after")
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("factor", "spread", "holds"),
    [(1.2, 0.05, True), (0.8, 0.05, False), (1.0, 0.05, None), (1.05, 1.0, None)],
)
def test_nc1_does_not_fall_on_average(factor, spread, holds):
    finding = finding_of(d_propa_1, "NC1 does not fall on average", nc1_rows(factor, spread, other=1.2 + 3 * spread))
    assert finding.holds is holds
    assert finding.parts["apart"].holds is holds
    if spread < 0.1:
        assert finding.parts["apart"].statistic == pytest.approx((factor - 1) / (factor + 1), abs=0.03)
        assert f"apart: NC1 after the features is {factor:.1f}"[:-2] in finding.measured


def test_the_kinds_of_the_sentences_after_proposition_a_1():
    kinds = {statement.name: statement.kind for statement in d_propa_1.STATEMENTS}
    assert kinds["near points expand more"] == kinds["sub-exponential"] == "asserted"
    assert kinds["NC1 does not fall on average"] == "ours"
