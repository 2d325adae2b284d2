"""C.fig6, C.fig7: kernel machines that learn to add modulo p, iterate by iterate, and their two similarities of pairs.

The kernel is k(t) = t^2 (rfm-grokking's quadratic kernel; the paper doesn't name Figure 6's), the ridge 0, and FACT is
averaged geometrically.
"""

from collections.abc import Iterator
from itertools import islice

import torch
from torch import Tensor

from gramlab.data.modular import modular
from gramlab.kernels.functions import Kernel, predict
from gramlab.kernels.updates import Iterate, iterates
from gramlab.streams import stream
from tasks.settings.fields import Count, Rate
from tasks.settings.simulation import Simulation

KERNEL = Kernel("quadratic")
UPDATES = {"agop": "NFA-RFM", "fact-geometric": "FACT-RFM"}
PAIRS = 1000


class Settings(Simulation):
    """Settings of this experiment."""

    modulus: Count
    fraction: Rate  # of the table to train on
    steps: Count
    every: Count  # steps between two measurements


def measure(settings: Settings) -> Iterator[dict]:
    """Accuracies and circulancy by iterate, the last features, and pairs of similarities."""
    for seed in range(settings.instances):
        data = modular(settings.modulus, fraction=settings.fraction, seed=seed)
        x, x_test = (data.numbers(part, torch.float64) for part in (data.x_train, data.x_test))
        labels, labels_test = data.y_train.long(), data.y_test.long()
        y = torch.nn.functional.one_hot(labels, settings.modulus).double()
        for update, name in UPDATES.items():
            about = {"case": name, "seed": seed, "dtype": "float64"}
            for step, one in enumerate(islice(iterates(update, KERNEL, x, y, 0.0), settings.steps + 1)):
                if step % settings.every and step != settings.steps:
                    continue
                accuracies = _accuracies(one, x, labels, x_test, labels_test)
                if step == 0:
                    first = one, accuracies
                found = {"claim": (one.M, accuracies), "control: no feature learning": (first[0].M, first[1])}
                shuffled = torch.from_numpy(stream("c_modular", "numbers", seed).permutation(settings.modulus))
                both = torch.cat([shuffled, shuffled + settings.modulus])
                found["control: numbers relabelled"] = (one.M[both][:, both], accuracies)
                for arm, (M, measured) in found.items():
                    circulant = {"circulancy": circulancy(M)}
                    for what, value in {**measured, **circulant}.items():
                        yield {**about, "arm": arm, "quantity": f"modular/{what}", "x": step, "value": value}
            if seed == 0:
                for index, value in enumerate((one.M / one.M.abs().max()).flatten().tolist()):
                    yield {**about, "arm": "claim", "quantity": "modular/feature", "x": index, "value": value}
        # of FACT-RFM, the last update
        machines = {"claim": (one.M, one.M), "control: untrained M": (first[0].M, first[0].M),
                    "control: k' of relabelled M": (one.M, one.M[both][:, both])}  # fmt: skip
        for arm, (M, other) in machines.items():
            for slope, tau in similarities(M, other, x, seed):
                yield {**about, "arm": arm, "quantity": "modular/pair", "x": slope, "value": tau}


def _accuracies(one: Iterate, x: Tensor, labels: Tensor, x_test: Tensor, labels_test: Tensor) -> dict[str, float]:
    score = lambda part, y: float((predict(KERNEL, part, x, one.alpha, one.M).argmax(1) == y).double().mean())  # noqa: E731
    return {"train accuracy": score(x, labels), "accuracy": score(x_test, labels_test)}


def circulancy(M: Tensor) -> float:
    """The share of the entries' variance that four circulant blocks explain, M's own diagonal left out.

    In each p x p block entries vary about the block's mean, and are explained by their mean along i - j, or along
    i + j, modulo p, whichever explains more. 0 where nothing varies. A random matrix has about 1/p.
    """
    p = len(M) // 2
    index = torch.arange(p)
    explained = total = 0.0
    for row in range(2):
        for column in range(2):
            block = M[row * p : (row + 1) * p, column * p : (column + 1) * p]
            kept = ~torch.eye(p, dtype=torch.bool) if row == column else torch.ones(p, p, dtype=torch.bool)
            total += float((block[kept] - block[kept].mean()).square().sum())
            shares = []
            for sign in (1, -1):
                lines = ((index[:, None] + sign * index) % p)[kept]
                counts = torch.bincount(lines, minlength=p).clamp_min(1)
                means = torch.zeros(p, dtype=M.dtype).index_add_(0, lines, block[kept]) / counts
                shares.append(float((means[lines] - block[kept].mean()).square().sum()))
            explained += max(shares)
    return explained / total if total > 1e-20 else 0.0


def similarities(M: Tensor, other: Tensor, x: Tensor, seed: int) -> Iterator[tuple[float, float]]:
    """k'(x_i^T M x_j), with ``other`` for M, and tau(x_i, M, x_j) of random pairs of different samples."""
    draw = stream("c_modular", "pairs", seed)
    first = torch.from_numpy(draw.integers(len(x), size=PAIRS))
    second = (first + torch.from_numpy(draw.integers(1, len(x), size=PAIRS))) % len(x)
    slopes = KERNEL.slopes(x, x, M)
    tau = (slopes[:, first] * slopes[:, second]).mean(0)
    own = KERNEL.slopes(x, x, other)[first, second]
    yield from zip(own.tolist(), tau.tolist(), strict=True)
