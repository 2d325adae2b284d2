"""Lemmas B.1 and B.2 and Proposition A.1 of paper D: D.lemB.1, D.lemB.2, D.propA.1.

The two sides of each identity are computed independently. Inverses by LU factorisation are compared with the closed
forms. The mean of sigma(Wx)^T sigma(Wy), by quadrature over the plane of x and y and by Monte Carlo, is compared with
its closed form. The moments of the product and NC1 of points and of their features belong to the text after it.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import gammaln, logsumexp, roots_legendre

from gramlab.streams import stream
from tasks.settings.simulation import Simulation


class Settings(Simulation):
    """``instances`` counts matrices of every kind, and hundreds of random W in Proposition A.1."""


DTYPES: tuple[Any, ...] = (np.float64, np.float32)
ANGLES = ("-1", "-0.999", "-0.7", "-0.2", "0", "0.3", "0.8", "0.99", "0.9999", "1")  # r = x^T y, the angles' cosines
FEATURES = 2 ** np.arange(3, 11)  # D
ACTIVATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "claim": lambda u: np.maximum(u, 0),
    "control: leaky ReLU": lambda u: np.where(u > 0, u, u / 5),
    "control: identity": lambda u: u,
    "control: tanh": np.tanh,
}
ONE_ROW = "control: all rows of W equal"
LINEAR, SQUARED = "control: linear features", "control: squared ReLU"
BOTH_SIDES = "control: classes on both sides of the origin"
POWERS = 2 ** np.arange(9)  # p of the moments
SEPARATIONS = {"classes apart": 2.0, "overlapping classes": 0.5}  # deviation of class means, over that of points
SAMPLES, WIDTH = 10, 1024  # points in each class, and D, where NC1 is measured


def measure(settings: Settings) -> Iterator[dict]:
    """Rows of all three claims."""
    for instance in range(settings.instances):
        for kind in ("random", "rank one", "wide", "ill-conditioned P", "near singular", "ridge", "zero U"):
            yield from woodbury(kind, instance)
        for kind in ("two classes", "ten classes", "one sample each", "one class", "small ridge", "large ridge"):
            yield from collapsed(kind, instance)
        for kind in SEPARATIONS:
            yield from nc1_of_features(kind, instance)
    for r in ANGLES:
        yield from quadrature(r)
        if float(r) > -1:  # at -1 the product is 0
            yield from moments(r)
        if float(r) > -0.9:  # nearer to -1 the product is 0 for almost every W
            yield from monte_carlo(r, settings.instances)


def woodbury(kind: str, instance: int) -> Iterator[dict]:
    """D.lemB.1: the difference of the two sides, relative to the round-off that the inverses can amplify."""
    P, U, V = woodbury_matrices(kind, instance)
    for dtype in DTYPES:
        p, u, v = P.astype(dtype), U.astype(dtype), V.astype(dtype)
        left, inverse = np.linalg.inv(p + u @ v.T), np.linalg.inv(p)
        product = v.T @ inverse @ u
        labels = {"case": kind, "dtype": np.dtype(dtype).name, "seed": instance, "quantity": "lemB1/residual"}
        for arm, sign in (("claim", 1), ("control: minus in the inner inverse", -1)):
            if arm != "claim" and kind == "zero U":
                continue  # both signs are right
            inner = np.linalg.inv(np.eye(u.shape[1], dtype=dtype) + dtype(sign) * product)
            right = inverse - inverse @ u @ inner @ v.T @ inverse
            correction = _norm(inverse) ** 2 * _norm(u) * _norm(v) * _norm(inner)
            # V^T P^-1 U has the round-off of its factors, even if it is small itself or nearly minus the identity
            inner_error = _norm(inner) * (1 + _norm(u) * _norm(v) * _norm(inverse))
            size = _condition(p + u @ v.T) * _norm(left) + _condition(p) * (_norm(inverse) + correction * inner_error)
            yield {**labels, "arm": arm, "value": _norm(left - right) / ((len(P) + u.shape[1]) * size)}


def woodbury_matrices(kind: str, instance: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """P (n, n), U and V (n, k)."""
    draw = stream("d_lemmas", "woodbury", kind, instance)
    n, k = int(draw.integers(2, 20)), int(draw.integers(1, 20))
    k = {"rank one": 1, "wide": n + k}.get(kind, min(k, n))
    P = draw.normal(size=(n, n)) + 2 * n**0.5 * np.eye(n)
    if kind == "ill-conditioned P":
        P = np.linalg.qr(draw.normal(size=(n, n)))[0] * 10.0 ** -np.linspace(0, 4, n)
    U, V = draw.normal(size=(2, n, k)) * 10.0 ** draw.uniform(-1, 1)
    if kind == "near singular":
        U = -0.999 * P @ V @ np.linalg.inv(V.T @ V)
    if kind == "ridge":  # as the proof of Theorem 4.3 uses it: A + lambda I
        V = np.eye(n)
        U, P = 10.0 ** draw.uniform(-3, 0) * V, P @ P.T
    if kind == "zero U":
        U = 0 * U
    return P, U, V


def collapsed(kind: str, instance: int) -> Iterator[dict]:
    """D.lemB.2: the inverse of A* = yy^T + lambda I, and A*^-1 yy^T as printed and as it follows from the lemma."""
    draw = stream("d_lemmas", "collapsed", kind, instance)
    K, n = int(draw.integers(2, 6)), int(draw.integers(2, 12))
    sizes = {"two classes": (2, n), "ten classes": (10, 3), "one sample each": (K, 1), "one class": (1, n)}
    K, n = sizes.get(kind, (K, n))
    ridge = 10.0 ** {"small ridge": -2, "large ridge": 2}.get(kind, draw.uniform(-1, 1))
    onehot = np.kron(np.eye(K), np.ones((n, 1)))
    labels = {"claim": onehot, "corrected": onehot}
    if n > 1:
        labels["control: classes of two sizes"] = onehot[: max(K * n - n // 2, 1)]
    if K > 1:
        labels["control: labels ±1"] = 2 * onehot - 1
    for arm, y in labels.items():
        for dtype in DTYPES:
            outer, lam = (y @ y.T).astype(dtype), dtype(ridge)
            identity = np.eye(len(y), dtype=dtype)
            direct = np.linalg.inv(outer + lam * identity)
            inverse = identity / lam - outer / (lam * (lam + dtype(n)))
            factor = 1 + 1 / lam if arm == "claim" else 1 / (lam + dtype(n))
            terms = _norm(identity) / lam + _norm(outer) / (lam * (lam + n))
            size = len(y) * (_condition(outer + lam * identity) * _norm(direct) + float(terms))
            row = {"arm": arm, "case": kind, "dtype": np.dtype(dtype).name, "seed": instance}
            yield {**row, "quantity": "lemB2/inverse", "value": _norm(direct - inverse) / size}
            for side, product in (("left", outer @ direct), ("right", direct @ outer)):
                residual = _norm(product - factor * outer) / (size * _norm(outer))
                yield {**row, "layer": side, "quantity": "lemB2/product", "value": residual}


def _norm(A: np.ndarray) -> float:
    return float(np.linalg.norm(A))


def _condition(A: np.ndarray) -> float:
    return float(np.linalg.cond(A.astype(np.float64)))


def closed_form(r: Any) -> Any:
    """Proposition A.1's right side, for entries of variance 2/D."""
    two, pi = type(r)(2), type(r)(np.pi)  # in r's precision
    sine = np.sqrt((1 - r) * (1 + r))
    angle = np.arctan2(r, sine)  # arctan(r / sine), and its limits at r = -1 and 1
    return sine**3 / pi + r**2 * sine / pi + r / two + r / pi * angle


def quadrature(r: str) -> Iterator[dict]:
    """Rows: 2 E[sigma(u) sigma(v)] of unit Gaussians of correlation r, and its distance from the closed form."""
    for arm, activation in ACTIVATIONS.items():
        for dtype in DTYPES:
            mean = quadrature_mean(r, activation, dtype)
            row = {"arm": arm, "case": f"r = {r}", "dtype": np.dtype(dtype).name, "x": float(r)}
            # over the mean of the norms' product, which is 1
            residual = abs(float(mean - closed_form(dtype(float(r))))) / NODES
            yield {**row, "quantity": "propA1/residual", "value": residual}
            if arm == "claim" and dtype is np.float64:
                yield {**row, "quantity": "propA1/mean", "value": float(mean)}
    if float(r) < 1:
        yield from distances(r)


def distances(r: str) -> Iterator[dict]:
    """Rows: the squared distance before the features over that after them, as printed, and its inverse, as derived."""
    row = {"case": f"r = {r}", "dtype": "float64", "x": float(r), "quantity": "propA1/distance"}
    after_over_before = {name: _shrinkage(r, activation) for name, activation in DISTANCES.items()}
    yield {**row, "arm": "claim", "value": 1 / after_over_before["ReLU"]}
    yield {**row, "arm": "corrected", "value": after_over_before["ReLU"]}
    yield {**row, "arm": "control: sign, corrected", "value": after_over_before["sign"]}
    yield {**row, "arm": "control: absolute value", "value": 1 / after_over_before["absolute value"]}
    yield {**row, "arm": LINEAR, "value": 1 / after_over_before["identity"]}


# activations with E 2 sigma(u)^2 = 1, so that the features of a unit vector have unit length
DISTANCES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "ReLU": lambda u: np.maximum(u, 0),
    "sign": lambda u: np.sign(u) / 2**0.5,
    "absolute value": lambda u: np.abs(u) / 2**0.5,
    "identity": lambda u: u / 2**0.5,
}


def _shrinkage(r: str, activation: Callable[[np.ndarray], np.ndarray]) -> float:
    """The squared distance of the two points' features, over that of the points."""
    return float((1 - quadrature_mean(r, activation, np.float64)) / (1 - float(r)))


NODES = 24  # of Gauss and Legendre's rule in each wedge


def quadrature_mean(r: str, activation: Callable[[np.ndarray], np.ndarray], dtype: Any) -> Any:
    """2 E[sigma(u) sigma(v)], wedge by wedge of the plane between the kinks at u = 0 and v = 0.

    Gauss-Legendre over the angle; over the radius the trapezoidal rule in its logarithm.
    """
    nodes, weights = roots_legendre(NODES)
    radii, step = np.exp(np.arange(-116, 31) / 12), 1 / 12
    theta = np.arccos(float(r))  # the angle between x and y
    edges = np.sort(np.mod([-np.pi / 2, np.pi / 2, theta - np.pi / 2, theta + np.pi / 2], 2 * np.pi))
    edges = np.append(edges, edges[0] + 2 * np.pi)
    total = dtype(0)
    for low, high in pairwise(edges):
        phi = (low + (high - low) * (nodes + 1) / 2).astype(dtype)[:, None]
        radius = radii.astype(dtype)
        u, v = radius * np.cos(phi), radius * np.cos(phi - dtype(theta))
        density = np.exp(-(radius**2) / 2) * radius**2 * dtype(step) / dtype(2 * np.pi)
        cell = (weights * (high - low) / 2).astype(dtype)[:, None]
        total += (2 * activation(u) * activation(v) * density * cell).sum()
    return total


# log sigma(u) for u > 0, with E 2 sigma(u)^2 = 1; both are 0 for u < 0
LOGARITHMS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "claim": np.log,
    SQUARED: lambda u: 2 * np.log(u) - np.log(3) / 2,
}


def moments(r: str) -> Iterator[dict]:
    """Rows: (2 E Z^p / p!)^(1/p) over 2 (1 + r) by x = p, of the product Z = 2 sigma(u) sigma(v) of one row of W.

    By quadrature in logarithms, over the wedge where u and v are positive: Gauss-Legendre over the angle, and the
    trapezoidal rule in the logarithm of the radius. The ratio is at most 1 for every p (docs/derivations.md).
    """
    nodes, weights = roots_legendre(200)
    half = (np.pi - np.arccos(float(r))) / 2  # of the wedge; its middle is between x and y
    phi = half * nodes[:, None]
    radius = np.exp(np.arange(-700, 420) / 100)
    u, v = (radius * np.sin(half + side * phi) for side in (-1, 1))
    density = np.log(half * weights)[:, None] - radius**2 / 2 + 2 * np.log(radius) + np.log(0.01 / (2 * np.pi))
    for arm, logarithm in LOGARITHMS.items():
        product = np.log(2) + logarithm(u) + logarithm(v)
        for p in POWERS.tolist():
            moment = logsumexp(p * product + density)
            root = np.exp((np.log(2) + moment - gammaln(p + 1)) / p)
            yield {"arm": arm, "case": f"r = {r}", "dtype": "float64", "x": float(p), "quantity": "propA1/moment",
                   "value": float(root) / (2 * (1 + float(r)))}  # fmt: skip


def nc1_of_features(kind: str, instance: int) -> Iterator[dict]:
    """Rows: NC1 of unit vectors in several classes, and of their random ReLU features.

    In the control half of the points change their sign, so that a class lies on both sides of the origin.
    """
    draw = stream("d_lemmas", "propA1, nc1", kind, instance)
    K, d = int(draw.integers(2, 11)), int(draw.integers(5, 41))
    labels = np.repeat(np.arange(K), SAMPLES)
    points = SEPARATIONS[kind] * draw.normal(size=(K, d))[labels] + draw.normal(size=(len(labels), d))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    W = draw.normal(size=(WIDTH, d)) * (2 / WIDTH) ** 0.5
    signs = draw.choice([-1.0, 1.0], size=(len(labels), 1))
    for arm, x in (("claim", points), (BOTH_SIDES, signs * points)):
        row = {"arm": arm, "case": kind, "dtype": "float64", "seed": instance}
        yield {**row, "quantity": "propA1/nc1 before", "value": nc1(x, labels)}
        yield {**row, "quantity": "propA1/nc1 after", "value": nc1(np.maximum(x @ W.T, 0), labels)}


def nc1(points: np.ndarray, labels: np.ndarray) -> float:
    """The variance within classes over that between them."""
    means = np.array([points[labels == label].mean(0) for label in np.unique(labels)])
    within, between = points - means[labels], means - points.mean(0)
    return float((within**2).sum() / len(points) / ((between**2).sum() / len(means)))


def monte_carlo(r: str, hundreds: int) -> Iterator[dict]:
    """Rows: mean of sigma(Wx)^T sigma(Wy) in standard errors from the closed form, and its variance, by x = 1/D."""
    for arm in ("claim", "control: leaky ReLU", ONE_ROW):
        activation = ACTIVATIONS.get(arm, ACTIVATIONS["claim"])
        for D in FEATURES.tolist():
            draw = stream("d_lemmas", "propA1", arm, r, D)
            d = int(draw.integers(2, 6))
            x, y = _unit_vectors(float(r), d, draw)
            products = np.empty((hundreds, 100))
            for hundred in range(hundreds):
                W = draw.normal(size=(100, 1 if arm == ONE_ROW else D, d)) * (2 / D) ** 0.5
                products[hundred] = (activation(W @ x) * activation(W @ y)).sum(1)
            if arm == ONE_ROW:
                products *= D
            row = {"arm": arm, "case": f"r = {r}", "dtype": "float64", "x": 1 / D}
            away = float(products.mean() - closed_form(float(r))) / (products.std(ddof=1) / products.size**0.5)
            yield {**row, "quantity": "propA1/away", "value": float(away)}
            yield {**row, "quantity": "propA1/remainder", "value": float(products.var(ddof=1))}


def _unit_vectors(r: float, d: int, draw: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Two unit vectors in d dimensions with inner product r."""
    Q = np.linalg.qr(draw.normal(size=(d, d)))[0]
    return Q[0], r * Q[0] + ((1 - r) * (1 + r)) ** 0.5 * Q[1]
