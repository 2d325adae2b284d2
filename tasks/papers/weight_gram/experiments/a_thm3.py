"""A.thm3 and A.lem3: how a gradient step changes the surrogate, against the first-order prediction.

Full-batch training of networks with one output and labels of mean 0. At every measured step and layer, the change of
the surrogate S(G) = ||W H Y||^2 over the step (with fixed features H, as in the theorem) is compared with
2 gamma (f^T y) (y^T K g). The claim arm has bias-free networks with homogeneous activations. Networks outside the
hypothesis have the quantities "beyond/...", which show how far the approximation reaches. Lemma 3 is measured on pairs
of points at decreasing distance, and on pairs of training samples in these networks.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import Tensor
from torch.nn import functional as F

from gramlab.data.polynomials import staircase_of
from gramlab.nets import ACTIVATIONS
from gramlab.streams import stream
from tasks.settings.fields import Count
from tasks.settings.simulation import Simulation

SAMPLES, WIDTH = 128, 32
MEASURED_STEPS = 40  # about as many of the training steps are measured
SHUFFLES = 20  # of Lemma 3's null
LOSSES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {  # per sample; the digits' labels are -1 and 1
    "squared": lambda f, y: (f - y).square() / 2,
    "logistic": lambda f, y: F.softplus(-y * f),
    "squared hinge": lambda f, y: torch.relu(1 - y * f).square() / 2,
}


@dataclass(frozen=True)
class Case:
    """Networks and their training; by default three hidden ReLU layers without biases, even against odd digits."""

    data: str = "digits"
    loss: str = "squared"
    activation: str = "relu"
    degree: int = 1  # of homogeneity of the activation
    hidden: int = 3  # hidden layers
    rate: float = 0.05
    adam: bool = False
    bias: bool = False
    frequency: float = 1.0  # factor of the activation's argument


CASES = {
    "ReLU, squared": Case(),
    "ReLU, logistic": Case(loss="logistic", rate=0.2),
    "ReLU, squared hinge": Case(loss="squared hinge"),
    "ReLU, staircase": Case("staircase", rate=0.02),
    "ReLU², squared": Case(activation="relu^2", degree=2, hidden=2, rate=0.02),
    "ReLU², logistic": Case(loss="logistic", activation="relu^2", degree=2, hidden=2, rate=0.05),
}
BEYOND = {
    "GELU": Case(activation="gelu"),
    "tanh": Case(activation="tanh"),
    "ReLU, biases": Case(bias=True),
    "ReLU, Adam": Case(rate=0.003, adam=True),
}
BROKEN = {"cos 3z": Case(activation="cosine", frequency=3.0)}
# by name the degree of the functions on which Lemma 3 is measured for close points
DEGREES = {"ReLU²": 2.0, "ReLU³": 3.0, "ReLU² twice": 4.0, "norms": 1.0, "degree 1/2": 0.5}
NOT_HOMOGENEOUS = "control: strongly non-homogeneous f"
OTHER_OUTPUTS = "control: outputs of another sample"


class Settings(Simulation):
    """``instances`` counts the networks of each kind (seeds), and the pairs of close points."""

    steps: Count  # training steps
    squared_instances: Count | None = None  # networks of each kind with ReLU² activations; by default ``instances``

    @property
    def squared(self) -> int:
        """The number of networks of each kind with ReLU² activations."""
        return self.squared_instances or self.instances

    def seeds(self) -> set[int]:
        """The networks with ReLU² activations may have more seeds than the others."""
        return {self.instances, self.squared}


def measure(settings: Settings) -> Iterator[dict]:
    """Rows: thm3/ and beyond/ measured, predicted and alignment by step; lem3/remainder by distance; lem3/ of pairs."""
    for name, case in CASES.items():
        seeds = settings.squared if case.degree == 2 else settings.instances
        yield from train(name, case, seeds, settings.steps)
    for name, case in BEYOND.items():
        yield from train(name, case, settings.instances, settings.steps, quantity="beyond")
    for name, case in BROKEN.items():
        yield from train(name, case, settings.instances, settings.steps, arm=NOT_HOMOGENEOUS)
    for kind in DEGREES:
        for instance in range(settings.instances):
            yield from close_points(kind, instance)


def train(name: str, case: Case, seeds: int, steps: int, arm: str = "claim", quantity: str = "thm3") -> Iterator[dict]:
    """Train all seeds together; rows of evenly spaced steps, and of Lemma 3 on the training samples at the end."""
    drawn = [sample(case.data, seed) for seed in range(seeds)]
    x, y = (torch.from_numpy(np.stack(part)) for part in zip(*drawn, strict=True))
    shuffled_y = torch.stack([y[seed, order("labels", seed)] for seed in range(seeds)])
    widths = [x.shape[2], *[WIDTH] * case.hidden, 1]
    weights = [normal(seeds, (after, before), (2 / case.degree / before) ** 0.5, name, "weight", layer)
               for layer, (before, after) in enumerate(pairwise(widths))]  # fmt: skip
    biases = [normal(seeds, (1, after), 0.3, name, "bias", layer) for layer, after in enumerate(widths[1:])]
    biases = biases if case.bias else [torch.zeros_like(bias, requires_grad=False) for bias in biases]
    parameters = [*weights, *biases] if case.bias else weights
    moments = [(torch.zeros_like(parameter), torch.zeros_like(parameter)) for parameter in parameters]
    for step in range(steps):
        f, hidden = forward(case, x, weights, biases)
        loss = LOSSES[case.loss](f, y).mean(1)
        slope, *gradients = torch.autograd.grad(loss.sum(), [f, *parameters])
        before = [weight.detach().clone() for weight in weights]
        for parameter, gradient, moment in zip(parameters, gradients, moments, strict=True):
            parameter.data -= case.rate * (adam(gradient, *moment, step + 1) if case.adam else gradient)
        if step % max(1, steps // MEASURED_STEPS):
            continue
        labels = {arm: y, "control: shuffled y": shuffled_y} if (arm, quantity) == ("claim", "thm3") else {arm: y}
        for layer, (h, old, new) in enumerate(zip(hidden, before, weights, strict=True)):
            columns = {"case": name, "layer": "readout" if layer == case.hidden else str(layer), "step": step}
            measured = surrogate(h, new, y) - surrogate(h, old, y)
            for labels_arm, Y in labels.items():
                predicted = 2 * case.rate * (f * Y).sum(1) * (weighted(h, Y) * weighted(h, -slope)).sum(1)
                yield from by_seed({**columns, "arm": labels_arm, "quantity": f"{quantity}/measured"}, measured)
                yield from by_seed({**columns, "arm": labels_arm, "quantity": f"{quantity}/predicted"}, predicted)
        yield from by_seed({"case": name, "step": step, "arm": arm, "quantity": "loss"}, loss)
        for labels_arm, Y in labels.items():
            alignment = (f.detach() * Y).sum(1) / Y.square().sum(1)
            columns = {"case": name, "step": step, "arm": labels_arm, "quantity": f"{quantity}/alignment"}
            yield from by_seed(columns, alignment)
    if quantity == "thm3":
        yield from pairs(name, case, arm, *forward(case, x.requires_grad_(), weights, biases))


def adam(gradient: Tensor, first: Tensor, second: Tensor, count: int) -> Tensor:
    """Adam's direction with its default constants; the moments are updated in place."""
    first.lerp_(gradient, 0.1)
    second.lerp_(gradient.square(), 0.001)
    return first / (1 - 0.9**count) / ((second / (1 - 0.999**count)).sqrt() + 1e-8)


def forward(case: Case, x: Tensor, weights: list[Tensor], biases: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
    """Outputs (seeds, n), and the input (seeds, n, d) of each layer."""
    activation, h, hidden = ACTIVATIONS[case.activation](), x, []
    for weight, bias in zip(weights[:-1], biases[:-1], strict=True):
        hidden.append(h)
        h = activation(case.frequency * (h @ weight.mT + bias))
    hidden.append(h)
    return (h @ weights[-1].mT + biases[-1])[..., 0], hidden


def weighted(h: Tensor, v: Tensor) -> Tensor:
    """H v, (seeds, d): the sum over samples of the features times v."""
    return (h.detach().mT @ v.detach()[..., None])[..., 0]


def surrogate(h: Tensor, weight: Tensor, y: Tensor) -> Tensor:
    """S(G_id) = ||W H Y||^2, (seeds,)."""
    return (weight.detach() @ weighted(h, y)[..., None]).square().sum((1, 2))


def pairs(name: str, case: Case, arm: str, f: Tensor, hidden: list[Tensor]) -> Iterator[dict]:
    """Lemma 3 on all pairs i != k of samples: h_i^T grad_{h_k} f against f(h_i) + (m - 1) f(h_k).

    The null pairs h_i with the outputs of another sample.
    """
    inputs = hidden[:-1]  # of all layers but the readout
    slopes = torch.autograd.grad(f.sum(), inputs)
    distinct = ~torch.eye(SAMPLES, dtype=torch.bool)
    for layer, (h, slope) in enumerate(zip(inputs, slopes, strict=True)):
        degree = case.degree ** (case.hidden - layer)
        for seed, outputs in enumerate(f.detach()):
            orders = [outputs, *(outputs[order("pairs", seed, draw)] for draw in range(SHUFFLES))]
            left = (h[seed].detach() @ slope[seed].mT)[distinct]
            rights = torch.stack([(ordered[:, None] + (degree - 1) * outputs)[distinct] for ordered in orders])
            correlation, *null = torch.corrcoef(torch.cat([left[None], rights]))[0, 1:].tolist()
            columns = {"arm": arm, "case": name, "layer": str(layer), "seed": seed, "dtype": "float64"}
            yield {**columns, "quantity": "lem3/correlation", "value": correlation}
            yield {**columns, "quantity": "lem3/null", "value": float(np.quantile(null, 0.975))}
            for arm_of_right, right in ((arm, rights[0]), (OTHER_OUTPUTS, rights[1])):
                if arm_of_right == arm or arm == "claim":
                    columns["arm"] = arm_of_right
                    yield {**columns, "quantity": "lem3/error", "value": float((left - right).norm() / right.norm())}
                    yield {**columns, "quantity": "lem3/size", "value": float(left.norm() / right.norm())}


def close_points(kind: str, instance: int) -> Iterator[dict]:
    """|a^T grad f(b) - f(a) - (m - 1) f(b)| over |f(b)| at a = b + x d, of order x^2 by Taylor."""
    draw = stream("a_thm3", "near", kind, instance)
    d, width = int(draw.integers(2, 8)), int(draw.integers(4, 12))
    first, second = (torch.from_numpy(draw.normal(size=(width, size))) for size in (d, width))
    b, direction = (torch.from_numpy(draw.normal(size=d)) for _ in range(2))
    head = torch.from_numpy(np.abs(draw.normal(size=width)))
    smooth: dict[str, Callable[[Tensor], Tensor]] = {
        "ReLU²": lambda h: torch.relu(h @ first.T).square() @ head,
        "ReLU³": lambda h: torch.relu(h @ first.T).pow(3) @ head,
        "ReLU² twice": lambda h: torch.relu(torch.relu(h @ first.T).square() @ second.T).square() @ head,
        "norms": lambda h: ((h @ first.T).square() + (h @ first.roll(1, 0).T).square()).sqrt() @ head,
        "degree 1/2": lambda h: (h @ first.T).square().sum(-1).pow(0.25) * head[0],
        "GELU": lambda h: F.gelu(h @ first.T) @ head,
    }
    while float(smooth[kind](b)) == 0:  # every unit is off at b
        b = torch.from_numpy(draw.normal(size=d))
    for arm, name, degree in (
        ("claim", kind, DEGREES[kind]),
        (NOT_HOMOGENEOUS, "GELU", 1.0),
        ("control: m one too many", kind, DEGREES[kind] + 1),
    ):
        f, leaf = smooth[name], b.clone().requires_grad_()
        (slope,) = torch.autograd.grad(f(leaf), leaf)
        size = float(f(b))
        for halving in range(21):
            distance = 2.0**-halving
            a = b + distance * direction * b.norm() / direction.norm()
            error = abs(float(a @ slope - f(a)) - (degree - 1) * size)
            yield {"arm": arm, "case": kind, "seed": instance, "dtype": "float64", "quantity": "lem3/remainder",
                   "x": distance, "value": error / abs(size)}  # fmt: skip


def sample(data: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Samples (n, d) and labels (n,) of mean 0: odd against even digits, or the staircase of B.4 in ten dimensions."""
    draw = stream("a_thm3", data, seed)
    if data == "digits":
        images, digits = all_digits()
        samples = [draw.choice(np.flatnonzero(digits % 2 == odd), SAMPLES // 2, replace=False) for odd in (0, 1)]
        return images[np.concatenate(samples)] / 16, np.repeat([-1.0, 1.0], SAMPLES // 2)
    x = draw.normal(size=(SAMPLES, 10))
    y = staircase_of(x, 4)
    return x, (y - y.mean()) / y.std()


@cache
def all_digits() -> tuple[np.ndarray, np.ndarray]:
    """Scikit-learn's images and digits, which every seed of every case samples from: it reads a text file."""
    return load_digits(return_X_y=True)


def normal(seeds: int, shape: tuple[int, int], size: float, *name: str | int) -> Tensor:
    """Normal weights (seeds, *shape) of this standard deviation, with a random stream for each seed."""
    drawn = [stream("a_thm3", seed, *name).normal(size=shape) for seed in range(seeds)]
    return torch.from_numpy(size * np.stack(drawn)).requires_grad_()


def order(*name: str | int) -> np.ndarray:
    """A random order of the samples."""
    return stream("a_thm3", "order", *name).permutation(SAMPLES)


def by_seed(columns: dict, values: Tensor) -> Iterator[dict]:
    """A row for each seed."""
    for seed, value in enumerate(values.tolist()):
        yield {**columns, "seed": seed, "dtype": "float64", "value": value}
