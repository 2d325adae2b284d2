"""A.whiten: the update of B.1, W+ = U V^T T with T = W - gamma G and W T^T = U S V^T, on weights of any shape and rank.

W+ comes from numpy's SVD of the k x k matrix. Its Gram matrix is compared with T's. Its distance to W is compared with
the minimum, which follows from triangular factors (||W||^2 + ||T||^2 - 2 sum of singular values of R_W R_T^T), and with
that of other matrices with the Gram matrix of T: each of them is Q T with an orthogonal Q. gramlab's Newton-Schulz
iteration computes W+ a second time.

Section 2 has a constraint of first order in its place: of the gradient G the part Delta' with W^T Delta' + Delta'^T W =
0 that is closest to G is removed, and W+ = W - gamma Delta with Delta = G - Delta'. These Delta' are the orthogonal
complement of W S with a symmetric S, so Delta = W S where W^T W S + S W^T W = W^T G + G^T W. The remainder
(W+)^T W+ - T^T T is measured for step sizes gamma; G has the norm of W.

Rows that no rule judges: one step of Figure 2's square layer, by U V^T and by the ten Newton-Schulz steps of the
authors' code.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from gramlab.nets import initialize, mlp
from gramlab.nets.polar import same_gram
from gramlab.streams import stream
from tasks.measuring.counterexamples import Arrays, array, smallest
from tasks.papers.weight_gram.experiments.shared.trained_layers import trained_layers
from tasks.settings.simulation import Simulation

DTYPES: tuple[Any, ...] = (np.float64, np.float32)
KINDS = ("wide", "square", "tall", "one row", "one column", "large step", "no gradient", "low rank", "low rank, tall",
         "weight 0")  # fmt: skip
STEP_SEEDS = 5  # of the step of Figure 2's layer
LOW_RANK = ("low rank", "low rank, tall")
SINGULAR = (*LOW_RANK, "weight 0")  # where Newton-Schulz does not converge
PARTIAL = "control: singular vectors of 0 left out"
TEN_STEPS = "control: ten Newton-Schulz steps of the authors' code"
RANDOM, TURNED = "control: a random orthogonal factor", "control: W+ turned by about a hundredth"
# kinds that a rotation breaks; not a row, which has two orthogonal factors only, nor W = 0, equally far from all
TURNABLE = tuple(kind for kind in KINDS if kind not in ("one row", "weight 0"))
ONLY_REMOVED = "control: only the removed part"
GAMMAS = tuple(2.0**-power for power in range(21))
# without a gradient nothing moves; of a single row nothing is removed, so that the remainder is 0
MOVING = (*(kind for kind in KINDS if kind not in ("no gradient", "one row")), "trained")
ARMS = {"claim": KINDS, RANDOM: TURNABLE, TURNED: TURNABLE, PARTIAL: LOW_RANK}


class Settings(Simulation):
    """``instances`` counts the weights of each shape and rank."""


def measure(settings: Settings) -> Iterator[dict]:
    """Rows: residuals of the Gram, of the least distance, and of Newton-Schulz; remainders of Section 2's constraint.

    The authors' steps are measured by seed.
    """
    yield from adversaries()
    for seed in range(STEP_SEEDS):
        for method, value in gram_error(seed).items():
            columns = {"arm": "claim", "seed": seed, "dtype": "float64"}
            yield {**columns, "quantity": f"whiten/step, {method}", "value": value}
    for instance in range(settings.instances):
        for kind in KINDS:
            draw = stream("a_whiten", kind, instance)
            W, T = _weights(kind, draw)
            yield from _residuals(kind, f"{kind}, {instance}", W, T, draw)
            yield from _remainders(kind, f"{kind}, {instance}", W, W - T)
        *_, before, after = trained_layers(instance)
        draw = stream("a_whiten", "trained", instance)
        yield from _residuals("wide", f"trained, {instance}", before.W, after.W, draw)
        yield from _remainders("trained", f"trained, {instance}", before.W, before.W - after.W)


def adversaries() -> Iterator[dict]:
    """The smallest weights W and steps gamma G that violate an identity, by hypothesis."""

    def rows(instance: dict) -> list[dict]:
        W, T = array(instance["W"]), array(instance["W"]) - array(instance["G"])
        low = np.linalg.matrix_rank(W @ T.T) < min(W.shape)
        return [*_residuals("low rank" if low else "square", "", W, T, stream("a_whiten", "adversaries"))]

    instances = Arrays(lambda instance: instance["W"] != instance["G"], W=(0, 1), G=(0, 1))  # T is not 0
    yield from smallest("whiten", [*ARMS], instances, rows)


def gram_error(seed: int) -> dict[str, float]:
    """||W+^T W+ - T^T T|| over ||W^T W - T^T T|| for a first step at 0.01 on drawn data, 64 in a batch.

    By method: "whole" is U V^T, "ten steps" the authors' Newton-Schulz steps from W T^T. An exact W+ has 0.
    """
    net = mlp(64, [256, 256], 10, "gelu").double()
    net.load_state_dict(initialize(net, ("a_whiten", "step", seed)))
    draw = stream("a_whiten", "step", "data", seed)
    x, y = torch.from_numpy(draw.normal(size=(64, 64))), torch.from_numpy(draw.integers(0, 10, size=64))
    weight = net.get_parameter("2.weight")
    (G,) = torch.autograd.grad(torch.nn.functional.cross_entropy(net(x), y), weight)
    W = weight.detach()
    T = W - 0.01 * G
    updated = {"whole": same_gram(W, T, "svd"), "ten steps": same_gram(W, T, "ten-steps")}
    change = torch.linalg.norm(W.T @ W - T.T @ T)
    return {method: float(torch.linalg.norm(V.T @ V - T.T @ T) / change) for method, V in updated.items()}


def _residuals(kind: str, case: str, W: np.ndarray, T: np.ndarray, draw: np.random.Generator) -> Iterator[dict]:
    """Residuals of one W and T in both precisions and all arms; ``draw`` draws the orthogonal factors."""
    k, d = W.shape
    rotations = [np.linalg.qr(draw.normal(size=(k, k)))[0] for _ in range(20)]
    near_identity = [_cayley(0.1**power * draw.normal(size=(k, k))) for power in range(4)]
    for dtype in DTYPES:
        w, t = W.astype(dtype), T.astype(dtype)
        near = [rotation.astype(dtype) for rotation in near_identity]
        rotated = [rotation.astype(dtype) @ t for rotation in rotations]
        size = float(np.linalg.norm(w) + np.linalg.norm(t))
        factors: list[Any] = [np.linalg.qr(matrix, mode="r") for matrix in (w, t)]
        singular_values = np.linalg.svd(factors[0] @ factors[1].T, compute_uv=False)
        minimum = float((w**2).sum() + (t**2).sum() - 2 * singular_values.sum())
        for arm in (arm for arm, kinds in ARMS.items() if kind in kinds):
            updated = rotated[0] if arm == RANDOM else _update(w, t, all_directions=arm != PARTIAL)
            if arm == TURNED:
                updated = near[2] @ updated
            distance = float(((updated - w) ** 2).sum())
            others = [*rotated, *(rotation @ updated for rotation in near)]
            nearest = min(float(((other - w) ** 2).sum()) for other in others)
            gap = max(abs(distance - minimum), distance - nearest) / size**2
            gram = float(np.linalg.norm(updated.T @ updated - t.T @ t)) / float(np.linalg.norm(t)) ** 2
            columns = {"arm": arm, "case": case, "dtype": np.dtype(dtype).name}
            yield {**columns, "quantity": "whiten/gram", "value": gram / (k + d)}
            yield {**columns, "quantity": "whiten/distance", "value": gap / (k + d)}
            if kind not in SINGULAR:
                error = _distance(_iterated(w, t, "newton-schulz"), updated) / _sensitivity(W, T)
                yield {**columns, "quantity": "whiten/newton-schulz", "value": error / (k + d)}
                if arm == "claim":
                    columns["arm"] = TEN_STEPS
                    few = _iterated(w, t, "ten-steps")
                    error = _distance(few, updated) / _sensitivity(W, T)
                    gram = float(np.linalg.norm(few.T @ few - t.T @ t)) / float(np.linalg.norm(t)) ** 2
                    yield {**columns, "quantity": "whiten/newton-schulz", "value": error / (k + d)}
                    yield {**columns, "quantity": "whiten/gram", "value": gram / (k + d)}


def _remainders(kind: str, case: str, W: np.ndarray, G: np.ndarray) -> Iterator[dict]:
    """||(W - gamma Delta)^T (W - gamma Delta) - T^T T|| over gamma, T = W - gamma G; the control has Delta'."""
    if kind not in MOVING:
        return
    G = G * (float(np.linalg.norm(W)) or 1.0) / np.linalg.norm(G)
    kept = first_order_part(W, G)
    arms = {"claim": kept} | ({ONLY_REMOVED: G - kept} if W.any() else {})  # of W = 0 all of G is removed
    for arm, delta in arms.items():
        for gamma in GAMMAS:
            updated, T = W - gamma * delta, W - gamma * G
            remainder = float(np.linalg.norm(updated.T @ updated - T.T @ T))
            yield {"arm": arm, "case": case, "dtype": "float64", "quantity": "whiten/remainder", "x": gamma,
                   "value": remainder}  # fmt: skip


def first_order_part(W: np.ndarray, G: np.ndarray) -> np.ndarray:
    """Delta = W S: what remains of G without the closest Delta' that leaves W^T W unchanged to first order.

    In the basis of W's right singular vectors, S has the entries of W^T G + G^T W over the sums of two squared singular
    values; where both are 0, so is the entry.
    """
    _, singular_values, Vh = np.linalg.svd(W)
    s = np.zeros(len(Vh))
    s[: len(singular_values)] = singular_values
    s[s <= 100 * np.finfo(W.dtype).eps * s[0]] = 0
    sums = s[:, None] ** 2 + s[None] ** 2
    change = Vh @ (W.T @ G + G.T @ W) @ Vh.T
    S = np.divide(change, sums, out=np.zeros_like(change), where=sums > 0)
    return W @ Vh.T @ S @ Vh


def _iterated(w: np.ndarray, t: np.ndarray, method: str) -> np.ndarray:
    return same_gram(torch.from_numpy(w), torch.from_numpy(t), method).numpy()


def _distance(a: np.ndarray, b: np.ndarray) -> float:
    """Relative to b."""
    return float(np.linalg.norm(a - b)) / float(np.linalg.norm(b))


def _weights(kind: str, draw: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """W and T = W - gamma G."""
    small, large = int(draw.integers(2, 8)), int(draw.integers(8, 20))
    k, d = {"wide": (small, large), "tall": (large, small), "low rank, tall": (large, small), "one row": (1, large),
            "one column": (large, 1)}.get(kind, (small, small))  # fmt: skip
    W, G = draw.normal(size=(k, d)), draw.normal(size=(k, d)) * 10.0 ** draw.uniform(-1, 1)
    if kind in LOW_RANK:
        W = W[:, :1] * draw.normal(size=d)
    if kind == "weight 0":
        W = 0 * W
    step = {"large step": 10.0, "no gradient": 0.0}.get(kind, 10.0 ** draw.uniform(-3, -1))
    return W, W - step * G


def _update(w: np.ndarray, t: np.ndarray, all_directions: bool) -> np.ndarray:
    """U V^T t where w t^T = U S V^T; without ``all_directions``, of the nonzero singular values alone."""
    U, S, Vh = np.linalg.svd(w @ t.T)
    floor = 100 * np.finfo(w.dtype).eps * S[0]
    keep = slice(None) if all_directions else floor < S
    return U[:, keep] @ Vh[keep] @ t


def _cayley(a: np.ndarray) -> np.ndarray:
    """The rotation (I - A)^-1 (I + A) of the skew part A of ``a``."""
    skew, identity = a - a.T, np.eye(len(a))
    return np.linalg.solve(identity - skew, identity + skew)


def _sensitivity(W: np.ndarray, T: np.ndarray) -> float:
    """How much round-off in W T^T may move W+: the condition number of W T^T over its nonzero singular values."""
    values = np.linalg.svd(W @ T.T, compute_uv=False)[: min(W.shape)]
    return float(values[0] / values[-1])
