"""C.fig6, C.fig7: kernel machines that learn addition modulo p, iterate by iterate, and their similarities of pairs.

The kernel is k(t) = t^2, the quadratic kernel of rfm-grokking, because the paper does not name that of Figure 6. The
ridge is 0, and FACT is averaged geometrically. The paper has p = 61, half of the table and 75 iterations.

The last M of NFA-RFM is compared with the last M of FACT-RFM, which learned from the same split, by the Pearson
correlation of the entries. The cosine is the same number, because the entries sum to 0. Part of what the two share says
nothing about the numbers: both start from the identity and keep a large diagonal, the entries of each block lie about a
mean, and the blocks are circulant. A relabelling of both numbers by i -> c i + s modulo p keeps all of this and the
spectrum, because it maps the lines of constant i - j, or i + j, to such lines. It also maps sums to sums, so that the
relabelled M suits the task as well. What it changes is how the entries vary along the blocks. So the correlation with
FACT-RFM's M after a random relabelling is what chance gives. Another number leaves the diagonal and the blocks' means
out.

FACT-RFM also runs without averaging, M = (FACT FACT^T)^{1/2}. If M is multiplied by s, then the kernel matrix is
multiplied by s^2, the dual weights by s^-2, and the next M by s^-2. So the scale of M does not converge. With averaging
the factor is s^-1/2. A third machine is not averaged either, but its M is scaled to the trace of the identity after
each update.
"""

import math
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import islice

import numpy as np
import torch
from scipy.stats import spearmanr
from torch import Tensor

import gramlab
from gramlab.data.modular import modular
from gramlab.kernels.functions import Kernel, predict
from gramlab.kernels.solve import dual
from gramlab.kernels.updates import Iterate, iterates, next_features
from gramlab.streams import stream
from tasks.measuring.nulls import DRAWS
from tasks.settings.fields import Count, Rate
from tasks.settings.simulation import Simulation

KERNEL = Kernel("quadratic")
UPDATES = {"agop": "NFA-RFM", "fact-geometric": "FACT-RFM"}
NOT_AVERAGED = "FACT-RFM, not averaged"
AVERAGED = "control: averaged geometrically"
PAIRS = 1000


class Settings(Simulation):
    """``instances`` counts seeds."""

    modulus: Count
    fraction: Rate  # of the table to train on
    steps: Count  # feature updates
    every: Count  # steps between two measurements


def measure(settings: Settings) -> Iterator[dict]:
    """Rows: accuracies and circulancy by iterate, the last features, their correlation, the similarities of pairs."""
    measured = {*range(0, settings.steps, settings.every), settings.steps}
    for seed in range(settings.instances):
        data = modular(settings.modulus, fraction=settings.fraction, seed=seed)
        x, x_test = (data.scaled(part, torch.float64) for part in (data.x_train, data.x_test))
        classes, classes_test = data.y_train.long(), data.y_test.long()
        y = torch.nn.functional.one_hot(classes, settings.modulus).double()
        shuffled = torch.from_numpy(stream("c_modular", "numbers", seed).permutation(settings.modulus))
        relabelled = torch.cat([shuffled, shuffled + settings.modulus])
        accuracies_of = partial(_accuracies, x=x, y=classes, x_test=x_test, y_test=classes_test)
        scales: list[float] = []  # of FACT-RFM's M, by update
        last: dict[str, deque[Tensor]] = {}  # M of the last two iterates, by machine
        for update, name in UPDATES.items():
            labels = {"case": name, "seed": seed, "dtype": "float64"}
            last[name] = deque(maxlen=2)
            for step, machine in enumerate(islice(iterates(update, KERNEL, x, y, 0.0), settings.steps + 1)):
                last[name].append(machine.M)
                if update == "fact-geometric":
                    scales.append(log_scale(machine.M))
                if step not in measured:
                    continue
                accuracies = accuracies_of(machine)
                if step == 0:
                    untrained, first_accuracies = machine.M, accuracies
                features = {
                    "claim": (machine.M, accuracies),
                    "control: no feature learning": (untrained, first_accuracies),
                    "control: numbers relabelled": (machine.M[relabelled][:, relabelled], accuracies),
                }
                for arm, (M, values) in features.items():
                    for quantity, value in {**values, "circulancy": circulancy(M)}.items():
                        yield {**labels, "arm": arm, "quantity": f"modular/{quantity}", "x": step, "value": value}
            if seed == 0:
                for index, value in enumerate((machine.M / machine.M.abs().max()).flatten().tolist()):
                    yield {**labels, "arm": "claim", "quantity": "modular/feature", "x": index, "value": value}
        # the last update is FACT-RFM's, which Figure 7 shows and of which the labels are
        before, fact = last["FACT-RFM"]
        for arm, quantity, value in _comparisons(last["NFA-RFM"][-1], before, fact, seed):
            yield {**labels, "arm": arm, "quantity": quantity, "x": settings.steps, "value": value}
        pairs = {
            ("claim", "pair"): (machine.M, machine.M),
            ("claim", "untrained pair"): (untrained, untrained),  # no control, because it lies on a line too
            ("control: k' of relabelled M", "pair"): (machine.M, machine.M[relabelled][:, relabelled]),
        }
        for (arm, name), (M, other) in pairs.items():
            for step, (slope, tau) in enumerate(similarities(M, other, x, seed)):
                yield {**labels, "arm": arm, "quantity": f"modular/{name}", "step": step, "x": slope, "value": tau}
        by_distance = {"claim": machine.M, "control: distances of relabelled M": machine.M[relabelled][:, relabelled]}
        for arm, other in by_distance.items():
            for name, correlation in closeness(machine.M, other, x, seed).items():
                yield {**labels, "arm": arm, "quantity": f"modular/closer, {name}", "value": correlation}
        for row in _without_averaging(x, y, accuracies_of, scales, measured):
            yield {"case": NOT_AVERAGED, "seed": seed, "dtype": "float64", **row}


def _without_averaging(
    x: Tensor, y: Tensor, accuracies_of: Callable[[Iterate], dict[str, float]], averaged: list[float], steps: set[int]
) -> Iterator[dict]:
    """How many updates FACT-RFM survives without averaging, the scale of M, and the accuracy if the scale is kept.

    ``modular/updates`` is the number of updates until M leaves the range of numbers, and ``modular/scale`` is
    the scale by update, as ``averaged`` has it for the averaged machine. ``steps`` are those to measure at.
    """
    scales = []
    with suppress(ArithmeticError):  # the kernel matrix is infinite or 0
        for machine in islice(iterates("fact", KERNEL, x, y, 0.0), len(averaged)):
            scales.append(log_scale(machine.M))
    for arm, by_update in (("claim", scales), (AVERAGED, averaged)):
        for update, scale in enumerate(by_update):
            yield {"arm": arm, "quantity": "modular/scale", "x": update, "value": scale}
        yield {"arm": arm, "quantity": "modular/updates", "x": len(averaged) - 1, "value": float(len(by_update) - 1)}
    untrained = 0.0
    for step, machine in enumerate(islice(scaled_iterates(x, y), len(averaged))):
        if step in steps:
            accuracy = accuracies_of(machine)["accuracy"]
            untrained = accuracy if step == 0 else untrained
            for arm, value in (("claim", accuracy), ("control: no feature learning", untrained)):
                yield {"arm": arm, "quantity": "modular/scaled accuracy", "x": step, "value": value}


def log_scale(M: Tensor) -> float:
    """The base-10 logarithm of the mean eigenvalue of M."""
    return math.log10(float(M.trace()) / len(M))


def scaled_iterates(x: Tensor, y: Tensor) -> Iterator[Iterate]:
    """FACT-RFM without averaging, whose M is scaled to the trace of the identity after each update."""
    M = torch.eye(x.shape[1], dtype=x.dtype)
    while True:
        alpha, used = dual(lambda: KERNEL.matrix(x, None, M), y, 0.0)  # noqa: B023
        yield Iterate(M, alpha, used, None)
        M = next_features("fact", KERNEL, x, alpha, M)
        M = M * (len(M) / M.trace())


def _accuracies(machine: Iterate, x: Tensor, y: Tensor, x_test: Tensor, y_test: Tensor) -> dict[str, float]:
    def accuracy(inputs: Tensor, classes: Tensor) -> float:
        scores = predict(KERNEL, inputs, x, machine.alpha, machine.M)
        return float((scores.argmax(1) == classes).double().mean())

    return {"train accuracy": accuracy(x, y), "accuracy": accuracy(x_test, y_test)}


def _comparisons(nfa: Tensor, before: Tensor, fact: Tensor, seed: int) -> Iterator[tuple[str, str, float]]:
    """Correlations and distance of NFA-RFM's and FACT-RFM's last M: arm, quantity, value.

    ``before`` is FACT-RFM's M one update before its last. Each control breaks the reason that one of the paper's two
    sentences gives, and its number is not fixed by construction:

    - "similar features" need one split to learn the same from. With relabelled numbers FACT-RFM's M has the same
      spectrum and circulant blocks, but not the features of this split. If it correlates with NFA-RFM's as well,
      then the diagonal and the blocks are all that is similar.
    - "distinct features" are those of two updates. Two iterates of one machine that has converged are alike; if they
      are far apart, then the machine has not converged, and its distance from another machine says nothing.
    """
    p = len(fact) // 2
    order = multiplied(p, stream("c_modular", "multiplied", seed))
    for arm, other in (("claim", fact), ("control: numbers multiplied", fact[order][:, order])):
        for quantity, correlation in CORRELATIONS.items():
            yield arm, f"modular/{quantity}", correlation(nfa, other)
    yield "claim", "modular/distance", 1 - gramlab.pearson(nfa, fact)
    yield "control: one update before", "modular/distance", 1 - gramlab.pearson(before, fact)
    random = stream("c_modular", "null", seed)
    orders = [multiplied(p, random) for _ in range(DRAWS)]
    for quantity, correlation in CORRELATIONS.items():
        by_chance = [correlation(nfa, fact[order][:, order]) for order in orders]
        yield "claim", f"null/modular/{quantity}", float(np.quantile(by_chance, 0.975))


def block_correlation(M: Tensor, other: Tensor) -> float:
    """The correlation of the entries about their block's mean, without M's own diagonal."""
    return gramlab.pearson(*(torch.cat([block[mask] - block[mask].mean() for block, mask in _blocks(features)])
                             for features in (M, other)))  # fmt: skip


CORRELATIONS: dict[str, Callable[[Tensor, Tensor], float]] = {
    "correlation": gramlab.pearson,
    "block correlation": block_correlation,
}


def multiplied(p: int, random: np.random.Generator) -> Tensor:
    """Where i -> c i + s modulo p takes both numbers' codes: random s, and random c but 1 and -1.

    With c = 1 or -1 each line of constant i - j is mapped to itself or to its mirror image, as in a symmetric block.
    """
    factors = [factor for factor in range(2, p - 1) if math.gcd(factor, p) == 1]
    numbers = (int(random.choice(factors)) * np.arange(p) + int(random.integers(p))) % p
    return torch.from_numpy(np.concatenate([numbers, numbers + p]))


def circulancy(M: Tensor) -> float:
    """The share of the entries' variance that four circulant blocks explain, without M's own diagonal.

    In each p x p block the entries vary about the block's mean. Their mean along i - j or along i + j modulo p explains
    a part; the larger part counts. The share is 0 for a constant matrix, and about 1/p for a random matrix.
    """
    p = len(M) // 2
    index = torch.arange(p)
    explained = total = 0.0
    for block, mask in _blocks(M):
        total += float((block[mask] - block[mask].mean()).square().sum())
        shares = []
        for sign in (1, -1):
            lines = ((index[:, None] + sign * index) % p)[mask]
            counts = torch.bincount(lines, minlength=p).clamp_min(1)
            means = torch.zeros(p, dtype=M.dtype).index_add_(0, lines, block[mask]) / counts
            shares.append(float((means[lines] - block[mask].mean()).square().sum()))
        explained += max(shares)
    return explained / total if total > 1e-20 else 0.0


def _blocks(M: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """The four p x p blocks, and where their entries are not on M's own diagonal."""
    p = len(M) // 2
    for row in range(2):
        for column in range(2):
            block = M[row * p : (row + 1) * p, column * p : (column + 1) * p]
            yield block, ~torch.eye(p, dtype=torch.bool) if row == column else torch.ones(p, p, dtype=torch.bool)


def similarities(M: Tensor, other: Tensor, x: Tensor, seed: int) -> Iterator[tuple[float, float]]:
    """k'(x_i^T M' x_j) with M' = ``other``, and tau(x_i, M, x_j), of random pairs of different samples."""
    first, second = _random_pairs(x, seed)
    slopes_of_other = KERNEL.slopes(x, x, other)[first, second]
    yield from zip(slopes_of_other.tolist(), _tau(M, x, first, second).tolist(), strict=True)


def closeness(M: Tensor, other: Tensor, x: Tensor, seed: int) -> dict[str, float]:
    """Spearman's correlation of k' and of tau with minus the distance (x_i - x_j)^T M' (x_i - x_j), M' = ``other``.

    Over the random pairs that share no number: two samples with a common number are close under every M with a large
    diagonal.
    """
    first, second = _random_pairs(x, seed)
    apart = (x[first] * x[second]).sum(1) == 0
    first, second = first[apart], second[apart]
    between = x[first] - x[second]
    near = -(between @ other * between).sum(1)
    measures = {"k'": KERNEL.slopes(x, x, M)[first, second], "tau": _tau(M, x, first, second)}
    return {name: float(spearmanr(values.numpy(), near.numpy()).statistic) for name, values in measures.items()}


def _random_pairs(x: Tensor, seed: int) -> tuple[Tensor, Tensor]:
    """The places of both samples of each pair."""
    draw = stream("c_modular", "pairs", seed)
    first = torch.from_numpy(draw.integers(len(x), size=PAIRS))
    return first, (first + torch.from_numpy(draw.integers(1, len(x), size=PAIRS))) % len(x)


def _tau(M: Tensor, x: Tensor, first: Tensor, second: Tensor) -> Tensor:
    slopes = KERNEL.slopes(x, x, M)
    return (slopes[:, first] * slopes[:, second]).mean(0)
