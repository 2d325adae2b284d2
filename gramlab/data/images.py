"""A user's own images: a folder of image files, or encoded images in Parquet."""

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from gramlab.data.dataset import DataError, DataSet, checked, one_line


def stack_images(images: Sequence[np.ndarray], names: Sequence[str]) -> Tensor:
    """Stack images of one size.

    Parameters
    ----------
    images : sequence of ndarray of shape (h, w) or (h, w, 3)
    names : sequence of str
        Where each image comes from, for error messages.

    Returns
    -------
    Tensor of shape (n, 1, h, w) or (n, 3, h, w)

    Raises
    ------
    DataError
        If an image has another size than the first one.

    Examples
    --------
    >>> import numpy as np
    >>> stack_images([np.zeros((4, 5), np.uint8)] * 2, ["first", "second"]).shape
    torch.Size([2, 1, 4, 5])
    """
    for image, name in zip(images, names, strict=True):
        if image.shape != images[0].shape:
            raise DataError(f"images of several sizes: {names[0]} {images[0].shape}, {name} {image.shape}")
    stacked = torch.from_numpy(np.stack(images))
    return stacked[:, None] if stacked.ndim == 3 else stacked.permute(0, 3, 1, 2).contiguous()


def decode_image(content: Path | io.BytesIO, name: str, side: int | None = None) -> np.ndarray:
    """Decode one image.

    Parameters
    ----------
    content : Path or BytesIO
        An image file, or its bytes.
    name : str
        Where it comes from, for error messages.
    side : int, optional
        If given, the middle square of the image is resized to side x side pixels.

    Returns
    -------
    ndarray of bytes of shape (h, w) for grey images or (h, w, 3) for colour images

    Raises
    ------
    DataError
        If it is not a readable image with 8 bits per pixel and channel.

    Examples
    --------
    >>> import io
    >>> from PIL import Image
    >>> file = io.BytesIO()
    >>> Image.new("L", (5, 4)).save(file, "PNG")
    >>> decode_image(file, "black").shape
    (4, 5)
    """
    from PIL import Image

    try:
        with Image.open(content) as opened:
            if opened.mode[0] in "IF":  # 16 or 32 bits, which a conversion would cut off at 255
                raise DataError(f"{name}: pixels of more than 8 bits ({opened.mode}); convert it first")
            image = opened.convert("L" if opened.mode in ("1", "L") else "RGB")
            if side is not None:
                # cropped first, since the filter of `resize` reads beyond the edges of a box that it is given
                length = min(image.size)
                left, top = (image.width - length) // 2, (image.height - length) // 2
                square = image.crop((left, top, left + length, top + length))
                image = square.resize((side, side), Image.Resampling.BILINEAR)
            return np.asarray(image)
    except DataError:
        raise
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:  # Pillow raises any of these
        raise DataError(f"{name}: not a readable image ({one_line(error)})") from error


def read_images(files: Sequence[Path], side: int | None = None) -> Tensor:
    """Read image files of one size.

    Parameters
    ----------
    files : sequence of Path
    side : int, optional
        If given, the middle square of each image is resized to side x side pixels.

    Returns
    -------
    Tensor of bytes of shape (n, channels, h, w)

    Raises
    ------
    DataError
        If a file is not a readable image, or the sizes differ.

    Examples
    --------
    >>> import tempfile
    >>> from PIL import Image
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "black.png")
    ...     Image.new("RGB", (6, 4)).save(file)
    ...     read_images([file, file], side=2).shape
    torch.Size([2, 3, 2, 2])
    """
    names = [str(file) for file in files]
    return stack_images([decode_image(file, name, side) for file, name in zip(files, names, strict=True)], names)


def folder(root: Path, path: str) -> DataSet:
    """Image files in folders ``path/train/CLASS`` and ``path/test/CLASS``, all of one size.

    Parameters
    ----------
    root : Path
    path : str
        Relative to `root`, or absolute. Hidden files are ignored, and the test folder may be missing.

    Returns
    -------
    DataSet
        Images (n, channels, h, w) of bytes, and their classes (n,), numbered in the order of their names.

    Raises
    ------
    DataError
        If there are no images, a file is not an image, the sizes differ, or a class has no training images.

    Examples
    --------
    >>> import tempfile
    >>> from PIL import Image
    >>> with tempfile.TemporaryDirectory() as root:
    ...     for name in ("cat", "dog"):
    ...         Path(root, "pets/train", name).mkdir(parents=True)
    ...         Image.new("L", (6, 4)).save(Path(root, "pets/train", name, "first.png"))
    ...     folder(root, "pets").metadata
    {'classes': ['cat', 'dog']}
    """
    base = Path(root, path)
    classes = sorted(entry.name for entry in (base / "train").glob("*/")) if base.is_dir() else []
    if not classes:
        raise DataError(f"{base}: no folder of images laid out as train/CLASS/image and test/CLASS/image")
    tensors: list[Tensor] = []
    for part in ("train", "test"):
        files = sorted(file for file in (base / part).glob("*/[!.]*") if file.is_file())
        if unknown := {file.parent.name for file in files} - set(classes):
            raise DataError(f"{base / part}: classes {sorted(unknown)} have no training images")
        if part == "train" and (empty := set(classes) - {file.parent.name for file in files}):
            raise DataError(f"{base / part / min(empty)}: no images in it")
        if files:
            tensors += [read_images(files), torch.tensor([classes.index(file.parent.name) for file in files])]
    return _image_set(base, path, tensors, len(classes), {"classes": classes})


def parquet(root: Path, path: str, image: str = "image", label: str = "label") -> DataSet:
    """Encoded images in Parquet files ``path/*train*.parquet`` and ``path/*test*.parquet``.

    Parameters
    ----------
    root : Path
    path : str
        Relative to `root`, or absolute. Test files may be missing.
    image : str, optional
        Column of images. A cell holds the bytes of a PNG or JPEG file, or a struct with a field ``bytes``.
    label : str, optional
        Column of classes, whole numbers from 0.

    Returns
    -------
    DataSet
        Images (n, channels, h, w) of bytes, and their classes (n,). The number of classes is the largest training
        label plus 1.

    Raises
    ------
    DataError
        If a file or a column is missing or damaged, or the image sizes differ.

    Examples
    --------
    >>> import io, tempfile
    >>> import pandas as pd
    >>> from PIL import Image
    >>> file = io.BytesIO()
    >>> Image.new("L", (6, 4)).save(file, "PNG")
    >>> with tempfile.TemporaryDirectory() as root:
    ...     table = pd.DataFrame({"image": [file.getvalue()] * 3, "label": [0, 1, 1]})
    ...     table.to_parquet(Path(root, "train.parquet"))
    ...     parquet(root, ".").y_train
    tensor([0, 1, 1])
    """
    base = Path(root, path)
    files = {part: sorted(base.glob(f"*{part}*.parquet")) for part in ("train", "test")}
    if ambiguous := set(files["train"]) & set(files["test"]):
        raise DataError(f"{min(ambiguous)}: its name says both train and test")
    if not files["train"]:
        raise DataError(f"{base}: no *train*.parquet with images")
    tensors: list[Tensor] = []
    for part_files in filter(None, files.values()):
        images: list[np.ndarray] = []
        names: list[str] = []
        labels: list[int] = []
        for file in part_files:
            cells, file_labels = _read_columns(file, image, label)
            labels += file_labels
            for row, cell in enumerate(cells):
                names.append(f"{file} row {row}")
                encoded = cell["bytes"] if isinstance(cell, dict) and "bytes" in cell else cell
                if not isinstance(encoded, bytes):
                    raise DataError(f"{names[-1]}: column {image} does not hold the bytes of an image file")
                images.append(decode_image(io.BytesIO(encoded), names[-1]))
        if not images:
            raise DataError(f"{part_files[0]}: no rows")
        tensors += [stack_images(images, names), torch.tensor(labels, dtype=torch.int64)]
    return _image_set(base, path, tensors, int(tensors[1].max()) + 1, {})


def _read_columns(file: Path, image: str, label: str) -> tuple[list, list[int]]:
    """The image cells and the labels of a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        columns = pq.read_schema(file).names
        checked(f"{file}").choices("columns", (image, label), columns)
        table = pq.read_table(file, columns=[image, label])
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"{file}: not a readable Parquet file of images ({one_line(error)})") from error
    labels = table[label].to_pylist()
    for row, value in enumerate(labels):
        if not isinstance(value, int) or value < 0:
            checked(f"{file} row {row}").integer(label, value, minimum=0)
    return table[image].to_pylist(), labels


def _image_set(base: Path, name: str, tensors: list[Tensor], classes: int, metadata: dict) -> DataSet:
    """A data set of bytes from training images and labels and, if there are any, test images and labels."""
    x_train, y_train, x_test, y_test = tensors if len(tensors) == 4 else [*tensors, *(part[:0] for part in tensors)]
    if x_train.shape[1:] != x_test.shape[1:]:
        sizes = [tuple(part.shape[1:]) for part in (x_train, x_test)]
        raise DataError(f"{base}: images of several sizes: {sizes[0]} to train, {sizes[1]} to test")
    return DataSet(name, x_train, y_train, x_test, y_test, classes=classes, factor=1 / 255, metadata=metadata)
