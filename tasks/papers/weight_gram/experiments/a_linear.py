"""Sections 4.1 and 4.2 of paper A on features and labels: A.lem1, A.lem2, A.thm2, A.ols, A.bce, A.lem5.

Features H (d, n) are ReLU outputs, a column per sample. The kinds of instances are random, ill-conditioned, rank one,
dead, a layer along the training of a small network, and extremal (as close to a bound as possible). Both sides of an
equation are computed from their own definitions.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F

from gramlab.streams import stream
from tasks.measuring.counterexamples import Arrays, array, smallest
from tasks.papers.weight_gram.experiments.shared.trained_layers import Layer, trained_layers
from tasks.settings.simulation import Simulation

DTYPES: tuple[Any, ...] = (np.float64, np.float32)
SHARPNESS = 0.99  # share of a bound's best constant that the extremal instances must exceed
RIDGE = "control: ridge instead of OLS"
LOGITS, SIGN = "control: logits instead of probabilities", "control: sign of one sum"
CROSS_CLASS = "control: cross-class similarity dominates"
NORM, OTHER_A = "control: norm of G beyond c", "control: G of another A"
TOO_LARGE_W = "control: W beyond c"
SMALLER_KAPPA, SMALLER_C = "control: 0.99 of the printed kappa", "control: 0.99 of 4/27 C"
GOLDEN = (1 + 5**0.5) / 2


class Settings(Simulation):
    """``instances`` counts the features and labels of each kind."""


def measure(settings: Settings) -> Iterator[dict]:
    """Rows of all six claims."""
    yield from adversaries()
    for instance in range(settings.instances):
        trained = [*trained_layers(instance)]
        for layer in trained:
            yield from identities_of(layer, instance)
        layers = [*random_layers(instance), *trained]
        for layer in [*layers, aligned(instance)]:
            yield from lemma_1(layer, instance)
        for layer in [*layers, rank_one(instance)]:
            yield from theorem_2(layer, instance)
        yield from lemma_2(layers, instance)
        for kind in ("tall", "ill-conditioned", "square", "wide", "rank-deficient", "y in the span", "y outside it"):
            yield from least_squares(kind, instance)
        for kind in ("random", "few positives", "one class", "saturated", "separated"):
            yield from cross_entropy(kind, instance)
        yield from pull_of_a_class(instance)
        for kind in ("random", "tall", "wide", "rank one", "orthogonal", "labels"):
            yield from lemma_5(kind, instance)


def adversaries() -> Iterator[dict]:
    """The smallest instances that violate an inequality or an identity in each arm, by hypothesis."""

    def layer(instance: dict) -> Layer:
        W, H, Y = (array(instance[name]) for name in "WHY")
        return Layer("extremal", W, np.maximum(H, 0), Y, instance.get("λ", 0))

    def of_lemma_1(instance: dict) -> list[dict]:
        return [*lemma_1(layer(instance))] if array(instance["W"]).any() else []

    def of_theorem_2(instance: dict) -> list[dict]:
        return [*theorem_2(layer(instance), 0)]

    def meets_theorem_2(instance: dict) -> bool:
        return len(instance["H"]) < len(instance["Y"]) and len(set(instance["Y"])) > 1  # n > d, and T is defined

    def of_lemma_2(instance: dict) -> list[dict]:
        A, Y = array(instance["A"]), array(instance["Y"])
        return [*kantorovich("multiple of I", A.T @ A, Y, instance["λ"])] if Y.any() else []

    def of_lemma_5(instance: dict) -> list[dict]:
        A, G = array(instance["A"]), array(instance["B"]) + array(instance["B"]).T
        if not (A.any() and G.any()):
            return []
        ratio = float(np.trace(A.T @ G @ A)) / float(np.linalg.norm(G) * np.linalg.norm(A @ A.T))
        return [{"arm": arm, "dtype": "float64", "quantity": "lem5/ratio", "value": factor * ratio}
                for arm, factor in (("claim", 1.0), (NORM, 1.01))]  # fmt: skip

    def of_least_squares(instance: dict) -> list[dict]:
        return [*projection("", array(instance["H"]), array(instance["Y"]))]

    def of_cross_entropy(instance: dict) -> list[dict]:
        labels = np.maximum(np.sign(array(instance["Y"])), 0)
        return [*sums_by_class("", array(instance["H"]), labels, array(instance["f"]))]

    instances = Arrays(W=(0, 1), H=(1, 2), Y=(2,))
    yield from smallest("lem1", ["claim", "corrected", TOO_LARGE_W], instances, of_lemma_1)
    yield from smallest("lem2", ["claim", SMALLER_KAPPA], Arrays(ridge=True, A=(0, 1), Y=(1,)), of_lemma_2)
    instances = Arrays(meets_theorem_2, ridge=True, W=(0, 1), H=(1, 2), Y=(2,))
    yield from smallest("thm2", ["claim", "corrected", SMALLER_C], instances, of_theorem_2)
    yield from smallest("lem5", ["claim", NORM], Arrays(A=(0, 1), B=(0, 0)), of_lemma_5)
    instances = Arrays(lambda instance: array(instance["H"]).any() and any(instance["Y"]), H=(0, 1), Y=(1,))
    yield from smallest("ols", ["claim", RIDGE], instances, of_least_squares)
    instances = Arrays(lambda instance: array(instance["H"]).any() and max(instance["Y"]) > 0,
                       H=(0, 1), Y=(1,), f=(1,))  # fmt: skip
    yield from smallest("bce", ["claim", LOGITS, SIGN], instances, of_cross_entropy)


def identities_of(layer: Layer, instance: int) -> Iterator[dict]:
    """A.ols, A.bce and A.lem5 on a layer in training: inputs, labels and their signs, the Gram matrix of outputs."""
    outputs = np.maximum(layer.W @ layer.H, 0)
    head = stream("a_linear", "head", instance).normal(size=len(outputs))
    yield from projection(f"{layer.kind}, {instance}", layer.H, layer.Y)
    yield from sums_by_class(f"{layer.kind}, {instance}", layer.H, (layer.Y > 0).astype(float), head @ outputs)
    ratio = layer.Y @ outputs.T @ outputs @ layer.Y / (np.linalg.norm(outputs.T @ outputs) * layer.Y @ layer.Y)
    yield {"arm": "claim", "case": layer.kind, "layer": "trained", "seed": instance, "dtype": "float64",
           "quantity": "lem5/ratio", "value": float(ratio)}  # fmt: skip


def random_layers(instance: int) -> Iterator[Layer]:
    """Layers whose inputs come from random weights."""
    for kind in ("random", "ill-conditioned", "rank one", "dead", "almost constant Y", "small Y", "large Y"):
        draw = stream("a_linear", kind, instance)
        d, k = int(draw.integers(1, 20)), int(draw.integers(1, 20))
        n = d + int(draw.integers(2, 40))
        below = draw.normal(size=(d, d + 3)) @ draw.normal(size=(d + 3, n))
        if kind == "ill-conditioned":
            below *= 10.0 ** -np.linspace(0, 3, d)[:, None]
        if kind == "rank one":
            below = np.abs(below[:, :1]) * np.abs(below[:1])
        if kind == "dead":
            below = -np.abs(below)
        H = np.maximum(below, 0) * 10.0 ** draw.uniform(-1, 1)
        W = draw.normal(size=(k, d)) * 10.0 ** draw.uniform(-1, 1)
        Y = draw.normal(size=n) + draw.normal()
        Y = {"almost constant Y": 1 + 1e-3 * Y, "small Y": 1e-2 * Y, "large Y": 1e2 * Y}.get(kind, Y)
        yield Layer(kind, W, H, Y, 10.0 ** draw.uniform(-2, 2))


def aligned(instance: int) -> Layer:
    """Labels for which H Y is W's first right singular vector, so that Lemma 1 with c = ||W|| is an equality."""
    draw = stream("a_linear", "aligned", instance)
    d, k = int(draw.integers(2, 12)), int(draw.integers(1, 12))
    H = np.abs(draw.normal(size=(d, 4 * d)))
    W = draw.normal(size=(k, d))
    Y = np.linalg.lstsq(H, np.linalg.svd(W)[2][0], rcond=None)[0]
    return Layer("extremal", W, H, Y, 1.0)


def rank_one(instance: int) -> Layer:
    """The instance on which Theorem 2's bound is tightest.

    With t = lambda_max / lambda and a share p of ||Y||^2 in the direction of H, the sides' ratio is at most
    4 p t (1 - p + p (1 + t)^-2) / (2 + t)^2, whose maximum is 4/27, at t = 1 and p = 2/3.
    """
    draw = stream("a_linear", "rank one, extremal", instance)
    d, k, ridge = int(draw.integers(1, 12)), int(draw.integers(1, 12)), 10.0 ** draw.uniform(-2, 2)
    n = d + int(draw.integers(2, 20))
    a, u = (_unit(np.abs(draw.normal(size=size))) for size in (d, n))
    b, y = _unit(draw.normal(size=k)), draw.normal(size=n)
    y = _unit(y - (y @ u) * u)
    W = 10.0 ** draw.uniform(-1, 1) * np.outer(b, a)
    return Layer("extremal", W, ridge**0.5 * np.outer(a, u), (2 / 3) ** 0.5 * u + (1 / 3) ** 0.5 * y, ridge)


def lemma_1(layer: Layer, instance: int = 0) -> Iterator[dict]:
    """A.lem1: c^-2 S(G_id) over S(G'_sigma), and violations of the inequality, which is printed strict."""
    W, H, Y = layer.W, layer.H, layer.Y
    norm = float(np.linalg.norm(W, 2))
    surrogate = Y @ (H.T @ (W.T @ W) @ H) @ Y
    right = float(Y @ (H.T @ H) @ Y)
    arms = {"claim": (1.001 * norm, 1.0), "corrected": (norm, 1.0)}
    if layer.kind == "extremal":
        arms[TOO_LARGE_W] = (norm, 1.01)
    for arm, (c, factor) in arms.items():
        left = float(factor**2 * surrogate / c**2)
        violated = left >= right if arm == "claim" else left > right * (1 + 1e-12)
        columns = {"arm": arm, "case": layer.kind, "seed": instance, "dtype": "float64"}
        yield {**columns, "quantity": "lem1/violated", "value": float(violated)}
        if right > 0:
            yield {**columns, "quantity": "lem1/ratio", "value": left / right}


def lemma_2(layers: list[Layer], instance: int) -> Iterator[dict]:
    """A.lem2: Y^T A^-2 Y over kappa ||Y||^4 / (Y^T A Y), A = lambda I + G; with the printed and the best kappa.

    With r = (lambda + lambda_max) / (lambda + lambda_min) the best kappa times (lambda + lambda_min) is
    (r^2 + r + 1)^2 / (4 r^2 (r + 1)) for r at or above the golden ratio, and 1 below it. This is the maximum over p for
    a unit Y with a share p in the direction of the smallest eigenvalue and 1 - p in that of the largest.
    """
    draw = stream("a_linear", "lem2", instance)
    n, ridge, top = int(draw.integers(3, 30)), 10.0 ** draw.uniform(-1, 1), 10.0 ** draw.uniform(0.5, 2)
    Q = np.linalg.qr(draw.normal(size=(n, n)))[0]
    spectrum = np.sort(draw.uniform(0, top, size=n))
    spectrum[0], spectrum[-1] = draw.uniform(0, 0.1), top
    G = (Q * spectrum) @ Q.T
    r = (ridge + spectrum[-1]) / (ridge + spectrum[0])
    p = min((r**2 + r - 1) / (2 * (r**2 - 1)), 1.0)
    equal_shares = np.sqrt(0.5) * (Q[:, 0] + Q[:, -1])
    best_shares = np.sqrt(p) * Q[:, 0] + np.sqrt(1 - p) * Q[:, -1]
    climbed = _climb(ridge * np.eye(n) + G, _unit(draw.normal(size=n)))
    multiple_of_I = draw.uniform(0, top) * np.eye(n)
    cases = [(layer.kind, layer.H.T @ layer.H, layer.Y, layer.ridge) for layer in layers]
    cases += [("attains Kantorovich", G, equal_shares, ridge), ("extremal", G, best_shares, ridge)]
    cases += [("climbed", G, climbed, ridge), ("multiple of I", multiple_of_I, draw.normal(size=n), ridge)]
    for case in cases:
        yield from kantorovich(*case, instance)


def kantorovich(kind: str, gram: np.ndarray, Y: np.ndarray, lam: float, instance: int = 0) -> Iterator[dict]:
    """Lemma 2's rows of one Gram matrix, labels and ridge ``lam``."""
    A = lam * np.eye(len(gram)) + gram
    left = float((np.linalg.solve(A, Y) ** 2).sum())
    eigenvalues = np.linalg.eigvalsh(gram)
    low, high = lam + eigenvalues[0], lam + eigenvalues[-1]
    right = float((Y @ Y) ** 2 / (Y @ A @ Y))
    printed, sharp = (low + high) ** 2 / (4 * low**3), _best_kappa(high / low) / low
    columns = {"arm": "claim", "case": kind, "seed": instance, "dtype": "float64"}
    yield {**columns, "quantity": "lem2/ratio", "value": left / (printed * right)}
    yield {**columns, "quantity": "lem2/sharp", "value": left / (sharp * right)}
    controls = {"extremal": ("control: 0.99 of the best kappa", sharp), "multiple of I": (SMALLER_KAPPA, printed)}
    if kind in controls:
        arm, kappa = controls[kind]
        yield {**columns, "arm": arm, "quantity": "lem2/ratio", "value": left / (SHARPNESS * kappa * right)}


def _best_kappa(r: float) -> float:
    return (r**2 + r + 1) ** 2 / (4 * r**2 * (r + 1)) if r >= GOLDEN else 1.0


def _climb(A: np.ndarray, y: np.ndarray) -> np.ndarray:
    """A unit vector with a large (y^T A^-2 y) (y^T A y), by gradient steps on the sphere."""
    inverse = np.linalg.inv(A @ A)
    rate = 1.0
    value = lambda v: float((v @ inverse @ v) * (v @ A @ v))  # noqa: E731
    for _ in range(200):
        slope = (inverse @ y) * (y @ A @ y) + (A @ y) * (y @ inverse @ y)
        step = _unit(y + rate * _unit(slope - (slope @ y) * y))
        y, rate = (step, rate) if value(step) > value(y) else (y, rate / 2)
    return y


def theorem_2(layer: Layer, instance: int) -> Iterator[dict]:
    """A.thm2: (1 - T_lambda) over C / S(G_id), C as in C.3, for both readings of e_1; both sides along training."""
    W, H, Y, ridge = layer.W, layer.H, layer.Y, layer.ridge
    d = len(H)
    surrogate = float(((W @ H @ Y) ** 2).sum())
    spread = float(((Y - Y.mean()) ** 2).sum())
    if surrogate == 0:
        return  # a dead layer: the printed bound divides by the surrogate
    ridged = np.vstack([H.T, ridge**0.5 * np.eye(d)])
    fitted = H.T @ np.linalg.lstsq(ridged, np.append(Y, np.zeros(d)), rcond=None)[0]
    unexplained = float(((Y - fitted) ** 2).sum()) / spread  # 1 - T_lambda
    if not 0 <= unexplained <= (1 + 1e-9) * float(Y @ Y) / spread:
        raise ArithmeticError(f"A.thm2, {layer.kind}, {instance}: 1 - T = {unexplained:g} is out of range")
    c_0, c_1 = float(np.linalg.norm(W, 2)), float(np.linalg.norm(H))
    shared = c_0**2 * (2 * ridge + c_1**2) ** 2 / (4 * ridge * spread)
    constants = {"claim": shared * float(Y @ Y), "corrected": shared * float(Y @ Y) ** 2}
    if layer.kind == "extremal":
        constants[SMALLER_C] = SHARPNESS * 4 / 27 * constants["corrected"]
        constants["control: W beyond c_0"] = constants["corrected"] / 9
    for arm, C in constants.items():
        columns = {"arm": arm, "case": layer.kind, "seed": instance, "dtype": "float64"}
        yield {**columns, "quantity": "thm2/ratio", "value": unexplained * surrogate / C}
        if layer.step >= 0:
            for side, value in (("left", unexplained), ("right", C / surrogate)):
                yield {**columns, "step": layer.step, "quantity": f"thm2/{side}", "value": value}


def least_squares(kind: str, instance: int) -> Iterator[dict]:
    """A.ols: ||y - f_OLS||_K = ||H (y - f_OLS)|| over (n + d) cond(H) ||H|| ||y||, cond of the nonzero spectrum."""
    draw = stream("a_linear", "ols", kind, instance)
    d = int(draw.integers(2, 20))
    n = {"square": d, "wide": max(2, d // 2)}.get(kind, d + int(draw.integers(1, 40)))
    H = draw.normal(size=(d, n))
    if kind == "square":
        H += 3 * d**0.5 * np.eye(d)
    if kind == "ill-conditioned":
        H *= 10.0 ** -np.linspace(0, 2, d)[:, None]
    if kind == "rank-deficient":
        H[-1] = H[0]
    y = draw.normal(size=n)
    if kind == "y in the span":
        y = H.T @ draw.normal(size=d)
    if kind == "y outside it":
        y = y - H.T @ np.linalg.lstsq(H.T, y, rcond=None)[0]
    # outside the span every ridge predicts 0, as OLS does
    arms = ("claim",) if kind == "y outside it" else ("claim", RIDGE)
    yield from projection(f"{kind}, {instance}", H, y, arms)


def projection(case: str, H: np.ndarray, y: np.ndarray, arms: Iterable[str] = ("claim", RIDGE)) -> Iterator[dict]:
    """A.ols of nonzero features (d, n) and labels."""
    d, n = H.shape
    rank = int(np.linalg.matrix_rank(H))
    singular_values = np.linalg.svd(H, compute_uv=False)[:rank]
    size = (n + d) * (singular_values[0] / singular_values[-1]) * singular_values[0] * np.linalg.norm(y)
    columns = {"case": case, "quantity": "ols/residual"}
    for dtype in DTYPES:
        features, labels = H.astype(dtype), y.astype(dtype)
        for arm in arms:
            ridge = 0.1 * singular_values[0] ** 2 if arm == RIDGE else 0.0
            ridged = np.vstack([features.T, np.eye(d, dtype=dtype) * dtype(ridge**0.5)])
            target, cutoff = np.append(labels, np.zeros(d, dtype)), max(n, d) * np.finfo(dtype).eps
            weights = {"least squares": np.linalg.lstsq(ridged, target, rcond=cutoff)[0]}
            if rank == d:  # the printed inverse exists
                inner = features @ features.T + dtype(ridge) * np.eye(d, dtype=dtype)
                weights["printed inverse"] = np.linalg.solve(inner, features @ labels)
            for method, w in weights.items():
                error = float(np.linalg.norm(features @ (labels - features.T @ w)))
                yield {**columns, "arm": arm, "layer": method, "dtype": np.dtype(dtype).name, "value": error / size}


def cross_entropy(kind: str, instance: int) -> Iterator[dict]:
    """A.bce: g by automatic differentiation and y^T K g with the full K, against the sums over both classes."""
    draw = stream("a_linear", "bce", kind, instance)
    d, n = int(draw.integers(1, 20)), int(draw.integers(4, 60))
    H = np.maximum(draw.normal(size=(d, n)) + draw.normal(size=(d, 1)), 0)
    if not H.any():
        return  # dead features: both sides are 0
    y = (draw.random(n) < (0.1 if kind == "few positives" else 0.5)).astype(float)
    y[:2] = (1, 0)
    if kind == "one class":
        y[:] = 1
    f = draw.normal(size=d) @ H + draw.normal()
    if kind == "saturated":
        f = 30 * f / np.abs(f).max()
    if kind == "separated":
        f = np.abs(f) * (2 * y - 1)
    yield from sums_by_class(f"{kind}, {instance}", H, y, f)


def sums_by_class(case: str, H: np.ndarray, y: np.ndarray, f: np.ndarray) -> Iterator[dict]:
    """A.bce of nonzero features (d, n), labels y in {0, 1}, at least one of them 1, and logits f."""
    d, n = H.shape
    for dtype in DTYPES:
        h, labels, logits = H.astype(dtype), y.astype(dtype), f.astype(dtype)
        leaf = torch.from_numpy(logits).requires_grad_()
        loss = F.binary_cross_entropy_with_logits(leaf, torch.from_numpy(labels), reduction="sum")
        g = -torch.autograd.grad(loss, leaf)[0].numpy()
        predicted = _sigmoid(logits)
        norms = float(np.linalg.norm(labels) + np.linalg.norm(predicted))
        ones, zeros = labels == 1, labels == 0
        left = float(labels @ (h.T @ h) @ g)
        size = (n + d) * float(np.linalg.norm(labels) * np.linalg.norm(h) ** 2) * norms
        pull, push = h[:, ones] @ (1 - predicted[ones]), h[:, zeros] @ predicted[zeros]
        columns = {"case": case, "dtype": np.dtype(dtype).name}
        # each control breaks one of the two parts
        arms = {"claim": (pull - push, predicted), LOGITS: (pull - push, logits)}
        if zeros.any():  # otherwise the second sum is empty
            arms[SIGN] = (pull + push, predicted)
        for arm, (direction, outputs) in arms.items():
            gradient_error = float(np.linalg.norm(g - (labels - outputs))) / norms
            residual = abs(left - float(h[:, ones].sum(1) @ direction)) / size
            yield {**columns, "arm": arm, "quantity": "bce/residual", "value": residual}
            yield {**columns, "arm": arm, "quantity": "bce/gradient", "value": gradient_error}


def pull_of_a_class(instance: int) -> Iterator[dict]:
    """A.bce: whether y^T K g > 0 fails, where <h_i, h_j> >= <h_i, h_k> for all i, j in S1 and k in S0, and h >= 0.

    "claim" has any logits. "corrected" and the control have logits, lowered together until the residuals of S1 sum to
    at least those of S0. The control has the similarities the other way round.
    """
    draw = stream("a_linear", "pull", instance)
    d, n = int(draw.integers(2, 20)), int(draw.integers(4, 40))
    y = (np.arange(n) < draw.integers(1, n)).astype(float)
    H, logits = draw.uniform(0.1, 1, size=(d, n)), 2 * draw.normal(size=n) + draw.normal()
    K = H.T @ H
    within, across = K[y == 1][:, y == 1], K[y == 1][:, y == 0]
    share = draw.uniform(0, 1)
    weaker = np.where(y == 1, 1.0, share * within.min() / across.max())
    stronger = np.where(y == 1, 1.0, within.max() / (max(share, 0.1) * across.min()))
    lowered = logits.copy()
    while (y - _sigmoid(lowered)).sum() < 0:
        lowered -= 1
    arms = {"claim": (weaker, logits), "corrected": (weaker, lowered), CROSS_CLASS: (stronger, lowered)}
    for arm, (scales, f) in arms.items():
        yield {"arm": arm, "case": "similar within a class", "seed": instance, "dtype": "float64",
               "quantity": "bce/not positive", "value": float(pull(scales * H, y, f) <= 0)}  # fmt: skip


def pull(H: np.ndarray, y: np.ndarray, f: np.ndarray) -> float:
    """y^T K g with K = H^T H and the residual g of binary cross-entropy."""
    return float(y @ (H.T @ H) @ (y - _sigmoid(f)))


def _sigmoid(logits: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-logits))


def lemma_5(kind: str, instance: int) -> Iterator[dict]:
    """A.lem5: tr(A^T G A) / (c ||A A^T||_F) for several G of norm c, and the equality at G = c A A^T / ||A A^T||_F."""
    draw = stream("a_linear", "lem5", kind, instance)
    m, n = int(draw.integers(2, 20)), int(draw.integers(1, 20))
    m, n = {"tall": (m + n, 1 + n // 3), "wide": (2, n + 3), "orthogonal": (m, m)}.get(kind, (m, n))
    A = draw.normal(size=(m, n)) * 10.0 ** draw.uniform(-1, 1)
    if kind == "rank one":
        A = A[:, :1] * draw.normal(size=n)
    if kind == "orthogonal":
        A = np.linalg.qr(A)[0]
    if kind == "labels":
        A = np.eye(3)[np.arange(3 * m) % 3] - 1 / 3
        m, n = A.shape
    c, outer, raw = 10.0 ** draw.uniform(-1, 1), A @ A.T, draw.normal(size=(m, m))
    B = draw.normal(size=(m, n))
    candidates = {"symmetric": raw + raw.T, "psd": raw @ raw.T, "best": outer, "least": -outer, OTHER_A: B @ B.T,
                  "near the best": outer + 1e-3 * np.linalg.norm(outer) * (raw + raw.T)}  # fmt: skip
    norm = float(np.linalg.norm(outer))
    for arm, factor, names in (("claim", 1.0, candidates), (NORM, 1.01, ["best"]), (OTHER_A, 1.0, [OTHER_A])):
        for name in names:
            G = candidates[name] * (factor * c / np.linalg.norm(candidates[name]))
            yield {"arm": arm, "case": kind, "layer": name, "seed": instance, "dtype": "float64",
                   "quantity": "lem5/ratio", "value": float(np.trace(A.T @ G @ A)) / (c * norm)}  # fmt: skip
    for dtype in DTYPES:
        a, b, bound = A.astype(dtype), B.astype(dtype), dtype(c)
        for arm, source, factor in (("claim", a, 1.0), (NORM, a, 1.01), (OTHER_A, b, 1.0)):
            G = dtype(factor) * bound / np.linalg.norm(source @ source.T) * (source @ source.T)
            gap = abs(float(np.trace(a.T @ G @ a)) - float(bound * np.linalg.norm(a @ a.T)))
            size = (m + n) * c * float(np.linalg.norm(a)) ** 2
            yield {"arm": arm, "case": f"{kind}, {instance}", "dtype": np.dtype(dtype).name,
                   "quantity": "lem5/residual", "value": gap / size}  # fmt: skip


def _unit(v: np.ndarray) -> np.ndarray:
    return v / max(float(np.linalg.norm(v)), 1e-300)
