"""B.fig2, B.fig4, B.fig5, B.fig7, B.fig8: every centering of the NFA along training, by data spectrum and init scale.

Appendices B, G and H: two hidden ReLU layers without biases learn the chain monomial of rank 5 from 256 Gaussian
samples in 32 dimensions, by full-batch gradient descent at 0.05 on the mean squared error, in 800 steps. The paper
measures every 5th step. Only the scale s₀ of the first layer varies. Here it is 1, 0.1 and 0.01, because the paper's
text lacks the figures' legends. Each seed has its own data and initial weights, which its three scales share. All
networks train together, as stacked parameters, and are measured together, in parts that fit into memory.

The printed weights are N(0, s_l / k_l). At s₀ = 1 and width 256 the first steps on isotropic data overshoot: at the
start the learning rate times the largest curvature of the loss is 4.2 (1.2 at the quick scale's width), and gradient
descent is stable below 2. The authors' code keeps the default of nn.Linear, uniform with variance 1 / (3 k_l), which
"default scale" in Appendix H may mean. The corrected arm has variances of s_l times that. The correlation is the
cosine, as printed; the authors' code subtracts the means first.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import torch
from torch import Tensor, nn

from gramlab.data.polynomials import chain_monomial
from gramlab.kernels.tensors import resolve_device
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
ENTRIES = 2**22  # of a hidden layer's weights, over the networks that are measured at once: about 2 GB in all
Key = tuple[str, str, int, float]  # arm, spectrum, seed and scale of a network
Weights = dict[str, Tensor]  # of several networks, stacked: (networks, ...)
Tangents = dict[str, tuple[Tensor, Tensor]]  # K and the centered K of each hidden layer, (networks, k, k)


@dataclass(frozen=True)
class Fixed:
    """What the controls have at all steps, stacked over the networks."""

    other: Weights  # the initial weights of the next seed
    rotations: dict[str, Tensor]  # of each hidden layer's K, which the scales and arms of a seed share
    directions: Weights  # from the initial weights, in which the control without training moves


class Pair(NamedTuple):
    """VᵀV and VᵀPV of each network, and where neither V nor P is 0, so that their correlation is defined."""

    nfm: Tensor
    agop: Tensor
    defined: Tensor


def measure(settings: Settings, device: str = "auto") -> Iterator[dict]:
    """Rows: ansätze and their nulls by arm, spectrum (case), scale (x), seed, layer and step; losses."""
    place = resolve_device(device)
    keys = list(product(DISTRIBUTIONS, SPECTRA, range(settings.instances), SCALES))
    net = mlp(DIMENSION, [settings.width] * 2, 1, "relu", bias=False)
    sets = {
        (spectrum, seed): chain_monomial(SAMPLES, DIMENSION, RANK, TEST_SAMPLES, decay=SPECTRA[spectrum], seed=seed)
        for spectrum, seed in product(SPECTRA, range(settings.instances))
    }
    x, y, x_test, y_test = (
        torch.stack([getattr(sets[spectrum, seed], part) for _, spectrum, seed, _ in keys]).float().to(place)
        for part in ("x_train", "y_train", "x_test", "y_test")
    )
    networks = [initial_weights(net, arm, seed, scale) for arm, _, seed, scale in keys]
    start = stacked([{name: weights.float() for name, weights in network.items()} for network in networks], place)
    stack = {name: weights.clone().requires_grad_() for name, weights in start.items()}
    fixed = controls_of(keys, start, settings.instances)
    stops = {0, FIRST, *range(0, settings.steps + 1, settings.every)}
    for step in train(stack, x, y, settings.steps, stops):
        for part in parts(keys, settings.width):
            now, initial = select(stack, part), select(start, part)
            losses = {"train_loss": loss(now, x[part], y[part]), "test_loss": loss(now, x_test[part], y_test[part])}
            columns = [{"dtype": "float32", "quantity": name, "values": values.tolist()}
                       for name, values in losses.items()]  # fmt: skip
            K = tangents(x[part], now, initial)
            columns += centerings(K, now, initial)
            of_form = ", corrected" if keys[part.start][0] == "corrected" else ""
            for column in controls(x[part], K, now, initial, part_of(fixed, part), step):
                columns.append({**column, "arm": column["arm"] + of_form})
            yield from rows(keys[part], columns, step)


def rows(keys: list[Key], columns: list[dict], step: int) -> Iterator[dict]:
    """The rows of each network in turn, from columns whose ``values`` are those of all networks."""
    for index, (arm, spectrum, seed, scale) in enumerate(keys):
        labels = {"case": spectrum, "seed": seed, "x": scale, "step": step, "arm": arm, "dtype": "float64"}
        for column in columns:
            value = column["values"][index]
            if value is not None:
                yield {**labels, **{name: label for name, label in column.items() if name != "values"}, "value": value}


def parts(keys: list[Key], width: int) -> Iterator[slice]:
    """Slices of networks in a row, of a single arm each, that are measured at once."""
    size = max(1, ENTRIES // width**2)
    arms = [key[0] for key in keys]
    for arm in DISTRIBUTIONS:
        first = arms.index(arm)
        stop = first + arms.count(arm)
        yield from (slice(begin, min(begin + size, stop)) for begin in range(first, stop, size))


def initial_weights(net: nn.Module, arm: str, seed: int, scale: float) -> Weights:
    """Initial weights of a network of this scale in the first layer, the same for every spectrum."""
    distribution = DISTRIBUTIONS[arm]
    # the scale multiplies the variance of normal weights and the bound of uniform ones
    first = scale if distribution == "normal" else math.sqrt(scale)
    return initialize(net, ("b_centerings", seed), distribution, [first, 1, 1])


def stacked(networks: list[Weights], place: torch.device) -> Weights:
    """The weights of all networks, on this device."""
    return {name: torch.stack([network[name] for network in networks]).to(place) for name in networks[0]}


def select(stack: Weights, part: int | slice) -> Weights:
    """The weights of a network of the stack, or of several."""
    return {name: weights[part].detach() for name, weights in stack.items()}


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


def tangents(x: Tensor, now: Weights, start: Weights) -> Tangents:
    """K and the centered K of both hidden layers."""
    g, g_start = slopes(x, now), slopes(x, start)
    return {layer: (mean_outer(g[layer]), mean_outer(g[layer] - g_start[layer])) for layer in g}


def slopes(x: Tensor, stack: Weights) -> dict[str, Tensor]:
    """∂f/∂h of both hidden layers at every sample, (networks, samples, k)."""
    first, second, last = stack.values()
    h_first = x @ first.mT
    h_second = torch.relu(h_first) @ second.mT
    at_second = last * (h_second > 0)
    return {"0": (at_second @ second) * (h_first > 0), "2": at_second}


def mean_outer(g: Tensor) -> Tensor:
    """The mean of the outer products of the samples' gradients; like gramlab.measure's in the networks' precision."""
    return (g.mT @ g).double() / g.shape[1]


def centerings(K: Tangents, now: Weights, start: Weights) -> Iterator[dict]:
    """Columns of all centerings, of both hidden layers."""
    for layer, (P, P_centered) in K.items():
        W, W0 = (weights[f"{layer}.weight"].double() for weights in (now, start))
        (uncentered,), (ptk_centered,) = pairs(W, P), pairs(W0, P_centered)
        centered, double_centered = pairs(W - W0, P, P_centered)
        columns = [*nfa("uncentered", uncentered), *nfa("centered", centered), *nfa("double_centered", double_centered),
                   *nfa("ptk_centered", ptk_centered), ratio(double_centered, centered)]  # fmt: skip
        yield from ({"layer": layer, **column} for column in columns)


def controls_of(keys: list[Key], start: Weights, instances: int) -> Fixed:
    """What the networks' controls have at all steps; their random streams name neither the step nor the arm."""
    others = [keys.index((arm, spectrum, (seed + 1) % instances, scale)) for arm, spectrum, seed, scale in keys]
    place, hidden = start["0.weight"].device, {name: start[f"{name}.weight"].shape[1] for name in ("0", "2")}
    turns = {
        (spectrum, seed): {layer: rotation(size, "b_centerings", spectrum, seed, "K", layer)
                           for layer, size in hidden.items()}
        for _, spectrum, seed, _ in keys
    }  # fmt: skip
    directions = [random_directions(start, "b_centerings", spectrum, seed, "untrained", f"{scale:g}")
                  for _, spectrum, seed, scale in keys]  # fmt: skip
    return Fixed(
        other={name: weights[others] for name, weights in start.items()},
        rotations=stacked([turns[spectrum, seed] for _, spectrum, seed, _ in keys], place),
        directions=stacked(directions, place),
    )


def rotation(size: int, *name: str | int) -> Tensor:
    """The rotation Q of this random stream with which gramlab.random_eigenvectors turns K into Q K Qᵀ."""
    Q, R = torch.linalg.qr(torch.from_numpy(stream(*name).normal(size=(size, size))))
    return Q * R.diagonal().sign()


def random_directions(start: Weights, *name: str | int) -> Weights:
    """A random matrix for each weight of a network, each from its own random stream."""
    return {key: torch.from_numpy(stream(*name, key).normal(size=W.shape[1:])).to(W.dtype) for key, W in start.items()}


def part_of(fixed: Fixed, part: slice) -> Fixed:
    """What the controls of these networks have at all steps."""
    return Fixed(select(fixed.other, part), select(fixed.rotations, part), select(fixed.directions, part))


def controls(x: Tensor, K: Tangents, now: Weights, start: Weights, fixed: Fixed, step: int) -> Iterator[dict]:
    """Columns in which a claim's hypothesis is broken.

    random K: K and the centered K, both turned by the same random rotation, at all steps.
    another start: K is centered about the initial weights of another network.
    no training: weights that are as far from their start as training's, in a random direction. It is the same at all
    steps, and another one at each scale.
    """
    untrained = moved(start, now, fixed.directions)
    centered_elsewhere, of_untrained = tangents(x, now, fixed.other), tangents(x, untrained, start)
    for layer, of_layer in K.items():
        W, W0, U = (weights[f"{layer}.weight"].double() for weights in (now, start, untrained))
        # K is turned by turning V: (QᵀV)ᵀ K QᵀV = Vᵀ(Q K Qᵀ)V, and VᵀV stays. In the first layer V is narrower than K
        turned = [fixed.rotations[layer].mT @ V for V in (W, W - W0, W0)]
        arms = {
            "control: random K": of_control(turned, of_layer),
            "control: another start": [ratio(*pairs(W - W0, centered_elsewhere[layer][1], of_layer[0]))],
            "control: no training": of_control((U, U - W0, W0), of_untrained[layer]) if step else [],
        }
        for arm, columns in arms.items():
            yield from ({"arm": arm, "layer": layer, **column} for column in columns)


def of_control(weights: Sequence[Tensor], kernels: tuple[Tensor, Tensor]) -> list[dict]:
    """Columns of the three ansätze that a control has, for its W, W − W₀ and W₀, and its K and centered K."""
    (W, change, W0), (P, P_centered) = weights, kernels
    return [
        column
        for ansatz, V, kernel in (("uncentered", W, P), ("centered", change, P), ("ptk_centered", W0, P_centered))
        for column in nfa(ansatz, *pairs(V, kernel))
    ]


def moved(start: Weights, now: Weights, directions: Weights) -> Weights:
    """Weights that are as far from their start as training's, in these directions."""
    return {key: W + directions[key] * (norm(now[key] - W) / norm(directions[key])) for key, W in start.items()}


def pairs(V: Tensor, *kernels: Tensor) -> list[Pair]:
    """VᵀV and VᵀPV for each kernel P.

    Every ansatz has this form: V is W, W − W₀ or W₀ (networks, k, d), and P is K or the centered K (networks, k, k).
    V or P may be 0 before the first step.
    """
    F = V.mT @ V
    return [Pair(F, V.mT @ P @ V, V.flatten(1).any(1) & P.flatten(1).any(1)) for P in kernels]


def nfa(ansatz: str, pair: Pair) -> list[dict]:
    """Columns of the correlation of VᵀV and VᵀPV, and of its mean if their eigenvectors were independent (``null``).

    These are gramlab.cosine and gramlab.cosine_null, of many matrices at once.
    """
    F, G, defined = pair
    norm_F, norm_G = norm(F).flatten(), norm(G).flatten()
    correlation = (inner(F, G) / norm_F / norm_G).clamp(-1, 1)
    null = trace(F) * trace(G) / F.shape[-1] / norm_F / norm_G
    return [column(f"nfa/{ansatz}", correlation, defined), column(f"null/{ansatz}", null, defined)]


def ratio(double_centered: Pair, centered: Pair) -> dict:
    """Figure 4: tr(W̄ᵀW̄ W̄ᵀK̄W̄) / tr(W̄ᵀW̄ W̄ᵀKW̄); undefined before the first step."""
    denominator = inner(centered.nfm, centered.agop)
    values = inner(double_centered.nfm, double_centered.agop) / denominator
    return column("double_over_centered", values, denominator != 0)


def column(quantity: str, values: Tensor, defined: Tensor) -> dict:
    """A quantity's values, None where it is undefined. Raises ValueError if another one is not finite."""
    if not (values.isfinite() | ~defined).all():
        raise ValueError(f"{quantity} is not finite in all networks")
    each = zip(values.tolist(), defined.tolist(), strict=True)
    return {"quantity": quantity, "values": [value if is_defined else None for value, is_defined in each]}


def inner(A: Tensor, B: Tensor) -> Tensor:
    """The inner product of the two matrices of each network, (networks,)."""
    return (A * B).sum((1, 2))


def trace(A: Tensor) -> Tensor:
    """The trace of each network's matrix, (networks,)."""
    return A.diagonal(dim1=-2, dim2=-1).sum(-1)


def norm(A: Tensor) -> Tensor:
    """The Frobenius norm of each network's matrix, (networks, 1, 1)."""
    return torch.linalg.vector_norm(A, dim=(1, 2), keepdim=True)
