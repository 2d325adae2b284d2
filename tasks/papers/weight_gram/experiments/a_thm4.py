"""A.thm4: the surrogate by layer in interpolating networks, its lower bounds, and the ansatz that they rest on.

Bias-free networks with one output, ReLU^m between layers, trained on labels of mean 0 until they fit them. The
surrogate S_l = ||W_l H_l Y||^2 of every layer is compared with the theorem's bound: C_0 ||Y||^2 / Phi_l for m > 1, and
C_0 ||Y||^4 / Psi_l for m = 1, with ||W_l H_l||_F^2 >= C_0. The experiment also measures the steps of the proof: the
cosine of the Neural Feature Ansatz W_l^T W_l = C_l AGOP_l, the equation S_l = C_l ||Y||^4, and for m = 1 the bound
before its last inequalities.

The first control is the network before training. Psi_l is so large that only a surrogate of 0 breaks its bound, so the
second control breaks interpolation with labels that are orthogonal to every pre-activation. Another network has
constructed weights: it fits an even target and obeys the ansatz exactly, although S_0 is 0 (quantities "even/...").
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

import gramlab
from gramlab.data import DataSet, prepare
from gramlab.nets import TrainingConfig, fit, mlp
from gramlab.streams import stream
from tasks.measuring.nulls import DRAWS, nulls
from tasks.settings.fields import Count
from tasks.settings.simulation import Simulation

SAMPLES, WIDTH = 128, 32
SEGMENTS, PLACES = 40, 200  # linear regions are counted on these segments, at these places on each
EVEN = "ReLU, even target"
ORTHOGONAL = "control: labels orthogonal to every layer"


@dataclass(frozen=True)
class Case:
    """A network and its training."""

    data: str
    activation: str
    degree: int
    hidden: int
    optimizer: str
    rate: float
    decay: float


CASES = {
    "ReLU, digits": Case("digits", "relu", 1, 3, "sgd", 0.01, 6e-3),
    "ReLU, staircase": Case("staircase", "relu", 1, 3, "sgd", 0.005, 2e-3),
    "ReLU², digits": Case("digits", "relu^2", 2, 2, "adam", 0.003, 2e-3),
    "ReLU², staircase": Case("staircase", "relu^2", 2, 2, "adam", 0.003, 2e-3),
}


class Settings(Simulation):
    """``instances`` counts the networks of each kind (seeds)."""

    steps: Count  # training steps, enough to interpolate


def measure(settings: Settings) -> Iterator[dict]:
    """Rows: surrogate and bound by layer and seed, what the proof assumes, and what both would be by chance (null/)."""
    for name, case in CASES.items():
        data = samples(case.data)
        model = mlp(data.inputs, [WIDTH] * case.hidden, 1, case.activation, bias=False)
        training = TrainingConfig(
            loss="mse", optimizer=case.optimizer, lr=case.rate, momentum=0.9 * (case.optimizer == "sgd"),
            weight_decay=case.decay, batch=None, epochs=settings.steps, init="normal", init_scale=1 / case.degree,
            snapshots=(0, settings.steps), history_every=settings.steps, dtype="float64", name=("a_thm4", name),
        )  # fmt: skip
        with TemporaryDirectory() as scratch:
            snapshots, _ = fit(model, data, training, settings.instances, Path(scratch))
            weights = {epoch: load_file(path) for epoch, path in snapshots.items()}
        for seed in range(settings.instances):
            for epoch, arm in ((0, "control: untrained net"), (settings.steps, "claim")):
                network = mlp(data.inputs, [WIDTH] * case.hidden, 1, case.activation, bias=False).double()
                network.load_state_dict({key: value[seed] for key, value in weights[epoch].items()})
                columns = {"case": name, "seed": seed, "step": epoch, "dtype": "float64"}
                yield from layers(case, network, data, {**columns, "arm": arm})
            yield from layers(case, network, orthogonal(network, data, seed), {**columns, "arm": ORTHOGONAL})
    for seed in range(settings.instances):
        network, data = even(seed)
        columns = {"case": EVEN, "seed": seed, "dtype": "float64"}
        for arm, labelled in (("claim", data), (ORTHOGONAL, orthogonal(network, data, seed))):
            for row in layers(Case("even", "relu", 1, 2, "", 0.0, 0.0), network, labelled, {**columns, "arm": arm}):
                yield {**row, "quantity": row["quantity"].replace("thm4/", "even/")}


def samples(kind: str) -> DataSet:
    """Even against odd digits (-1 and 1), or the staircase of B.4 in ten dimensions; labels of mean 0."""
    if kind == "digits":
        data = prepare("digits", Path(), train=SAMPLES, test=0)
        x, y = data.scaled(data.x_train, torch.float64).flatten(1), 2.0 * (data.y_train % 2) - 1
    else:
        data = prepare("staircase", Path(), samples=SAMPLES, dimension=10)
        x, y = data.x_train.double(), data.y_train.double().flatten()
    y = (y - y.mean()).double()
    return DataSet(kind, x, (y / y.std())[:, None], x[:0], y[:0, None])


def orthogonal(model: nn.Sequential, data: DataSet, seed: int) -> DataSet:
    """The same samples with labels of mean 0 and variance 1 such that W_l H_l Y = 0 at every hidden layer l."""
    hidden = zip(features(model, data.x_train)[:-1], model.parameters(), strict=False)
    rows = [torch.ones(1, len(data.x_train), dtype=torch.float64), *(weight @ h.T for h, weight in hidden)]
    # the right singular vectors of zero singular values are orthogonal to all rows (the hidden layers are narrow)
    _, singular_values, V = torch.linalg.svd(torch.cat([row.detach() / row.detach().norm() for row in rows]))
    null_space = V[int((singular_values > 1e-10).sum()) :]
    y = null_space.T @ torch.from_numpy(stream("a_thm4", "unseen", seed).normal(size=len(null_space)))
    return DataSet(data.source, data.x_train, (y / y.std())[:, None], data.x_test, data.y_test)


def even(seed: int) -> tuple[nn.Sequential, DataSet]:
    """f(x) = |x_1| - |x_2|, fitted exactly, on samples as symmetric as the target: all hypotheses of Theorem 4 hold.

    W_0 = (1, 0; -1, 0; 0, 1; 0, -1), W_1 = +-(1, 1, -1, -1), W_2 = (1, -1). W_l^T W_l is 2 AGOP_l for l = 0, 1, and
    AGOP_2 for l = 2. As x and -x have the same label, H_0 Y = sum_i y_i x_i = 0.
    """
    x = torch.from_numpy(stream("a_thm4", "even", seed).uniform(0.1, 2, (SAMPLES // 8, 2)))
    x = torch.cat([x, x.flip(1)])  # so that labels have mean 0
    x = torch.cat([x * torch.tensor(signs) for signs in ((1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0))])
    model = mlp(2, [4, 2], 1, "relu", bias=False).double()
    weights = [[[1, 0], [-1, 0], [0, 1], [0, -1]], [[1, 1, -1, -1], [-1, -1, 1, 1]], [[1, -1]]]
    for module, weight in zip(model[::2], weights, strict=True):
        module.weight.data = torch.tensor(weight, dtype=torch.float64)
    return model, DataSet("even", x, model(x).detach(), x[:0], x[:0, :1])


def layers(case: Case, model: nn.Sequential, data: DataSet, columns: dict) -> Iterator[dict]:
    """All rows of one network, with these columns."""
    x, Y = data.x_train, data.y_train[:, 0]
    hidden = features(model, x)
    f = model[-1](hidden[-1])[:, 0]
    slopes = [slope.detach() for slope in torch.autograd.grad(f.sum(), hidden)]
    hidden = [h.detach() for h in hidden]
    weights = [weight.detach() for weight in model.parameters()]
    n, Y2 = len(Y), float(Y @ Y)
    energies = [float((h @ W.T).square().sum()) for h, W in zip(hidden, weights, strict=True)]
    # a surrogate is known to round-off only; this round-off replaces a surrogate of 0
    floors = [(n * 2.0**-53) ** 2 * energy * Y2 for energy in energies]
    surrogates = [max(gramlab.surrogate(h, W, Y), floor) for h, W, floor in zip(hidden, weights, floors, strict=True)]
    C_0 = min(energies[:-1])  # of the matrices W_l; with the readout, for which W H is f, it is at most ||Y||^2
    kinks = [linear_regions(model, hidden, layer, columns["seed"]) for layer in range(len(weights))]
    B, delta = max(float(h.norm(dim=1).max()) for h in hidden), max(jump for _, jump in kinks)
    yield {**columns, "quantity": "thm4/fit", "value": float(1 - (f.detach() - Y).square().sum() / Y2)}
    for layer, (h, W, slope, S) in enumerate(zip(hidden, weights, slopes, surrogates, strict=True)):
        readout = layer == case.hidden
        columns_of_layer = {**columns, "layer": "readout" if readout else str(layer)}
        gram, agop, products = W.T @ W, slope.T @ slope / n, h @ slope.T
        if case.degree > 1:
            factor = 1 / ((case.degree ** (case.hidden - layer) - 1) ** 2 + 1)  # 1 / Phi_l
        else:
            factor = Y2 / (n * float(Y.abs().sum() + 2 * n * kinks[layer][0] * B * delta) ** 2)  # ||Y||^2 / Psi_l
            before = n * Y2 / float(products.square().sum())  # in the proof, before its last two inequalities
            yield {**columns_of_layer, "quantity": "thm4/before", "value": C_0 * Y2 * before / S}
        if not readout:
            yield {**columns_of_layer, "quantity": "thm4/ratio", "value": C_0 * Y2 * factor / S}
        yield {**columns_of_layer, "quantity": "thm4/with readout", "value": min(energies) * Y2 * factor / S}
        yield {**columns_of_layer, "quantity": "thm4/bound", "value": C_0 * factor / Y2}
        yield {**columns_of_layer, "quantity": "thm4/surrogate", "value": S / Y2**2}
        yield {**columns_of_layer, "quantity": "thm4/normalised", "value": S / (energies[layer] * Y2)}
        draw = stream("a_thm4", "null", case.data, case.activation, columns["seed"], layer)
        shuffled = np.stack([Y.numpy()[draw.permutation(n)] for _ in range(DRAWS)], axis=1)
        by_chance = (W @ h.T @ torch.from_numpy(shuffled)).square().sum(0) / (energies[layer] * Y2)
        yield {**columns_of_layer, "quantity": "null/normalised", "value": float(by_chance.quantile(0.975))}
        cosine_by_chance = nulls({"agop": agop}, gram, draw, gramlab.cosine)["agop"]
        yield {**columns_of_layer, "quantity": "null/nfa", "value": cosine_by_chance}
        C_l = float((gram * agop).sum() / agop.square().sum())  # by least squares
        yield {**columns_of_layer, "quantity": "thm4/nfa", "value": gramlab.cosine(gram, agop)}
        yield {**columns_of_layer, "quantity": "thm4/step", "value": S / (C_l * Y2**2)}


def features(model: nn.Sequential, h: Tensor, first: int = 0) -> list[Tensor]:
    """The inputs of the linear layers from the one numbered ``first`` on, in the graph; h is the input of ``first``."""
    h = h.detach().requires_grad_()
    inputs = []
    for module in model[2 * first :]:
        if isinstance(module, nn.Linear):
            inputs.append(h)
        h = module(h)
    return inputs


def linear_regions(model: nn.Sequential, hidden: list[Tensor], layer: int, seed: int) -> tuple[int, float]:
    """The largest number of region boundaries on a segment between two samples, and the largest jump of the gradient.

    In the input space of this layer, on random segments, each sampled at PLACES places. A missed region makes the
    theorem's bound larger, so the comparison stricter.
    """
    if layer == len(hidden) - 1:
        return 0, 0.0
    draw = stream("a_thm4", "segments", seed, layer)
    starts, stops = (hidden[layer][draw.choice(SAMPLES, SEGMENTS)] for _ in range(2))
    t = torch.linspace(0, 1, PLACES, dtype=torch.float64)[:, None, None]
    points = (starts + t * (stops - starts)).flatten(0, 1)
    inputs = features(model, points, layer)
    (slope,) = torch.autograd.grad(model[-1](inputs[-1]).sum(), inputs[0])
    active = torch.cat([(h > 0) for h in inputs[1:]], dim=1).unflatten(0, (PLACES, SEGMENTS))
    changed = (active[1:] != active[:-1]).any(2)
    jumps = slope.unflatten(0, (PLACES, SEGMENTS)).diff(dim=0).norm(dim=2)
    return int(changed.sum(0).max()), float((jumps * changed).max())
