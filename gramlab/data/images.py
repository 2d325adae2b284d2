"""A user's own images: a folder of files, or encoded images in Parquet."""

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from gramlab.data.dataset import DataError, DataSet


def stack(images: Sequence[np.ndarray], names: Sequence[str]) -> Tensor:
    """Images (h, w) or (h, w, 3) as one tensor (n, 1 or 3, h, w). Raises DataError naming one of another size."""
    for image, name in zip(images, names, strict=True):
        if image.shape != images[0].shape:
            raise DataError(f"images of several sizes: {names[0]} {images[0].shape}, {name} {image.shape}")
    made = torch.from_numpy(np.stack(images))
    return made[:, None] if made.ndim == 3 else made.permute(0, 3, 1, 2).contiguous()


def decode(content: Path | io.BytesIO, name: str, side: int | None = None) -> np.ndarray:
    """One image as (h, w) or (h, w, 3) bytes; with ``side``, its middle square resized to side x side.

    Raises DataError naming the image when it is not one, or not one of 8 bits.
    """
    from PIL import Image

    try:
        with Image.open(content) as image:
            if image.mode[0] in "IF":  # 16 or 32 bits a pixel, which a conversion would cut off at 255
                raise DataError(f"{name}: pixels of more than 8 bits ({image.mode}); convert it first")
            made = image.convert("L" if image.mode in ("1", "L") else "RGB")
            if side is not None:
                # cropped before, since a resize's filter reads beyond the edge of the box that it is given
                least = min(made.size)
                left, top = (made.width - least) // 2, (made.height - least) // 2
                square = made.crop((left, top, left + least, top + least))
                made = square.resize((side, side), Image.Resampling.BILINEAR)
            return np.asarray(made)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        # of a damaged file Pillow raises any of these
        if isinstance(error, DataError):
            raise
        raise DataError(f"{name}: not a readable image ({' '.join(str(error).split())})") from error


def folder(root: Path, path: str) -> DataSet:
    """Image files as ``path/train/CLASS/*`` and ``path/test/CLASS/*``, all of one size; relative to the data root.

    Classes are numbered in the order of their names. Hidden files are left alone.
    """
    base = Path(root, path)
    names = sorted(entry.name for entry in (base / "train").glob("*/")) if base.is_dir() else []
    if not names:
        raise DataError(f"{base}: no folder of images laid out as train/CLASS/image and test/CLASS/image")
    parts: list[Tensor] = []
    for part in ("train", "test"):
        files = sorted(file for file in (base / part).glob("*/[!.]*") if file.is_file())
        if unknown := {file.parent.name for file in files} - set(names):
            raise DataError(f"{base / part}: classes {sorted(unknown)} have no training images")
        if part == "train" and (empty := set(names) - {file.parent.name for file in files}):
            raise DataError(f"{base / part / min(empty)}: no images in it")
        if files:
            parts.append(stack([decode(file, str(file)) for file in files], [str(file) for file in files]))
            parts.append(torch.tensor([names.index(file.parent.name) for file in files]))
        else:
            parts += [parts[0][:0], parts[1][:0]]
    _same_size(base, parts[0], parts[2])
    return DataSet(path, *parts, classes=len(names), factor=1 / 255, about={"classes": names})


def parquet(root: Path, path: str, image: str = "image", label: str = "label") -> DataSet:
    """Encoded images in Parquet: ``path/*train*.parquet``, if need be ``*test*.parquet``, an image and a label column.

    An image cell holds the bytes of a PNG or JPEG file, or a struct with a field ``bytes``; a label is a whole
    number from 0. The number of classes is the largest training label and one.
    """
    base = Path(root, path)
    found = {part: sorted(base.glob(f"*{part}*.parquet")) for part in ("train", "test")}
    if both := set(found["train"]) & set(found["test"]):
        raise DataError(f"{min(both)}: is it for training or for testing? Its name says both")
    parts: list[Tensor] = []
    for part, files in found.items():
        if not files and part == "test":  # as of a folder of images
            parts += [parts[0][:0], parts[1][:0]]
            continue
        if not files:
            raise DataError(f"{base}: no *{part}*.parquet with images")
        images: list[np.ndarray] = []
        names: list[str] = []
        labels: list[int] = []
        for file in files:
            cells, of_file = _columns(file, image, label)
            labels += of_file
            for row, cell in enumerate(cells):
                names.append(f"{file} row {row}")
                encoded = cell["bytes"] if isinstance(cell, dict) and "bytes" in cell else cell
                if not isinstance(encoded, bytes):
                    raise DataError(f"{names[-1]}: column {image} holds no image file's bytes")
                images.append(decode(io.BytesIO(encoded), names[-1]))
        if not images:
            raise DataError(f"{files[0]}: no rows")
        parts += [stack(images, names), torch.tensor(labels, dtype=torch.int64)]
    _same_size(base, parts[0], parts[2])
    return DataSet(path, *parts, classes=int(parts[1].max()) + 1, factor=1 / 255)


def _columns(file: Path, image: str, label: str) -> tuple[list, list[int]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        have = pq.read_schema(file).names
        if missing := [name for name in (image, label) if name not in have]:
            raise DataError(f"{file}: no column {', '.join(missing)}; it has {', '.join(have)}")
        content = pq.read_table(file, columns=[image, label])
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"{file}: not a readable Parquet file of images ({' '.join(str(error).split())})") from error
    labels = content[label].to_pylist()
    if odd := [row for row, value in enumerate(labels) if not isinstance(value, int) or value < 0]:
        raise DataError(f"{file} row {odd[0]}: {label} must be a whole number from 0, not {labels[odd[0]]!r}")
    return content[image].to_pylist(), labels


def _same_size(base: Path, train: Tensor, test: Tensor) -> None:
    if train.shape[1:] != test.shape[1:]:
        sizes = [tuple(part.shape[1:]) for part in (train, test)]
        raise DataError(f"{base}: images of several sizes: {sizes[0]} to train, {sizes[1]} to test")
