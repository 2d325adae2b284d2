"""One data set in memory and in one file."""

import json
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from gramlab.files import BadInput, atomic


class DataError(BadInput):
    """A data set is missing, damaged, or not what was asked for."""


@dataclass(frozen=True)
class DataSet:
    """Training and test samples with their targets.

    x (n, ...) as stored; ``numbers`` gives them as floating-point numbers, times ``factor``. y (n,) integer
    classes or (n, c) floating-point targets; ``classes`` is the number of classes, 0 for regression.

    weight_train (n,): for a finite population the probability of each training sample, summing to 1, so that
    the loss is Σ w_i l_i; None stands for 1/n each. clean_train (n,): the classes before labels were drawn at
    random; None where none were. ``about`` is whatever else a reader may want to know, in JSON's types.
    """

    source: str
    x_train: Tensor
    y_train: Tensor
    x_test: Tensor
    y_test: Tensor
    _: KW_ONLY
    classes: int = 0
    factor: float = 1.0
    about: dict = field(default_factory=dict)
    weight_train: Tensor | None = None
    clean_train: Tensor | None = None

    def __post_init__(self):
        for part in ("train", "test"):
            self._check(part, getattr(self, f"x_{part}"), getattr(self, f"y_{part}"))
        if not len(self.x_train):
            raise DataError(f"{self.source}: no training samples")
        n = len(self.x_train)
        if (w := self.weight_train) is not None and not (
            w.shape == (n,) and bool((w >= 0).all()) and abs(float(w.sum()) - 1) < 1e-9
        ):
            raise DataError(f"{self.source}: the weights must be {n} numbers, none negative, that sum to 1")
        if self.clean_train is not None and self.clean_train.shape != (n,):
            raise DataError(f"{self.source}: {n} training samples but {len(self.clean_train)} clean labels")

    def _check(self, part: str, x: Tensor, y: Tensor) -> None:
        if len(x) != len(y):
            raise DataError(f"{self.source}: {len(x)} {part} samples but {len(y)} targets")
        for what, values in (("sample", x), ("target", y)):
            if values.is_floating_point() and not bool(torch.isfinite(values).all()):
                row = int((~torch.isfinite(values)).flatten(1).any(1).nonzero()[0]) if values.ndim > 1 else 0
                raise DataError(f"{self.source}: {part} {what} {row} is not finite")
        if self.classes and len(y):
            if y.ndim != 1 or y.is_floating_point():
                raise DataError(f"{self.source}: classes must be one whole number a {part} sample")
            if int(y.min()) < 0 or int(y.max()) >= self.classes:
                outside = sorted({int(label) for label in y.unique()} - set(range(self.classes)))
                raise DataError(f"{self.source}: labels {outside} lie outside the {self.classes} classes")

    @property
    def inputs(self) -> int:
        """Number of numbers in one sample."""
        return self.x_train[0].numel()

    @property
    def outputs(self) -> int:
        """Number of outputs that a network for these targets has."""
        return self.classes or self.y_train[0].numel()

    @property
    def changed_train(self) -> Tensor:
        """Which training labels differ from the clean ones, (n,) booleans."""
        same = torch.zeros(len(self.y_train), dtype=torch.bool)
        return same if self.clean_train is None else self.y_train != self.clean_train

    def numbers(self, x: Tensor, dtype: torch.dtype) -> Tensor:
        """Stored samples as floating-point numbers of ``dtype``, (n, ...)."""
        made = x.to(dtype)
        if self.factor == 1.0:
            return made
        return made * self.factor if made is x else made.mul_(self.factor)  # in place, where it is a copy

    def rows(self, train: Tensor | None = None, test: Tensor | None = None) -> "DataSet":
        """The data set of these rows, in this order; None keeps a part as it is."""
        if train is not None and self.weight_train is not None:
            raise DataError(f"{self.source}: a part of a weighted population is another population")
        kept: dict = {}
        for part, chosen in (("train", train), ("test", test)):
            for name in (f"{kind}_{part}" for kind in ("x", "y", "clean")):
                if chosen is not None and (values := getattr(self, name, None)) is not None:
                    kept[name] = values[chosen]
        return replace(self, **kept)

    def tensors(self) -> dict[str, Tensor]:
        """Its tensors by their attributes' names, those that are there."""
        given = {item.name: getattr(self, item.name) for item in fields(self)}
        return {name: one for name, one in given.items() if isinstance(one, Tensor)}

    def save(self, path: Path) -> None:
        """Write the data set to one file, whole or not at all; the same data set gives the same bytes."""
        save_sets(path, {"": self})

    @classmethod
    def load(cls, path: Path, part: str = "") -> "DataSet":
        """Read a saved data set, of several in one file the one of this name.

        Raises DataError naming the file when it is missing or damaged, or has no such set.
        """
        try:
            with safe_open(path, "pt") as file:
                about, start = json.loads(file.metadata()[f"dataset {part}".strip()]), f"{part}/" if part else ""
                names = [name for name in file.keys() if name.startswith(start)]  # noqa: SIM118
                return cls(**about, **{name.removeprefix(start): file.get_tensor(name) for name in names})
        except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
            raise DataError(f"{path}: not a readable data set ({_line(error)})") from error


def save_sets(path: Path, sets: dict[str, DataSet]) -> None:
    """Write data sets by name to one file, whole or not at all; the same ones give the same bytes."""
    kept: dict[str, Tensor] = {}
    about = {}
    for part, one in sets.items():
        start = f"{part}/" if part else ""
        kept |= {start + name: value.contiguous() for name, value in one.tensors().items()}
        told = {"source": one.source, "classes": one.classes, "factor": one.factor, "about": one.about}
        about[f"dataset {part}".strip()] = json.dumps(told, sort_keys=True)
    try:
        with atomic(Path(path)) as temporary:
            save_file(kept, temporary, about)
    except (OSError, SafetensorError) as error:
        raise DataError(f"{path}: could not be written ({_line(error)})") from error


def _line(error: Exception) -> str:
    return " ".join(str(error).split())
