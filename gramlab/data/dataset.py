"""One data set in memory and in one file."""

import json
from dataclasses import dataclass, field
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from gramlab.files import BadInput, atomic
from gramlab.streams import stream


class DataError(BadInput):
    """A data set is missing, damaged, or not what was asked for."""


@dataclass(frozen=True)
class DataSet:
    """Training and test samples with their targets.

    x (n, ...) as stored; ``inputs`` gives them as floating-point numbers, times ``factor``. y (n,) integer
    classes or (n, c) floating-point targets; ``classes`` is the number of classes, 0 for regression.
    """

    source: str
    x_train: Tensor
    y_train: Tensor
    x_test: Tensor
    y_test: Tensor
    classes: int = 0
    factor: float = 1.0
    about: dict = field(default_factory=dict)

    def __post_init__(self):
        for part in ("train", "test"):
            x, y = getattr(self, f"x_{part}"), getattr(self, f"y_{part}")
            if len(x) != len(y):
                raise DataError(f"{self.source}: {len(x)} {part} samples but {len(y)} targets")
            if self.classes and len(y) and not (int(y.min()) >= 0 and int(y.max()) < self.classes):
                outside = sorted({int(label) for label in y.unique()} - set(range(self.classes)))
                raise DataError(f"{self.source}: labels {outside} lie outside the {self.classes} classes")
        if not len(self.x_train):
            raise DataError(f"{self.source}: no training samples")

    @property
    def inputs(self) -> int:
        """Number of numbers in one sample."""
        return self.x_train[0].numel()

    @property
    def outputs(self) -> int:
        """Number of outputs that a network for these targets has."""
        return self.classes or self.y_train[0].numel()

    def numbers(self, x: Tensor, dtype: torch.dtype) -> Tensor:
        """Stored samples as floating-point numbers of ``dtype``, (n, ...)."""
        return x.to(dtype) * self.factor if self.factor != 1.0 else x.to(dtype)

    def subset(self, train: int | None, test: int | None, name: str) -> "DataSet":
        """``train`` and ``test`` samples drawn without replacement from the stream ``name``; None keeps all."""
        kept = {}
        for part, wanted in (("train", train), ("test", test)):
            x, y = getattr(self, f"x_{part}"), getattr(self, f"y_{part}")
            if wanted is not None and wanted > len(x):
                raise DataError(f"{self.source}: {wanted} {part} samples wanted, it has {len(x)}")
            if wanted is not None:
                chosen = torch.from_numpy(stream(name, part, "subset").permutation(len(x))[:wanted].copy())
                x, y = x[chosen], y[chosen]
            kept[f"x_{part}"], kept[f"y_{part}"] = x, y
        return DataSet(self.source, **kept, classes=self.classes, factor=self.factor, about=self.about)

    def save(self, path: Path) -> None:
        """Write the data set to one file, whole or not at all."""
        tensors = {name: getattr(self, name).contiguous() for name in ("x_train", "y_train", "x_test", "y_test")}
        about = {"source": self.source, "classes": self.classes, "factor": self.factor, "about": self.about}
        with atomic(Path(path)) as temporary:
            save_file(tensors, temporary, {"dataset": json.dumps(about, sort_keys=True)})

    @classmethod
    def load(cls, path: Path) -> "DataSet":
        """Read a saved data set. Raises DataError naming the file when it is missing or damaged."""
        try:
            with safe_open(path, "pt") as file:
                about = json.loads(file.metadata()["dataset"])
                return cls(**about, **{name: file.get_tensor(name) for name in file.keys()})  # noqa: SIM118
        except (OSError, SafetensorError, KeyError, TypeError) as error:
            raise DataError(f"{path}: not a readable data set ({error})") from error
