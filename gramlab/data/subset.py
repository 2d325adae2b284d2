"""Parts of a data set, chosen by class and by size."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from gramlab.data.dataset import DataError, DataSet, checked
from gramlab.streams import stream

ORDERS = ("random", "first")


@dataclass(frozen=True)
class Subset:
    """Which samples of a data set are chosen.

    Parameters
    ----------
    train, test : int, optional
        How many samples; None for all.
    classes : tuple of int, optional
        Which classes, renumbered 0, 1, … in this order; None for all.
    balanced : bool, optional
        Choose equally many samples of each class.
    order : {"random", "first"}, optional
        Draw without replacement, from random streams of this seed, or take the first samples. A smaller random
        training set is the beginning of a larger one.
    seed : int, optional

    Examples
    --------
    >>> from gramlab.data import prepare
    >>> subset = Subset(train=20, classes=(3, 5), balanced=True)
    >>> subset.apply(prepare("digits", "")).y_train.bincount()
    tensor([10, 10])
    """

    train: int | None = None
    test: int | None = None
    classes: tuple[int, ...] | None = None
    balanced: bool = False
    order: str = "random"
    seed: int = 0

    def rows(self, source: str, part: str, labels: Tensor) -> Tensor | None:
        """The chosen rows of one part of a data set.

        Parameters
        ----------
        source : str
            Data source, for error messages and random streams.
        part : {"train", "test"}
        labels : Tensor of shape (n,) or (n, c)
            Classes, or targets of a regression, which has no classes to choose by.

        Returns
        -------
        Tensor of shape (m,), or None for all samples as they are

        Raises
        ------
        DataError
            If the data set has too few samples of a class, or an option is out of range.
        """
        size = self.train if part == "train" else self.test
        if size is None and self.classes is None and not self.balanced:
            return None
        if size is not None:
            checked(source).integer(part, size, minimum=0)
        checked(source).choice("order", self.order, ORDERS)
        rows = np.arange(len(labels))
        if self.order == "random":
            seed = (self.seed,) if self.seed else ()  # seed 0 keeps the stream it had before seeds
            rows = stream(source, *seed, part, "subset").permutation(len(labels))
        if self.classes is not None or self.balanced:
            rows = rows[self._positions(source, part, labels[torch.from_numpy(rows)].numpy(), size)]
        if size is not None and size > len(rows):
            of_classes = f" of classes {list(self.classes)}" if self.classes is not None else ""
            raise DataError(f"{source}: {size} {part} samples{of_classes} wanted, it has {len(rows)}")
        return torch.from_numpy(rows[:size].copy())

    def _positions(self, source: str, part: str, labels: np.ndarray, size: int | None) -> np.ndarray:
        """Where in `labels` the samples of the chosen classes are; equally many of each class if balanced."""
        if labels.ndim != 1:
            raise DataError(f"{source}: a regression has no classes to choose by")
        classes = np.unique(labels) if self.classes is None else np.asarray(self.classes)
        if not self.balanced or not len(labels):
            return np.flatnonzero(np.isin(labels, classes))
        counts = [int((labels == label).sum()) for label in classes]
        per_class, remainder = divmod(size, len(classes)) if size is not None else (min(counts), 0)
        if remainder:
            raise DataError(f"{source}: {size} {part} samples cannot be balanced over {len(classes)} classes")
        if per_class > min(counts):
            scarce = classes[int(np.argmin(counts))]
            raise DataError(f"{source}: {per_class} {part} samples of class {scarce} wanted, it has {min(counts)}")
        # sorted, so that the classes stay mixed
        return np.sort(np.concatenate([np.flatnonzero(labels == label)[:per_class] for label in classes]))

    def renumber(self, labels: Tensor) -> Tensor:
        """The chosen classes numbered 0, 1, … in the order of `classes`.

        Parameters
        ----------
        labels : Tensor of shape (n,)

        Returns
        -------
        Tensor of shape (n,)
        """
        return labels if self.classes is None else (labels[:, None] == torch.tensor(self.classes)).long().argmax(1)

    def apply(self, data: DataSet) -> DataSet:
        """The chosen part of a data set; its ``metadata`` has the ``kept_classes``.

        Parameters
        ----------
        data : DataSet

        Returns
        -------
        DataSet

        Raises
        ------
        DataError
            If the data set does not have these samples.
        """
        if self.classes is not None:
            check_classes(data.source, self.classes, data.classes)
        part = data.rows(self.rows(data.source, "train", data.y_train), self.rows(data.source, "test", data.y_test))
        if self.classes is None:
            return part
        metadata = {**data.metadata, "kept_classes": list(self.classes)}
        y_train, y_test = self.renumber(part.y_train), self.renumber(part.y_test)
        return replace(part, y_train=y_train, y_test=y_test, classes=len(self.classes), metadata=metadata)


def check_classes(source: str, chosen: tuple[int, ...], classes: int) -> None:
    """Check that a data set has the chosen classes, and that none is named twice.

    Parameters
    ----------
    source : str
        Data source, for error messages.
    chosen : tuple of int
    classes : int
        Number of classes that the data set has; 0 for a regression.

    Raises
    ------
    DataError

    Examples
    --------
    >>> check_classes("digits", (3, 3), 10)
    Traceback (most recent call last):
        ...
    gramlab.data.dataset.DataError: digits: classes must be different numbers from 0 to 9, not [3, 3]
    """
    if not classes:
        raise DataError(f"{source}: a regression has no classes to choose by")
    if not chosen or len(set(chosen)) < len(chosen) or not set(chosen) <= set(range(classes)):
        raise DataError(f"{source}: classes must be different numbers from 0 to {classes - 1}, not {list(chosen)}")
