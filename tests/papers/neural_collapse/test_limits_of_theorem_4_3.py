"""The two limits of Theorem 4.3: what is measured, by other routes, and the rules on planted tables."""

from itertools import product

import numpy as np
import pytest
import torch
from handmade import assert_same_rows
from planted_collapse import finding_of

from gramlab.streams import stream
from tasks.papers.neural_collapse.claims import d_thm4_3
from tasks.papers.neural_collapse.claims.shared import limits
from tasks.papers.neural_collapse.experiments import d_thm4_3 as recursion

NOT_ZERO, LINEARISED = "control: λ_k = λ_Φ", "control: linearised kernel"
AT_ONCE, PREVENTED = "collapse in one layer", "a large ratio prevents collapse"
UNITS = {"float64": 2.0**-53, "float32": 2.0**-24}
n, K = 3, 2
Y = np.array([[float(i // n == c) for c in range(K)] for i in range(n * K)])


@pytest.mark.parametrize("ridge", [0.1, 10.0])
@pytest.mark.parametrize("kind", ["random", "far"])
def test_one_layer(kind, ridge):
    """By the eigenvalues of X^T X, from which a layer makes v / (v + lambda_k); at lambda_k = 0 nothing is left."""
    first = recursion.gram(kind, Y, ridge, stream("test", "one layer", kind))
    rows = list(recursion.one_layer(recursion.Instance(first, Y, n, "case", 2, f"{kind} 2"), ridge))
    values, vectors = np.linalg.eigh(first)
    expected = {}
    for arm, lam in (("claim", 0.0), (NOT_ZERO, ridge)):
        fitted = (vectors * (values / (values + lam))) @ (vectors.T @ Y)
        alpha = (vectors / (values + lam)) @ (vectors.T @ Y)
        G = fitted @ fitted.T
        distance = np.sqrt(((G / np.linalg.svd(G)[1][0] - Y @ Y.T / n) ** 2).sum())
        trace, squared, of_y = values.sum(), np.trace(alpha.T @ first @ alpha), n * K
        size = 6 * (trace * np.sqrt((alpha**2).sum() / of_y) + trace * squared / of_y)
        expected[arm] = distance / size
    for dtype, unit in UNITS.items():
        measured = {row["arm"]: row["value"] for row in rows if row["dtype"] == dtype}
        assert measured[NOT_ZERO] == pytest.approx(expected[NOT_ZERO], rel=1e-6 if dtype == "float64" else 0.01)
        assert abs(measured["claim"] - expected["claim"]) < 100 * unit
    assert {(row["case"], row["layer"], row["seed"], row["quantity"]) for row in rows} == {
        ("case", f"{kind} 2", 2, limits.ONE_LAYER)
    }


PROFILES = {
    "cubic kernel": lambda u: u**3,
    "exponential kernel": lambda u: (torch.exp(u) - 1 - u) / (np.e - 2),
}


def test_nonlinear_kernels(monkeypatch):
    """The AGOP by automatic differentiation of the predictor at each point, and its spectrum by singular values."""
    monkeypatch.setattr(recursion, "SIZES", {"n = 3": (n, K)})
    X = stream("d_thm4_3", "n = 3", "unit vectors", 1).normal(size=(12, 6))
    points = torch.from_numpy(np.array([column / np.sqrt(column @ column) for column in X.T]))
    inner = points @ points.T
    least = float(torch.linalg.svdvals(points)[-1] ** 2)
    expected = []
    for name, arm, ratio in product(PROFILES, ("claim", LINEARISED), limits.KERNEL_RATIOS):
        lam = ratio * least
        h = PROFILES[name] if arm == "claim" else lambda u: 0 * u
        matrix = inner + lam * (h(inner) if arm == "claim" else torch.eye(6, dtype=torch.float64))
        alpha = torch.linalg.lstsq(matrix, torch.from_numpy(Y)).solution

        def predictor(z, h=h, lam=lam, alpha=alpha):
            return (points @ z + lam * h(points @ z)) @ alpha

        jacobians = [torch.autograd.functional.jacobian(predictor, z) for z in points]
        M = sum(J.T @ J for J in jacobians) / 6
        spectrum = torch.linalg.svdvals(M)
        G = (points @ M @ points.T).numpy()
        distance = np.linalg.svd(G / np.linalg.svd(G)[1][0] - Y @ Y.T / n)[1][0]
        row = {"arm": arm, "case": f"n = 3, {name}", "seed": 1, "x": ratio}
        expected.append({**row, "quantity": limits.OUTSIDE, "value": float(spectrum[K:].sum() / spectrum.sum())})
        expected.append({**row, "quantity": limits.LEFT, "value": float(distance)})
    measured = list(recursion.nonlinear_kernels("n = 3", 1))
    assert {row["dtype"] for row in measured} == {"float64"}
    assert_same_rows(measured, expected, rel=1e-7, absolute=1e-12)


@pytest.mark.parametrize("name", PROFILES)
def test_the_kernels_are_linear_up_to_lambda_k_times_the_identity(name):
    """h and h' vanish at 0, h is 1 at 1, and h' is its derivative."""
    h, slope = recursion.KERNELS[name]
    u = np.array([0.0, 1.0, -0.3, 0.4])
    assert h(u)[:2] == pytest.approx([0, 1], abs=1e-12)
    assert slope(u)[0] == 0
    np.testing.assert_allclose(slope(u), (h(u + 1e-6) - h(u - 1e-6)) / 2e-6, rtol=1e-6, atol=1e-9)


def of_one_layer(factor: float = 3.0, shrinks: float = 1.0) -> list[dict]:
    """Residuals of twelve cases, in units of round-off; in float32 ``shrinks`` times as many."""
    return [
        {"case": f"case {case}", "layer": kind, "dtype": dtype, "quantity": limits.ONE_LAYER,
         "value": factor * unit * (shrinks if dtype == "float32" else 1.0)}
        for case, kind in product("abcdefghijkl", ("random 0", "far 0"))
        for dtype, unit in UNITS.items()
    ]  # fmt: skip


def test_the_collapse_in_one_layer_is_exact():
    assert finding_of(d_thm4_3, AT_ONCE, of_one_layer()).holds
    assert finding_of(d_thm4_3, AT_ONCE, of_one_layer(9.0)).holds is False
    assert finding_of(d_thm4_3, AT_ONCE, of_one_layer(1.0, shrinks=2.0**-10)).holds is False  # it does not shrink


def of_kernels(outside=lambda ratio: ratio**2 / 300, left=lambda ratio: ratio / 20) -> list[dict]:
    return [
        {"case": f"n = {size}, kernel", "seed": seed, "dtype": "float64", "x": ratio, "quantity": quantity,
         "value": float(law(ratio)) * (1 + seed)}
        for size, seed, ratio in product(range(8), range(2), limits.KERNEL_RATIOS)
        for quantity, law in ((limits.OUTSIDE, outside), (limits.LEFT, left))
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "holds"),
    [
        ({}, True),
        ({"outside": lambda ratio: 1e-17 * (1 + ratio)}, False),  # round-off alone, as of a linear predictor
        ({"outside": lambda ratio: 0.1}, False),  # the same at every ratio
        ({"outside": lambda ratio: 0.1 / ratio}, False),
        ({"left": lambda ratio: 0.1 / (1 + ratio)}, False),  # a large ratio brings the Gram nearer to collapse
        ({"left": lambda ratio: 0.1 if ratio < 1 else 0.1005}, False),  # it changes by half a percent
        ({"left": lambda ratio: 0.1 if ratio < 1 else 0.102}, True),
        ({"left": lambda ratio: ratio if ratio <= 4 else 2.0**-7}, False),  # not at every large ratio
    ],
)
def test_large_ratios_increase_the_rank_and_prevent_collapse(changed, holds):
    finding = finding_of(d_thm4_3, PREVENTED, of_kernels(**changed))
    assert finding.holds is holds
    assert set(finding.parts) == {"rank", "collapse"}
    if not changed:  # of the second seed at 2^-6, and of the first at 1
        assert finding.measured == (
            "the fraction of the AGOP's trace outside its K largest eigenvalues is at most 1.6e-06 at small ratios "
            "and at least 0.0033 at large ones; the distance from collapse after one layer is at most 0.0016 at small "
            "ratios and at least 0.05 at large ones"
        )


def test_each_instance_is_compared_with_itself():
    """One instance has a larger share at small ratios than another at large ones."""
    rows = of_kernels()
    for row in rows:
        if row["case"] == "n = 3, kernel":
            row["value"] *= 1e6
    assert finding_of(d_thm4_3, PREVENTED, rows).holds
    rows[[row["quantity"] for row in rows].index(limits.OUTSIDE)]["value"] = 1.0  # of one instance, at a small ratio
    assert finding_of(d_thm4_3, PREVENTED, rows).holds is False


def test_the_two_kinds_of_statements():
    kinds = {statement.name: statement.kind for statement in d_thm4_3.STATEMENTS}
    assert (kinds[AT_ONCE], kinds[PREVENTED]) == ("asserted", "ours")
    assert limits.KERNEL_RATIOS == recursion.RATIOS
