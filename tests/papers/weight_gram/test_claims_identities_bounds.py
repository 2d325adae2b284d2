"""Claims on identities and inequalities against planted tables: one where the claim holds, others where a part fails.

Brute force finds the extremal instances again that the bounds' best constants rest on.
"""

from itertools import pairwise

import numpy as np
import pytest
import torch
from planted import ratios, remainders, residuals, rows

from gramlab.streams import stream
from tasks.papers.weight_gram.claims import (
    a_bce,
    a_lem1,
    a_lem2,
    a_lem4,
    a_lem5,
    a_ols,
    a_prop1,
    a_prop2,
    a_prop3,
    a_prop4,
    a_thm1,
    a_thm2,
    a_tl,
    a_whiten,
)
from tasks.papers.weight_gram.experiments import a_linear, a_taylor

EXACT = {
    a_tl: ["tl/residual"],
    a_ols: ["ols/residual"],
    a_bce: ["bce/residual", "bce/gradient"],
    a_prop4: ["prop4/residual"],
    a_whiten: [*a_whiten.QUANTITIES],
}
BOUND = {a_lem2: "lem2/ratio", a_thm2: "thm2/ratio"}


@pytest.mark.parametrize("claim", EXACT, ids=lambda claim: claim.ID)
def test_identities(claim):
    names = EXACT[claim]
    assert claim.rule(rows([row for name in names for row in residuals(name)])).holds
    for broken in names:
        records = [row for name in names for row in residuals(name, 1e3 if name == broken else 0.1)]
        assert claim.rule(rows(records)).holds is False
        float64 = [row for row in records if row["dtype"] == "float64"]
        with pytest.raises(ValueError, match="float32"):
            claim.rule(rows(float64))


@pytest.mark.parametrize("claim", BOUND, ids=lambda claim: claim.ID)
def test_bounds(claim):
    assert claim.rule(rows(ratios(BOUND[claim]))).holds
    assert claim.rule(rows(ratios(BOUND[claim], 1.0001))).holds is False


@pytest.mark.parametrize(("claim", "name"), [(a_lem1, "lem1"), (a_lem4, "lem4")])
def test_a_violation_refutes_where_no_ratio_is_defined(claim, name):
    valid, violated = ({"quantity": f"{name}/violated", "value": value} for value in (0.0, 1.0))
    assert claim.rule(rows([*ratios(f"{name}/ratio"), valid])).holds
    assert claim.rule(rows([*ratios(f"{name}/ratio", 1.01), valid])).holds is False
    assert claim.rule(rows([*ratios(f"{name}/ratio"), valid, violated])).holds is False


def test_lemma_2_reports_the_best_constant():
    finding = a_lem2.rule(rows([*ratios("lem2/ratio"), *ratios("lem2/sharp", 0.99)]))
    assert finding.holds
    assert finding.numbers["worst left / right with the best κ"] == pytest.approx(0.99)


@pytest.mark.parametrize(("claim", "name"), [(a_lem5, "lem5"), (a_prop3, "prop3")])
def test_bound_and_equality(claim, name):
    assert claim.rule(rows([*ratios(f"{name}/ratio", 1.0), *residuals(f"{name}/residual")])).holds
    assert claim.rule(rows([*ratios(f"{name}/ratio", 1.01), *residuals(f"{name}/residual")])).holds is False
    assert claim.rule(rows([*ratios(f"{name}/ratio", 1.0), *residuals(f"{name}/residual", 1e3)])).holds is False


def test_proposition_2_reports_features_without_nc2_and_does_not_judge_by_them():
    constructed = [row for name in ("prop2/gram", "prop2/residual") for row in residuals(name)]
    finding = a_prop2.rule(rows([*constructed, *residuals("prop2/without NC2", 1e6)]))
    assert finding.holds
    assert finding.numbers["G_id = YYᵀ under NC1 alone, means in general position"] > 1e5


def test_proposition_1():
    valid = [{"quantity": "prop1/ratio", "value": 0.5}, {"quantity": "prop1/opposite signs", "value": 0.0}]
    assert a_prop1.rule(rows(valid)).holds
    assert not a_prop1.rule(rows([*valid, {"quantity": "prop1/ratio", "value": 1.01}])).holds
    assert not a_prop1.rule(rows([*valid, {"quantity": "prop1/opposite signs", "value": 1.0}])).holds


def test_theorem_1():
    closed_form = residuals("thm1/residual")
    assert a_thm1.rule(rows([*closed_form, *remainders("thm1/remainder", 2)])).holds
    assert not a_thm1.rule(rows([*closed_form, *remainders("thm1/remainder", 1)])).holds
    assert not a_thm1.rule(rows([*residuals("thm1/residual", 1e4), *remainders("thm1/remainder", 2)])).holds


@pytest.mark.parametrize("r", [1.0, 1.3, 1.61, 1.63, 3.0, 100.0])
def test_best_constant_of_lemma_2(r):
    """Against a fine grid of the weight p on the smallest of the eigenvalues 1 and r."""
    p = np.linspace(0, 1, 100_001)
    assert a_linear._best_kappa(r) == pytest.approx(((p + (1 - p) / r**2) * (p + (1 - p) * r)).max(), rel=1e-8)


def test_best_constant_of_theorem_2():
    """Against a fine grid of t = lambda_max / lambda and p, the share of the labels in the features' direction."""
    t, p = np.meshgrid(np.geomspace(1e-3, 1e3, 2001), np.linspace(0, 1, 1501))
    value = 4 * t * p * (1 - p + p / (1 + t) ** 2) / (2 + t) ** 2
    assert value.max() == pytest.approx(4 / 27, rel=1e-5)
    assert t.flat[value.argmax()] == pytest.approx(1, rel=1e-2)
    assert p.flat[value.argmax()] == pytest.approx(2 / 3, rel=1e-2)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_kinks_on_a_segment_against_a_dense_scan(depth):
    draw = stream("test_checks_a", "kinks", depth)
    weights = [draw.normal(size=(6, 4 if layer == 0 else 6)) for layer in range(depth)]
    head, a, b = draw.normal(size=6), draw.normal(size=4), draw.normal(size=4)

    def patterns_and_slope(x):
        linear, signs = np.eye(4), []
        for weight in weights:
            active = weight @ linear @ x > 0
            linear = active[:, None] * (weight @ linear)
            signs += active.tolist()
        return tuple(signs), head @ linear

    scanned = [patterns_and_slope(a + t * (b - a)) for t in (np.arange(20_000) + 0.5) / 20_000]
    gradients = a_taylor.gradients(weights, head, a, b)
    assert len(gradients) == 1 + sum(x != y for (x, _), (y, _) in pairwise(scanned))
    assert np.allclose(gradients[0], scanned[0][1])
    assert np.allclose(gradients[-1], scanned[-1][1])


@pytest.mark.parametrize("kind", a_taylor.KINDS)
def test_features_are_homogeneous(kind):
    draw = stream("test_checks_a", kind)
    weights = [torch.from_numpy(draw.normal(size=(5, 3 if layer == 0 else 5))) for layer in range(3)]
    x = torch.from_numpy(draw.normal(size=(20, 3)))
    degree = {"relu^2": 2, "relu^3": 3, "relu^2, 2 layers": 4, "degree 1/2": 0.5, "cubic": 3}.get(kind, 1)
    phi = a_taylor.features(kind, weights)
    assert torch.allclose(phi(1.7 * x), 1.7**degree * phi(x))
