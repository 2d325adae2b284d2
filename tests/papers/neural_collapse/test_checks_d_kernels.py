"""Paper D's checks on kernels against planted tables, and the corrected constants of Theorem 4.3 by brute force."""

from types import SimpleNamespace

import numpy as np
import pytest

from gramlab import tables
from gramlab.streams import stream
from tasks.judging.rules import Rows
from tasks.judging.verdict import judge
from tasks.papers.neural_collapse.claims import d_fig1, d_fig3, d_propa_1, d_thm4_3, d_thm4_4
from tasks.papers.neural_collapse.experiments import d_lemmas
from tasks.papers.neural_collapse.experiments import d_thm4_4 as problem_3
from tasks.papers.neural_collapse.experiments.d_thm4_3 import NONE, REMAINDER, distances
from tasks.papers.neural_collapse.experiments.d_thm4_3 import _constants as constants
from tasks.papers.neural_collapse.experiments.d_thm4_3 import measure as theorem_4_3


def rows(made: list[dict]) -> Rows:
    return Rows(tables.table(made))


def theorem(power: float = 2.0, ratio: float = 0.6) -> Rows:
    made = [{"quantity": "thm4_3/ratio", "value": ratio}, {"quantity": "thm4_3/floor", "value": 0.1}]
    for case in ("a", "b"):
        made += [
            {"case": case, "dtype": "float64", "quantity": "thm4_3/remainder", "x": x, "value": x**power}
            for x in 2.0 ** -np.arange(10)
        ]
    return rows(made)


def test_theorem_4_3():
    assert d_thm4_3.rule(theorem()).holds
    assert d_thm4_3.rule(theorem(power=1.0)).holds is False
    assert d_thm4_3.rule(theorem(ratio=1.1)).holds is False


@pytest.mark.parametrize("quantity", ["kappa", "collapsed", "psi"])
def test_theorem_4_3_needs_each_of_its_proofs_constants(quantity):
    made = [theorem(), rows([{"quantity": f"thm4_3/{quantity}", "value": value} for value in (0.9, 1.1)])]
    columns = {name: np.concatenate([getattr(part, name) for part in made]) for name in made[0]._columns}
    assert d_thm4_3.rule(Rows(columns)).holds is False


def test_the_proofs_constants_at_c_1():
    """A first layer of one eigenvalue, by hand: G = (ridge / (ridge + lambda_k))^2 yy^T / kappa."""
    n, ridge = 2, 1.0
    y = np.kron(np.eye(3), np.ones((n, 1)))
    lam = ridge / (2 * (1 + 1 / ridge) * n) * 0.9
    kappa = 1 - 2 * lam * (1 + 1 / ridge)
    made = {row["quantity"]: row["value"] for row in constants({"arm": "claim"}, ridge * np.eye(3 * n), y, lam, ridge,
                                                               kappa, n)}  # fmt: skip
    away = n * ((ridge / (ridge + lam)) ** 2 / kappa - 1)
    assert made["thm4_3/collapsed"] == pytest.approx(2 * away / ridge)
    assert made["thm4_3/collapsed"] > 1  # so that the proof's first step fails there
    assert made["thm4_3/psi"] == pytest.approx(max(1, (ridge + n) / (ridge + n + away)) / 2)


def test_without_a_nonlinearity_kappa_and_remainder_are_those_of_lambda_phi_0():
    """A first Gram that is a multiple of I leaves nothing to remove: the remainder with n is enough, only there."""
    made = [row for row in theorem_4_3(SimpleNamespace(instances=1)) if row["arm"] == NONE]
    from_n = rows(made).where(quantity="thm4_3/ratio")
    multiples = np.array(["multiple of I" in layer for layer in from_n.layer])
    assert (from_n.value[multiples] <= 1).all()
    assert from_n.value[~multiples].max() > 1


@pytest.mark.parametrize("n", [1, 3, 10])
@pytest.mark.parametrize("ridge", [0.05, 1.0, 40.0])
def test_the_corrected_theorem_on_explicit_data(n, ridge):
    """One step from its definition: data X, the mean outer product of gradients, its root, and stacked features."""
    draw = stream("test_checks_d", n, str(ridge))
    y = np.kron(np.eye(3), np.ones((n, 1)))
    raw = draw.normal(size=(len(y), 2 * len(y)))
    X = np.hstack([raw, np.sqrt(ridge) * np.eye(len(y))]).T  # least eigenvalue of X^T X at least lambda_Phi
    lam = 0.2 * ridge
    kappa = 1 - 2 * lam / (ridge + n)
    d = distances(X.T @ X, y, lam, ridge, kappa)
    for step in range(3):
        alpha = np.linalg.solve(X.T @ X + lam * np.eye(len(y)), y)
        slopes = X @ alpha  # of every sample alike
        values, vectors = np.linalg.eigh(slopes @ slopes.T)
        root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
        projected = root @ X / np.sqrt(kappa)
        assert np.linalg.norm(projected.T @ projected - y @ y.T, 2) == pytest.approx(d[step], rel=1e-6, abs=1e-9)
        X = np.vstack([projected, np.sqrt(ridge) * np.eye(len(y))])
    floor = REMAINDER * n * (lam / (ridge + n)) ** 2
    assert (d[1:] <= 0.2 * d[:-1] + floor + 1e-12).all()  # the rate is lambda_k / lambda_Phi at most
    assert d[-1] <= floor + 1e-12


def test_theorem_4_4():
    exact = [
        {"case": str(case), "dtype": dtype, "quantity": "thm4_4/residual", "value": unit}
        for case in range(5)
        for dtype, unit in (("float64", 2.0**-53), ("float32", 2.0**-24))
    ]
    good = [{"quantity": "thm4_4/ratio", "value": 0.9}, {"quantity": "thm4_4/near", "value": 0.5}]
    assert d_thm4_4.rule(rows([*exact, *good])).holds
    for quantity in ("thm4_4/ratio", "thm4_4/near"):
        assert d_thm4_4.rule(rows([*exact, *good, {"quantity": quantity, "value": 1.01}])).holds is False


def test_theorem_4_4_has_the_minus():
    """Problem (3)'s own formula at k*, at the A where its gradient is 0."""
    C, n, mu = 3, 4, 0.7
    Y = problem_3.labels(C, n)
    k = Y.T @ Y
    A = Y / (n + mu)
    slope = A @ (k @ k + mu * k) - Y @ k
    np.testing.assert_allclose(slope, 0, atol=1e-12)
    value = np.trace(A @ (k @ k + mu * k) @ A.T) - 2 * np.trace(A @ k @ Y.T)
    assert value == pytest.approx(-C * n * n / (n + mu))
    found = judge(d_thm4_4, rows(list(problem_3.measure(SimpleNamespace(instances=2)))))
    assert (found["verdict"], found["printed form"]["holds"]) == ("holds corrected", False)


def test_proposition_a_1_takes_a_mean_and_a_variance():
    made = [
        {"arm": "claim", "case": str(r), "dtype": "float64", "quantity": f"propA1/{name}", "x": x, "value": value}
        for r in range(3)
        for x in 2.0 ** -np.arange(3, 12)
        for name, value in (("away", 1.0), ("remainder", x))
    ]
    assert d_propa_1.rule(rows(made)).holds
    assert (
        d_propa_1.rule(rows([{**row, "value": 5.0} if row["quantity"] == "propA1/away" else row for row in made])).holds
        is False
    )
    slow = [{**row, "value": row["x"] ** 0.5} if row["quantity"] == "propA1/remainder" else row for row in made]
    assert d_propa_1.rule(rows(slow)).holds is False
    assert d_lemmas.closed_form(np.float64(0.0)) == pytest.approx(1 / np.pi)
    assert d_lemmas.closed_form(np.float64(1.0)) == pytest.approx(1.0)


def collapse(course: tuple[float, ...] = (), **rates: float) -> Rows:
    """NC1 and NC2 that change by these factors a layer, or NC1 by its course, with some noise between seeds."""
    made = []
    for seed in range(5):
        wobble = stream("test_checks_d", seed).uniform(0.95, 1.05)
        for layer in range(1, 9):
            data = course[layer - 1] if course else rates.get("nc1", 0.5) ** layer
            values = {"nc1/data": data, "nc1/agop": data * rates.get("agop", 0.3)}
            values["nc1/features"] = values["nc1/agop"] * rates.get("features", 1.5)
            values["nc2/data"] = rates.get("nc2", 0.8) ** layer
            values["ridge"] = 1.5e-8 if layer > 6 - seed % 2 else 0.0
            made += [{"case": "digits, laplace, relu", "seed": seed, "x": float(layer), "quantity": name,
                      "value": value * wobble ** (layer % 3)} for name, value in values.items()]  # fmt: skip
    return rows(made)


def test_figure_3():
    assert d_fig3.rule(collapse()).holds
    for broken in ({"nc1": 1.1}, {"agop": 1.2}, {"features": 0.7}, {"nc2": 1.1}):
        assert d_fig3.rule(collapse(**broken)).holds is False
    rises = d_fig3.rule(collapse(course=(1, 0.3, 0.1, 0.01, 0.02, 0.04, 0.06, 0.08)))  # after falling in 3 of 7 steps
    assert rises.holds is False
    assert [name for name, part in rises.parts.items() if not part.holds] == [
        "digits, laplace, relu: NC1 layer by layer"
    ]
    assert d_fig3.rule(collapse(course=(0.1, 1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4))).parts[
        "digits, laplace, relu: NC1 at last"].holds is False  # fmt: skip


def test_the_singular_kernels_ridge_is_told():
    found = d_fig3.rule(collapse())
    assert found.measured.endswith("digits, laplace, relu: ridge 1.6e-08 in 2 to 3 of 8 layers")
    assert found.measured.startswith("NC1 0.49 → 0.0038 at most")  # both of the data, before M^{1/2}: 2^-1, 2^-8


def test_figure_1():
    def simplex(within=0.98, across=-0.11, spread=0.05):
        values = {"within": within, "across": across, "spread": spread}
        return rows([{"case": "digits, gaussian, relu", "seed": seed, "x": float(layer), "quantity": f"gram/{name}",
                      "value": value + 0.001 * seed} for seed in range(5) for layer in (1, 2)
                     for name, value in values.items()])  # fmt: skip

    assert d_fig1.rule(simplex()).holds
    assert d_fig1.rule(simplex()).p < 0.05  # Holm's correction goes by it
    for broken in ({"within": 0.8}, {"across": 0.1}, {"spread": 0.2}):
        found = d_fig1.rule(simplex(**broken))
        assert found.holds is False
        assert found.p > 0.95
