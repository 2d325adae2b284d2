"""A.thm4: the surrogate by layer in interpolating networks, its lower bounds, and the ansatz that they rest on.

Bias-free networks with one output, ReLU^m between layers, trained on labels of mean 0 until they fit them. The
surrogate S_l = ||W_l H_l Y||^2 of every layer is set against the theorem's bound: C_0 ||Y||^2 / Phi_l for m > 1, and
C_0 ||Y||^4 / Psi_l for m = 1, with ||W_l H_l||_F^2 >= C_0. Besides, what the proof goes through: the Neural Feature
Ansatz W_l^T W_l = C_l AGOP_l (its cosine), S_l = C_l ||Y||^4, and for m = 1 the bound before its last inequalities.

One control is the network before training. Psi_l is so large that it takes a surrogate of 0 to break its bound: in the
other control interpolation is broken by labels to which every pre-activation is orthogonal. One network is not trained
but written down: it fits an even target exactly, and has the ansatz exactly, while S_0 is 0.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

import gramlab
from gramlab.data import DataSet, prepare
from gramlab.nets import TrainingConfig, fit, mlp
from gramlab.streams import stream
from tasks.settings.fields import Count
from tasks.settings.simulation import Simulation

SAMPLES, WIDTH = 128, 32
SEGMENTS, PLACES = 40, 200  # on which the linear regions are counted
EVEN = "ReLU, even target"
UNSEEN = "control: labels orthogonal to every layer"


@dataclass(frozen=True)
class Case:
    """A network and how it is trained."""

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
    """Settings of this experiment."""

    steps: Count


def measure(settings: Settings) -> Iterator[dict]:
    """Rows: thm4/ratio of bound and surrogate, thm4/surrogate, and what the proof assumes, by layer and seed."""
    for name, case in CASES.items():
        data = samples(case.data)
        model = mlp(data.inputs, [WIDTH] * case.hidden, 1, case.activation, bias=False)
        config = TrainingConfig(
            loss="mse", optimizer=case.optimizer, lr=case.rate, momentum=0.9 * (case.optimizer == "sgd"),
            weight_decay=case.decay, batch=None, epochs=settings.steps, init="normal", init_scale=1 / case.degree,
            snapshots=(0, settings.steps), history_every=settings.steps, dtype="float64", name=("a_thm4", name),
        )  # fmt: skip
        with TemporaryDirectory() as scratch:
            snapshots, _ = fit(model, data, config, settings.instances, Path(scratch))
            weights = {epoch: load_file(path) for epoch, path in snapshots.items()}
        for seed in range(settings.instances):
            for epoch, arm in ((0, "control: untrained net"), (settings.steps, "claim")):
                own = mlp(data.inputs, [WIDTH] * case.hidden, 1, case.activation, bias=False).double()
                own.load_state_dict({key: value[seed] for key, value in weights[epoch].items()})
                about = {"case": name, "seed": seed, "step": epoch, "dtype": "float64"}
                yield from layers(case, own, data, {**about, "arm": arm})
            yield from layers(case, own, unseen(own, data, seed), {**about, "arm": UNSEEN})
    for seed in range(settings.instances):
        own, data = even(seed)
        about = {"case": EVEN, "seed": seed, "dtype": "float64"}
        for arm, one in (("claim", data), (UNSEEN, unseen(own, data, seed))):
            yield from layers(Case("even", "relu", 1, 2, "", 0.0, 0.0), own, one, {**about, "arm": arm})


def samples(kind: str) -> DataSet:
    """Even against odd digits (-1 and 1), or the staircase of B.4 in ten dimensions; labels of mean 0."""
    if kind == "digits":
        made = prepare("digits", Path(), train=SAMPLES, test=0)
        x, y = made.numbers(made.x_train, torch.float64).flatten(1), 2.0 * (made.y_train % 2) - 1
    else:
        made = prepare("staircase", Path(), samples=SAMPLES, dimension=10)
        x, y = made.x_train.double(), made.y_train.double().flatten()
    y = (y - y.mean()).double()
    return DataSet(kind, x, (y / y.std())[:, None], x[:0], y[:0, None])


def unseen(model: nn.Sequential, data: DataSet, seed: int) -> DataSet:
    """The same samples with labels of mean 0 and variance 1 that W_l H_l Y = 0 holds for at every hidden layer l."""
    inside = zip(features(model, data.x_train)[:-1], model.parameters(), strict=False)
    rows = [torch.ones(1, len(data.x_train), dtype=torch.float64), *(weight @ h.T for h, weight in inside)]
    # what is orthogonal to all of them: those right singular vectors whose values are 0 (the hidden layers are narrow)
    _, values, V = torch.linalg.svd(torch.cat([row.detach() / row.detach().norm() for row in rows]))
    free = V[int((values > 1e-10).sum()) :]
    y = free.T @ torch.from_numpy(stream("a_thm4", "unseen", seed).normal(size=len(free)))
    return DataSet(data.source, data.x_train, (y / y.std())[:, None], data.x_test, data.y_test)


def even(seed: int) -> tuple[nn.Sequential, DataSet]:
    """f(x) = |x_1| - |x_2|, fitted exactly, on samples as symmetric as the target: Theorem 4's hypotheses all hold.

    W_0 = (1, 0; -1, 0; 0, 1; 0, -1), W_1 = +-(1, 1, -1, -1), W_2 = (1, -1). Each W_l^T W_l is 2 AGOP_l (W_2's is once).
    As x and -x have the same label, H_0 Y = sum_i y_i x_i = 0.
    """
    x = torch.from_numpy(stream("a_thm4", "even", seed).uniform(0.1, 2, (SAMPLES // 8, 2)))
    x = torch.cat([x, x.flip(1)])  # so that labels have mean 0
    x = torch.cat([x * torch.tensor(signs) for signs in ((1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0))])
    model = mlp(2, [4, 2], 1, "relu", bias=False).double()
    weights = [[[1, 0], [-1, 0], [0, 1], [0, -1]], [[1, 1, -1, -1], [-1, -1, 1, 1]], [[1, -1]]]
    for module, weight in zip(model[::2], weights, strict=True):
        module.weight.data = torch.tensor(weight, dtype=torch.float64)
    return model, DataSet("even", x, model(x).detach(), x[:0], x[:0, :1])


def layers(case: Case, model: nn.Sequential, data: DataSet, about: dict) -> Iterator[dict]:
    """All rows of one network."""
    x, Y = data.x_train, data.y_train[:, 0]
    hidden = features(model, x)
    f = model[-1](hidden[-1])[:, 0]
    slopes = [one.detach() for one in torch.autograd.grad(f.sum(), hidden)]
    hidden = [h.detach() for h in hidden]
    weights = [one.detach() for one in model.parameters()]
    n, Y2 = len(Y), float(Y @ Y)
    energy = [float((h @ W.T).square().sum()) for h, W in zip(hidden, weights, strict=True)]
    # known to round-off only, which is what a surrogate of 0 is taken for
    floors = [(n * 2.0**-53) ** 2 * one * Y2 for one in energy]
    surrogates = [max(gramlab.surrogate(h, W, Y), floor) for h, W, floor in zip(hidden, weights, floors, strict=True)]
    least = min(energy[:-1])  # C_0 of the matrices W_l; with the readout, whose W H is f, it is at most ||Y||^2
    kinks = [linear_regions(model, hidden, layer, about["seed"]) for layer in range(len(weights))]
    B, delta = max(float(h.norm(dim=1).max()) for h in hidden), max(jump for _, jump in kinks)
    yield {**about, "quantity": "thm4/fit", "value": float(1 - (f.detach() - Y).square().sum() / Y2)}
    for layer, (h, W, slope, S) in enumerate(zip(hidden, weights, slopes, surrogates, strict=True)):
        readout = layer == case.hidden
        where = {**about, "layer": "readout" if readout else str(layer)}
        gram, agop, products = W.T @ W, slope.T @ slope / n, h @ slope.T
        if case.degree > 1:
            share = 1 / ((case.degree ** (case.hidden - layer) - 1) ** 2 + 1)  # 1 / Phi_l
        else:
            share = Y2 / (n * float(Y.abs().sum() + 2 * n * kinks[layer][0] * B * delta) ** 2)  # ||Y||^2 / Psi_l
            before = n * Y2 / float(products.square().sum())  # the proof's, before its last two inequalities
            yield {**where, "quantity": "thm4/before", "value": least * Y2 * before / S}
        if not readout:
            yield {**where, "quantity": "thm4/ratio", "value": least * Y2 * share / S}
        yield {**where, "quantity": "thm4/with readout", "value": min(energy) * Y2 * share / S}
        yield {**where, "quantity": "thm4/surrogate", "value": S / Y2**2}
        constant = float((gram * agop).sum() / agop.square().sum())  # C_l, by least squares
        yield {**where, "quantity": "thm4/nfa", "value": gramlab.cosine(gram, agop)}
        yield {**where, "quantity": "thm4/step", "value": S / (constant * Y2**2)}


def features(model: nn.Sequential, h: Tensor, first: int = 0) -> list[Tensor]:
    """The inputs of the linear layers from number ``first`` on, in the graph; h is that layer's."""
    h = h.detach().requires_grad_()
    found = []
    for module in model[2 * first :]:
        if isinstance(module, nn.Linear):
            found.append(h)
        h = module(h)
    return found


def linear_regions(model: nn.Sequential, hidden: list[Tensor], layer: int, seed: int) -> tuple[int, float]:
    """The most linear regions that a segment between two samples crosses, and the largest jump of the gradient.

    In the input space of this layer, on random segments, each looked at in PLACES places: a region that is missed
    makes the theorem's bound larger, never smaller.
    """
    if layer == len(hidden) - 1:
        return 0, 0.0
    draw = stream("a_thm4", "segments", seed, layer)
    ends = [hidden[layer][draw.choice(SAMPLES, SEGMENTS)] for _ in range(2)]
    t = torch.linspace(0, 1, PLACES, dtype=torch.float64)[:, None, None]
    at = (ends[0] + t * (ends[1] - ends[0])).flatten(0, 1)
    found = features(model, at, layer)
    (slope,) = torch.autograd.grad(model[-1](found[-1]).sum(), found[0])
    on = torch.cat([(one > 0) for one in found[1:]], dim=1).unflatten(0, (PLACES, SEGMENTS))
    changed = (on[1:] != on[:-1]).any(2)
    jumps = slope.unflatten(0, (PLACES, SEGMENTS)).diff(dim=0).norm(dim=2)
    return int(changed.sum(0).max()), float((jumps * changed).max())
