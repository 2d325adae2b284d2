"""The papers' image sets, through torchvision: downloaded on first use, its checksums verified."""

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gramlab.data.checks import whole
from gramlab.data.dataset import DataError, DataSet
from gramlab.data.images import decode, stack
from gramlab.data.select import Select, check_classes


def mnist(root: Path) -> DataSet:
    """MNIST, 60,000 + 10,000 grey 28 x 28 digits."""
    from torchvision import datasets

    home = _home(root, "mnist")
    for file in sorted((home / "MNIST" / "raw").glob("*-ubyte")):
        _whole_idx(file)  # torchvision verifies the archives, and of what it unpacked only that it is there
    return arrays(datasets.MNIST, home, "mnist", 10)


def cifar10(root: Path) -> DataSet:
    """CIFAR-10, 50,000 + 10,000 colour 32 x 32 photographs of 10 classes."""
    from torchvision import datasets

    return arrays(datasets.CIFAR10, _home(root, "cifar10"), "cifar10", 10)


def cifar100(root: Path) -> DataSet:
    """CIFAR-100, 50,000 + 10,000 colour 32 x 32 photographs of 100 classes."""
    from torchvision import datasets

    return arrays(datasets.CIFAR100, _home(root, "cifar100"), "cifar100", 100)


def svhn(root: Path) -> DataSet:
    """SVHN, 73,257 + 26,032 colour 32 x 32 cropped house-number digits; the label is the digit."""
    from torchvision import datasets

    return arrays(datasets.SVHN, _home(root, "svhn"), "svhn", 10, split=True)


def celeba(root: Path, attribute: str, size: int = 96, select: Select | None = None) -> DataSet:
    """CelebA's aligned faces, class 1 with the attribute (such as ``Eyeglasses``), 0 without. Paper B, Figure 9.

    Each 178 x 218 picture's middle square is resized to size x size (the paper doesn't print its size). ``select``
    is applied before pictures are decoded: all 162,770 + 19,962 would not fit in memory at larger sizes.
    """
    from torchvision import datasets

    return faces(datasets.CelebA, Path(root), attribute, size, select or Select())


def arrays(kind: Callable[..., Any], root: Path, name: str, classes: int, split: bool = False) -> DataSet:
    """The set that torchvision's class ``kind`` reads into arrays; ``split`` if it names its parts, as SVHN does."""
    parts: list[Tensor] = []
    for part in ("train", "test"):
        found = _read(kind, root, name, {"split": part} if split else {"train": part == "train"})
        parts.append(as_images(np.asarray(found.data)))
        parts.append(torch.as_tensor(np.asarray(found.labels if split else found.targets), dtype=torch.int64))
    return DataSet(name, *parts, classes=classes, factor=1 / 255)


def as_images(data: np.ndarray) -> Tensor:
    """Bytes (n, h, w), (n, h, w, 3) or (n, 3, h, w), as torchvision's classes keep them -> (n, channels, h, w)."""
    images = torch.from_numpy(np.ascontiguousarray(data))
    if images.ndim == 3:
        return images[:, None]
    return images.permute(0, 3, 1, 2).contiguous() if images.shape[1] != 3 and images.shape[-1] == 3 else images


def faces(kind: Callable[..., Any], root: Path, attribute: str, size: int, select: Select) -> DataSet:
    """What ``celeba`` promises, of torchvision's class ``kind``."""
    whole("celeba", "size", size)
    if select.classes is not None:
        check_classes("celeba", select.classes, 2)
    parts: list[Tensor] = []
    for part in ("train", "test"):
        found = _read(kind, root, "celeba", {"split": part, "target_type": "attr"})
        names = [name for name in found.attr_names if name]
        if attribute not in names:
            raise DataError(f"celeba: no attribute {attribute!r}; there are {', '.join(names)}")
        labels = found.attr[:, names.index(attribute)].long()
        rows = select.rows("celeba", part, labels)
        rows = torch.arange(len(labels)) if rows is None else rows
        files = [root / "celeba" / "img_align_celeba" / found.filename[row] for row in rows.tolist()]
        if not files:
            parts += [torch.zeros(0, 3, size, size, dtype=torch.uint8), labels[:0]]
            continue
        parts.append(stack([decode(file, str(file), size) for file in files], [str(file) for file in files]))
        parts.append(select.renumber(labels[rows]))
    classes = 2 if select.classes is None else len(select.classes)
    return DataSet("celeba", *parts, classes=classes, factor=1 / 255, about={"attribute": attribute})


def _home(root: Path, name: str) -> Path:
    """``root``, or its folder of this name (in just these letters) where there is one."""
    root = Path(root)
    return root / name if root.is_dir() and name in {entry.name for entry in root.iterdir()} else root


def _read(kind: Callable[..., Any], root: Path, name: str, which: dict[str, Any]) -> Any:
    try:
        return kind(root, download=True, **which)
    except Exception as error:  # torchvision lets through whatever its downloads and readers raise
        why = " ".join(str(error).split()) or type(error).__name__
        raise DataError(
            f"{name} is neither complete under {root} nor downloadable ({why}); put torchvision's files for it "
            f"there, or give the folder that holds them as root (the stage prepare: GRAMLAB_DATA)"
        ) from error


def _whole_idx(path: Path) -> None:
    """Refuse an IDX file that is shorter or longer than its header says."""
    size = path.stat().st_size
    with open(path, "rb") as file:
        head = file.read(16)
    dimensions = head[3] if len(head) > 3 else 0
    promised = -1
    if head[:3] == b"\0\0\x08" and 1 <= dimensions <= 3 and len(head) >= 4 + 4 * dimensions:
        promised = 4 + 4 * dimensions + int(np.prod(struct.unpack_from(f">{dimensions}I", head, 4)))
    if promised != size:
        says = f"its header says {promised} bytes" if promised > 0 else "it has no IDX header"
        raise DataError(f"{path}: damaged ({size} bytes, {says}); remove it, and it is unpacked or downloaded again")
