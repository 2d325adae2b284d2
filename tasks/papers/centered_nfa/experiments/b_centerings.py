"""B.fig2, B.fig4, B.fig5, B.fig7, B.fig8: every centering of the NFA along training, by data spectrum and init scale.

Appendices B, G and H: two hidden ReLU layers without biases, the chain monomial of rank 5 on 256 Gaussian samples in
32 dimensions, full-batch gradient descent at 0.05 on the mean squared error. Only the first layer's scale s_0 varies;
its values stand in the figures' legends, which the text at hand lacks: 1, 0.1, 0.01 here. A seed has its own data and
its own initial weights, which its three scales share. All networks train side by side, as one stack.

The print has weights N(0, s_l / k_l). At s_0 = 1 and width 256 on isotropic data its first steps overshoot: 0.05 times
the loss's largest curvature is 4.2 at the start (at the quick scale's width 1.2), and gradient descent is stable below
2. The authors' code leaves nn.Linear its default, uniform with variance 1 / (3 k_l), which Appendix H's "default scale"
may mean: the corrected arm takes s_l times that. The correlation is the cosine, as printed; the authors' code subtracts
the means first.
"""

import math
from collections.abc import Iterator
from itertools import product

import torch
from torch import Tensor, nn

import gramlab
from gramlab.data.polynomials import chain_monomial
from gramlab.nets import initialize, mlp
from gramlab.streams import stream
from tasks.settings.fields import Count
from tasks.settings.simulation import Simulation

SAMPLES, TEST_SAMPLES, DIMENSION, RANK, LR = 256, 1000, 32, 5, 0.05
SPECTRA = {"isotropic": None, "1/(1+k)": 1.0, "1/(1+k^2)": 2.0}  # the decay of the inputs' covariance
SCALES = (1.0, 0.1, 0.01)
READINGS = {"claim": "normal", "corrected": "uniform"}  # of "scale": of the variance 1/k, or of torch's default
FIRST = 5  # the step of the paper's first measurement
Weights = dict[str, Tensor]  # of one network, or of the stack of all, (networks, ...)
Tangents = dict[str, tuple[Tensor, Tensor]]  # K and the centered K of each hidden layer


class Settings(Simulation):
    """Settings of this experiment."""

    steps: Count
    every: Count  # steps between two measurements
    width: Count  # of the hidden layers


def measure(settings: Settings) -> Iterator[dict]:
    """Rows: ansätze and their nulls by arm, spectrum (case), scale (x), seed, layer and step; losses."""
    keys = list(product(READINGS, SPECTRA, range(settings.instances), SCALES))
    net = mlp(DIMENSION, [settings.width] * 2, 1, "relu", bias=False)
    sets = {
        (case, seed): chain_monomial(SAMPLES, DIMENSION, RANK, TEST_SAMPLES, decay=SPECTRA[case], seed=seed)
        for case, seed in product(SPECTRA, range(settings.instances))
    }
    x, y, x_test, y_test = (
        torch.stack([getattr(sets[case, seed], part) for _, case, seed, _ in keys]).float()
        for part in ("x_train", "y_train", "x_test", "y_test")
    )
    drawn = [drawn_weights(net, *key) for key in keys]
    stack = {name: torch.stack([one[name] for one in drawn]).float().requires_grad_() for name in drawn[0]}
    start = {name: value.detach().clone() for name, value in stack.items()}
    stops = {0, FIRST, *range(0, settings.steps + 1, settings.every)}
    for step in train(stack, x, y, settings.steps, stops):
        losses = {"train_loss": loss(stack, x, y).tolist(), "test_loss": loss(stack, x_test, y_test).tolist()}
        for at, (arm, case, seed, scale) in enumerate(keys):
            about = {"case": case, "seed": seed, "x": scale, "step": step}
            for name, values in losses.items():
                for one_arm in (arm, "control: random K") if arm == "claim" else (arm,):
                    yield {**about, "arm": one_arm, "dtype": "float32", "quantity": name, "value": values[at]}
            now, begun = one(stack, at), one(start, at)
            K = tangents(net, x[at], now, begun)
            rows = [{"arm": arm, **row} for row in centerings(K, now, begun)]
            if arm == "claim":
                other = one(start, keys.index((arm, case, (seed + 1) % settings.instances, scale)))
                rows += controls(net, x[at], K, now, begun, other, step, ("b_centerings", case, seed))
            yield from ({**about, "dtype": "float64", **row} for row in rows)


def drawn_weights(net: nn.Module, reading: str, case: str, seed: int, scale: float) -> Weights:
    """Initial weights, the same for every spectrum; the uniform ones are given by their bound's scale."""
    kind = READINGS[reading]
    return initialize(net, ("b_centerings", seed), kind, [scale if kind == "normal" else math.sqrt(scale), 1, 1])


def train(stack: Weights, x: Tensor, y: Tensor, steps: int, stops: set[int]) -> Iterator[int]:
    """Gradient descent of every network of the stack on its own data; stops after each of these steps."""
    optimizer = torch.optim.SGD(stack.values(), LR)
    for step in range(steps + 1):
        if step:
            optimizer.zero_grad()
            loss(stack, x, y).sum().backward()
            optimizer.step()
        if step in stops:
            yield step


def loss(stack: Weights, x: Tensor, y: Tensor) -> Tensor:
    """The mean squared error of each network, (networks,)."""
    *hidden, last = stack.values()
    for weight in hidden:
        x = torch.relu(x @ weight.mT)
    return (x @ last.mT - y).square().mean((1, 2))


def one(stack: Weights, at: int) -> Weights:
    """One network's weights."""
    return {name: value[at].detach() for name, value in stack.items()}


def centerings(K: Tangents, now: Weights, start: Weights) -> Iterator[dict]:
    """Rows of all centerings, of both hidden layers."""
    for layer, (P, P_moved) in K.items():
        W, W0 = (weights[f"{layer}.weight"].double() for weights in (now, start))
        rows = [*nfa("uncentered", W, P), *nfa("centered", W - W0, P), *nfa("double_centered", W - W0, P_moved),
                *nfa("ptk_centered", W0, P_moved), *ratio(W - W0, P_moved, P)]  # fmt: skip
        yield from ({"layer": layer, **row} for row in rows)


def controls(
    net: nn.Module, x: Tensor, K: Tangents, now: Weights, start: Weights, other: Weights, step: int, name: tuple
) -> Iterator[dict]:
    """Rows of what breaks the claims' hypotheses.

    random K: K's spectrum with eigenvectors that the weights know nothing of, the same throughout training.
    another start: K is centered about the beginning of another network, ``other``.
    no training: at each step the initial weights, moved by their own length in a new random direction.

    Beside them, to compare with: the weights move as far as training moved them, in one random direction.
    """
    lengths = {key: (now[key] - W).norm() for key, W in start.items()}
    walked = {key: W + _aside(W, lengths[key], *name, "walk", key) for key, W in start.items()}
    untrained = {key: W + _aside(W, W.norm(), *name, "untrained", step, key) for key, W in start.items()}
    misplaced, aside, idle = (tangents(net, x, *pair) for pair in ((now, other), (walked, start), (untrained, start)))
    for layer, (P, _) in K.items():
        W, W0 = (weights[f"{layer}.weight"].double() for weights in (now, start))
        Q = gramlab.random_eigenvectors(P, stream(*name, "K", layer))
        arms = {
            "claim": nfa("ptk_centered, random step", W0, aside[layer][1]),
            "control: random K": [*nfa("uncentered", W, Q), *nfa("centered", W - W0, Q)],
            "control: another start": ratio(W - W0, misplaced[layer][1], P),
            "control: no training": nfa("ptk_centered", W0, idle[layer][1]) if step else [],
        }
        for arm, rows in arms.items():
            yield from ({"arm": arm, "layer": layer, **row} for row in rows)


def tangents(net: nn.Module, x: Tensor, now: Weights, start: Weights) -> Tangents:
    """K and the centered K of both hidden layers."""
    net.load_state_dict(now)
    found = gramlab.measure(net, x, layers=["0", "2"], quantities=["ptk", "centered_ptk"], initial=start)
    return {key: (layer.ptk, layer.centered_ptk) for key, layer in found.items()}


def nfa(ansatz: str, V: Tensor, P: Tensor) -> list[dict]:
    """Rows of the correlation of VᵀV and VᵀPV, and of its mean were their eigenvectors independent (``null``).

    Each ansatz has this form: V is W, W − W₀ or W₀ (k, d), P is K or the centered K (k, k). Where V or P is 0, before
    the first step, the correlation is undefined and left out.
    """
    if not (V.any() and P.any()):
        return []
    pair = V.T @ V, V.T @ P @ V
    return [
        {"quantity": f"nfa/{ansatz}", "value": gramlab.cosine(*pair)},
        {"quantity": f"null/{ansatz}", "value": gramlab.cosine_null(*pair)[0]},
    ]


def ratio(moved: Tensor, K_moved: Tensor, K: Tensor) -> list[dict]:
    """Figure 4: tr(W̄ᵀW̄ W̄ᵀK̄W̄) / tr(W̄ᵀW̄ W̄ᵀKW̄), as tr(K̄ (W̄W̄ᵀ)²) / tr(K (W̄W̄ᵀ)²); undefined before the first step."""
    S = moved @ moved.T
    below = (K * (S @ S)).sum()
    return [{"quantity": "double_over_centered", "value": float((K_moved * (S @ S)).sum() / below)}] if below else []


def _aside(W: Tensor, length: Tensor, *name: str | int) -> Tensor:
    """A random direction like W, of this length."""
    drawn = torch.from_numpy(stream(*name).normal(size=W.shape)).to(W.dtype)
    return drawn * (length / drawn.norm())
