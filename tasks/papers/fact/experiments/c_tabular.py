"""C.tab3: kernel regression, NFA-RFM and FACT-RFM on tables, by the cross-validation of Radhakrishnan et al.

Laplace kernel of bandwidth 10, M from I; ridge, rows scaled to norm 1 or not, and the number of updates (up to 4) of
the best accuracy on a validation half; with these the mean test accuracy of four folds. Their code takes the features M
of the first half over to all folds, so that each test fold has taken part in M; here every fold learns its own.
Numbers are standardised; a nominal column is one-hot coded; what is missing is the column's mean.
"""

import json
from collections.abc import Iterator
from itertools import islice, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy.io import arff
from sklearn import datasets
from torch import Tensor

from gramlab.files import BadInput
from gramlab.kernels.functions import Kernel, predict
from gramlab.kernels.updates import iterates
from gramlab.streams import stream
from tasks.settings import load
from tasks.settings.fields import Count
from tasks.settings.simulation import Simulation

KERNEL = Kernel("laplace", bandwidth=10.0)
RIDGES = (10.0, 1.0, 0.1, 0.01, 0.001)
ITERATES = 5
METHODS = {"kernel": None, "NFA-RFM": "agop", "FACT-RFM": "fact", "FACT-RFM, averaged": "fact-geometric"}
OWN = ("iris", "wine", "breast_cancer", "digits")


def read_arff(file: Path) -> pd.DataFrame:
    """The table of an ARFF file; its nominal values as text."""
    table = pd.DataFrame(arff.loadarff(file)[0])
    for name, column in table.items():
        if not pd.api.types.is_numeric_dtype(column):
            text = column.str.decode("utf-8")
            table[name] = text.where(text != "?")
    return table


READERS = {".parquet": pd.read_parquet, ".arff": read_arff, ".csv": pd.read_csv}


class Settings(Simulation):
    """Settings of this experiment."""

    folder: str | None  # of Parquet tables, under the data root; None: scikit-learn's own
    largest: Count  # number of rows of a table


def measure(settings: Settings) -> Iterator[dict]:
    """The test accuracy of every method on every data set; and with features learned from shuffled labels."""
    for index, (name, x, labels) in enumerate(tables(settings.folder, settings.largest)):
        order = stream("c_tabular", name, "order").permutation(len(x))
        x, y = x[order], torch.from_numpy(np.unique(labels[order], return_inverse=True)[1])
        for arm, method in product(("claim", "control: shuffled labels"), METHODS):
            shuffled = torch.from_numpy(stream("c_tabular", name, "labels").permutation(len(y)))
            teacher = y if arm == "claim" or method == "kernel" else y[shuffled]
            accuracy = cross_validated(METHODS[method], x, y, teacher)
            yield {"arm": arm, "case": name, "seed": index, "layer": method, "dtype": "float64",
                   "quantity": "tabular/accuracy", "value": accuracy}  # fmt: skip


def tables(folder: str | None, largest: int) -> Iterator[tuple[str, Tensor, np.ndarray]]:
    """Name, inputs (n, d) and classes (n,) of each set: of the folder's tables, or scikit-learn's own.

    A table is a Parquet, ARFF or CSV file; its classes are the column y, or the last one where there is none. A column
    that is no number, or that ``datasets.json`` beside the folder calls nominal, is one-hot coded. Raises BadInput.
    """
    if folder is None:
        for name in OWN:
            x, y = getattr(datasets, f"load_{name}")(return_X_y=True)
            yield name, torch.from_numpy(_standard(x[:largest].astype(float))), y[:largest]
        return
    root = load("paper").machine.root() / folder
    if not root.is_dir():
        raise BadInput(f"{root}: no such folder; GRAMLAB_DATA names the one that it lies in")
    about = root.parent / "datasets.json"
    described = json.loads(about.read_text()) if about.is_file() else {}
    files = sorted(file for file in root.iterdir() if file.suffix in READERS)
    if not files:
        raise BadInput(f"{root}: no {', '.join(READERS)} files")
    for file in files:
        try:
            table = READERS[file.suffix](file)
        except (ValueError, OSError, NotImplementedError) as error:  # what the three readers raise of a damaged file
            raise BadInput(f"{file}: not a readable table ({' '.join(str(error).split())})") from error
        if len(table) > largest:
            continue
        labels = table.pop("y" if "y" in table else table.columns[-1])
        if labels.isna().any() or labels.nunique() < 2:
            raise BadInput(f"{file}: column {labels.name} must hold at least two classes, and one in every row")
        nominal = _nominal(described, file.stem)
        columns = []
        for name, column in table.items():
            if name in nominal or not pd.api.types.is_numeric_dtype(column):
                columns += [(column == one).to_numpy(float) for one in sorted(column.dropna().unique())]
            else:
                columns.append(column.to_numpy(float, na_value=np.nan))
        if not columns:
            raise BadInput(f"{file}: no column beside the classes")
        yield file.stem, torch.from_numpy(_standard(np.stack(columns, 1))), labels.to_numpy()


def _nominal(described: dict, name: str) -> set[str]:
    columns = described.get(name, {}).get("columns", [])
    return {column["column"] for column in columns if column["kind"] == "nominal"}


def _standard(x: np.ndarray) -> np.ndarray:
    mean, deviation = np.nanmean(x, 0), np.nanstd(x, 0)
    return np.nan_to_num((x - mean) / np.where(deviation > 0, deviation, 1))


def cross_validated(update: str | None, x: Tensor, y: Tensor, teacher: Tensor) -> float:
    """The mean accuracy over four folds; features are learned from the teacher's labels."""
    half = len(x) // 2
    found: dict[tuple[float, bool, int], float] = {}
    for ridge, unit in product(RIDGES, (True, False)):
        z = _unit(x) if unit else x
        for step, accuracy in enumerate(_accuracies(update, z, y, teacher, slice(0, half), slice(half, None), ridge)):
            found[ridge, unit, step] = accuracy
    ridge, unit, step = max(found, key=lambda key: found[key])
    z, parts = _unit(x) if unit else x, np.array_split(np.arange(len(x)), 4)
    scores = []
    for part in parts:
        rest = np.setdiff1d(np.arange(len(x)), part)
        scores.append(list(_accuracies(update, z, y, teacher, rest, part, ridge, step + 1))[step])
    return float(np.mean(scores))


def _accuracies(
    update: str | None, x: Tensor, y: Tensor, teacher: Tensor, train: Any, test: Any, ridge: float,
    count: int = ITERATES,
) -> Iterator[float]:  # fmt: skip
    classes = int(y.max()) + 1
    codes, own = (torch.nn.functional.one_hot(labels[train], classes).double() for labels in (teacher, y))
    steps = iterates(update or "agop", KERNEL, x[train], codes, ridge, power=1.0)
    for one in islice(steps, count if update else 1):
        alpha = one.alpha
        if teacher is not y:
            K = KERNEL.matrix(x[train], None, one.M)
            alpha = torch.linalg.solve(K + one.ridge * torch.eye(len(K), dtype=K.dtype), own)
        yield float((predict(KERNEL, x[test], x[train], alpha, one.M).argmax(1) == y[test]).double().mean())


def _unit(x: Tensor) -> Tensor:
    return x / x.norm(dim=1, keepdim=True).clamp_min(1e-12)
