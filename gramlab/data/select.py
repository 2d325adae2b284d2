"""Parts of a data set, by class and by size, and labels drawn at random."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from gramlab.data.checks import among, share, whole
from gramlab.data.dataset import DataError, DataSet
from gramlab.streams import stream

ORDERS = ("random", "first")


@dataclass(frozen=True)
class Select:
    """Which samples of a set are kept.

    train, test: how many; None keeps all. classes: which classes, numbered anew in this order; None keeps all.
    balanced: as many of each class, exactly. order: ``random`` draws without replacement from streams of this
    ``seed``, so that a smaller training set is the beginning of a larger one; ``first`` takes them as they come.
    """

    train: int | None = None
    test: int | None = None
    classes: tuple[int, ...] | None = None
    balanced: bool = False
    order: str = "random"
    seed: int = 0

    def everything(self) -> bool:
        """Whether nothing is left out."""
        return self.train is None and self.test is None and self.classes is None and not self.balanced

    def rows(self, source: str, part: str, labels: Tensor) -> Tensor | None:
        """The rows of ``part`` (train or test) to keep, in the order to keep them; None for all of them.

        labels (n,) are classes; (n, c) targets of a regression have none to choose by.
        """
        wanted = self.train if part == "train" else self.test
        if wanted is None and self.classes is None and not self.balanced:
            return None
        if wanted is not None:
            whole(source, part, wanted, 0)
        among(source, "order", self.order, ORDERS)
        rows = np.arange(len(labels))
        if self.order == "random":
            # seed 0 goes without saying: samples drawn before there were seeds stay the same
            seed = (self.seed,) if self.seed else ()
            rows = stream(source, *seed, part, "subset").permutation(len(labels))
        if self.classes is not None or self.balanced:
            rows = rows[self._of_classes(source, part, labels[torch.from_numpy(rows)].numpy(), wanted)]
        if wanted is not None and wanted > len(rows):
            of = f" of classes {list(self.classes)}" if self.classes is not None else ""
            raise DataError(f"{source}: {wanted} {part} samples{of} wanted, it has {len(rows)}")
        return torch.from_numpy(rows[:wanted].copy())

    def _of_classes(self, source: str, part: str, labels: np.ndarray, wanted: int | None) -> np.ndarray:
        if labels.ndim != 1:
            raise DataError(f"{source}: a regression has no classes to choose by")
        classes = np.unique(labels) if self.classes is None else np.asarray(self.classes)
        if not self.balanced or not len(labels):
            return np.flatnonzero(np.isin(labels, classes))
        counts = [int((labels == label).sum()) for label in classes]
        each, left = divmod(wanted, len(classes)) if wanted is not None else (min(counts), 0)
        if left:
            raise DataError(f"{source}: {wanted} {part} samples can't be balanced over {len(classes)} classes")
        if each > min(counts):
            scarce = classes[int(np.argmin(counts))]
            raise DataError(f"{source}: {each} {part} samples of class {scarce} wanted, it has {min(counts)}")
        kept = np.concatenate([np.flatnonzero(labels == label)[:each] for label in classes])
        return np.sort(kept)  # in the drawn order, classes mixed

    def renumber(self, labels: Tensor) -> Tensor:
        """The kept classes numbered 0, 1, … in the order of ``classes``."""
        if self.classes is None:
            return labels
        return (labels[:, None] == torch.tensor(self.classes)).long().argmax(1)

    def apply(self, data: DataSet) -> DataSet:
        """The part of ``data`` that this keeps; ``about`` says which classes."""
        if self.everything():
            return data
        if self.classes is not None:
            check_classes(data.source, self.classes, data.classes)
        made = data.rows(self.rows(data.source, "train", data.y_train), self.rows(data.source, "test", data.y_test))
        if self.classes is None:
            return made
        about = {**data.about, "kept_classes": list(self.classes)}
        y_train, y_test = self.renumber(made.y_train), self.renumber(made.y_test)
        return replace(made, y_train=y_train, y_test=y_test, classes=len(self.classes), about=about)


def check_classes(source: str, wanted: tuple[int, ...], classes: int) -> None:
    """Refuse classes that the set does not have, or that are named twice."""
    if not classes:
        raise DataError(f"{source}: a regression has no classes to choose by")
    if not wanted or len(set(wanted)) < len(wanted) or not set(wanted) <= set(range(classes)):
        raise DataError(f"{source}: classes must be different numbers from 0 to {classes - 1}, not {list(wanted)}")


def random_labels(labels: Tensor, classes: int, probability: float, *name: str | int) -> Tensor:
    """Each label, with this probability, drawn anew and uniformly from all classes. Paper A, B.8 and Figure 12.

    labels (n,) -> (n,). A new label may equal the old one: a share p (1 - 1/c) of them changes in expectation.
    The streams of ``name`` do not depend on the probability, so what is drawn anew at p is drawn anew, with the
    same outcome, at every larger p.
    """
    share("random_labels", "the probability", probability)
    anew = torch.from_numpy(stream(*name, "which").uniform(size=len(labels)) < probability)
    drawn = torch.from_numpy(stream(*name, "label").integers(classes, size=len(labels)))
    return torch.where(anew.to(labels.device), drawn.to(labels), labels)


def with_random_labels(data: DataSet, probability: float, seed: int = 0) -> DataSet:
    """``data`` with random training labels; ``clean_train`` keeps the true ones."""
    if not data.classes:
        raise DataError(f"{data.source}: random labels are drawn among classes, and a regression has none")
    made = random_labels(data.y_train, data.classes, probability, data.source, seed, "random labels")
    about = {**data.about, "random_labels": probability}
    return replace(data, y_train=made, clean_train=data.y_train, about=about)


def standardized(data: DataSet) -> DataSet:
    """Each number of a sample with mean 0 and variance 1 over the training set; one that is constant there is 0.

    Test samples are shifted and scaled by the training set's means and spreads.
    """
    x = data.numbers(data.x_train, torch.float32)
    mean, spread = x.mean(0), x.std(0)
    varies = (x != x[0]).any(0)
    scale = torch.where(varies, 1 / spread, 0.0)
    parts = [(data.numbers(part, torch.float32) - mean) * scale for part in (data.x_train, data.x_test)]
    return replace(data, x_train=parts[0], x_test=parts[1], factor=1.0, about={**data.about, "standardized": True})
