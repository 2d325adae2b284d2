"""D.thm4.3: the linearised Deep RFM, run exactly on its Gram matrices.

With A = X^T X = G + lambda_Phi I and the kernel A + lambda_k I, a layer solves (A + lambda_k I) alpha = y. The gradient
of the predictor is X alpha at every point; its mean outer product M gives the next Gram G' = X^T M X / kappa
= A alpha alpha^T A / kappa. (The proof writes a sum over the points and takes the mean.) y is one-hot with n samples in
each of K classes, so that yy^T has norm n.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gramlab.streams import stream
from tasks.settings.simulation import Simulation


class Settings(Simulation):
    """``instances`` counts data sets of every kind for each (n, K) and lambda_Phi."""


DTYPES: tuple[Any, ...] = (np.float64, np.float32)
LAYERS = 60
REMAINDER = 4.5  # times n (lambda_k / (lambda_Phi + n))^2, for kappa = 1 - 2 lambda_k / (lambda_Phi + n) >= 1/2
ROUND_OFF = 1e-14  # of the Gram, relative to n
SIZES = {"n = 2": (2, 3), "n = 6": (6, 2), "n = 20": (20, 2), "n = 5, ten classes": (5, 10)}  # n, K
RIDGES = (0.1, 1.0, 10.0)  # lambda_Phi
DATA = ("random", "multiple of I", "far")
EPSILONS = (0.1, 0.9)
FRACTIONS = 2.0 ** -np.arange(12)  # of the largest lambda_k that the condition allows
SMALLEST_KAPPA = 1 / 8  # times C (1 - epsilon): the printed kappa where lambda_Phi is close to its limit
LAMBDAS = 0.025 * 2.0 ** -np.arange(6)  # lambda_k for all lambda_Phi; the printed kappa is at least 0.45
NONE, BEYOND = "control: no nonlinearity", "control: condition violated"
NOT_ZERO, LINEARISED = "control: λ_k = λ_Φ", "control: linearised kernel"
RATIOS = (2.0**-8, 2.0**-7, 2.0**-6, 1.0, 4.0, 16.0)  # lambda_k / lambda_Phi: three small ones, and three of order 1
# h and h' in the kernels x.z + lambda_k h(x.z) of unit vectors: h(0) = h'(0) = 0 and h(1) = 1, so that the kernel
# matrix is X^T X + lambda_k I up to small numbers
Nonlinearity = tuple[Callable[[np.ndarray], np.ndarray], Callable[[np.ndarray], np.ndarray]]
KERNELS: dict[str, Nonlinearity] = {
    "cubic kernel": (lambda u: u**3, lambda u: 3 * u**2),
    "exponential kernel": (lambda u: (np.exp(u) - 1 - u) / (np.e - 2), lambda u: (np.exp(u) - 1) / (np.e - 2)),
}


@dataclass(frozen=True)
class Instance:
    """The first Gram, with the labels y (N, K), n samples in each class, and the columns that its rows share."""

    first: np.ndarray
    y: np.ndarray
    n: int
    case: str
    number: int
    kind: str  # of data, and number

    def row(self, arm: str, epsilon: float | None = None) -> dict:
        """The columns that say where a number belongs."""
        layer = self.kind if epsilon is None else f"{self.kind}, ε = {epsilon:g}"
        return {"arm": arm, "case": self.case, "layer": layer, "dtype": "float64", "seed": self.number}


def measure(settings: Settings) -> Iterator[dict]:
    """Rows: the sides of the bound, the remainder, the proof's constants, rates, floor, limits, and courses."""
    for number in range(settings.instances):
        for size, (n, K) in SIZES.items():
            for ridge in RIDGES:
                for kind in DATA:
                    draw = stream("d_thm4_3", size, str(ridge), kind, number)
                    y = np.kron(np.eye(K), np.ones((n, 1)))
                    first = gram(kind, y, ridge, draw)
                    instance = Instance(first, y, n, f"{size}, λ_Φ = {ridge:g}", number, f"{kind} {number}")
                    yield from within_condition(instance, ridge)
                    yield from beyond_condition(instance, ridge)
                    if kind != "multiple of I":  # it collapses in one layer, whatever lambda_k
                        draw = stream("d_thm4_3", size, "every λ_Φ", kind, number)
                        yield from first_rates(replace(instance, first=gram(kind, y, ridge, draw)), ridge)
                        yield from one_layer(instance, ridge)
            for kind in DATA:
                yield from close_to_the_limit(size, kind, number)
            yield from nonlinear_kernels(size, number)
    yield from distances_by_layer()


def within_condition(instance: Instance, ridge: float) -> Iterator[dict]:
    """Rows of the printed and the corrected form, and of the control without lambda_Phi, by lambda_k."""
    first, y, n = instance.first, instance.y, instance.n
    for epsilon in EPSILONS:
        largest = {
            **largest_lambdas(ridge, n, epsilon),
            NONE: min(ridge, n) / 4 * (1 - epsilon),  # so that kappa is above 1/2 here too
        }
        for arm, largest_lam in largest.items():
            for fraction in FRACTIONS:
                lam = largest_lam * fraction
                added = 0.0 if arm == NONE else ridge
                kappa = 1 - 2 * lam * (1 + 1 / ridge) if arm == "claim" else 1 - 2 * lam / (added + n)
                row = instance.row(arm, epsilon)
                if arm != NONE:  # the proof's constants are relative to lambda_Phi
                    yield from proof_constants({**row, "x": fraction}, first, y, lam, ridge, kappa, n)
                if kappa <= 0:  # the printed kappa, where lambda_Phi is larger than n
                    continue
                d = distances(first, y, lam, added, kappa)
                yield from inequality(row, epsilon, d, lam, added, n)
                if arm == "corrected":  # the kappa of which yy^T is the fixed point
                    d = distances(first, y, lam, ridge, (1 + lam / (ridge + n)) ** -2)
                yield from rates(row, epsilon, d, lam, ridge, n)


def close_to_the_limit(size: str, kind: str, number: int) -> Iterator[dict]:
    """Rows of the proof's constants where lambda_Phi is just below n / (C (1 - epsilon)), for each C.

    At the largest lambda_k of the condition the printed kappa is 1 - C (1 - epsilon) lambda_Phi / n. Where lambda_Phi
    is below the limit by the share C (1 - epsilon) / 8, this is C (1 - epsilon) / 8. A fixed share would not do:
    eps_A / lambda_Phi is about C (1 - epsilon) / kappa, so that kappa must shrink with C.
    """
    n, K = SIZES[size]
    y = np.kron(np.eye(K), np.ones((n, 1)))
    for epsilon in EPSILONS:
        for C in FRACTIONS:
            constant = C * (1 - epsilon)
            ridge = (1 - SMALLEST_KAPPA * constant) * n / constant
            first = gram(kind, y, ridge, stream("d_thm4_3", size, "close to the limit", kind, number))
            instance = Instance(first, y, n, f"{size}, λ_Φ close to n/(C(1−ε))", number, f"{kind} {number}")
            lam = largest_lambdas(ridge, n, epsilon)
            kappa = 1 - 2 * C * lam["claim"] * (1 + 1 / ridge)
            row = {**instance.row("claim", epsilon), "x": C}
            yield from proof_constants(row, first, y, C * lam["claim"], ridge, kappa, n)
            kappa = 1 - 2 * C * lam["corrected"] / (ridge + n)
            row = {**instance.row("corrected", epsilon), "x": C}
            yield from proof_constants(row, first, y, C * lam["corrected"], ridge, kappa, n)


def largest_lambdas(ridge: float, n: int, epsilon: float) -> dict[str, float]:
    """The largest lambda_k that the printed condition allows with C = 1, and the largest that ours allows."""
    return {"claim": ridge / (2 * (1 + 1 / ridge) * n) * (1 - epsilon), "corrected": ridge / 4 * (1 - epsilon)}


def first_rates(instance: Instance, ridge: float) -> Iterator[dict]:
    """Rows of the first layer's rate by lambda_k, with the printed and the corrected kappa, and without lambda_Phi.

    The rate is the ratio of the distances of G_3 and G_2 from collapse. A distance is that of G / ||G|| from yy^T / n,
    which is free of scale: the printed kappa does not keep the scale of G.
    """
    y, n = instance.y, instance.n
    for arm, added in (("claim", ridge), ("corrected", ridge), (NONE, 0.0)):
        for lam in LAMBDAS:
            kappa = 1 - 2 * lam / (ridge + n) if arm == "corrected" else 1 - 2 * lam * (1 + 1 / ridge)
            G = step(instance.first, y, lam, kappa)
            next_G = step(G + added * np.eye(len(y)), y, lam, kappa)
            before, after = (float(np.linalg.norm(g / np.linalg.norm(g, 2) - y @ y.T / n, 2))
                             for g in (G, next_G))  # fmt: skip
            yield {**instance.row(arm), "x": lam, "quantity": "thm4_3/first rate", "value": after / before}


def one_layer(instance: Instance, ridge: float) -> Iterator[dict]:
    """Rows of the limit lambda_k = 0: the distance of G_2 / ||G_2|| from yy^T / n, over the round-off of its products.

    X is explicit here, and M is the outer product of the gradients, so that the products are those of Deep RFM.
    """
    y, N = instance.y, len(instance.y)
    upper = np.linalg.cholesky(instance.first).T
    for arm, lam in (("claim", 0.0), (NOT_ZERO, ridge)):
        for dtype in DTYPES:
            X, labels = upper.astype(dtype), y.astype(dtype)
            alpha = np.linalg.solve(X.T @ X + dtype(lam) * np.eye(N, dtype=dtype), labels)
            gradients = X @ alpha  # of the K outputs, the same at every point
            G = X.T @ (gradients @ gradients.T) @ X
            distance = np.linalg.norm(G / np.linalg.norm(G, 2) - labels @ labels.T / dtype(instance.n))
            X_, alpha_, gradients_, y_ = (float(np.linalg.norm(a)) for a in (X, alpha, gradients, labels))
            size = N * (X_**2 * alpha_ / y_ + (X_ * gradients_ / y_) ** 2)  # of solving, and of forming M
            row = {**instance.row(arm), "dtype": np.dtype(dtype).name}
            yield {**row, "quantity": "thm4_3/one layer", "value": float(distance) / size}


def nonlinear_kernels(size: str, number: int) -> Iterator[dict]:
    """Rows of the first layer by lambda_k / lambda_Phi, with kernels whose linearisation is that of the theorem.

    The points are random unit vectors in twice as many dimensions. lambda_Phi is the least eigenvalue of X^T X, as in
    Assumption 4.2. The control has the linearised kernel, whose predictor has the same gradient at every point.
    """
    n, K = SIZES[size]
    y = np.kron(np.eye(K), np.ones((n, 1)))
    X = stream("d_thm4_3", size, "unit vectors", number).normal(size=(2 * n * K, n * K))
    X /= np.linalg.norm(X, axis=0)
    ridge = float(np.linalg.eigvalsh(X.T @ X)[0])
    for name, nonlinearity in KERNELS.items():
        for arm, h in (("claim", nonlinearity), (LINEARISED, None)):
            for ratio in RATIOS:
                M = agop(X, y, ratio * ridge, h)
                values = np.linalg.eigvalsh(M)
                G = X.T @ M @ X
                distance = np.linalg.norm(G / np.linalg.norm(G, 2) - y @ y.T / n, 2)
                row = {"arm": arm, "case": f"{size}, {name}", "dtype": "float64", "seed": number, "x": ratio}
                outside = max(float(values[:-K].sum() / values.sum()), 0.0)
                yield {**row, "quantity": "thm4_3/outside", "value": outside}
                yield {**row, "quantity": "thm4_3/left", "value": float(distance)}


def agop(X: np.ndarray, y: np.ndarray, lam: float, h: Nonlinearity | None) -> np.ndarray:
    """The AGOP of the ridgeless solution with the kernel x.z + lam h(x.z), or with X^T X + lam I without ``h``."""
    inner = X.T @ X
    kernel = inner + lam * (np.eye(len(y)) if h is None else h[0](inner))
    alpha = np.linalg.solve(kernel, y)
    slopes = 1 + (0 * inner if h is None else lam * h[1](inner))  # of the kernel in x_i.x_j
    gradients = np.einsum("dj,ij,jc->icd", X, slopes, alpha).reshape(-1, len(X))
    return gradients.T @ gradients / len(y)


def beyond_condition(instance: Instance, ridge: float) -> Iterator[dict]:
    """Rows of the control: lambda_k is five times lambda_Phi, which is so small that the remainder stays small."""
    y, n = instance.y, instance.n
    for index, fraction in enumerate(FRACTIONS):
        phi = 1e-2 * fraction
        lam, start = 5 * phi, instance.first * phi / ridge
        kappa = 1 - 2 * lam / (phi + n)
        yield from proof_constants({**instance.row(BEYOND), "step": index, "x": 5.0}, start, y, lam, phi, kappa, n)
        d = distances(start, y, lam, phi, kappa)
        yield from inequality(instance.row(BEYOND, 0.5), 0.5, d, lam, phi, n)
        yield from rates(instance.row(BEYOND, 0.5), 0.5, d, lam, phi, n)
    # a small lambda_Phi leaves kappa near 1, so this row has the lambda_Phi of the instance
    yield {**instance.row(BEYOND), "x": 5.0, "quantity": "thm4_3/kappa", "value": 20 * ridge / (ridge + n)}


def proof_constants(
    row: dict, first: np.ndarray, y: np.ndarray, lam: float, ridge: float, kappa: float, n: int
) -> Iterator[dict]:
    """The proof's constants over their bounds: 1 - kappa over 1/2; after one layer eps_A / lambda_Phi, and ||Psi~||.

    The proof needs eps_A = ||A - A*|| below lambda_Phi / 2, with A* = yy^T + lambda_Phi I, and ||Psi~|| at most 2, with
    Psi~ = (I + (A - A*) A*^-1)^-1 = A* A^-1. x is lambda_k over its largest value under the condition. This is the
    constant C, which the paper leaves open and its proof sets to 1. With the corrected kappa one layer gives
    eps_A <= (2 n / lambda_Phi + 4 n / (lambda_Phi + n)) lambda_k, if kappa >= 1/2. So the corrected arm has eps_A and
    Psi~ only for lambda_k <= min(lambda_Phi (1 - epsilon) / 4, lambda_Phi^2 / (12 n)), where this bound is enough. The
    arm's lambda_k meet the first of these two limits. Where kappa <= 0 there is no next Gram; the row of kappa, which
    is then 2 or more, says so.
    """
    if row["arm"] != BEYOND:
        yield {**row, "quantity": "thm4_3/kappa", "value": 2 * (1 - kappa)}
    if kappa <= 0 or (row["arm"] == "corrected" and lam > ridge**2 / (12 * n)):
        return
    G, identity = step(first, y, lam, kappa), np.eye(len(y))
    psi = np.linalg.norm(np.linalg.solve(G + ridge * identity, y @ y.T + ridge * identity), 2)
    yield {**row, "quantity": "thm4_3/collapsed", "value": 2 * float(np.linalg.norm(G - y @ y.T, 2)) / ridge}
    yield {**row, "quantity": "thm4_3/psi", "value": float(psi) / 2}


def inequality(row: dict, epsilon: float, d: np.ndarray, lam: float, ridge: float, n: int) -> Iterator[dict]:
    """The largest ratio of the two sides and the largest excess over (1 - epsilon) d, from l = 2 on."""
    # the paper leaves the constant open and has no n; both are granted here
    scale = ridge if row["arm"] == "claim" else ridge + n
    right = (1 - epsilon) * d[:-1] + REMAINDER * n * (lam / scale) ** 2 + ROUND_OFF * n
    excess = max(float((d[1:] - (1 - epsilon) * d[:-1]).max()), 0.0)
    yield {**row, "x": lam, "quantity": "thm4_3/ratio", "value": float((d[1:] / right).max())}
    yield {**row, "x": lam, "quantity": "thm4_3/remainder", "value": excess}
    yield {**row, "x": lam, "quantity": "thm4_3/floor", "value": float(d[-1] / n)}


def rates(row: dict, epsilon: float, d: np.ndarray, lam: float, ridge: float, n: int) -> Iterator[dict]:
    """The slowest ratio of a step over 1 - epsilon, down to round-off; of the corrected arm also the last ratio."""
    above_round_off = d[:-1] > 1e-9 * n
    if not above_round_off.any():
        return
    ratios = (d[1:] / np.maximum(d[:-1], 1e-300))[above_round_off]
    yield {**row, "quantity": "thm4_3/exact", "x": lam, "value": float(ratios.max() / (1 - epsilon))}
    if row["arm"] == "corrected":
        yield {**row, "quantity": "thm4_3/rate", "x": lam / ridge, "value": float(ratios[-1])}


def gram(kind: str, y: np.ndarray, ridge: float, draw: np.random.Generator) -> np.ndarray:
    """X_1^T X_1 of this kind, with least eigenvalue lambda_Phi."""
    N = len(y)
    raw = draw.normal(size=(N, N + 5))
    if kind == "multiple of I":
        return ridge * np.eye(N)
    if kind == "far":  # one direction, half of it in the labels' span and half outside, above all others
        outside = raw[:, 0] - y @ np.linalg.lstsq(y, raw[:, 0], rcond=None)[0]
        v = y[:, 0] / np.linalg.norm(y[:, 0]) + outside / max(float(np.linalg.norm(outside)), 1e-300)
        return ridge * np.eye(N) + 1e3 * np.outer(v, v)
    least = np.linalg.eigvalsh(raw @ raw.T)[0]
    return raw @ raw.T + (ridge - least) * np.eye(N)


def distances(first: np.ndarray, y: np.ndarray, lam: float, ridge: float, kappa: float) -> np.ndarray:
    """||G_l - yy^T|| for l = 2, 3, ..., in the spectral norm, until it stops changing."""
    A, norms = first, []
    identity = np.eye(len(y))
    for _ in range(LAYERS):
        G = step(A, y, lam, kappa)
        norms.append(float(np.abs(np.linalg.eigvalsh(G - y @ y.T)).max()))
        if len(norms) > 2 and abs(norms[-1] - norms[-2]) <= 1e-15 * len(y):
            break
        A = G + ridge * identity
    return np.array(norms)


def step(A: np.ndarray, y: np.ndarray, lam: float, kappa: float) -> np.ndarray:
    """The next layer's Gram, kappa^-1 X^T M X, from X^T X = A."""
    fitted = A @ np.linalg.solve(A + lam * np.eye(len(y)), y)
    return fitted @ fitted.T / kappa


def distances_by_layer() -> Iterator[dict]:
    """||G_l - yy^T|| / n by layer for printed and corrected kappa, at two lambda_k / lambda_Phi, for the figure."""
    n, K, ridge = 20, 2, 1.0
    y = np.kron(np.eye(K), np.ones((n, 1)))
    first = gram("random", y, ridge, stream("d_thm4_3", "course"))
    for lam in (0.1, 0.001):
        kappas = {"claim": 1 - 2 * lam * (1 + 1 / ridge), "corrected": 1 - 2 * lam / (ridge + n), NONE: 1 - 2 * lam / n}
        for arm, kappa in kappas.items():
            d = distances(first, y, lam, 0.0 if arm == NONE else ridge, kappa)
            for layer in range(11):
                yield {"arm": arm, "case": f"λ_k = {lam:g}", "dtype": "float64", "x": float(layer + 2),
                       "quantity": "thm4_3/course", "value": float(d[min(layer, len(d) - 1)]) / n}  # fmt: skip
