"""What d_lemmas measures, row by row: by other routes to the inverses, closed forms, and sums over the drawn W."""

from itertools import product
from math import lgamma

import numpy as np
import pytest
from handmade import assert_same_rows
from helpers import norm
from numpy.polynomial.hermite_e import hermegauss
from scipy.integrate import quad

import gramlab
from gramlab.streams import stream
from tasks.papers.neural_collapse.experiments import d_lemmas

UNITS = {"float64": 2.0**-53, "float32": 2.0**-24}
MINUS, TWO_SIZES, SIGNS = "control: minus in the inner inverse", "control: classes of two sizes", "control: labels ±1"
LEAKY, IDENTITY, TANH = "control: leaky ReLU", "control: identity", "control: tanh"
ONE_ROW = "control: all rows of W equal"
ABSOLUTE = "control: absolute value"
SQUARED, BOTH_SIDES = "control: squared ReLU", "control: classes on both sides of the origin"
COSINES = ("-1", "-0.999", "-0.7", "-0.2", "0", "0.3", "0.8", "0.99", "0.9999", "1")


@pytest.fixture(scope="module")
def table():
    return list(d_lemmas.measure(d_lemmas.Settings(instances=1)))


def condition(A) -> float:
    S = np.linalg.svd(A, compute_uv=False)
    return float(S[0] / S[-1])


def rows_of(table, quantity, dtype):
    return [row for row in table if row["quantity"] == quantity and row["dtype"] == dtype]


def compare(measured, expected, dtype, wrong, rel=1e-6):
    """The arms ``wrong`` have the value that is expected; all others have round-off only, and some of it."""
    unit = UNITS[dtype]
    assert_same_rows([row for row in measured if row["arm"] in wrong], [row for row in expected if row["arm"] in wrong],
                     rel=rel, absolute=8 * unit)  # fmt: skip
    right = [row for row in measured if row["arm"] not in wrong]
    assert_same_rows(right, [{**row, "value": 0.0} for row in expected if row["arm"] not in wrong], absolute=8 * unit)
    assert max(row["value"] for row in right) > unit / 1e3  # the precision is the named one


# ------------------------------------------------------------------------------------------------ Lemma B.1


def matrices(kind: str, instance: int):
    """P, U and V of this kind, in the order in which they are drawn."""
    draw = stream("d_lemmas", "woodbury", kind, instance)
    n, k = int(draw.integers(2, 20)), int(draw.integers(1, 20))
    k = 1 if kind == "rank one" else n + k if kind == "wide" else min(k, n)
    P = draw.normal(size=(n, n))
    P[np.diag_indices(n)] += 2 * np.sqrt(n)
    if kind == "ill-conditioned P":
        P = np.linalg.qr(draw.normal(size=(n, n)))[0] @ np.diag(np.logspace(0, -4, n))
    both = draw.normal(size=(2 * n * k,)).reshape(2, n, k)
    U, V = both * 10 ** draw.uniform(-1, 1)
    if kind == "near singular":
        U = P @ np.linalg.pinv(V.T) * -0.999
    if kind == "ridge":
        P, V = np.array([[a @ b for b in P] for a in P]), np.diag(np.ones(n))
        U = V * 10 ** draw.uniform(-3, 0)
    return P, np.zeros_like(U) if kind == "zero U" else U, V


def inverse(A) -> np.ndarray:
    return np.linalg.solve(A, np.eye(len(A)))


@pytest.mark.parametrize("dtype", UNITS)
def test_lemma_b_1(table, dtype):
    expected = []
    for kind in ("random", "rank one", "wide", "ill-conditioned P", "near singular", "ridge", "zero U"):
        P, U, V = (array.astype(dtype).astype(float) for array in matrices(kind, 0))
        left, of_p = inverse(P + U @ V.T), inverse(P)
        for arm, sign in (("claim", 1), (MINUS, -1)):
            if arm == "claim" or kind != "zero U":
                middle = inverse(np.eye(U.shape[1]) + sign * V.T @ of_p @ U)
                right = of_p - of_p @ U @ middle @ V.T @ of_p
                amplified = norm(of_p) ** 2 * norm(U) * norm(V) * norm(middle)
                amplified *= norm(middle) * (1 + norm(U) * norm(V) * norm(of_p))
                size = condition(P + U @ V.T) * norm(left) + condition(P) * (norm(of_p) + amplified)
                expected.append({"arm": arm, "case": kind, "quantity": "lemB1/residual",
                                 "value": norm(left - right) / (sum(U.shape) * size)})  # fmt: skip
    compare(rows_of(table, "lemB1/residual", dtype), expected, dtype, {MINUS}, 1e-6 if dtype == "float64" else 0.1)


@pytest.mark.parametrize("kind", ["ill-conditioned P", "near singular", "ridge", "wide"])
def test_kinds_of_matrices(kind):
    """Each kind is what its name says, on several instances."""
    for instance in range(4):
        P, U, V = d_lemmas.woodbury_matrices(kind, instance)
        np.testing.assert_allclose(U, matrices(kind, instance)[1], rtol=1e-8, atol=1e-12)
        if kind == "ill-conditioned P":
            assert condition(P) == pytest.approx(1e4, rel=1e-6)
        elif kind == "near singular":  # I + V^T P^-1 U = I / 1000
            np.testing.assert_allclose(V.T @ inverse(P) @ U, -0.999 * np.eye(U.shape[1]), atol=1e-10)
        elif kind == "ridge":
            np.testing.assert_allclose(U @ V.T, U[0, 0] * np.eye(len(P)), atol=1e-15)
            assert np.linalg.eigvalsh(P)[0] > 0
        else:
            assert U.shape[1] > len(P)


# ------------------------------------------------------------------------------------------------ Lemma B.2


def classes_and_ridge(kind: str, instance: int) -> tuple[int, int, float]:
    """K, n and lambda of this kind."""
    draw = stream("d_lemmas", "collapsed", kind, instance)
    K, n, exponent = int(draw.integers(2, 6)), int(draw.integers(2, 12)), 0.0
    if kind not in ("small ridge", "large ridge"):
        exponent = draw.uniform(-1, 1)
    K, n = {"two classes": (2, n), "ten classes": (10, 3), "one sample each": (K, 1), "one class": (1, n)}.get(
        kind, (K, n)
    )
    return K, n, 10 ** {"small ridge": -2.0, "large ridge": 2.0}.get(kind, exponent)


def rows_of_collapsed(kind: str, dtype: str):
    """Of yy^T by its eigenvalues, n with multiplicity K, and 0; of the controls by solving."""
    K, n, ridge = classes_and_ridge(kind, 0)
    labels = (
        {"claim": None, "corrected": None} | ({TWO_SIZES: None} if n > 1 else {}) | ({SIGNS: None} if K > 1 else {})
    )
    codes = np.array([[float(i // n == c) for c in range(K)] for i in range(K * n)])
    for arm in labels:
        y = codes[: max(K * n - n // 2, 1)] if arm == TWO_SIZES else 2 * codes - 1 if arm == SIGNS else codes
        N, outer = len(y), np.array([[a @ b for b in y] for a in y])
        direct = inverse(outer + ridge * np.eye(N))
        factor = 1 + 1 / ridge if arm == "claim" else 1 / (ridge + n)
        if arm in ("claim", "corrected"):
            # A* has the eigenvalues lambda + n (K times) and lambda
            of_inverse = np.sqrt(K / (ridge + n) ** 2 + (N - K) / ridge**2)
            cond = (ridge + n) / ridge if n > 1 else 1.0
            inverse_gap, product_gap = 0.0, abs(1 / (ridge + n) - factor) * n * K**0.5
            of_outer = n * K**0.5
        else:
            of_inverse, of_outer = norm(direct), norm(outer)
            cond = condition(outer + ridge * np.eye(N))
            inverse_gap = norm(direct - (np.eye(N) - outer / (ridge + n)) / ridge)
            product_gap = norm(outer @ direct - factor * outer)
        size = N * (cond * of_inverse + N**0.5 / ridge + of_outer / ridge / (ridge + n))
        row = {"arm": arm, "case": kind}
        yield {**row, "quantity": "lemB2/inverse", "value": inverse_gap / size}
        for side in ("left", "right"):
            yield {**row, "layer": side, "quantity": "lemB2/product", "value": product_gap / (size * of_outer)}


@pytest.mark.parametrize("dtype", UNITS)
def test_lemma_b_2(table, dtype):
    kinds = ("two classes", "ten classes", "one sample each", "one class", "small ridge", "large ridge")
    expected = [row for kind in kinds for row in rows_of_collapsed(kind, dtype)]
    rel = 1e-6 if dtype == "float64" else 0.02
    for quantity, wrong in (("lemB2/inverse", {TWO_SIZES, SIGNS}), ("lemB2/product", {"claim", TWO_SIZES, SIGNS})):
        its_rows = [row for row in expected if row["quantity"] == quantity]
        compare(rows_of(table, quantity, dtype), its_rows, dtype, wrong, rel)


# ------------------------------------------------------------------------------------------- Proposition A.1


def arc_cosine(r: float) -> float:
    """2 E[relu(u) relu(v)] (Cho and Saul, 2009), by the angle."""
    angle = 2 * np.arctan2(np.sqrt(1 - r), np.sqrt(1 + r))
    return (np.sin(angle) + (np.pi - angle) * np.cos(angle)) / np.pi


def gaussian_mean(activation, r: float) -> float:
    """2 E[activation(u) activation(v)] by Gauss-Hermite quadrature."""
    z, weights = hermegauss(180)
    u, v = z[:, None] + 0 * z, r * z[:, None] + np.sqrt(1 - r * r) * z
    return float(2 * (np.outer(weights, weights) * activation(u) * activation(v)).sum() / (2 * np.pi))


def test_the_closed_form():
    """Its value at orthogonal and at equal points, and of any angle."""
    for r in COSINES:
        assert d_lemmas.closed_form(np.float64(float(r))) == pytest.approx(arc_cosine(float(r)), rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("dtype", UNITS)
def test_quadratures(table, dtype):
    """ReLU by its closed form, leaky ReLU as u/5 + 4/5 relu(u), tanh by another quadrature."""
    expected = []
    for r in COSINES:
        cosine = float(r)
        means = {"claim": arc_cosine(cosine), IDENTITY: 2 * cosine, TANH: gaussian_mean(np.tanh, cosine),
                 LEAKY: 0.04 * 2 * cosine + 2 * 0.16 * cosine + 0.64 * arc_cosine(cosine)}  # fmt: skip
        expected += [{"arm": arm, "case": f"r = {r}", "x": cosine, "quantity": "propA1/residual",
                      "value": abs(mean - arc_cosine(cosine)) / 24} for arm, mean in means.items()]  # fmt: skip
    compare(rows_of(table, "propA1/residual", dtype), expected, dtype, {LEAKY, IDENTITY, TANH},
            1e-6 if dtype == "float64" else 1e-3)  # fmt: skip
    means = [
        {**row, "quantity": "propA1/mean", "value": arc_cosine(row["x"])} for row in expected if row["arm"] == "claim"
    ]
    assert_same_rows(rows_of(table, "propA1/mean", "float64"), means, absolute=1e-12)
    assert not rows_of(table, "propA1/mean", "float32")


def test_monte_carlo(table):
    """The mean's distance from the closed form in standard errors, and the variance, of the very matrices drawn."""
    expected = []
    for r, arm, power in product(COSINES[2:], ("claim", LEAKY, ONE_ROW), range(3, 11)):
        D, cosine = 2**power, float(r)
        draw = stream("d_lemmas", "propA1", arm, r, D)
        d = int(draw.integers(2, 6))
        first, second = np.linalg.qr(draw.normal(size=(d, d)))[0][:2]
        x, y = first, cosine * first + np.sqrt(1 - cosine**2) * second
        W = draw.normal(size=(100, 1 if arm == ONE_ROW else D, d))
        slope = 0.2 if arm == LEAKY else 0.0
        u, v = (np.einsum("mkd,d->mk", W, point) for point in (x, y))
        sigma_u, sigma_v = (np.maximum(values, slope * values) for values in (u, v))
        # entries of variance 2/D; the one row stands D times
        products = 2 / D * (sigma_u * sigma_v).sum(1) * (D if arm == ONE_ROW else 1)
        variance = ((products - products.mean()) ** 2).sum() / 99
        row = {"arm": arm, "case": f"r = {r}", "x": 1 / D}
        expected.append({**row, "quantity": "propA1/away",
                         "value": (products.mean() - arc_cosine(cosine)) / np.sqrt(variance / 100)})  # fmt: skip
        expected.append({**row, "quantity": "propA1/remainder", "value": variance})
    measured = rows_of(table, "propA1/away", "float64") + rows_of(table, "propA1/remainder", "float64")
    assert_same_rows(measured, expected, rel=1e-7, absolute=1e-9)


def test_distances(table):
    """The squared distance of two unit vectors over that of their features, by the closed forms of their products."""
    products = {
        "claim": arc_cosine,
        "corrected": arc_cosine,
        "control: absolute value": lambda r: 2 / np.pi * (np.sqrt(1 - r * r) + r * np.arcsin(r)),
        "control: sign, corrected": lambda r: 2 / np.pi * np.arcsin(r),
        "control: linear features": lambda r: r,
    }
    measured = [row for row in rows_of(table, "propA1/distance", "float64") if row["x"] > -1 or row["arm"] != ABSOLUTE]
    expected = []
    for r, (arm, of_features) in product(COSINES[:-1], products.items()):
        cosine = float(r)
        if r == "-1" and arm == ABSOLUTE:
            continue  # its features of opposite points are equal
        before_over_after = (1 - cosine) / (1 - of_features(cosine))
        value = 1 / before_over_after if "corrected" in arm else before_over_after
        expected.append({"arm": arm, "case": f"r = {r}", "x": cosine, "quantity": "propA1/distance", "value": value})
    assert_same_rows(measured, expected, rel=1e-6)  # the quadrature of the sign is good to 1e-8


def moment(r: float, p: int, degree: int) -> float:
    """log E Z^p for Z = 2 (cos cos rho^2)^degree, up to the factor of each degree: E rho^2q = 2^q q! in closed form."""
    q, angle = degree * p, np.arccos(r)
    largest = (1 + r) / 2  # of the product of cosines, in the middle of the wedge
    middle, half = angle / 2, (np.pi - angle) / 2
    relative = quad(lambda phi: (np.cos(middle + phi) * np.cos(middle - phi) / largest) ** q, -half, half,
                    limit=500, epsabs=0, epsrel=1e-11)[0]  # fmt: skip
    factor = np.log(2 if degree == 1 else 2 / 3)
    return p * factor + q * np.log(2 * largest) + lgamma(q + 1) + np.log(relative / (2 * np.pi))


def test_moments(table):
    expected = []
    for r, arm, power in product(COSINES[1:], ("claim", SQUARED), range(9)):
        cosine, p = float(r), 2**power
        root = np.exp((np.log(2) + moment(cosine, p, 1 if arm == "claim" else 2) - lgamma(p + 1)) / p)
        expected.append({"arm": arm, "case": f"r = {r}", "x": float(p), "quantity": "propA1/moment",
                         "value": root / (2 + 2 * cosine)})  # fmt: skip
    assert_same_rows(rows_of(table, "propA1/moment", "float64"), expected, rel=1e-7)


def test_the_first_moments_have_closed_forms(table):
    """The arc-cosine kernels of degree 1 and 2 (Cho and Saul, 2009)."""
    values = {(row["arm"], row["x"], row["case"]): row["value"] for row in rows_of(table, "propA1/moment", "float64")}
    for r in COSINES[1:]:
        cosine, angle = float(r), np.arccos(float(r))
        squares = (3 * np.sin(angle) * cosine + (np.pi - angle) * (1 + 2 * cosine**2)) / (2 * np.pi)  # E u^2 v^2
        if cosine < -0.9:
            continue  # the closed form of the squares cancels
        b = 2 * (1 + cosine)
        assert values["claim", 1.0, f"r = {r}"] == pytest.approx(2 * arc_cosine(cosine) / b, rel=1e-9)
        assert values["claim", 2.0, f"r = {r}"] == pytest.approx(np.sqrt(4 * squares) / b, rel=1e-9)
        assert values[SQUARED, 1.0, f"r = {r}"] == pytest.approx(2 * 2 / 3 * squares / b, rel=1e-9)


@pytest.mark.parametrize(("kind", "separation"), [("classes apart", 2.0), ("overlapping classes", 0.5)])
def test_nc1_of_features(kind, separation):
    """By gramlab's own measure, on the very points and features that are drawn."""
    draw = stream("d_lemmas", "propA1, nc1", kind, 3)
    K, d = int(draw.integers(2, 11)), int(draw.integers(5, 41))
    labels = np.array([c for c in range(K) for _ in range(10)])
    means = separation * draw.normal(size=(K, d))
    points = np.array([means[label] for label in labels]) + draw.normal(size=(10 * K, d))
    points = np.array([point / np.sqrt(point @ point) for point in points])
    W, signs = draw.normal(size=(1024, d)), draw.choice([-1.0, 1.0], size=(10 * K, 1))
    expected = []
    for arm, x in (("claim", points), (BOTH_SIDES, points * signs)):
        features = np.sqrt(2 / 1024) * np.clip(np.einsum("kd,nd->nk", W, x), 0, None)
        for name, H in (("before", x), ("after", features)):
            value = gramlab.neural_collapse(H, labels).nc1
            expected.append({"arm": arm, "case": kind, "seed": 3, "quantity": f"propA1/nc1 {name}", "value": value})
    assert_same_rows(list(d_lemmas.nc1_of_features(kind, 3)), expected, rel=1e-9)


def test_two_points_have_the_cosine():
    for r, d in product((-0.7, 0.0, 0.9999, 1.0), (2, 5)):
        x, y = d_lemmas._unit_vectors(r, d, np.random.default_rng(d))
        assert [norm(x), norm(y), sum(x * y)] == pytest.approx([1, 1, r], abs=1e-12)


def test_instances_are_counted():
    """Each kind of matrix once an instance, with other numbers; hundreds of W instead of more rows."""
    measured = list(d_lemmas.measure(d_lemmas.Settings(instances=2)))
    for quantity in ("lemB1/residual", "lemB2/product"):
        rows = [row["value"] for row in measured if row["quantity"] == quantity and row["arm"].startswith("control")]
        assert len(set(rows)) > len(rows) / 3
    away = [row["value"] for row in measured if row["quantity"] == "propA1/away" and row["arm"] == ONE_ROW]
    assert len(away) == 8 * 8
