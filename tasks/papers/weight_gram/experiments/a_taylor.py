"""Homogeneous functions of paper A: pairwise Taylor errors (A.prop4) and kinks along a segment (A.lem4).

A.prop4: f = w^T phi(x) with an m-homogeneous phi. w is orthogonal to sum_i phi(x_i), which centres the values of f;
the points have mean 0. Gradients come from automatic differentiation. A.lem4: all kinks of a bias-free ReLU network
on a segment, layer by layer in closed form. Instances are random, a layer along the training of a small network,
degenerate, extremal, and found by hypothesis.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from gramlab.streams import stream
from tasks.measuring.counterexamples import Arrays, array, smallest
from tasks.papers.weight_gram.experiments.shared.trained_layers import trained_layers
from tasks.settings.simulation import Simulation

SHARPNESS = 0.99  # share of a bound's best constant that the extremal instances must exceed
ARMS = ("claim", "control: x not centred", "control: f not centred", "control: f not homogeneous")
KINDS = ("relu", "relu, 3 layers", "leaky relu", "relu^2", "relu^3", "relu^2, 2 layers", "skip", "degree 1/2",
         "cubic")  # fmt: skip
DEGENERATE = ("points at the kink", "repeated points", "dead units")  # of ReLU
SHALLOW = ("relu", "relu^2", "relu^3", "skip", "cubic")  # kinds with one layer of weights
SEGMENTS = ("1 hidden layer", "2 hidden layers", "3 hidden layers", "near points", "dead", "faint first kink",
            "extremal")  # fmt: skip


class Settings(Simulation):
    """``instances`` counts the functions and the segments of each kind."""


def measure(settings: Settings) -> Iterator[dict]:
    """Rows: prop4/residual, lem4/ratio and lem4/violated."""
    yield from adversaries()
    for instance in range(settings.instances):
        for kind in (*KINDS, *DEGENERATE):
            yield from proposition_4(kind, instance)
        for kind in SEGMENTS:
            yield from lemma_4(kind, instance)
        draw = stream("a_taylor", "trained", instance)
        for layer in trained_layers(instance):
            head, shift = draw.normal(size=len(layer.W)), draw.normal(size=len(layer.H))
            points, weight = torch.from_numpy(layer.H.T), torch.from_numpy(layer.W)
            yield from taylor(layer.kind, instance, "relu", [weight], points - points.mean(0), torch.from_numpy(shift),
                              torch.from_numpy(head))  # fmt: skip
            a, b = layer.H.T[:2]
            yield from segment("trained", [layer.W], head, a, b, instance, layer.step)


def proposition_4(kind: str, instance: int) -> Iterator[dict]:
    """A.prop4 on random weights and points; degenerate kinds have points at 0, repeated points, or dead units."""
    draw = stream("a_taylor", "prop4", kind, instance)
    d, n, width = int(draw.integers(2, 10)), int(draw.integers(3, 40)), int(draw.integers(3, 12))
    weights = [torch.from_numpy(draw.normal(size=(width, d if layer == 0 else width))) for layer in range(3)]
    points = torch.from_numpy(draw.normal(size=(n, d)) * 10.0 ** draw.uniform(-1, 1))
    points = points - points.mean(0)
    shift = torch.from_numpy(draw.normal(size=d)) * points.std()
    w = torch.from_numpy(draw.normal(size=width))
    if kind == "points at the kink":
        points = torch.cat([points, torch.zeros_like(points)])
    if kind == "repeated points":
        points = torch.cat([points, points[:1].expand(n, d)])
        points = points - points.mean(0)
    if kind == "dead units":
        weights[0][2:] = 0.0
    yield from taylor(kind, instance, "relu" if kind in DEGENERATE else kind, weights, points, shift, w)


def taylor(
    case: str, seed: int, kind: str, weights: list[Tensor], points: Tensor, shift: Tensor, w: Tensor,
    arms: tuple[str, ...] = ARMS,
) -> Iterator[dict]:  # fmt: skip
    """A.prop4's rows: |sum of all pairs' Taylor errors| over (n + d) times the sum of their terms' sizes.

    weights: those of ``features``; points (n, d) have mean 0, a control adds shift (d,); w (width,).
    """
    n, d = points.shape
    for arm in arms:
        phi = features(kind if "homogeneous" not in arm else "gelu", weights)
        x = points + shift if "x not" in arm else points
        total = phi(x).sum(0)
        if (total != 0).sum() < 2:
            return  # with at most one live feature the centred f is 0
        head = w if "f not centred" in arm else w - (w @ total) / (total @ total) * total
        for dtype in (torch.float64, torch.float32):
            leaf = x.to(dtype, copy=True).requires_grad_()
            hidden = features(kind if "homogeneous" not in arm else "gelu", [W.to(dtype) for W in weights])(leaf)
            f = hidden @ head.to(dtype)
            (gradients,) = torch.autograd.grad(f.sum(), leaf)
            f, leaf = f.detach(), leaf.detach()
            first_order = torch.einsum("ijd,jd->ij", leaf[:, None] - leaf[None], gradients)
            errors = f[:, None] - f[None] - first_order
            distances = (leaf[:, None] - leaf[None]).norm(dim=2)
            # f's factors are w and phi: centring w may cancel most of f and leave the round-off of w
            norms = hidden.detach().norm(dim=1) * w.norm().to(dtype)
            size = (norms[:, None] + norms[None] + distances * gradients.norm(dim=1)[None]).sum()
            yield {"arm": arm, "case": case, "seed": seed, "dtype": str(dtype).removeprefix("torch."),
                   "quantity": "prop4/residual", "value": float(errors.sum().abs() / size) / (n + d)}  # fmt: skip


def features(kind: str, weights: list[Tensor]) -> Callable[[Tensor], Tensor]:
    """phi: (n, d) -> (n, width), homogeneous of degree 1, 2, 3, 4 or 1/2, or not homogeneous (gelu).

    weights: one matrix for each layer of the kind.
    """
    first, second, third = [*weights, *weights[:1] * 2][:3]
    relu = torch.relu
    return {
        "relu": lambda x: relu(x @ first.T),
        "relu, 3 layers": lambda x: relu(relu(relu(x @ first.T) @ second.T) @ third.T),
        "leaky relu": lambda x: torch.nn.functional.leaky_relu(x @ first.T, 0.1) @ second.T,
        "relu^2": lambda x: relu(x @ first.T) ** 2,
        "relu^3": lambda x: relu(x @ first.T) ** 3,
        "relu^2, 2 layers": lambda x: relu((relu(x @ first.T) ** 2) @ second.T) ** 2,
        "skip": lambda x: x @ first.T + relu(x @ first.T),
        "degree 1/2": lambda x: (x @ first.T) / x.norm(dim=1, keepdim=True) ** 0.5,
        "cubic": lambda x: (x @ first.T) ** 2 * (x @ first.T).roll(1, 1),
        "gelu": lambda x: torch.nn.functional.gelu(x @ first.T),
    }[kind]


def lemma_4(kind: str, instance: int) -> Iterator[dict]:
    """A.lem4: |b^T grad f(a) - f(b)| over 2 M B delta, B the larger norm, and violations of the strict inequality."""
    draw = stream("a_taylor", "lem4", kind, instance)
    d, width = int(draw.integers(2, 8)), int(draw.integers(2, 12))
    depth = {"2 hidden layers": 2, "3 hidden layers": 3}.get(kind, 1)
    weights = [draw.normal(size=(width, d if layer == 0 else width)) for layer in range(depth)]
    head = draw.normal(size=width)
    a, b = draw.normal(size=d), draw.normal(size=d)
    if kind == "near points":  # on both sides of the first unit's boundary
        unit, step = weights[0][0], 5e-3 * b
        middle = a - (unit @ a) / (unit @ unit) * unit
        a, b = middle - step, middle + step
    if kind == "dead":  # on the whole segment
        weights = [-np.abs(weights[0])]
        a, b = np.abs(a), np.abs(b)
    if kind == "extremal":  # one unit, off at a and on at b, which is parallel to its weight
        weights, head = [draw.normal(size=(1, d))], np.ones(1)
        b = weights[0][0] / np.linalg.norm(weights[0])
        a = -draw.uniform(0.1, 0.9) * b
    if kind == "faint first kink":  # two units that both switch between a and b
        weights, head = [draw.normal(size=(2, d))], np.ones(2)
        b = -draw.uniform(0.3, 3) * a + 1e-2 * draw.normal(size=d)
        at_a, at_b = weights[0] @ a, weights[0] @ b
        if (at_a * at_b >= 0).any():
            return  # a unit nearly orthogonal to a does not switch
        head[(at_a / (at_a - at_b)).argmin()] = 1e-4
    yield from segment(kind, weights, head, a, b, instance)


def segment(
    kind: str, weights: list[np.ndarray], head: np.ndarray, a: np.ndarray, b: np.ndarray, instance: int = 0,
    step: int = 0,
) -> Iterator[dict]:  # fmt: skip
    """Lemma 4's rows of one ReLU network and a segment with no endpoint on a boundary; step is that of its training."""
    slopes = gradients(weights, head, a, b)
    jumps = [float(np.linalg.norm(after - before)) for before, after in pairwise(slopes)]
    jumps = [jump for jump in jumps if jump > 1e-12 * np.abs(slopes).max()]  # a smaller jump divides no linear regions
    hidden = b
    for weight in weights:
        hidden = np.maximum(weight @ hidden, 0)
    error = abs(float(b @ slopes[0] - head @ hidden))
    bound = 2 * len(jumps) * max(np.linalg.norm(a), np.linalg.norm(b)) * max(jumps, default=0.0)
    sides = {"claim": bound, "corrected": bound / 2}
    if kind == "extremal":
        sides["control: 0.99 of M B delta"] = SHARPNESS * bound / 2
    if kind == "faint first kink":
        sides["control: first delta only"] = bound * jumps[0] / max(jumps)
    for arm, right in sides.items():
        columns = {"arm": arm, "case": kind, "seed": instance, "step": step, "dtype": "float64"}
        slack = 1e-12 * (1 + abs(float(head @ hidden)))
        # the printed inequality is strict, and without a boundary both of its sides are 0
        violated = right == 0 or error >= right if arm == "claim" else error > right + slack
        yield {**columns, "quantity": "lem4/violated", "value": float(violated)}
        if right > 0:
            yield {**columns, "quantity": "lem4/ratio", "value": error / right}


def adversaries() -> Iterator[dict]:
    """The smallest one-layer networks and points that violate Lemma 4 or Proposition 4, by hypothesis."""

    def of_lemma_4(instance: dict) -> list[dict]:
        W, w, a, b = (array(instance[name]) for name in ("W", "w", "a", "b"))
        return [*segment("extremal", [W], w, a, b)]

    def avoids_boundaries(instance: dict) -> bool:
        return all((array(instance["W"]) @ array(instance[endpoint])).all() for endpoint in "ab")

    instances = Arrays(avoids_boundaries, W=(0, 1), w=(0,), a=(1,), b=(1,))
    yield from smallest("lem4", ["claim", "corrected", "control: 0.99 of M B delta"], instances, of_lemma_4)

    def of_proposition_4(instance: dict, arm: str) -> list[dict]:
        W, w, points, shift = (torch.from_numpy(array(instance[name])) for name in ("W", "w", "x", "shift"))
        centred = points - points.mean(0)
        of_kinds = {kind: taylor("", 0, kind, [W], centred, shift, w, (arm,)) for kind in SHALLOW}
        return [{**row, "layer": kind} for kind, measured in of_kinds.items() for row in measured]

    def is_nontrivial(instance: dict) -> bool:
        return any(instance["w"]) and len(instance["w"]) > 1 and len(instance["x"]) > 1

    instances = Arrays(is_nontrivial, W=(0, 1), w=(0,), x=(2, 1), shift=(1,))
    for arm in ARMS:
        yield from smallest("prop4", [arm], instances, partial(of_proposition_4, arm=arm))


def gradients(weights: list[np.ndarray], head: np.ndarray, a: np.ndarray, b: np.ndarray) -> list[np.ndarray]:
    """The network's gradient in each linear region on the segment from a to b, in order."""
    pieces = [(0.0, 1.0, np.eye(len(a)))]  # from, to, and the linear map from the input to this layer there
    for weight in weights:
        split_pieces = []
        for low, high, linear in pieces:
            start, end = weight @ linear @ a, weight @ linear @ b
            with np.errstate(divide="ignore", invalid="ignore"):
                zeros = start / (start - end)
            edges = [low, *np.sort(zeros[(zeros > low) & (zeros < high)]), high]
            for left, right in pairwise(edges):
                middle = start + (left + right) / 2 * (end - start)
                split_pieces.append((left, right, (middle > 0)[:, None] * (weight @ linear)))
        pieces = split_pieces
    return [head @ linear for _, _, linear in pieces]
