"""C.tab3: kernel regression, NFA-RFM and FACT-RFM on tables, by the cross-validation of Radhakrishnan et al.

Laplace kernel of bandwidth 10, M = I at first. The accuracy on a validation half chooses the ridge, the number of
updates (up to 4) and whether rows are scaled to norm 1; the result is the mean test accuracy of four folds with them.
The authors' code keeps the features M of the first half for all folds, so that each test fold has taken part in M; here
every fold learns its own.
"""

from collections.abc import Iterator
from itertools import islice, product
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gramlab.kernels.functions import Kernel, predict
from gramlab.kernels.updates import iterates
from gramlab.streams import stream
from tasks.papers.fact.experiments.shared.classification_tables import data_sets
from tasks.settings.fields import Count
from tasks.settings.simulation import Simulation

KERNEL = Kernel("laplace", bandwidth=10.0)
RIDGES = (10.0, 1.0, 0.1, 0.01, 0.001)
ITERATES = 5  # M = I and four updates
METHODS = {"kernel": None, "NFA-RFM": "agop", "FACT-RFM": "fact", "FACT-RFM, averaged": "fact-geometric"}


class Settings(Simulation):
    """``instances`` is 1: the folds of cross-validation take the place of seeds."""

    folder: str | None  # of tables, under the data root; null: scikit-learn's own data sets
    largest: Count  # rows of a table

    def seeds(self) -> int:
        """A row's seed numbers its data set."""
        return 0


def measure(settings: Settings) -> Iterator[dict]:
    """Rows: the test accuracy of every method on every data set; as a control with features from shuffled labels."""
    for index, (name, x, classes) in enumerate(data_sets(settings.folder, settings.largest)):
        order = stream("c_tabular", name, "order").permutation(len(x))
        x, y = x[order], torch.from_numpy(np.unique(classes[order], return_inverse=True)[1])
        for arm, method in product(("claim", "control: shuffled labels"), METHODS):
            shuffled = torch.from_numpy(stream("c_tabular", name, "labels").permutation(len(y)))
            teacher = y if arm == "claim" or method == "kernel" else y[shuffled]
            accuracy = cross_validated(METHODS[method], x, y, teacher)
            yield {"arm": arm, "case": name, "seed": index, "layer": method, "dtype": "float64",
                   "quantity": "tabular/accuracy", "value": accuracy}  # fmt: skip


def cross_validated(update: str | None, x: Tensor, y: Tensor, teacher: Tensor) -> float:
    """The mean accuracy over four folds; features are learned from the teacher's labels."""
    half = len(x) // 2
    validation: dict[tuple[float, bool, int], float] = {}
    for ridge, unit in product(RIDGES, (True, False)):
        z = _unit(x) if unit else x
        for step, accuracy in enumerate(_accuracies(update, z, y, teacher, slice(0, half), slice(half, None), ridge)):
            validation[ridge, unit, step] = accuracy
    ridge, unit, step = max(validation, key=lambda key: validation[key])
    z, folds = _unit(x) if unit else x, np.array_split(np.arange(len(x)), 4)
    scores = []
    for fold in folds:
        rest = np.setdiff1d(np.arange(len(x)), fold)
        scores.append(list(_accuracies(update, z, y, teacher, rest, fold, ridge, step + 1))[step])
    return float(np.mean(scores))


def _accuracies(
    update: str | None, x: Tensor, y: Tensor, teacher: Tensor, train: Any, test: Any, ridge: float,
    count: int = ITERATES,
) -> Iterator[float]:  # fmt: skip
    """The test accuracy of each iterate; ``train`` and ``test`` index the samples."""
    classes = int(y.max()) + 1
    teacher_codes, codes = (torch.nn.functional.one_hot(labels[train], classes).double() for labels in (teacher, y))
    machines = iterates(update or "agop", KERNEL, x[train], teacher_codes, ridge, power=1.0)
    for machine in islice(machines, count if update else 1):
        alpha = machine.alpha
        if teacher is not y:
            K = KERNEL.matrix(x[train], None, machine.M)
            alpha = torch.linalg.solve(K + machine.ridge * torch.eye(len(K), dtype=K.dtype), codes)
        yield float((predict(KERNEL, x[test], x[train], alpha, machine.M).argmax(1) == y[test]).double().mean())


def _unit(x: Tensor) -> Tensor:
    return x / x.norm(dim=1, keepdim=True).clamp_min(1e-12)
