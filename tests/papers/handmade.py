"""Finished training runs made by hand: every snapshot, seed, case, layer and label differs from every other.

``HandmadeRun`` writes the files that a training stage leaves and opens them through ``tasks.measuring.run.Run``. An
oracle reads the same numbers as numpy arrays: ``weights(epoch, seed, case, variant)`` and ``sums(...)``. It never goes
through the code under test.
"""

import hashlib
import itertools
import math

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from gramlab import tables
from gramlab.data import DataSet, save_sets
from gramlab.nets import build
from tasks.measuring.run import Run
from tasks.settings import Settings, read
from tasks.stage import Stage

DEFAULTS = {
    "data": "handmade", "model": {"hidden": [4, 5], "activation": "gelu"}, "loss": "cross_entropy", "optimizer": "sgd",
    "lr": 0.1, "batch": 3, "epochs": 2, "seeds": 2, "snapshots": 1,
}  # fmt: skip
COLUMNS = ("arm", "case", "seed", "step", "layer", "quantity", "x")


def numbers(*name) -> np.random.Generator:
    """A generator for this name, by another way than the product's named streams."""
    return np.random.default_rng(int.from_bytes(hashlib.md5(repr(name).encode()).digest()[:8], "big"))


def classes_data(name="handmade", train=10, test=7, shape=(6,), classes=3, factor=1.0) -> DataSet:
    """Samples of several classes: unequal class sizes, an uncentred input, test samples unlike the training ones."""
    draw = numbers("data", name)
    x, x_test = (torch.from_numpy(draw.normal(0.3, 1.0, size=(n, *shape))) for n in (train, test))
    y, y_test = (torch.from_numpy(np.sort(draw.integers(0, classes, size=n)))[torch.from_numpy(draw.permutation(n))]
                 for n in (train, test))  # fmt: skip
    y[:classes] = torch.arange(classes).flip(0)
    return DataSet(name, x, y, x_test, y_test, classes=classes, factor=factor)


def target_data(name="handmade", train=10, test=7, shape=(6,), outputs=2) -> DataSet:
    """Samples with targets in floating point."""
    draw = numbers("data", name)
    x, x_test = (torch.from_numpy(draw.normal(0.3, 1.0, size=(n, *shape))) for n in (train, test))
    y, y_test = (torch.from_numpy(draw.normal(0.2, 1.0, size=(n, outputs))) for n in (train, test))
    return DataSet(name, x, y, x_test, y_test)


class HandmadeRun:
    """A finished training run in a folder, with random weights instead of trained ones.

    Parameters
    ----------
    folder : Path
        An empty folder.
    key : str
        The experiment's key; random streams and settings are named after it.
    settings : dict
        Entries of ``tasks.settings.Train`` that replace ``DEFAULTS``.
    data : DataSet or dict of str to DataSet
        One data set, or several by name (settings ``sets``).
    paper : str, optional
    history : iterable of dict, optional
        Rows of the history; by default every loss and accuracy at every epoch, all different.

    Attributes
    ----------
    run : tasks.measuring.run.Run
    settings : dict of str to tasks.settings.Train
        By the name of the variant, "" where there are none.
    history : list of dict
    """

    def __init__(self, folder, key, settings, data, paper="weight_gram", history=()):
        several = isinstance(data, dict)
        sources = {name: {"source": "digits"} for name in data} if several else {}
        raw = {
            "machine": read()["machine"],
            "streams": read()["streams"],
            "data": {"handmade": {"paper": {"sets": sources} if several else {"source": "digits"}, "quick": {}}},
            paper: {"train": {key: {"paper": {**DEFAULTS, **settings}, "quick": {}}}},
        }
        stage = Stage("measure", key, "quick")
        stage.settings, stage.data = Settings(raw, "quick"), folder
        self.sets = data if several else {"": data}
        stage.dataset("handmade").parent.mkdir(parents=True)
        save_sets(stage.dataset("handmade"), self.sets)
        self.key = key
        self.settings = stage.settings.train[key].by_variant()
        self._stored = {name: self._snapshots(name, stage.run(key) / name) for name in self.settings}
        self.history = list(history) or self._history()
        tables.write(stage.run(key) / "history.parquet", self.history)
        self.run = Run(stage)

    def data(self, variant="") -> DataSet:
        """The data set of a variant."""
        return self.sets[self.settings[variant].part]

    def cases(self, variant="") -> list[str]:
        """The cases of the grid in their order; [""] without a grid."""
        axes = self.settings[variant].grid.axes()
        return [",".join(f"{axis}={value:g}" for axis, value in zip(axes, values, strict=True))
                for values in itertools.product(*axes.values())]  # fmt: skip

    def steps(self, epoch, variant="") -> int:
        """Optimizer steps up to this epoch."""
        n = len(self.data(variant).x_train[: self.settings[variant].samples])
        return epoch * math.ceil(n / (self.settings[variant].batch or n))

    def weights(self, epoch, seed, case="", variant="") -> dict[str, np.ndarray]:
        """Every parameter and buffer of this network, by name, in float64."""
        tensors = self._stored[variant][epoch, seed, case]
        return {name: tensor.double().numpy() for name, tensor in tensors.items() if not name.startswith("observer:")}

    def sums(self, name, epoch, seed, case="", variant="") -> np.ndarray:
        """An observer's sum for this network, such as "virtual_update/shuffled"."""
        return self._stored[variant][epoch, seed, case][f"observer:{name}"].numpy()

    def _snapshots(self, variant, folder) -> dict:
        """Write the snapshots of a variant; its tensors by (epoch, seed, case)."""
        settings, data = self.settings[variant], self.data(variant)
        network = build(settings.model.kind, data.x_train.shape[1:], data.outputs, **settings.model.options())
        n = len(data.x_train[: settings.samples])
        shapes = {"virtual_shift": (data.inputs, data.inputs), "virtual_update": (n, *data.x_train.shape[1:])}
        epochs = sorted({0, *range(0, settings.epochs, settings.snapshots), settings.epochs})
        stored = {}
        folder.mkdir(parents=True, exist_ok=True)
        for epoch in epochs:
            for case, seed in itertools.product(self.cases(variant), range(settings.seeds)):
                draw = numbers(self.key, variant, epoch, case, seed)
                tensors = {
                    name: _drawn(name, tensor, draw, getattr(torch, settings.dtype))
                    for name, tensor in network.state_dict().items()
                }
                for observer, control in itertools.product(settings.observe, ("", "/shuffled")):
                    tensors[f"observer:{observer}{control}"] = torch.from_numpy(draw.normal(size=shapes[observer]))
                stored[epoch, seed, case] = tensors
            members = [stored[epoch, seed, case]
                       for case, seed in itertools.product(self.cases(variant), range(settings.seeds))]  # fmt: skip
            stacked = {name: torch.stack([tensors[name] for tensors in members]) for name in members[0]}
            save_file(stacked, folder / f"epoch-{epoch:06d}.safetensors")
        return stored

    def _history(self) -> list[dict]:
        """Losses and accuracies of every network after every epoch, all different."""
        draw, rows = numbers(self.key, "history"), []
        for variant, settings in self.settings.items():
            for epoch, case, seed in itertools.product(range(settings.epochs + 1), self.cases(variant),
                                                       range(settings.seeds)):  # fmt: skip
                for quantity in ("train_loss", "test_loss", "train_accuracy", "test_accuracy"):
                    whole_case = ",".join(filter(None, (variant, case)))
                    rows.append({
                        "experiment": self.key, "scale": "quick", "arm": "claim", "dtype": settings.dtype,
                        "step": self.steps(epoch, variant), "seed": seed, "case": whole_case,
                        "x": float(epoch), "quantity": quantity, "value": float(draw.uniform()),
                    })  # fmt: skip
        return rows


def _drawn(name, tensor, draw, dtype) -> torch.Tensor:
    """Random numbers of a parameter's or buffer's shape: matrices of gain 1, offsets that matter, variances above 0."""
    if not tensor.is_floating_point():
        return tensor.clone()
    gain = 1.0 if tensor.ndim < 2 else (2 / max(1, tensor[0].numel())) ** 0.5
    values = torch.from_numpy(np.asarray(draw.normal(size=tuple(tensor.shape)) * gain))
    values = values.abs() + 0.5 if name.endswith("running_var") else values
    return values.to(dtype)


def assert_same_rows(measured, expected, rel=1e-9, absolute=1e-12, **where):
    """Compare two lists of rows by arm, case, seed, step, layer, quantity and x: the same keys, the same values.

    ``where`` restricts both to rows whose columns have these values; a quantity may be given as a tuple of several.
    """
    measured, expected = (list(_restricted(rows, where)) for rows in (measured, expected))
    tables.table(measured)  # refuses rows that no table can hold
    left, right = ({_key(row): float(row["value"]) for row in rows} for rows in (measured, expected))
    assert right, "the oracle expects no rows"
    assert len(measured) == len(left), "two measured rows have the same key"
    assert left.keys() == right.keys(), {
        "missing": sorted(map(str, right.keys() - left.keys()))[:5],
        "unexpected": sorted(map(str, left.keys() - right.keys()))[:5],
    }
    wrong = {key: (left[key], right[key]) for key in right
             if left[key] != pytest.approx(right[key], rel=rel, abs=absolute)}  # fmt: skip
    assert not wrong, "\n".join(f"{dict(zip(COLUMNS, key, strict=True))}: {a} measured, {b} expected"
                                for key, (a, b) in list(wrong.items())[:5])  # fmt: skip


def _restricted(rows, where):
    for row in rows:
        if all(row.get(name) in (value if isinstance(value, tuple) else (value,)) for name, value in where.items()):
            yield row


def _key(row) -> tuple:
    blank = {"seed": 0, "step": 0, "x": 0.0}
    return tuple(row.get(name, blank.get(name, "")) for name in COLUMNS)
