"""Where data sets come from. Each source is a function (root, options) -> DataSet."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from gramlab.data.dataset import DataError, DataSet
from gramlab.streams import stream


def digits(root: Path, test: float = 0.2) -> DataSet:
    """1797 real 8 x 8 handwritten digits that ship with scikit-learn; a fifth of each class is kept for tests."""
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    held = np.zeros(len(labels), bool)
    for digit in range(10):
        of_class = stream("digits", digit, "split").permutation(np.flatnonzero(labels == digit))
        held[of_class[: round(test * len(of_class))]] = True
    x = torch.from_numpy(images.astype(np.uint8)).reshape(-1, 1, 8, 8)
    y = torch.from_numpy(labels.astype(np.int64))
    return DataSet("digits", x[~held], y[~held], x[held], y[held], classes=10, factor=1 / 16)


def _torchvision(name: str, classes: int, split: bool = False) -> Callable[[Path], DataSet]:
    def load(root: Path) -> DataSet:
        from torchvision import datasets

        parts: list[Tensor] = []
        for train in (True, False):
            which = {"split": "train" if train else "test"} if split else {"train": train}
            try:
                found = getattr(datasets, name)(root, download=True, **which)
            except (OSError, RuntimeError) as error:  # URLError is an OSError; a wrong checksum a RuntimeError
                raise DataError(
                    f"{name} is neither complete under {root} nor downloadable ({error}); put torchvision's files "
                    f"for it there, or set GRAMLAB_DATA to the folder that holds them"
                ) from error
            images = torch.as_tensor(np.asarray(found.data))
            if images.ndim == 3:
                images = images[:, None]
            elif images.shape[-1] == 3:
                images = images.permute(0, 3, 1, 2)
            labels = torch.as_tensor(np.asarray(found.labels if split else found.targets), dtype=torch.int64)
            parts += [images, labels]
        return DataSet(name.lower(), *_four(parts), classes=classes, factor=1 / 255)

    load.__doc__ = f"{name} through torchvision: downloaded on first use, its checksums verified."
    return load


def _four(parts: list[Tensor]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    x_train, y_train, x_test, y_test = parts
    return x_train, y_train, x_test, y_test


def _stack(images: list[np.ndarray], names: list[str]) -> Tensor:
    shapes = {image.shape for image in images}
    if len(shapes) > 1:
        odd = next(index for index, image in enumerate(images) if image.shape != images[0].shape)
        raise DataError(f"images of several sizes: {names[0]} {images[0].shape}, {names[odd]} {images[odd].shape}")
    made = torch.from_numpy(np.stack(images))
    return made[:, None] if made.ndim == 3 else made.permute(0, 3, 1, 2).contiguous()


def _decode(content, name: str) -> np.ndarray:
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(content) as image:
            return np.asarray(image.convert("L" if image.mode in ("1", "L", "I;16") else "RGB"))
    except (OSError, UnidentifiedImageError) as error:
        raise DataError(f"{name}: not a readable image ({error})") from error


def folder(root: Path, path: str) -> DataSet:
    """Image files as ``path/train/CLASS/*`` and ``path/test/CLASS/*``, all of one size; relative to the data root."""
    base = Path(root, path)
    names = sorted(entry.name for entry in (base / "train").glob("*/")) if base.is_dir() else []
    if not names:
        raise DataError(f"{base}: no folder of images laid out as train/CLASS/image and test/CLASS/image")
    parts: list[Tensor] = []
    for part in ("train", "test"):
        files = sorted(file for file in (base / part).glob("*/*") if file.is_file())
        if unknown := {file.parent.name for file in files} - set(names):
            raise DataError(f"{base / part}: classes {sorted(unknown)} have no training images")
        if files:
            parts.append(_stack([_decode(file, str(file)) for file in files], [str(file) for file in files]))
            parts.append(torch.tensor([names.index(file.parent.name) for file in files]))
        else:
            parts += [parts[0][:0], parts[1][:0]]
    return DataSet(path, *_four(parts), classes=len(names), factor=1 / 255, about={"classes": names})


def parquet(root: Path, path: str, image: str = "image", label: str = "label") -> DataSet:
    """Encoded images in Parquet: ``path/train*.parquet`` and ``path/test*.parquet`` with an image and a label column.

    An image cell holds the bytes of a PNG or JPEG file, or a struct with a field ``bytes``.
    """
    import io

    import pyarrow as pa
    import pyarrow.parquet as pq

    base = Path(root, path)
    parts: list[Tensor] = []
    for part in ("train", "test"):
        files = sorted(base.glob(f"{part}*.parquet"))
        if not files:
            raise DataError(f"{base}: no {part}*.parquet with images; GRAMLAB_DATA names the folder above it")
        images, names, labels = [], [], []
        for file in files:
            try:
                content = pq.read_table(file, columns=[image, label])
            except (OSError, pa.ArrowInvalid) as error:
                raise DataError(f"{file}: not a readable Parquet file of images ({error})") from error
            if missing := {image, label} - set(content.column_names):
                raise DataError(f"{file}: no column {sorted(missing)}")
            for row, cell in enumerate(content[image].to_pylist()):
                names.append(f"{file} row {row}")
                images.append(_decode(io.BytesIO(cell["bytes"] if isinstance(cell, dict) else cell), names[-1]))
            labels += content[label].to_pylist()
        parts += [_stack(images, names), torch.tensor(labels, dtype=torch.int64)]
    return DataSet(path, *_four(parts), classes=int(parts[1].max()) + 1, factor=1 / 255)


def swiss_roll(root: Path, samples: int) -> DataSet:
    """Paper A, Figure 1: a Swiss roll in the plane, both coordinates and the target (its angle) in [0, 1]."""
    turn = 1.5 * math.pi * (1 + 2 * stream("swiss_roll").uniform(size=samples))
    plane = np.stack([turn * np.cos(turn), turn * np.sin(turn)], 1)
    x, y = (torch.from_numpy((part - part.min(0)) / np.ptp(part, 0)) for part in (plane, turn[:, None]))
    return DataSet("swiss_roll", x, y, x[:0], y[:0])


SOURCES: dict[str, Callable[..., DataSet]] = {
    "digits": digits,
    "mnist": _torchvision("MNIST", 10),
    "cifar10": _torchvision("CIFAR10", 10),
    "cifar100": _torchvision("CIFAR100", 100),
    "svhn": _torchvision("SVHN", 10, split=True),
    "folder": folder,
    "parquet": parquet,
    "swiss_roll": swiss_roll,
}


def prepare(source: str, root: Path, train: int | None = None, test: int | None = None, **options) -> DataSet:
    """The data set of this source; at most ``train`` and ``test`` samples of it, drawn reproducibly.

    root: the folder where raw files are sought and downloaded to. Raises DataError saying what was sought,
    where, and how to provide it.
    """
    if source not in SOURCES:
        raise DataError(f"no data source {source!r}; there are {', '.join(SOURCES)}")
    return SOURCES[source](Path(root), **options).subset(train, test, source)
