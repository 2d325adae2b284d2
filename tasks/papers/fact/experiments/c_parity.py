"""C.fig1, C.fig5: kernel machines that learn a sparse parity by either update, iterate by iterate.

The kernel is Gaussian with bandwidth 5, M is a full matrix, and there are 5 iterations (Section 4.3). Neither the ridge
nor Figure 1's number of iterations is printed. The leave-one-out error chooses the ridge and the iterate to stop at.

The chosen M of NFA-RFM is compared with the chosen M of FACT-RFM, which learned from the same samples, by the Pearson
correlation of the entries. A random order of the coordinates keeps the spectrum of M and the entries of its diagonal,
but moves the support. So the correlation with FACT-RFM's M in random orders is what chance gives.
"""

import warnings
from collections.abc import Iterator
from functools import partial
from itertools import islice

import numpy as np
import torch
from torch import Tensor

import gramlab
from gramlab.data.parity import sparse_parity
from gramlab.kernels.functions import Kernel, predict
from gramlab.kernels.solve import SingularKernel
from gramlab.kernels.tensors import resolve_device
from gramlab.kernels.updates import Iterate, iterates
from gramlab.streams import stream
from tasks.measuring.nulls import DRAWS
from tasks.measuring.resumable import rows_of_part
from tasks.settings.fields import Count, Rate, Strict
from tasks.settings.simulation import Simulation

KERNEL = Kernel("gaussian", bandwidth=5.0)
UPDATES = {"agop": "NFA-RFM", "fact-geometric": "FACT-RFM"}


class Parity(Strict):
    """A sparse parity, and how the kernel machines learn it."""

    degree: Count  # number of coordinates in the support
    dimension: Count
    samples: Count
    test_samples: Count = 1000
    steps: Count = 5  # feature updates
    transition: bool = False  # whether the parity belongs to Figure 1, not to Figure 5


class Settings(Simulation):
    """``instances`` counts seeds; the paper shows one."""

    ridges: list[Rate]  # the leave-one-out error chooses one
    parities: list[Parity]


def measure(settings: Settings, device: str = "auto") -> Iterator[dict]:
    """Rows by iterate, and of the chosen one: accuracies, mass and lead of the support; the chosen one's features.

    Of Figure 5's parities also the correlation of both machines' features, and that by chance.

    The mass is the support's share of M's trace. The lead is the least diagonal entry of M on the support minus the
    largest one off it, over the largest of all: above 0 the support has the largest entries.
    """
    place = resolve_device(device)
    for parity in settings.parities:
        for seed in range(settings.instances):
            part = [parity.model_dump(), settings.ridges, seed]
            rows = partial(_rows_of_seed, parity, settings.ridges, seed, place)
            yield from rows_of_part("c_parity", part, rows)


def _rows_of_seed(parity: Parity, ridges: list[float], seed: int, device: torch.device) -> Iterator[dict]:
    data = sparse_parity(parity.samples, parity.dimension, degree=parity.degree, test_samples=parity.test_samples,
                         seed=seed)  # fmt: skip
    x, x_test = (data.scaled(part, torch.float64).to(device) for part in (data.x_train, data.x_test))
    y, y_test = (part.double().to(device) for part in (data.y_train, data.y_test))
    coins = stream("c_parity", "random labels", parity.degree, parity.samples, seed).integers(2, size=y.shape)
    targets_by_arm = {"claim": y, "control: random labels": torch.from_numpy(coins).to(y)}
    learned: dict[str, list[Tensor]] = {arm: [] for arm in targets_by_arm}
    for update, name in UPDATES.items():
        if parity.transition and update == "agop":
            continue
        for arm, targets in targets_by_arm.items():
            labels = {"arm": arm, "case": f"k = {parity.degree}, {name}", "seed": seed, "dtype": "float64"}
            path = _path(update, x, targets, ridges, parity.steps)
            best = min(range(len(path)), key=lambda step: _error(path[step]))
            learned[arm].append(path[best].M)
            for row in _rows(path, best, x, targets, x_test, y_test, data.metadata["support"], parity.transition):
                if seed == 0 or not row["quantity"].endswith("feature"):
                    yield {**labels, **row}
    for arm, features in () if parity.transition else learned.items():
        nfa, fact = features
        random = stream("c_parity", "null", parity.degree, parity.samples, seed)
        for quantity, value in _correlations(nfa, fact, random):
            yield {"arm": arm, "case": f"k = {parity.degree}", "seed": seed, "dtype": "float64", "quantity": quantity,
                   "value": value}  # fmt: skip


def _path(update: str, x: Tensor, y: Tensor, ridges: list[float], steps: int) -> list[Iterate]:
    """The iterates of the ridge whose best iterate has the smallest leave-one-out error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SingularKernel)  # a collapsed iterate has a large error and is not chosen
        paths = [list(islice(iterates(update, KERNEL, x, y, ridge, leave_one_out=True), steps + 1)) for ridge in ridges]
    return min(paths, key=lambda path: min(map(_error, path)))


def _error(machine: Iterate) -> float:
    return float(machine.left_out.square().mean())  # type: ignore[union-attr]


def _correlations(nfa: Tensor, fact: Tensor, random: np.random.Generator) -> Iterator[tuple[str, float]]:
    """The correlation of both machines' features, and what 97.5 % of random orders of the coordinates stay below."""
    yield "pearson/fig5", gramlab.pearson(nfa, fact)
    orders = [torch.from_numpy(random.permutation(len(fact))).to(fact.device) for _ in range(DRAWS)]
    yield "null/fig5", float(np.quantile([gramlab.pearson(nfa, fact[order][:, order]) for order in orders], 0.975))


def _rows(
    path: list[Iterate], best: int, x: Tensor, y: Tensor, x_test: Tensor, y_test: Tensor, support: list[int],
    transition: bool,
) -> Iterator[dict]:  # fmt: skip
    figure = "transition" if transition else "parity"
    others = [index for index in range(x.shape[1]) if index not in support]
    for step, machine in enumerate(path):
        weights = machine.M.diagonal()
        values = {
            "accuracy": _accuracy(predict(KERNEL, x_test, x, machine.alpha, machine.M), y_test),
            "train accuracy": _accuracy(predict(KERNEL, x, x, machine.alpha, machine.M), y),
            "mass": float(weights[support].sum() / weights.sum()),
            "lead": float((weights[support].min() - weights[others].max()) / weights.max()),
        }
        for name, value in values.items():
            yield {"quantity": f"{figure}/{name}", "x": step, "value": value}
            if step == best:
                yield {"quantity": f"{figure}/chosen {name}", "x": step, "value": value}
    order = [*support, *others]
    image = path[best].M[order][:, order]
    for index, value in enumerate((image / image.abs().max()).flatten().tolist()):
        yield {"quantity": f"{figure}/feature", "x": index, "value": value}


def _accuracy(scores: Tensor, y: Tensor) -> float:
    return float(((scores > 0.5) == (y > 0.5)).double().mean())
