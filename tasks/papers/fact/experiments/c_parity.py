"""C.fig1, C.fig5: kernel machines that learn a sparse parity, by either update, iterate by iterate.

The kernel is Gaussian with bandwidth 5 and the features M whole (Section 4.3). The ridge, which is not printed, and the
iterate at which to stop are those of the least leave-one-out error.
"""

import warnings
from collections.abc import Iterator
from itertools import islice

import torch
from torch import Tensor

from gramlab.data.parity import sparse_parity
from gramlab.kernels.arguments import placed
from gramlab.kernels.functions import Kernel, predict
from gramlab.kernels.solve import SingularKernel
from gramlab.kernels.updates import Iterate, iterates
from gramlab.streams import stream
from tasks.settings.fields import Count, Rate, Strict
from tasks.settings.simulation import Simulation

KERNEL = Kernel("gaussian", bandwidth=5.0)
UPDATES = {"agop": "NFA-RFM", "fact-geometric": "FACT-RFM"}


class Parity(Strict):
    """Sparse parities of one kind, for kernel machines with ``steps`` feature updates."""

    degree: Count
    dimension: Count
    samples: Count
    test_samples: Count = 1000
    steps: Count = 5
    transition: bool = False  # of Figure 1, not of Figure 5


class Settings(Simulation):
    """Settings of this experiment."""

    ridges: list[Rate]  # each chosen by its leave-one-out error
    parities: list[Parity]


def measure(settings: Settings, device: str = "auto") -> Iterator[dict]:
    """Accuracies, the features' mass on the support by iterate, and the chosen iterate's."""
    there = placed(device)
    for parity in settings.parities:
        for seed in range(settings.instances):
            data = sparse_parity(
                parity.samples, parity.dimension, degree=parity.degree, test_samples=parity.test_samples,
                seed=seed,
            )  # fmt: skip
            x, x_test = (data.numbers(part, torch.float64).to(there) for part in (data.x_train, data.x_test))
            y, y_test = (part.double().to(there) for part in (data.y_train, data.y_test))
            drawn = stream("c_parity", "random labels", parity.degree, parity.samples, seed).integers(2, size=y.shape)
            labels = {"claim": y, "control: random labels": torch.from_numpy(drawn).to(y)}
            for update, name in UPDATES.items():
                if parity.transition and update == "agop":
                    continue
                for arm, targets in labels.items():
                    about = {"arm": arm, "case": f"k = {parity.degree}, {name}", "seed": seed, "dtype": "float64"}
                    path = _chosen(update, x, targets, settings.ridges, parity.steps)
                    for row in _measured(path, x, targets, x_test, y_test, data.metadata["support"], parity.transition):
                        if seed == 0 or not row["quantity"].endswith("feature"):
                            yield {**about, **row}


def _chosen(update: str, x: Tensor, y: Tensor, ridges: list[float], steps: int) -> list[Iterate]:
    """The iterates at the ridge with the least leave-one-out error at any of them."""
    paths = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SingularKernel)  # a collapsed iterate has a large error, and is not chosen
        for ridge in ridges:
            paths.append(list(islice(iterates(update, KERNEL, x, y, ridge, leave_one_out=True), steps + 1)))
    return min(paths, key=lambda path: min(map(_error, path)))


def _error(one: Iterate) -> float:
    return float(one.left_out.square().mean())  # type: ignore[union-attr]


def _measured(
    path: list[Iterate], x: Tensor, y: Tensor, x_test: Tensor, y_test: Tensor, support: list[int], transition: bool
) -> Iterator[dict]:
    best = min(range(len(path)), key=lambda step: _error(path[step]))
    figure = "transition" if transition else "parity"
    for step, one in enumerate(path):
        found = {
            "accuracy": _accuracy(predict(KERNEL, x_test, x, one.alpha, one.M), y_test),
            "train accuracy": _accuracy(predict(KERNEL, x, x, one.alpha, one.M), y),
            "mass": float(one.M.diagonal()[support].sum() / one.M.diagonal().sum()),
        }
        for what, value in found.items():
            yield {"quantity": f"{figure}/{what}", "x": step, "value": value}
            if step == best:
                yield {"quantity": f"{figure}/chosen {what}", "x": step, "value": value}
    order = [*support, *(index for index in range(x.shape[1]) if index not in support)]
    image = path[best].M[order][:, order]
    for index, value in enumerate((image / image.abs().max()).flatten().tolist()):
        yield {"quantity": f"{figure}/feature", "x": index, "value": value}


def _accuracy(scores: Tensor, y: Tensor) -> float:
    return float(((scores > 0.5) == (y > 0.5)).double().mean())
