"""One data set, in memory and in a file."""

import json
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from gramlab.arguments import Check
from gramlab.files import BadInput, atomic


class DataError(BadInput):
    """A data set is missing or damaged, or an option of its source is wrong.

    Examples
    --------
    >>> from gramlab.data import prepare
    >>> prepare("swiss_roll", "data/raw")
    Traceback (most recent call last):
        ...
    gramlab.data.dataset.DataError: swiss_roll: samples must be given
    """


def checked(source: str) -> Check:
    """Return the checks of a source's options, which raise DataError.

    Numbers are Python's own: a data set's metadata is written as JSON, which has none of numpy's.

    Parameters
    ----------
    source : str
        What the messages begin with.

    Returns
    -------
    Check

    Examples
    --------
    >>> checked("swiss_roll").integer("samples", 0, minimum=2)
    Traceback (most recent call last):
        ...
    gramlab.data.dataset.DataError: swiss_roll: samples must be a whole number of at least 2, not 0
    """
    return Check(DataError, f"{source}: ", whole=int, real=int | float)


@dataclass(frozen=True)
class DataSet:
    """Training and test samples with their targets.

    Parameters
    ----------
    source : str
        Name of the data, for error messages and random streams.
    x_train, x_test : Tensor of shape (n, ...)
        Samples as they are stored; `scaled` turns them into numbers.
    y_train, y_test : Tensor of shape (n,) or (n, c)
        Integer classes (n,), or floating-point targets (n, c).
    classes : int, optional
        Number of classes; 0 for a regression.
    factor : float, optional
        Factor from stored samples to numbers: 1/255 for images of 8 bits.
    metadata : dict, optional
        Further facts in JSON's types, such as the names of the classes.
    weight_train : Tensor of shape (n,), optional
        Probabilities of the training samples in a finite population, with sum 1. The loss is then
        ``sum_i w_i l_i``; without weights every sample has weight 1/n.
    clean_train : Tensor of shape (n,), optional
        True training classes, where some of `y_train` were replaced by random ones.

    Raises
    ------
    DataError
        If shapes do not fit each other, a number is not finite, or a label lies outside the classes.

    Examples
    --------
    >>> import torch
    >>> x, y = torch.tensor([[0, 255], [255, 0]]), torch.tensor([0, 1])
    >>> data = DataSet("two pixels", x, y, x[:1], y[:1], classes=2, factor=1 / 255)
    >>> data.inputs, data.outputs
    (2, 2)
    >>> data.scaled(data.x_train, torch.float32)
    tensor([[0., 1.],
            [1., 0.]])
    """

    source: str
    x_train: Tensor
    y_train: Tensor
    x_test: Tensor
    y_test: Tensor
    _: KW_ONLY
    classes: int = 0
    factor: float = 1.0
    metadata: dict = field(default_factory=dict)
    weight_train: Tensor | None = None
    clean_train: Tensor | None = None

    def __post_init__(self):
        for part in ("train", "test"):
            self._check(part, getattr(self, f"x_{part}"), getattr(self, f"y_{part}"))
        n = len(self.x_train)
        if not n:
            raise DataError(f"{self.source}: no training samples")
        if (w := self.weight_train) is not None and not (
            w.shape == (n,) and bool((w >= 0).all()) and abs(float(w.sum()) - 1) < 1e-9
        ):
            raise DataError(f"{self.source}: the weights must be {n} numbers, none negative, with sum 1")
        if self.clean_train is not None and self.clean_train.shape != (n,):
            raise DataError(f"{self.source}: {n} training samples but {len(self.clean_train)} clean labels")

    def _check(self, part: str, x: Tensor, y: Tensor) -> None:
        """Check the samples and targets of the training or test part."""
        if len(x) != len(y):
            raise DataError(f"{self.source}: {len(x)} {part} samples but {len(y)} targets")
        for kind, values in (("sample", x), ("target", y)):
            if values.is_floating_point() and not bool(torch.isfinite(values).all()):
                row = int((~torch.isfinite(values)).reshape(len(values), -1).any(1).nonzero()[0])
                raise DataError(f"{self.source}: {part} {kind} {row} is not finite")
        if self.classes and len(y):
            if y.ndim != 1 or y.is_floating_point():
                raise DataError(f"{self.source}: the {part} targets must be one integer class per sample")
            if int(y.min()) < 0 or int(y.max()) >= self.classes:
                outside = sorted({int(label) for label in y.unique()} - set(range(self.classes)))
                raise DataError(f"{self.source}: labels {outside} lie outside the {self.classes} classes")

    @property
    def inputs(self) -> int:
        """How many numbers one sample has."""
        return self.x_train[0].numel()

    @property
    def outputs(self) -> int:
        """How many outputs a network for these targets needs."""
        return self.classes or self.y_train[0].numel()

    @property
    def changed_train(self) -> Tensor:
        """Which training labels differ from the true ones, (n,) booleans."""
        unchanged = torch.zeros(len(self.y_train), dtype=torch.bool)
        return unchanged if self.clean_train is None else self.y_train != self.clean_train

    def scaled(self, x: Tensor, dtype: torch.dtype) -> Tensor:
        """Stored samples as floating-point numbers, ``factor * x``.

        Parameters
        ----------
        x : Tensor of shape (n, ...)
            Samples as they are stored, for instance ``x_train``.
        dtype : torch.dtype

        Returns
        -------
        Tensor of shape (n, ...)
        """
        converted = x.to(dtype)
        if self.factor == 1.0:
            return converted
        return converted * self.factor if converted is x else converted.mul_(self.factor)  # in place if it is a copy

    def rows(self, train: Tensor | None = None, test: Tensor | None = None) -> "DataSet":
        """The data set with these rows only.

        Parameters
        ----------
        train, test : Tensor of shape (m,), optional
            Row numbers in the new order; None keeps all samples of that part.

        Returns
        -------
        DataSet

        Raises
        ------
        DataError
            If training samples of a weighted population are chosen: the rest is another population.
        """
        if train is not None and self.weight_train is not None:
            raise DataError(f"{self.source}: a part of a weighted population is another population")
        chosen: dict = {}
        for part, rows in (("train", train), ("test", test)):
            for name in (f"{kind}_{part}" for kind in ("x", "y", "clean")):
                if rows is not None and (values := getattr(self, name, None)) is not None:
                    chosen[name] = values[rows]
        return replace(self, **chosen)

    def tensors(self) -> dict[str, Tensor]:
        """Its tensors by attribute name, without the absent ones."""
        attributes = {item.name: getattr(self, item.name) for item in fields(self)}
        return {name: value for name, value in attributes.items() if isinstance(value, Tensor)}

    def save(self, path: Path) -> None:
        """Write the data set to one file, atomically; equal data sets give equal bytes.

        Parameters
        ----------
        path : Path

        Raises
        ------
        DataError
            If the file cannot be written.
        """
        save_sets(path, {"": self})

    @classmethod
    def load(cls, path: Path, part: str = "") -> "DataSet":
        """Read a data set.

        Parameters
        ----------
        path : Path
        part : str, optional
            Its name, in a file that `save_sets` wrote with several.

        Returns
        -------
        DataSet

        Raises
        ------
        DataError
            If the file is missing or damaged, or has no such data set.
        """
        prefix = f"{part}/" if part else ""
        try:
            with safe_open(path, "pt") as file:
                stored = json.loads(file.metadata()["dataset"])
                description = dict(stored[part] if part else stored)
                names = [name for name in file.keys() if name.startswith(prefix)]  # noqa: SIM118
                tensors = {name.removeprefix(prefix): file.get_tensor(name) for name in names}
                return cls(metadata=description.pop("about"), **description, **tensors)
        except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
            raise DataError(f"{path}: not a readable data set ({one_line(error)})") from error


def save_sets(path: Path, sets: dict[str, DataSet]) -> None:
    """Write data sets by name to one file, atomically; equal data sets give equal bytes.

    Parameters
    ----------
    path : Path
    sets : dict of str to DataSet
        The name "" stands for a file with one data set.

    Raises
    ------
    DataError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from gramlab.data import prepare
    >>> roll, population = prepare("swiss_roll", "", samples=9), prepare("fact_population", "")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_sets(Path(folder, "sets.safetensors"), {"roll": roll, "population": population})
    ...     DataSet.load(Path(folder, "sets.safetensors"), "population").inputs
    4
    """
    descriptions: dict[str, dict] = {}
    tensors: dict[str, Tensor] = {}
    for part, data in sets.items():
        prefix = f"{part}/" if part else ""
        tensors |= {prefix + name: value.contiguous() for name, value in data.tensors().items()}
        descriptions[part] = {"source": data.source, "classes": data.classes, "factor": data.factor,
                              "about": data.metadata}  # fmt: skip
    # one entry, since safetensors writes several entries of its metadata in a random order
    description = json.dumps(descriptions.get("", descriptions), sort_keys=True)
    try:
        with atomic(Path(path)) as temporary:
            save_file(tensors, temporary, {"dataset": description})
    except (OSError, SafetensorError) as error:
        raise DataError(f"{path}: could not be written ({one_line(error)})") from error


def one_line(error: Exception) -> str:
    """An error's message on one line, or the error's type if it has no message.

    Parameters
    ----------
    error : Exception

    Returns
    -------
    str

    Examples
    --------
    >>> one_line(ValueError("two\\n  lines"))
    'two lines'
    """
    return " ".join(str(error).split()) or type(error).__name__
