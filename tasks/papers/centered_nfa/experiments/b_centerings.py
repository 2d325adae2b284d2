"""B.fig2, B.fig4, B.fig5, B.fig7, B.fig8: every centering of the NFA along training, by data spectrum and init scale.

Appendices B, G and H: two hidden ReLU layers without biases learn the chain monomial of rank 5 from 256 Gaussian
samples in 32 dimensions, by full-batch gradient descent at 0.05 on the mean squared error, in 800 steps. The paper
measures every 5th step. Only the scale s₀ of the first layer varies. Here it is 1, 0.1 and 0.01, because the paper's
text lacks the figures' legends. Each seed has its own data and initial weights, which its three scales share. All
networks train together, as stacked parameters.

The printed weights are N(0, s_l / k_l). At s₀ = 1 and width 256 the first steps on isotropic data overshoot: at the
start the learning rate times the largest curvature of the loss is 4.2 (1.2 at the quick scale's width), and gradient
descent is stable below 2. The authors' code keeps the default of nn.Linear, uniform with variance 1 / (3 k_l), which
"default scale" in Appendix H may mean. The corrected arm has variances of s_l times that. The correlation is the
cosine, as printed; the authors' code subtracts the means first.
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


class Settings(Simulation):
    """Settings of this experiment; ``instances`` are seeds."""

    steps: Count  # of gradient descent
    every: Count  # steps between two measurements
    width: Count  # of the hidden layers


SAMPLES, TEST_SAMPLES, DIMENSION, RANK, LR = 256, 1000, 32, 5, 0.05
SPECTRA = {"isotropic": None, "1/(1+k)": 1.0, "1/(1+k^2)": 2.0}  # the decay of the covariance's eigenvalues
SCALES = (1.0, 0.1, 0.01)
DISTRIBUTIONS = {"claim": "normal", "corrected": "uniform"}  # of the initial weights: variance s/k or s/(3k)
FIRST = 5  # the step of the paper's first measurement
Weights = dict[str, Tensor]  # of one network or, stacked, of all: (networks, ...)
Tangents = dict[str, tuple[Tensor, Tensor]]  # K and the centered K of each hidden layer


def measure(settings: Settings) -> Iterator[dict]:
    """Rows: ansätze and their nulls by arm, spectrum (case), scale (x), seed, layer and step; losses."""
    keys = list(product(DISTRIBUTIONS, SPECTRA, range(settings.instances), SCALES))
    net = mlp(DIMENSION, [settings.width] * 2, 1, "relu", bias=False)
    sets = {
        (spectrum, seed): chain_monomial(SAMPLES, DIMENSION, RANK, TEST_SAMPLES, decay=SPECTRA[spectrum], seed=seed)
        for spectrum, seed in product(SPECTRA, range(settings.instances))
    }
    x, y, x_test, y_test = (
        torch.stack([getattr(sets[spectrum, seed], part) for _, spectrum, seed, _ in keys]).float()
        for part in ("x_train", "y_train", "x_test", "y_test")
    )
    networks = [initial_weights(net, arm, seed, scale) for arm, _, seed, scale in keys]
    stack = {name: torch.stack([network[name] for network in networks]).float().requires_grad_()
             for name in networks[0]}  # fmt: skip
    start = {name: weights.detach().clone() for name, weights in stack.items()}
    stops = {0, FIRST, *range(0, settings.steps + 1, settings.every)}
    for step in train(stack, x, y, settings.steps, stops):
        losses = {"train_loss": loss(stack, x, y).tolist(), "test_loss": loss(stack, x_test, y_test).tolist()}
        for index, (arm, spectrum, seed, scale) in enumerate(keys):
            labels = {"case": spectrum, "seed": seed, "x": scale, "step": step}
            for name, values in losses.items():
                yield {**labels, "arm": arm, "dtype": "float32", "quantity": name, "value": values[index]}
            now, initial = select(stack, index), select(start, index)
            K = tangents(net, x[index], now, initial)
            rows = [{"arm": arm, **row} for row in centerings(K, now, initial)]
            if arm == "claim":
                other = select(start, keys.index((arm, spectrum, (seed + 1) % settings.instances, scale)))
                draws = ("b_centerings", spectrum, seed)
                rows += controls(net, x[index], K, now, initial, other, step, draws, scale)
            yield from ({**labels, "dtype": "float64", **row} for row in rows)


def initial_weights(net: nn.Module, arm: str, seed: int, scale: float) -> Weights:
    """Initial weights of this scale in the first layer, the same for every spectrum."""
    distribution = DISTRIBUTIONS[arm]
    # the scale multiplies the variance of normal weights and the bound of uniform ones
    first = scale if distribution == "normal" else math.sqrt(scale)
    return initialize(net, ("b_centerings", seed), distribution, [first, 1, 1])


def train(stack: Weights, x: Tensor, y: Tensor, steps: int, stops: set[int]) -> Iterator[int]:
    """Train every network of the stack by gradient descent on its own data; yield after each step in ``stops``."""
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


def select(stack: Weights, index: int) -> Weights:
    """The weights of one network of the stack."""
    return {name: weights[index].detach() for name, weights in stack.items()}


def centerings(K: Tangents, now: Weights, start: Weights) -> Iterator[dict]:
    """Rows of all centerings, of both hidden layers."""
    for layer, (P, P_centered) in K.items():
        W, W0 = (weights[f"{layer}.weight"].double() for weights in (now, start))
        rows = [*nfa("uncentered", W, P), *nfa("centered", W - W0, P), *nfa("double_centered", W - W0, P_centered),
                *nfa("ptk_centered", W0, P_centered), *ratio(W - W0, P_centered, P)]  # fmt: skip
        yield from ({"layer": layer, **row} for row in rows)


def controls(
    net: nn.Module, x: Tensor, K: Tangents, now: Weights, start: Weights, other: Weights, step: int, draws: tuple,
    scale: float,
) -> Iterator[dict]:  # fmt: skip
    """Rows in which a claim's hypothesis is broken. ``draws`` begins the names of their random streams.

    random K: K and the centered K, both turned by the same random rotation, at all steps.
    another start: K is centered about the initial weights of another network, ``other``.
    no training: weights that are as far from their start as training's, in a random direction. It is the same at all
    steps, and another one at each scale.
    """
    untrained = {key: W + _random_step(W, (now[key] - W).norm(), *draws, "untrained", f"{scale:g}", key)
                 for key, W in start.items()}  # fmt: skip
    centered_elsewhere, of_untrained = tangents(net, x, now, other), tangents(net, x, untrained, start)

    def untrained_rows(key: str, of_layer: tuple[Tensor, Tensor]) -> list[dict]:
        (P, P_centered), W, W0 = of_layer, untrained[key].double(), start[key].double()
        return [*nfa("uncentered", W, P), *nfa("centered", W - W0, P), *nfa("ptk_centered", W0, P_centered)]

    for layer, of_layer in K.items():
        W, W0 = (weights[f"{layer}.weight"].double() for weights in (now, start))
        P = of_layer[0]
        Q, Q_centered = (gramlab.random_eigenvectors(turned, stream(*draws, "K", layer)) for turned in of_layer)
        arms = {
            "control: random K": [
                *nfa("uncentered", W, Q),
                *nfa("centered", W - W0, Q),
                *nfa("ptk_centered", W0, Q_centered),
            ],
            "control: another start": ratio(W - W0, centered_elsewhere[layer][1], P),
            "control: no training": untrained_rows(f"{layer}.weight", of_untrained[layer]) if step else [],
        }
        for arm, rows in arms.items():
            yield from ({"arm": arm, "layer": layer, **row} for row in rows)


def tangents(net: nn.Module, x: Tensor, now: Weights, start: Weights) -> Tangents:
    """K and the centered K of both hidden layers."""
    net.load_state_dict(now)
    layers = gramlab.measure(net, x, layers=["0", "2"], quantities=["ptk", "centered_ptk"], initial=start)
    return {name: (layer.ptk, layer.centered_ptk) for name, layer in layers.items()}


def nfa(ansatz: str, V: Tensor, P: Tensor) -> list[dict]:
    """Rows of the correlation of VᵀV and VᵀPV, and of its mean if their eigenvectors were independent (``null``).

    Every ansatz has this form: V is W, W − W₀ or W₀ (k, d), and P is K or the centered K (k, k). V or P may be 0 before
    the first step; then the correlation is undefined and has no row.
    """
    if not (V.any() and P.any()):
        return []
    pair = V.T @ V, V.T @ P @ V
    return [
        {"quantity": f"nfa/{ansatz}", "value": gramlab.cosine(*pair)},
        {"quantity": f"null/{ansatz}", "value": gramlab.cosine_null(*pair)[0]},
    ]


def ratio(W_centered: Tensor, K_centered: Tensor, K: Tensor) -> list[dict]:
    """Figure 4: tr(W̄ᵀW̄ W̄ᵀK̄W̄) / tr(W̄ᵀW̄ W̄ᵀKW̄), as tr(K̄ (W̄W̄ᵀ)²) / tr(K (W̄W̄ᵀ)²); undefined before the first step."""
    S = W_centered @ W_centered.T
    denominator = (K * (S @ S)).sum()
    if not denominator:
        return []
    return [{"quantity": "double_over_centered", "value": float((K_centered * (S @ S)).sum() / denominator)}]


def _random_step(W: Tensor, length: Tensor, *name: str | int) -> Tensor:
    """A matrix of W's shape, of this norm, in a random direction."""
    direction = torch.from_numpy(stream(*name).normal(size=W.shape)).to(W.dtype)
    return direction * (length / direction.norm())
