"""D.thm4.3: the linearised Deep RFM, run exactly on its Gram matrices.

With A = X^T X = G + lambda_Phi I and the kernel A + lambda_k I, a layer solves (A + lambda_k I) alpha = y; the
predictor's gradient at every point is X alpha, whose mean outer product M gives G' = X^T M X / kappa
= A alpha alpha^T A / kappa. (The proof writes a sum over the points and takes the mean.)
y is one-hot with n samples in each of K classes, so that y y^T has norm n.
"""

from collections.abc import Iterator

import numpy as np

from gramlab.streams import stream
from tasks.settings.simulation import Simulation

LAYERS = 60
REMAINDER = 4.5  # of n (lambda_k / (lambda_Phi + n))^2, for kappa = 1 - 2 lambda_k / (lambda_Phi + n) >= 1/2
SIZES = {"n = 2": (2, 3), "n = 6": (6, 2), "n = 20": (20, 2), "n = 5, ten classes": (5, 10)}  # n, K
RIDGES = (0.1, 1.0, 10.0)
DATA = ("random", "multiple of I", "far")
RATES = (0.1, 0.9)  # epsilon
FRACTIONS = 2.0 ** -np.arange(12)  # of the largest lambda_k that the condition allows
NONE, BEYOND = "control: no nonlinearity", "control: condition violated"


class Settings(Simulation):
    """Settings of this experiment."""


def measure(settings: Settings) -> Iterator[dict]:
    """Rows: the bound's two sides, the remainder by lambda_k, the proof's constants, rate, floor, and whole courses."""
    for instance in range(settings.instances):
        for size, (n, K) in SIZES.items():
            for ridge in RIDGES:
                for kind in DATA:
                    draw = stream("d_thm4_3", size, str(ridge), kind, instance)
                    yield from _rows(f"{size}, λ_Φ = {ridge:g}", f"{kind} {instance}", n, K, ridge, draw)
    yield from courses()


def _rows(size: str, kind: str, n: int, K: int, ridge: float, draw: np.random.Generator) -> Iterator[dict]:
    y = np.kron(np.eye(K), np.ones((n, 1)))
    first = gram(kind.rsplit(" ", 1)[0], y, ridge, draw)
    for epsilon in RATES:
        largest = {
            "claim": ridge / (2 * (1 + 1 / ridge) * n) * (1 - epsilon),
            "corrected": ridge / 4 * (1 - epsilon),
            NONE: min(ridge, n) / 4 * (1 - epsilon),  # so that kappa is above 1/2 here too
        }
        for arm, most in largest.items():
            for fraction in FRACTIONS:
                lam = most * fraction
                added = 0.0 if arm == NONE else ridge
                kappa = 1 - 2 * lam * (1 + 1 / ridge) if arm == "claim" else 1 - 2 * lam / (added + n)
                if arm != NONE:  # where they would be over lambda_Phi = 0
                    layer = f"{kind}, ε = {epsilon:g}"
                    about = {"arm": arm, "case": size, "layer": layer, "dtype": "float64", "x": fraction}
                    yield from _constants(about, first, y, lam, ridge, kappa, n)
                if kappa <= 0:  # the printed one, where lambda_Phi is larger than n
                    continue
                yield from _judged(arm, size, kind, epsilon, distances(first, y, lam, added, kappa), lam, added, n)
                if arm == "corrected":
                    exact = distances(first, y, lam, ridge, (1 + lam / (ridge + n)) ** -2)
                    yield from _rate(size, kind, epsilon, exact, lam, ridge, n)
    # five times lambda_Phi, which is so small that the remainder stays small
    for fraction in FRACTIONS:
        phi = 1e-2 * fraction
        lam, start = 5 * phi, first * phi / ridge
        kappa = 1 - 2 * lam / (phi + n)
        about = {"arm": BEYOND, "case": size, "layer": kind, "dtype": "float64", "x": 1.0}
        yield from _constants(about, start, y, lam, phi, kappa, n)
        yield from _judged(BEYOND, size, kind, 0.5, distances(start, y, lam, phi, kappa), lam, phi, n)


def _constants(
    about: dict, first: np.ndarray, y: np.ndarray, lam: float, ridge: float, kappa: float, n: int
) -> Iterator[dict]:
    """The proof's constants over their bounds: 1 - kappa over 1/2; after one layer eps_A / lambda_Phi, and Psi~.

    eps_A = ||A - A*||, with A* = yy^T + lambda_Phi I, below lambda_Phi / 2; ||Psi~|| at most 2, where
    Psi~ = (I + (A - A*) A*^-1)^-1 = A* A^-1. x is lambda_k over the condition's largest: the C of the print, which
    leaves it open; its proof takes 1. With the corrected kappa one layer gives
    eps_A <= (2 n / lambda_Phi + 4 n / (lambda_Phi + n)) lambda_k: the corrected arm has both where that is enough,
    for lambda_k <= lambda_Phi^2 / (12 n).
    """
    if about["arm"] != BEYOND:  # whose lambda_Phi is too small to take kappa away from 1
        yield {**about, "quantity": "thm4_3/kappa", "value": 2 * (1 - kappa)}
    if kappa <= 0 or (about["arm"] == "corrected" and lam > ridge**2 / (12 * n)):
        return
    G, identity = step(first, y, lam, kappa), np.eye(len(y))
    psi = np.linalg.norm(np.linalg.solve(G + ridge * identity, y @ y.T + ridge * identity), 2)
    yield {**about, "quantity": "thm4_3/collapsed", "value": 2 * float(np.linalg.norm(G - y @ y.T, 2)) / ridge}
    yield {**about, "quantity": "thm4_3/psi", "value": float(psi) / 2}


def _judged(
    arm: str, size: str, kind: str, epsilon: float, d: np.ndarray, lam: float, ridge: float, n: int
) -> Iterator[dict]:
    """One run: the largest ratio of both sides, and the largest excess over (1 - epsilon) d, from l = 2 on."""
    # the print leaves the constant open and has lambda_Phi alone; both are granted, and n as well
    below = ridge if arm == "claim" else ridge + n
    floor = 1e-14 * n  # round-off of the Gram
    right = (1 - epsilon) * d[:-1] + REMAINDER * n * (lam / below) ** 2 + floor
    about = {"arm": arm, "case": size, "layer": f"{kind}, ε = {epsilon:g}", "dtype": "float64", "x": lam}
    yield {**about, "quantity": "thm4_3/ratio", "value": float((d[1:] / right).max())}
    yield {**about, "quantity": "thm4_3/remainder", "value": max(float((d[1:] - (1 - epsilon) * d[:-1]).max()), 0.0)}
    yield {**about, "quantity": "thm4_3/floor", "value": float(d[-1] / n)}


def _rate(size: str, kind: str, epsilon: float, d: np.ndarray, lam: float, ridge: float, n: int) -> Iterator[dict]:
    """With the kappa that makes yy^T the fixed point: the slowest step's ratio, over 1 - epsilon, and at the end."""
    seen = d[:-1] > 1e-9 * n
    if not seen.any():
        return
    steps = (d[1:] / np.maximum(d[:-1], 1e-300))[seen]
    about = {"arm": "corrected", "case": size, "layer": f"{kind}, ε = {epsilon:g}", "dtype": "float64"}
    yield {**about, "quantity": "thm4_3/exact", "x": lam, "value": float(steps.max() / (1 - epsilon))}
    yield {**about, "quantity": "thm4_3/rate", "x": lam / ridge, "value": float(steps[-1])}


def gram(kind: str, y: np.ndarray, ridge: float, draw: np.random.Generator) -> np.ndarray:
    """X_1^T X_1 of several kinds, of least eigenvalue lambda_Phi."""
    N = len(y)
    raw = draw.normal(size=(N, N + 5))
    if kind == "multiple of I":
        return ridge * np.eye(N)
    if kind == "far":  # one direction, half of it in the labels' span and half outside, above all others
        across = raw[:, 0] - y @ np.linalg.lstsq(y, raw[:, 0], rcond=None)[0]
        v = y[:, 0] / np.linalg.norm(y[:, 0]) + across / max(float(np.linalg.norm(across)), 1e-300)
        return ridge * np.eye(N) + 1e3 * np.outer(v, v)
    low = np.linalg.eigvalsh(raw @ raw.T)[0]
    return raw @ raw.T + (ridge - low) * np.eye(N)


def distances(first: np.ndarray, y: np.ndarray, lam: float, ridge: float, kappa: float) -> np.ndarray:
    """||G_l - yy^T|| for l = 2, 3, ..., the spectral norm, until it stands still."""
    A, found = first, []
    identity = np.eye(len(y))
    for _ in range(LAYERS):
        G = step(A, y, lam, kappa)
        found.append(float(np.abs(np.linalg.eigvalsh(G - y @ y.T)).max()))
        if len(found) > 2 and abs(found[-1] - found[-2]) <= 1e-15 * len(y):
            break
        A = G + ridge * identity
    return np.array(found)


def step(A: np.ndarray, y: np.ndarray, lam: float, kappa: float) -> np.ndarray:
    """The next layer's Gram, kappa^-1 X^T M X, from X^T X = A."""
    fitted = A @ np.linalg.solve(A + lam * np.eye(len(y)), y)
    return fitted @ fitted.T / kappa


def courses() -> Iterator[dict]:
    """||G_l - yy^T|| / n by layer: printed and corrected kappa, at two lambda_k / lambda_Phi, for the figure."""
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
