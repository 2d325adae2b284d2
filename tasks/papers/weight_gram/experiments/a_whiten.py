"""A.whiten: the update of B.1, W+ = U V^T T with T = W - gamma G and W T^T = U S V^T, on weights of any shape and rank.

W+ comes from numpy's SVD of the k x k matrix. Its Gram matrix is compared with T's; its distance to W with the least
one possible, which follows from triangular factors alone (||W||^2 + ||T||^2 - 2 sum of singular values of R_W R_T^T),
and with that of other matrices of this Gram: every one of them is Q T with an orthogonal Q. gramlab's Newton-Schulz
makes W+ once more.

Beside them, judged by no rule, one step of Figure 2's square layer, by U V^T and by the ten steps of Newton-Schulz that
the authors' code takes for it.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from gramlab.nets import initialize, mlp
from gramlab.nets.polar import same_gram
from gramlab.streams import stream
from tasks.measuring.counterexamples import Arrays, array, smallest
from tasks.papers.weight_gram.experiments.shared.instances import trained
from tasks.settings.simulation import Simulation

DTYPES: tuple[Any, ...] = (np.float64, np.float32)
KINDS = ("wide", "square", "tall", "one row", "one column", "large step", "no gradient", "low rank", "low rank, tall",
         "weight 0")  # fmt: skip
SEEDS = 5
LOW = ("low rank", "low rank, tall")
SINGULAR = (*LOW, "weight 0")  # Newton-Schulz is not for these
PARTIAL = "control: singular vectors of 0 left out"
RANDOM, TURNED = "control: a random orthogonal factor", "control: W+ turned by about a hundredth"
# without those where a control breaks nothing: one row has two factors only, and of W = 0 all are equally far
TURNABLE = tuple(kind for kind in KINDS if kind not in ("one row", "weight 0"))
ARMS = {"claim": KINDS, RANDOM: TURNABLE, TURNED: TURNABLE, PARTIAL: LOW}


class Settings(Simulation):
    """Settings of this experiment."""


def measure(settings: Settings) -> Iterator[dict]:
    """Rows: residuals of the Gram, of the least distance, and of Newton-Schulz; the authors' steps by seed."""
    yield from adversaries()
    for seed in range(SEEDS):
        for steps, value in gram_error(seed).items():
            about = {"arm": "claim", "seed": seed, "dtype": "float64"}
            yield {**about, "quantity": f"whiten/step, {steps}", "value": value}
    for instance in range(settings.instances):
        for kind in KINDS:
            draw = stream("a_whiten", kind, instance)
            yield from _rows(kind, f"{kind}, {instance}", *_weights(kind, draw), draw)
        *_, before, after = trained(instance)
        yield from _rows("wide", f"trained, {instance}", before.W, after.W, stream("a_whiten", "trained", instance))


def adversaries() -> Iterator[dict]:
    """The smallest weights and gradients, of a step of 1, that hypothesis finds to violate an identity."""

    def rows(one: dict) -> list[dict]:
        W, T = array(one["W"]), array(one["W"]) - array(one["G"])
        low = np.linalg.matrix_rank(W @ T.T) < min(W.shape)
        return [*_rows("low rank" if low else "square", "", W, T, stream("a_whiten", "adversaries"))]

    given = Arrays(lambda one: one["W"] != one["G"], W=(0, 1), G=(0, 1))  # of T = 0 nothing is asked
    yield from smallest("whiten", [*ARMS], given, rows)


def gram_error(seed: int) -> dict[str, float]:
    """||W+^T W+ - T^T T|| over the step's own ||W^T W - T^T T|| for a first step at 0.01 on drawn data, 64 in a batch.

    With "whole" U V^T, and with what "ten steps" make of W T^T. Where all is well it is 0.
    """
    net = mlp(64, [256, 256], 10, "gelu").double()
    net.load_state_dict(initialize(net, ("a_whiten", "step", seed)))
    draw = stream("a_whiten", "step", "data", seed)
    x, y = torch.from_numpy(draw.normal(size=(64, 64))), torch.from_numpy(draw.integers(0, 10, size=64))
    weight = net.get_parameter("2.weight")
    (G,) = torch.autograd.grad(torch.nn.functional.cross_entropy(net(x), y), weight)
    W = weight.detach()
    T = W - 0.01 * G
    made = {"whole": same_gram(W, T, "svd"), "ten steps": same_gram(W, T, "ten-steps")}
    change = torch.linalg.norm(W.T @ W - T.T @ T)
    return {way: float(torch.linalg.norm(one.T @ one - T.T @ T) / change) for way, one in made.items()}


def _rows(kind: str, case: str, W: np.ndarray, T: np.ndarray, draw: np.random.Generator) -> Iterator[dict]:
    k, d = W.shape
    rotations = [np.linalg.qr(draw.normal(size=(k, k)))[0] for _ in range(20)]
    small = [_cayley(0.1**power * draw.normal(size=(k, k))) for power in range(4)]
    for dtype in DTYPES:
        w, t = W.astype(dtype), T.astype(dtype)
        close = [turn.astype(dtype) for turn in small]
        turned = [turn.astype(dtype) @ t for turn in rotations]
        size = float(np.linalg.norm(w) + np.linalg.norm(t))
        factors: list[Any] = [np.linalg.qr(one, mode="r") for one in (w, t)]
        triangular = np.linalg.svd(factors[0] @ factors[1].T, compute_uv=False)
        least = float((w**2).sum() + (t**2).sum() - 2 * triangular.sum())
        for arm in (arm for arm, kinds in ARMS.items() if kind in kinds):
            made = turned[0] if arm == RANDOM else _update(w, t, whole=arm != PARTIAL)
            if arm == TURNED:
                made = close[2] @ made
            distance = float(((made - w) ** 2).sum())
            nearest = min(float(((one - w) ** 2).sum()) for one in [*turned, *(turn @ made for turn in close)])
            gap = max(abs(distance - least), distance - nearest) / size**2
            gram = float(np.linalg.norm(made.T @ made - t.T @ t)) / float(np.linalg.norm(t)) ** 2
            about = {"arm": arm, "case": case, "dtype": np.dtype(dtype).name}
            yield {**about, "quantity": "whiten/gram", "value": gram / (k + d)}
            yield {**about, "quantity": "whiten/distance", "value": gap / (k + d)}
            if kind not in SINGULAR:
                iterated = same_gram(torch.from_numpy(w), torch.from_numpy(t), "newton-schulz").numpy()
                apart = float(np.linalg.norm(iterated - made)) / (_sensitivity(W, T) * float(np.linalg.norm(t)))
                yield {**about, "quantity": "whiten/newton-schulz", "value": apart / (k + d)}


def _weights(kind: str, draw: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """W and T = W - gamma G."""
    small, large = int(draw.integers(2, 8)), int(draw.integers(8, 20))
    k, d = {"wide": (small, large), "tall": (large, small), "low rank, tall": (large, small), "one row": (1, large),
            "one column": (large, 1)}.get(kind, (small, small))  # fmt: skip
    W, G = draw.normal(size=(k, d)), draw.normal(size=(k, d)) * 10.0 ** draw.uniform(-1, 1)
    if kind in LOW:
        W = W[:, :1] * draw.normal(size=d)
    if kind == "weight 0":
        W = 0 * W
    step = {"large step": 10.0, "no gradient": 0.0}.get(kind, 10.0 ** draw.uniform(-3, -1))
    return W, W - step * G


def _update(w: np.ndarray, t: np.ndarray, whole: bool) -> np.ndarray:
    """U V^T t of w t^T = U S V^T; unless ``whole``, without the singular vectors of 0."""
    U, S, Vh = np.linalg.svd(w @ t.T)
    floor = 100 * np.finfo(w.dtype).eps * S[0]
    keep = slice(None) if whole else floor < S
    return U[:, keep] @ Vh[keep] @ t


def _cayley(a: np.ndarray) -> np.ndarray:
    """The rotation (I - A)^-1 (I + A) of the skew part A of ``a``."""
    skew, one = a - a.T, np.eye(len(a))
    return np.linalg.solve(one - skew, one + skew)


def _sensitivity(W: np.ndarray, T: np.ndarray) -> float:
    """How much W+ may move by round-off in W T^T: its condition number, over the singular values of full rank."""
    values = np.linalg.svd(W @ T.T, compute_uv=False)[: min(W.shape)]
    return float(values[0] / values[-1])
