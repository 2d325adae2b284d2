"""The papers' image data sets through torchvision, which downloads them on first use and verifies checksums."""

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gramlab.data.dataset import DataError, DataSet, checked, one_line
from gramlab.data.images import read_images
from gramlab.data.subset import Subset, check_classes


def mnist(root: Path) -> DataSet:
    """MNIST: 60,000 + 10,000 grey images of digits, 28 x 28 pixels.

    Parameters
    ----------
    root : Path
        Folder of the raw files, or its parent if the folder is called ``mnist``; they are downloaded if missing.

    Returns
    -------
    DataSet
        Images (n, 1, 28, 28) of bytes, and their classes (n,).

    Raises
    ------
    DataError
        If the files are damaged, or missing and not downloadable.

    Examples
    --------
    >>> mnist("data/raw").x_train.shape  # doctest: +SKIP
    torch.Size([60000, 1, 28, 28])
    """
    from torchvision import datasets

    folder = _folder_of("mnist", root)
    for file in sorted((folder / "MNIST" / "raw").glob("*-ubyte")):
        _check_idx_size(file)  # torchvision verifies the archives, but not the files that it unpacked from them
    return read_arrays(datasets.MNIST, folder, "mnist", 10)


def cifar10(root: Path) -> DataSet:
    """CIFAR-10: 50,000 + 10,000 colour photographs of 10 classes, 32 x 32 pixels.

    Parameters
    ----------
    root : Path
        Folder of the raw files, or its parent if the folder is called ``cifar10``; they are downloaded if missing.

    Returns
    -------
    DataSet
        Images (n, 3, 32, 32) of bytes, and their classes (n,).

    Raises
    ------
    DataError
        If the files are damaged, or missing and not downloadable.

    Examples
    --------
    >>> cifar10("data/raw").x_train.shape  # doctest: +SKIP
    torch.Size([50000, 3, 32, 32])
    """
    from torchvision import datasets

    return read_arrays(datasets.CIFAR10, _folder_of("cifar10", root), "cifar10", 10)


def cifar100(root: Path) -> DataSet:
    """CIFAR-100: 50,000 + 10,000 colour photographs of 100 classes, 32 x 32 pixels.

    Parameters
    ----------
    root : Path
        Folder of the raw files, or its parent if the folder is called ``cifar100``; they are downloaded if missing.

    Returns
    -------
    DataSet
        Images (n, 3, 32, 32) of bytes, and their classes (n,).

    Raises
    ------
    DataError
        If the files are damaged, or missing and not downloadable.

    Examples
    --------
    >>> cifar100("data/raw").classes  # doctest: +SKIP
    100
    """
    from torchvision import datasets

    return read_arrays(datasets.CIFAR100, _folder_of("cifar100", root), "cifar100", 100)


def svhn(root: Path) -> DataSet:
    """SVHN: 73,257 + 26,032 colour images of house numbers, 32 x 32 pixels; the class is the digit.

    Parameters
    ----------
    root : Path
        Folder of the raw files, or its parent if the folder is called ``svhn``; they are downloaded if missing.

    Returns
    -------
    DataSet
        Images (n, 3, 32, 32) of bytes, and their classes (n,).

    Raises
    ------
    DataError
        If the files are damaged, or missing and not downloadable.

    Examples
    --------
    >>> svhn("data/raw").x_train.shape  # doctest: +SKIP
    torch.Size([73257, 3, 32, 32])
    """
    from torchvision import datasets

    return read_arrays(datasets.SVHN, _folder_of("svhn", root), "svhn", 10, names_parts=True)


def celeba(root: Path, attribute: str, size: int = 96, subset: Subset | None = None) -> DataSet:
    """CelebA: 162,770 + 19,962 aligned faces, with and without an attribute (paper B, Figure 9).

    Parameters
    ----------
    root : Path
        Folder that holds the folder ``celeba``; the files are downloaded if missing.
    attribute : str
        One of CelebA's 40 attributes, such as ``Eyeglasses``. Class 1 has it, class 0 does not.
    size : int, optional
        Side of the images in pixels: the middle square of each 178 x 218 picture is resized. The paper prints no
        size.
    subset : Subset, optional
        Which faces to read. It is applied before pictures are decoded, since all of them exceed memory at larger
        sizes.

    Returns
    -------
    DataSet
        Images (n, 3, size, size) of bytes, and their classes (n,).

    Raises
    ------
    DataError
        If an option is wrong, or files are damaged, or missing and not downloadable.

    Examples
    --------
    >>> celeba("data/raw", "Eyeglasses", subset=Subset(train=100)).x_train.shape  # doctest: +SKIP
    torch.Size([100, 3, 96, 96])
    """
    from torchvision import datasets

    return read_faces(datasets.CelebA, Path(root), attribute, size, subset or Subset())


def read_arrays(reader: Callable[..., Any], root: Path, name: str, classes: int, names_parts: bool = False) -> DataSet:
    """Read a data set with a class of torchvision that holds its images in an array.

    Parameters
    ----------
    reader : type
        For instance ``torchvision.datasets.CIFAR10``.
    root : Path
        Folder of the raw files.
    name : str
        Name of the data set.
    classes : int
        Number of classes.
    names_parts : bool, optional
        Whether the reader takes ``split="train"`` and calls the targets ``labels``, as SVHN does, instead of
        ``train=True`` and ``targets``.

    Returns
    -------
    DataSet

    Raises
    ------
    DataError
        If the files are damaged, or missing and not downloadable.

    Examples
    --------
    >>> from torchvision import datasets
    >>> read_arrays(datasets.CIFAR10, "data/raw", "cifar10", 10).classes  # doctest: +SKIP
    10
    """
    tensors: list[Tensor] = []
    for part in ("train", "test"):
        content = _open(reader, root, name, {"split": part} if names_parts else {"train": part == "train"})
        labels = content.labels if names_parts else content.targets
        tensors += [_channels_first(np.asarray(content.data)), torch.as_tensor(np.asarray(labels), dtype=torch.int64)]
    return DataSet(name, *tensors, classes=classes, factor=1 / 255)


def read_faces(reader: Callable[..., Any], root: Path, attribute: str, size: int, subset: Subset) -> DataSet:
    """Read CelebA; see `celeba`.

    Parameters
    ----------
    reader : type
        ``torchvision.datasets.CelebA``, or a subclass with other checksums.
    root, attribute, size, subset
        As for `celeba`.

    Returns
    -------
    DataSet

    Raises
    ------
    DataError
        As for `celeba`.

    Examples
    --------
    >>> from torchvision import datasets
    >>> read_faces(datasets.CelebA, "data/raw", "Smiling", 32, Subset(train=9)).classes  # doctest: +SKIP
    2
    """
    checked("celeba").integer("size", size)
    if subset.classes is not None:
        check_classes("celeba", subset.classes, 2)
    tensors: list[Tensor] = []
    for part in ("train", "test"):
        content = _open(reader, root, "celeba", {"split": part, "target_type": "attr"})
        names = [name for name in content.attr_names if name]
        checked("celeba").choice("attribute", attribute, names)
        labels = content.attr[:, names.index(attribute)].long()
        rows = subset.rows("celeba", part, labels)
        rows = torch.arange(len(labels)) if rows is None else rows
        files = [root / "celeba" / "img_align_celeba" / content.filename[row] for row in rows.tolist()]
        images = read_images(files, size) if files else torch.zeros(0, 3, size, size, dtype=torch.uint8)
        tensors += [images, subset.renumber(labels[rows])]
    classes = 2 if subset.classes is None else len(subset.classes)
    return DataSet("celeba", *tensors, classes=classes, factor=1 / 255, metadata={"attribute": attribute})


def _channels_first(data: np.ndarray) -> Tensor:
    """Bytes (n, h, w), (n, h, w, 3) or (n, 3, h, w), as torchvision holds them, as a tensor (n, channels, h, w)."""
    images = torch.from_numpy(np.ascontiguousarray(data))
    if images.ndim == 3:
        return images[:, None]
    return images.permute(0, 3, 1, 2).contiguous() if images.shape[1] != 3 and images.shape[-1] == 3 else images


def _folder_of(name: str, root: Path) -> Path:
    """The subfolder of `root` whose name has exactly these letters, or `root` if there is none."""
    root = Path(root)
    return root / name if root.is_dir() and name in {entry.name for entry in root.iterdir()} else root


def _open(reader: Callable[..., Any], root: Path, name: str, options: dict[str, Any]) -> Any:
    """Let torchvision read a data set, and turn any of its errors into a DataError."""
    try:
        return reader(root, download=True, **options)
    except Exception as error:  # torchvision passes on whatever its downloads and readers raise
        raise DataError(
            f"{name} is neither complete under {root} nor downloadable ({one_line(error)}); put torchvision's files"
            " for it there, or name their folder with the environment variable GRAMLAB_DATA"
        ) from error


def _check_idx_size(path: Path) -> None:
    """Refuse an IDX file that is shorter or longer than its header says."""
    size = path.stat().st_size
    with open(path, "rb") as file:
        header = file.read(16)
    dimensions = header[3] if len(header) > 3 else 0
    expected = -1
    if header[:3] == b"\0\0\x08" and 1 <= dimensions <= 3 and len(header) >= 4 + 4 * dimensions:
        expected = 4 + 4 * dimensions + int(np.prod(struct.unpack_from(f">{dimensions}I", header, 4)))
    if expected != size:
        reason = f"its header says {expected} bytes" if expected > 0 else "it has no IDX header"
        raise DataError(f"{path}: damaged ({size} bytes, {reason}); remove it to unpack or download it again")
