"""C.tab3: kernel regression, NFA-RFM and FACT-RFM on tables, by the cross-validation of Radhakrishnan et al.

Laplace kernel of bandwidth 10, M = I at first. The accuracy on a validation half chooses the ridge, the number of
updates (up to 4) and whether rows are scaled to norm 1; the result is the mean test accuracy of four folds with them.
As in the authors' code, all folds share the features M that the first half has learned. So two of the four test folds
have taken part in M, and the other two in the choice of the settings. "own features" are the same accuracies where each
fold learns M from its own training samples.
"""

from collections.abc import Iterator
from itertools import islice, product
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from gramlab.kernels.functions import Kernel, predict
from gramlab.kernels.solve import dual
from gramlab.kernels.updates import iterates
from gramlab.streams import stream
from tasks.papers.fact.experiments.shared.classification_tables import data_sets
from tasks.settings.fields import Count
from tasks.settings.simulation import Simulation

KERNEL = Kernel("laplace", bandwidth=10.0)
RIDGES = (10.0, 1.0, 0.1, 0.01, 0.001)
ITERATES = 5  # M = I and four updates
ALL_SHUFFLED, FACT_SHUFFLED = "control: shuffled labels", "control: FACT-RFM from shuffled labels"
METHODS = {"kernel": None, "NFA-RFM": "agop", "FACT-RFM": "fact", "FACT-RFM, averaged": "fact-geometric"}


class Settings(Simulation):
    """``instances`` is 1: the folds of cross-validation take the place of seeds."""

    folder: str | None  # of tables, under the data root; null: scikit-learn's own data sets
    largest: Count  # rows of a table

    def seeds(self) -> set[int]:
        """A row's seed numbers its data set."""
        return set()


def measure(settings: Settings) -> Iterator[dict]:
    """Rows: the test accuracy of every method on every data set, and with features from shuffled labels.

    In one control the features of all methods come from shuffled labels, in the other those of FACT-RFM alone.
    """
    for index, (name, x, classes) in enumerate(data_sets(settings.folder, settings.largest)):
        order = stream("c_tabular", name, "order").permutation(len(x))
        x, y = x[order], torch.from_numpy(np.unique(classes[order], return_inverse=True)[1])
        shuffled = y[torch.from_numpy(stream("c_tabular", name, "labels").permutation(len(y)))]
        for method, update in METHODS.items():
            learned = cross_validated(update, x, y, y)
            broken = cross_validated(update, x, y, shuffled) if update else learned
            by_arm = {"claim": learned, ALL_SHUFFLED: broken,
                      FACT_SHUFFLED: broken if method.startswith("FACT") else learned}  # fmt: skip
            for arm, accuracies in by_arm.items():
                for quantity, accuracy in accuracies.items():
                    yield {"arm": arm, "case": name, "seed": index, "layer": method, "dtype": "float64",
                           "quantity": quantity, "value": accuracy}  # fmt: skip


def cross_validated(update: str | None, x: Tensor, y: Tensor, teacher: Tensor) -> dict[str, float]:
    """The mean accuracies over four folds, with shared and with own features, learned from the teacher's labels."""
    half = len(x) // 2
    validation: dict[tuple[float, bool, int], tuple[float, Tensor]] = {}
    for ridge, unit in product(RIDGES, (True, False)):
        z = _unit(x) if unit else x
        results = _accuracies(update, z, y, teacher, slice(0, half), slice(half, None), ridge)
        for step, result in enumerate(results):
            validation[ridge, unit, step] = result
    ridge, unit, step = max(validation, key=lambda key: validation[key][0])
    M = validation[ridge, unit, step][1]
    z, folds = _unit(x) if unit else x, np.array_split(np.arange(len(x)), 4)
    with_shared, with_own = [], []
    for fold in folds:
        training = np.setdiff1d(np.arange(len(x)), fold)
        with_shared.append(_accuracy_with(M, z, y, training, fold, ridge))
        with_own.append(list(_accuracies(update, z, y, teacher, training, fold, ridge, step + 1))[step][0])
    return {"tabular/accuracy": float(np.mean(with_shared)), "tabular/accuracy, own features": float(np.mean(with_own))}


def _accuracies(
    update: str | None, x: Tensor, y: Tensor, teacher: Tensor, train: Any, test: Any, ridge: float,
    count: int = ITERATES,
) -> Iterator[tuple[float, Tensor]]:  # fmt: skip
    """The test accuracy and the features of each iterate; ``train`` and ``test`` index the samples."""
    teacher_codes, codes = (one_hot(labels[train], int(y.max()) + 1).double() for labels in (teacher, y))
    machines = iterates(update or "agop", KERNEL, x[train], teacher_codes, ridge, power=1.0)
    for machine in islice(machines, count if update else 1):
        alpha = machine.alpha
        if teacher is not y:
            K = KERNEL.matrix(x[train], None, machine.M)
            alpha = torch.linalg.solve(K + machine.ridge * torch.eye(len(K), dtype=K.dtype), codes)
        yield _share_correct(x, y, train, test, alpha, machine.M), machine.M


def _accuracy_with(M: Tensor, x: Tensor, y: Tensor, train: Any, test: Any, ridge: float) -> float:
    """The test accuracy of the kernel machine with the features M."""
    codes = one_hot(y[train], int(y.max()) + 1).double()
    alpha, _ = dual(lambda: KERNEL.matrix(x[train], None, M), codes, ridge)
    return _share_correct(x, y, train, test, alpha, M)


def _share_correct(x: Tensor, y: Tensor, train: Any, test: Any, alpha: Tensor, M: Tensor) -> float:
    predicted = predict(KERNEL, x[test], x[train], alpha, M).argmax(1)
    return float((predicted == y[test]).double().mean())


def _unit(x: Tensor) -> Tensor:
    return x / x.norm(dim=1, keepdim=True).clamp_min(1e-12)
