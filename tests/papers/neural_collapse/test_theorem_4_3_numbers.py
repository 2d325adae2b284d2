"""What d_thm4_3 measures, row by row, from explicit data: X, the gradients of its predictor, and the next X."""

from collections import Counter
from itertools import pairwise, product

import numpy as np
import pytest
from handmade import assert_same_rows

from gramlab.streams import stream
from tasks.papers.neural_collapse.experiments import d_thm4_3

NONE, BEYOND = "control: no nonlinearity", "control: condition violated"
SIZES = {"n = 2": (2, 3), "n = 3": (3, 2)}  # n, K
RIDGES, POWERS = (0.1, 10.0), (0, 4, 8)


def one_hot(n: int, K: int) -> np.ndarray:
    return np.array([[float(c == i // n) for c in range(K)] for i in range(n * K)])


def first_gram(kind: str, y: np.ndarray, n: int, ridge: float, *name) -> np.ndarray:
    """X_1^T X_1 with least eigenvalue ``ridge``."""
    N = len(y)
    raw = stream("d_thm4_3", *name).normal(size=(N, N + 5))
    if kind == "multiple of I":
        return np.diag([ridge] * N)
    if kind == "far":
        outside = raw[:, 0] - np.repeat(raw[:, 0].reshape(-1, n).mean(1), n)
        length = np.sqrt((outside**2).sum())
        v = np.where(np.arange(N) < n, n**-0.5, 0) + outside / length
        return 1000 * v[:, None] * v + np.diag([ridge] * N)
    wishart = np.array([[a @ b for b in raw] for a in raw])
    values, vectors = np.linalg.eigh(wishart)
    return (vectors * (values - values[0] + ridge)) @ vectors.T


def spectral(A: np.ndarray) -> float:
    return float(np.linalg.svd(A, compute_uv=False)[0])


def course(
    first: np.ndarray, y: np.ndarray, lam: float, ridge: float, kappa: float, count: int = 60
) -> list[np.ndarray]:
    """G_2, G_3, ...: each layer fits the labels and replaces X by M^{1/2} X / sqrt(kappa) and lambda_Phi I."""
    values, vectors = np.linalg.eigh(first)
    X, grams = np.sqrt(values)[:, None] * vectors.T, []
    for _ in range(count):
        U, S, Vt = np.linalg.svd(X, full_matrices=False)
        # X (X^T X + lambda_k I)^-1 y: of each class, the same at every point; M is their sum of outer products
        gradients = U @ ((S / (S**2 + lam))[:, None] * (Vt @ y))
        projected = np.array([gradient @ X for gradient in gradients.T]) / np.sqrt(kappa)
        grams.append(sum(np.outer(row, row) for row in projected))
        X = np.vstack([projected, np.sqrt(ridge) * np.eye(len(y))])
    return grams


def distances(*arguments, count: int = 60) -> np.ndarray:
    y = arguments[1]
    return np.array([spectral(G - y @ y.T) for G in course(*arguments, count=count)])


def constants(labels, first, y, lam, ridge, kappa, n, counts_kappa=True):
    """The constants of the proof after one layer, over their bounds 1/2, lambda_Phi / 2 and 2."""
    if counts_kappa:
        yield {**labels, "quantity": "thm4_3/kappa", "value": (1 - kappa) / 0.5}
    if kappa > 0 and not (labels["arm"] == "corrected" and lam > ridge**2 / (12 * n)):
        (G,) = course(first, y, lam, ridge, kappa, count=1)
        collapsed, reached = y @ y.T + ridge * np.eye(len(y)), G + ridge * np.eye(len(y))
        yield {**labels, "quantity": "thm4_3/collapsed", "value": spectral(reached - collapsed) / (ridge / 2)}
        psi = np.linalg.inv(np.eye(len(y)) + (reached - collapsed) @ np.linalg.inv(collapsed))
        yield {**labels, "quantity": "thm4_3/psi", "value": spectral(psi) / 2}


def both_sides(labels, epsilon, d, lam, scale, n):
    """The largest ratio of d' to (1 - epsilon) d + 4.5 n (lambda_k / scale)^2, the largest excess, and the last d."""
    ratio, excess = 0.0, 0.0
    for before, after in pairwise(d):
        ratio = max(ratio, after / ((1 - epsilon) * before + 4.5 * n * lam**2 / scale**2 + 1e-14 * n))
        excess = max(excess, after - (1 - epsilon) * before)
    for name, value in (("ratio", ratio), ("remainder", excess), ("floor", d[-1] / n)):
        yield {**labels, "x": lam, "quantity": f"thm4_3/{name}", "value": value}


def slowest(labels, epsilon, d, lam, n):
    """The largest ratio of a distance to the one before, over 1 - epsilon, down to 1e-9 n."""
    rates = [after / before for before, after in pairwise(d) if before > 1e-9 * n]
    if rates:
        yield {**labels, "x": lam, "quantity": "thm4_3/exact", "value": max(rates) / (1 - epsilon)}


def instance_rows(case, kind, number, first, y, n, ridge):
    labels, kind = {"case": case, "seed": number}, f"{kind} {number}"
    for epsilon in (0.1, 0.9):
        labels["layer"] = f"{kind}, ε = {epsilon:g}"
        for power in POWERS:
            fraction = 2.0**-power
            lam = fraction * (1 - epsilon) * ridge**2 / (2 * (ridge + 1) * n)
            kappa = 1 - 2 * lam - 2 * lam / ridge
            row = {**labels, "arm": "claim"}
            yield from constants({**row, "x": fraction}, first, y, lam, ridge, kappa, n)
            if kappa > 0:
                d = distances(first, y, lam, ridge, kappa)
                yield from both_sides(row, epsilon, d, lam, ridge, n)
                yield from slowest(row, epsilon, d, lam, n)
            lam = fraction * (1 - epsilon) * ridge / 4
            row, kappa = {**labels, "arm": "corrected"}, 1 - 2 * lam / (ridge + n)
            yield from constants({**row, "x": fraction}, first, y, lam, ridge, kappa, n)
            yield from both_sides(row, epsilon, distances(first, y, lam, ridge, kappa), lam, ridge + n, n)
            d = distances(first, y, lam, ridge, ((ridge + n) / (ridge + n + lam)) ** 2)
            rates = [after / before for before, after in pairwise(d) if before > 1e-9 * n]
            yield from slowest(row, epsilon, d, lam, n)
            if rates:
                yield {**row, "x": lam / ridge, "quantity": "thm4_3/rate", "value": rates[-1]}
            lam = fraction * (1 - epsilon) * min(ridge, n) / 4
            d = distances(first, y, lam, 0.0, 1 - 2 * lam / n)
            yield from both_sides({**labels, "arm": NONE}, epsilon, d, lam, n, n)
            yield from slowest({**labels, "arm": NONE}, epsilon, d, lam, n)
    yield from rates_of_two_layers({"case": case, "layer": kind, "seed": number}, y, n, ridge)
    for power in POWERS:
        phi = 0.01 * 2.0**-power
        start, lam, kappa = first * phi / ridge, 5 * phi, 1 - 10 * phi / (phi + n)
        row = {"arm": BEYOND, "case": case, "layer": kind, "seed": number, "x": 5.0}
        yield from constants(row, start, y, lam, phi, kappa, n, counts_kappa=False)
        row = {**row, "layer": f"{kind}, ε = 0.5"}
        d = distances(start, y, lam, phi, kappa)
        yield from both_sides(row, 0.5, d, lam, phi + n, n)
        yield from slowest(row, 0.5, d, lam, n)
    kappa = 1 - 2 * (5 * ridge) / (ridge + n)
    yield {"arm": BEYOND, "case": case, "layer": kind, "seed": number, "x": 5.0, "quantity": "thm4_3/kappa",
           "value": (1 - kappa) / 0.5}  # fmt: skip


def rows_close_to_the_limit(size, kind, number, n, K):
    """Of each C the constants of the proof at lambda_Phi = n / (C (1 - epsilon)) - n / 8."""
    y = one_hot(n, K)
    for epsilon, power in product((0.1, 0.9), POWERS):
        C = 2.0**-power
        ridge = n / (C * (1 - epsilon)) - n / 8
        first = first_gram(kind, y, n, ridge, size, "close to the limit", kind, number)
        labels = {"case": f"{size}, λ_Φ close to n/(C(1−ε))", "layer": f"{kind} {number}, ε = {epsilon:g}",
                  "seed": number, "x": C}  # fmt: skip
        lam = C * (1 - epsilon) * ridge**2 / (2 * (ridge + 1) * n)
        kappa = 1 - 2 * lam - 2 * lam / ridge
        yield from constants({**labels, "arm": "claim"}, first, y, lam, ridge, kappa, n)
        lam = C * (1 - epsilon) * ridge / 4
        yield from constants({**labels, "arm": "corrected"}, first, y, lam, ridge, 1 - 2 * lam / (ridge + n), n)


def rates_of_two_layers(labels, y, n, ridge):
    """The ratio of the first two scale-free distances, from a first Gram that all lambda_Phi share but for its least
    eigenvalue.
    """
    kind, number = labels["layer"].rsplit(" ", 1)
    if kind == "multiple of I":
        return
    size = labels["case"].rpartition(", ")[0]
    first = first_gram(kind, y, n, ridge, size, "every λ_Φ", kind, int(number))
    for arm, added in (("claim", ridge), ("corrected", ridge), (NONE, 0.0)):
        for lam in (0.025 / 2**power for power in range(6)):
            kappa = 1 - 2 * lam / (ridge + n) if arm == "corrected" else 1 - 2 * lam - 2 * lam / ridge
            grams = course(first, y, lam, added, kappa, count=2)
            before, after = (spectral(G / spectral(G) - y @ y.T / n) for G in grams)
            yield {**labels, "arm": arm, "x": lam, "quantity": "thm4_3/first rate", "value": after / before}


def numbered(rows) -> list[dict]:
    """The rows with x to nine digits; rows of equal labels are numbered in ``step``."""
    count, result = Counter(), []
    for row in rows:
        row = {**row, "x": float(f"{row['x']:.9g}")}
        key = tuple(row.get(name) for name in ("arm", "case", "layer", "quantity", "x"))
        result.append({**row, "step": count[key]})
        count[key] += 1
    return result


def test_every_row(monkeypatch):
    monkeypatch.setattr(d_thm4_3, "SIZES", SIZES)
    monkeypatch.setattr(d_thm4_3, "RIDGES", RIDGES)
    monkeypatch.setattr(d_thm4_3, "FRACTIONS", [d_thm4_3.FRACTIONS[power] for power in POWERS])
    expected = []
    for number, (size, (n, K)), ridge in product(range(2), SIZES.items(), RIDGES):
        for kind in ("random", "multiple of I", "far") if number == 0 else ("random",):
            y = one_hot(n, K)
            first = first_gram(kind, y, n, ridge, size, str(ridge), kind, number)
            expected += instance_rows(f"{size}, λ_Φ = {ridge:g}", kind, number, first, y, n, ridge)
            if ridge == RIDGES[0]:
                expected += rows_close_to_the_limit(size, kind, number, n, K)
    # tests/papers/neural_collapse/test_limits_of_theorem_4_3.py has the two limits
    in_the_limits = {"thm4_3/one layer", "thm4_3/outside", "thm4_3/left"}
    measured = list(d_thm4_3.measure(d_thm4_3.Settings(instances=2)))
    assert in_the_limits < {row["quantity"] for row in measured}
    measured = [row for row in measured if row["quantity"] not in in_the_limits]
    assert {row["dtype"] for row in measured} == {"float64"}
    # of the second instance only the random kind, to save time
    compared = [row for row in measured if row.get("layer", "").startswith(("random", "multiple of I 0", "far 0"))]
    # distances of 1e-9 n have a round-off of 1e-15 n, and the smallest remainders of 1e-10 n
    rates = ("thm4_3/rate", "thm4_3/exact", "thm4_3/first rate")
    for chosen, absolute in (
        (lambda row: row["quantity"] in rates, 1e-5),
        (lambda row: row["quantity"] not in rates, 1e-9),
    ):
        some = ([row for row in rows if chosen(row)] for rows in (numbered(compared), numbered(expected)))
        assert_same_rows(*some, rel=1e-3, absolute=absolute)


def test_every_row_of_the_courses():
    y = one_hot(20, 2)
    first = first_gram("random", y, 20, 1.0, "course")
    expected = []
    for lam, name in ((0.1, "λ_k = 0.1"), (0.001, "λ_k = 0.001")):
        kappas = {"claim": 1 - 4 * lam, "corrected": 1 - 2 * lam / 21, NONE: 1 - lam / 10}
        for arm, kappa in kappas.items():
            d = distances(first, y, lam, 0.0 if arm == NONE else 1.0, kappa, count=11)
            row = {"arm": arm, "case": name, "quantity": "thm4_3/course"}
            expected += [{**row, "x": layer + 2.0, "value": d[layer] / 20} for layer in range(11)]
    assert_same_rows(list(d_thm4_3.distances_by_layer()), expected, rel=1e-6, absolute=1e-13)


@pytest.mark.parametrize("kind", d_thm4_3.DATA)
def test_first_grams(kind):
    """Their least eigenvalue is lambda_Phi, so that the linearised kernel fits them."""
    y = one_hot(3, 2)
    draw = stream("d_thm4_3", "test", kind)
    first = d_thm4_3.gram(kind, y, 0.7, draw)
    np.testing.assert_allclose(first, first_gram(kind, y, 3, 0.7, "test", kind), rtol=1e-9, atol=1e-11)
    assert np.linalg.eigvalsh(first)[0] == pytest.approx(0.7, rel=1e-9)
