"""Theorems 4.3 and 4.4 of paper D on planted tables, and the corrected constants by brute force."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from planted_collapse import finding_of, planted, verdict

from gramlab.streams import stream
from tasks.judging.contract import ContractError
from tasks.papers.neural_collapse.claims import d_thm4_3, d_thm4_4
from tasks.papers.neural_collapse.experiments import d_thm4_3 as recursion
from tasks.papers.neural_collapse.experiments import d_thm4_4 as problem_3

THEOREM_4_3 = {  # the quantity that each statement reads, where it is to be at most 1
    "inequality": "ratio", "fixed point": "exact", "proof: κ": "kappa", "proof: norm of Ψ̃": "psi",
}  # fmt: skip
SOME_C = "proof: partial collapse"  # it needs a constant for which "collapsed" is at most 1


BETWEEN = "between the limits"  # its rate rises with lambda_k and falls with lambda_Phi


def theorem_4_3(power: float = 2.0, rate=lambda x, ridge: x / (1 + ridge), **values: float) -> list[dict]:
    """Sixty steps of lambda_k in each of sixteen cases; the remainder falls with this power.

    The last four cases have lambda_Phi close to the condition's limit, and only the proof's constants.
    """
    rows = []
    for n, ridge in product(range(4), (0.1, 1.0, 10.0, None)):
        for x in 2.0 ** -np.linspace(0, 12, 60):
            numbers = {name: values.get(name, 0.6) for name in (*THEOREM_4_3.values(), "collapsed", "floor")}
            if ridge is None:
                case = f"n = {n}, λ_Φ close to n/(C(1−ε))"
                numbers = {name: numbers[name] for name in ("kappa", "collapsed", "psi")}
            else:
                case = f"n = {n}, λ_Φ = {ridge:g}"
                numbers |= {"remainder": x**power, "first rate": rate(x, ridge)}
            labels = {"case": case, "dtype": "float64", "x": float(x)}
            rows += [{**labels, "quantity": f"thm4_3/{name}", "value": float(value)} for name, value in numbers.items()]
    return rows


def in_the_limits(holds: bool) -> list[dict]:
    """Of each case a Gram that collapses in one layer, and of eight kernels a share that grows with the ratio."""
    rows = [
        {"case": f"n = {n}, λ_Φ = {ridge:g}", "dtype": dtype, "quantity": "thm4_3/one layer",
         "value": unit * (1.0 if holds else 1e6)}
        for n, ridge in product(range(4), (0.1, 1.0, 10.0))
        for dtype, unit in (("float64", 2.0**-53), ("float32", 2.0**-24))
    ]  # fmt: skip
    rows += [
        {"case": f"{kernel} kernel", "dtype": "float64", "x": ratio, "quantity": f"thm4_3/{name}",
         "value": ratio / 20 if holds else 0.5}
        for kernel, ratio, name in product("abcdefgh", (2.0**-8, 1.0), ("outside", "left"))
    ]  # fmt: skip
    return rows


@pytest.mark.parametrize("name", THEOREM_4_3)
def test_theorem_4_3_is_a_bound_on_every_instance(name):
    assert finding_of(d_thm4_3, name, theorem_4_3()).holds
    rows = theorem_4_3()
    rows[[row["quantity"] for row in rows].index(f"thm4_3/{THEOREM_4_3[name]}")]["value"] = 1.1
    assert finding_of(d_thm4_3, name, rows).holds is False


def test_partial_collapse_needs_some_constant():
    """x is the constant C: a bound that fails at the largest C alone holds for a smaller one."""
    rows = theorem_4_3()
    assert finding_of(d_thm4_3, SOME_C, rows).numbers["largest C"] == 1
    for row in rows:
        if row["quantity"] == "thm4_3/collapsed" and row["x"] > 2.0**-3:
            row["value"] = 1.7
    finding = finding_of(d_thm4_3, SOME_C, rows)
    assert (finding.holds, finding.numbers["largest C"], finding.statistic) == (
        True,
        pytest.approx(0.125, rel=0.2),
        0.6,
    )
    assert "and 1.7 times with C up to 1" in finding.measured
    rows[[(row["quantity"], row["x"]) for row in rows].index(("thm4_3/collapsed", 2.0**-12))]["value"] = 1.1
    assert finding_of(d_thm4_3, SOME_C, rows).holds is False


@pytest.mark.parametrize(
    ("smallest_without", "kappa", "holds"),
    [(1.0, 2.0, True), (2.0**-3, 7.0, True), (2.0**-12, 2.0, False), (2.0**-12, 1.99, True)],
)
def test_partial_collapse_fails_where_kappa_is_not_above_0(smallest_without, kappa, holds):
    """1 - kappa is 2 or more in units of 1/2, at one instance of every C from the given one on."""
    rows = theorem_4_3()
    for row in rows:
        at_fault = row["quantity"] == "thm4_3/kappa" and row["case"] == "n = 1, λ_Φ close to n/(C(1−ε))"
        if at_fault and row["x"] >= smallest_without:
            row["value"] = kappa
    finding = finding_of(d_thm4_3, SOME_C, rows)
    assert finding.holds is holds
    assert finding.statistic == 0.6  # the distances alone would hold
    constants = sorted({row["x"] for row in rows if kappa < 2 or row["x"] < smallest_without}) or [2.0**-12]
    assert finding.numbers["largest C"] == constants[-1]
    assert ("κ is not above 0 on 1 instances" in finding.measured) is not holds


@pytest.mark.parametrize(
    ("rate", "holds"),
    [
        (lambda x, ridge: x / (1 + ridge), True),
        (lambda x, ridge: x, False),  # the same for every lambda_Phi
        (lambda x, ridge: x * ridge, False),  # lambda_Phi delays
        (lambda x, ridge: 1 / ridge, False),  # the same for every lambda_k
        (lambda x, ridge: 1 / (x * ridge), False),  # lambda_k accelerates
        (lambda x, ridge: (x if x < 1 else 2.0 ** (-12 / 59) * 1.005) / ridge, False),  # the largest raises it by 0.5 %
    ],
)
def test_lambda_k_delays_and_lambda_phi_accelerates(rate, holds):
    assert finding_of(d_thm4_3, BETWEEN, theorem_4_3(rate=rate)).holds is holds


def test_the_remainder_of_theorem_4_3_is_of_second_order():
    assert finding_of(d_thm4_3, "order of the remainder", theorem_4_3()).holds
    assert finding_of(d_thm4_3, "order of the remainder", theorem_4_3(power=1.0)).holds is False


def test_half_of_theorem_4_3s_table_is_refused():
    broken = theorem_4_3(power=1.0, rate=lambda x, ridge: x, **dict.fromkeys((*THEOREM_4_3.values(), "collapsed"), 2.0))
    rows = theorem_4_3() + in_the_limits(True)
    rows += [{**row, "arm": "control: c"} for row in broken + in_the_limits(False)]
    assert verdict(d_thm4_3, rows)["verdict"] == "holds"
    words = "has (6|8) kinds of cases in the arm claim; the statement needs 1[26]"
    with pytest.raises(ContractError, match=words):
        verdict(d_thm4_3, [row for row in rows if row["case"].startswith(("n = 0", "n = 1"))])


def test_the_proofs_constants_at_c_1():
    """A first Gram with a single eigenvalue, by hand: G = (ridge / (ridge + lambda_k))^2 yy^T / kappa."""
    n, ridge = 2, 1.0
    y = np.kron(np.eye(3), np.ones((n, 1)))
    lam = ridge / (2 * (1 + 1 / ridge) * n) * 0.9
    kappa = 1 - 2 * lam * (1 + 1 / ridge)
    rows = recursion.proof_constants({"arm": "claim"}, ridge * np.eye(3 * n), y, lam, ridge, kappa, n)
    constants = {row["quantity"]: row["value"] for row in rows}
    distance = n * ((ridge / (ridge + lam)) ** 2 / kappa - 1)
    assert constants["thm4_3/collapsed"] == pytest.approx(2 * distance / ridge)
    assert constants["thm4_3/collapsed"] > 1  # so the first step of the proof fails
    assert constants["thm4_3/psi"] == pytest.approx(max(1, (ridge + n) / (ridge + n + distance)) / 2)


def test_without_a_next_gram_only_kappa_is_measured():
    """The printed kappa at n = 1, lambda_Phi = 10 and the largest lambda_k of the condition with C = 1, epsilon = 0."""
    kappa = 1 - 10.0
    rows = list(recursion.proof_constants({"arm": "claim"}, 10 * np.eye(2), np.eye(2), 50 / 11, 10.0, kappa, 1))
    assert [(row["quantity"], row["value"]) for row in rows] == [("thm4_3/kappa", 20.0)]


def after_one_layer(values: np.ndarray, lam: float, ridge: float, kappa: float, n: int) -> float:
    """eps_A / lambda_Phi for one class of n samples, whose first Gram has these eigenvalues; y is in all of them."""
    fitted = values / (values + lam)
    direction = np.full(n, n**-0.5)  # coordinates of y / ||y||, the same in each eigenvector
    G = n * np.outer(fitted * direction, fitted * direction) / kappa
    return float(np.abs(np.linalg.eigvalsh(G - n * np.outer(direction, direction))).max()) / ridge


@pytest.mark.parametrize("epsilon", [0.1, 0.9])
@pytest.mark.parametrize("size", recursion.SIZES)
def test_close_to_the_limit_partial_collapse_fails_for_every_constant(size, epsilon):
    """The measured kappa and eps_A, by hand where the first Gram is a multiple of I."""
    n = recursion.SIZES[size][0]
    layer = f"multiple of I 0, ε = {epsilon:g}"
    rows = list(recursion.close_to_the_limit(size, "multiple of I", 0))
    measured = {(row["x"], row["quantity"]): row["value"] for row in rows
                if row["arm"] == "claim" and row["layer"] == layer}  # fmt: skip
    for C in 2.0 ** -np.arange(12):
        kappa = C * (1 - epsilon) / 8
        ridge = n / (C * (1 - epsilon)) - n / 8
        lam = C * ridge**2 * (1 - epsilon) / (2 * (ridge + 1) * n)
        assert 1 - 2 * lam - 2 * lam / ridge == pytest.approx(kappa, rel=1e-9)
        assert measured[C, "thm4_3/kappa"] == pytest.approx(2 - 2 * kappa, rel=1e-9)
        expected = after_one_layer(np.full(n, ridge), lam, ridge, kappa, n)
        assert measured[C, "thm4_3/collapsed"] == pytest.approx(2 * expected, rel=1e-6)
        assert expected > 2.5  # 32/9 - 1 for every C and n, by the derivation; partial collapse is below 1/2


def eigenvalues(draw: np.random.Generator, n: int, ridge: float) -> np.ndarray:
    """From lambda_Phi on; some are equal, and some are far above it."""
    return ridge * 10.0 ** (draw.choice([0.0, 1.0, 6.0]) * draw.random(n) * draw.integers(0, 2, n))


def test_partial_collapse_holds_by_the_corrected_condition():
    """lambda_k <= min(lambda_Phi (1 - epsilon) / 4, lambda_Phi^2 / (12 n)), with kappa = 1 - 2 lambda_k/(lambda_Phi+n).

    The largest value is near lambda_Phi = 3 n and epsilon = 0, where both bounds are equal.
    """
    draw, found = stream("test", "corrected partial collapse"), []
    for index in range(6000):
        n, epsilon = int(draw.integers(1, 13)), float(draw.choice([0.0, 0.1, 0.5, 0.9]))
        ridge = 3 * n * 10 ** float(draw.uniform(-4, 4) if index % 2 else draw.uniform(-0.2, 0.2))
        lam = min(ridge * (1 - epsilon) / 4, ridge**2 / (12 * n))
        kappa = 1 - 2 * lam / (ridge + n)
        assert kappa >= 0.5
        found.append(after_one_layer(eigenvalues(draw, n, ridge), lam, ridge, kappa, n) / 0.5)
    assert 0.35 < max(found) < 0.5


@pytest.mark.parametrize("n", [1, 2, 7])
def test_neither_half_of_the_corrected_condition_is_enough(n):
    """A first Gram lambda_Phi I. Without lambda_Phi (1 - epsilon) / 4 kappa falls below 0; without the other, at small
    lambda_Phi a layer removes a fixed share of yy^T.
    """
    assert 1 - 2 * (10 * n) ** 2 / (12 * n) / (10 * n + n) == pytest.approx(1 - 50 / 33)
    ridge = 6.866 * n
    lam = ridge**2 / (12 * n)
    kappa = 1 - 2 * lam / (ridge + n)
    assert 0 < kappa < 0.002
    assert after_one_layer(np.full(n, ridge), lam, ridge, kappa, n) > 50
    ridge = 0.01 * n
    lam = ridge / 4
    assert after_one_layer(np.full(n, ridge), lam, ridge, 1 - 2 * lam / (ridge + n), n) > 30


def test_with_the_printed_kappa_above_a_half_an_eighth_is_enough():
    """eps_A <= 3 C (1 - epsilon) lambda_Phi, if kappa >= 1/2 is assumed as well."""
    draw, count = stream("test", "printed kappa above 1/2"), 0
    for _ in range(4000):
        n, constant = int(draw.integers(1, 13)), float(draw.uniform(0.001, 0.125))
        ridge = n * 10 ** float(draw.uniform(-3, 2))
        lam = constant * ridge**2 / (2 * (ridge + 1) * n)
        kappa = 1 - 2 * lam * (1 + 1 / ridge)
        if kappa >= 0.5:
            assert after_one_layer(eigenvalues(draw, n, ridge), lam, ridge, kappa, n) <= 3 * constant
            count += 1
    assert count > 1000


@pytest.fixture(scope="module")
def recursion_rows() -> list[dict]:
    return list(recursion.measure(SimpleNamespace(instances=1)))


def test_the_control_without_lambda_phi_breaks_the_inequality(recursion_rows):
    """Except where the first Gram is a multiple of I, which leaves nothing to remove."""
    rows = [row for row in recursion_rows if row["arm"] == recursion.NONE]
    ratio = planted(rows).where(quantity="thm4_3/ratio")
    multiple = np.array(["multiple of I" in layer for layer in ratio.layer])
    assert (ratio.value[multiple] <= 1).all()
    assert ratio.value[~multiple].max() > 1


def test_without_lambda_phi_its_size_does_not_change_the_rate(recursion_rows):
    rows = [row for row in recursion_rows if row["arm"] == recursion.NONE]
    finding = d_thm4_3.between_the_limits(planted(rows).where(quantity="thm4_3/first rate"))
    assert finding.holds is False
    assert min(finding.numbers.values()) > d_thm4_3.UNCHANGED  # neither lambda changes it everywhere


def test_the_verdict_on_theorem_4_3(recursion_rows):
    result = verdict(d_thm4_3, recursion_rows)
    assert result["verdict"] == "holds corrected"
    answers = {statement["name"]: statement["verdict"] for statement in result["statements"]}
    limits = ("collapse in one layer", "a large ratio prevents collapse")
    as_printed = dict.fromkeys((BETWEEN, *limits, "proof: norm of Ψ̃"), "holds")
    assert answers == {**dict.fromkeys(answers, "holds corrected"), **as_printed}


@pytest.mark.parametrize("n", [1, 3, 10])
@pytest.mark.parametrize("ridge", [0.05, 1.0, 40.0])
def test_the_corrected_theorem_on_explicit_data(n, ridge):
    """Steps by their definition: data X, the mean outer product of gradients, its root, and stacked features."""
    draw = stream("test_checks_d", n, str(ridge))
    y = np.kron(np.eye(3), np.ones((n, 1)))
    raw = draw.normal(size=(len(y), 2 * len(y)))
    X = np.hstack([raw, np.sqrt(ridge) * np.eye(len(y))]).T  # least eigenvalue of X^T X at least lambda_Phi
    lam = 0.2 * ridge
    kappa = 1 - 2 * lam / (ridge + n)
    d = recursion.distances(X.T @ X, y, lam, ridge, kappa)
    for step in range(3):
        alpha = np.linalg.solve(X.T @ X + lam * np.eye(len(y)), y)
        gradient = X @ alpha  # the same at every sample
        values, vectors = np.linalg.eigh(gradient @ gradient.T)
        root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
        projected = root @ X / np.sqrt(kappa)
        assert np.linalg.norm(projected.T @ projected - y @ y.T, 2) == pytest.approx(d[step], rel=1e-6, abs=1e-9)
        X = np.vstack([projected, np.sqrt(ridge) * np.eye(len(y))])
    floor = recursion.REMAINDER * n * (lam / (ridge + n)) ** 2
    assert (d[1:] <= 0.2 * d[:-1] + floor + 1e-12).all()  # the rate is at most lambda_k / lambda_Phi
    assert d[-1] <= floor + 1e-12


def test_theorem_4_4():
    exact = [
        {"case": str(case), "dtype": dtype, "quantity": "thm4_4/residual", "value": unit}
        for case in range(5)
        for dtype, unit in (("float64", 2.0**-53), ("float32", 2.0**-24))
    ]
    good = [{"quantity": "thm4_4/ratio", "value": 0.9}, {"quantity": "thm4_4/near", "value": 0.5}]
    assert finding_of(d_thm4_4, "value at k*", exact).holds
    assert finding_of(d_thm4_4, "value at k*", [{**row, "value": 1e-3} for row in exact]).holds is False
    for name, quantity in (("no better kernel", "thm4_4/ratio"), ("kernels near k*", "thm4_4/near")):
        assert finding_of(d_thm4_4, name, good).holds
        assert finding_of(d_thm4_4, name, [*good, {"quantity": quantity, "value": 1.01}]).holds is False


@pytest.mark.parametrize("least", [-1.5, problem_3.NEARLY])
@pytest.mark.parametrize("mu", [0.01, 1.0, 100.0])
def test_the_controls_kernel_has_the_eigenvalue_that_it_asks_for(least, mu):
    for C, n in ((2, 3), (3, 1), (1, 5)):
        k = problem_3.indefinite(problem_3.labels(C, n), mu, least)
        assert np.linalg.eigvalsh(k)[0] == pytest.approx(least * mu, rel=1e-9)
        np.testing.assert_array_equal(np.diag(k), 1.0)


def test_theorem_4_4_has_the_minus():
    """By the formula of Problem (3) at k*, at the A where its gradient is 0."""
    C, n, mu = 3, 4, 0.7
    Y = problem_3.labels(C, n)
    k = Y.T @ Y
    A = Y / (n + mu)
    gradient = A @ (k @ k + mu * k) - Y @ k
    np.testing.assert_allclose(gradient, 0, atol=1e-12)
    value = np.trace(A @ (k @ k + mu * k) @ A.T) - 2 * np.trace(A @ k @ Y.T)
    assert value == pytest.approx(-C * n * n / (n + mu))
    result = verdict(d_thm4_4, list(problem_3.measure(SimpleNamespace(instances=8))))
    assert result["verdict"] == "holds corrected"
    answers = {statement["name"]: statement["verdict"] for statement in result["statements"]}
    assert answers == {"value at k*": "holds corrected", "no better kernel": "holds", "kernels near k*": "holds"}
