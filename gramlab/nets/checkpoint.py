"""Checkpoints of a training: written atomically, with checksums; the last two are kept."""

import hashlib
import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from gramlab.files import BadInput, atomic, sha256

VERSION = 3
log = logging.getLogger("gramlab")


class CheckpointError(BadInput):
    """A checkpoint belongs to another training or another version, or cannot be read or written.

    Examples
    --------
    >>> raise CheckpointError("step-000000004.safetensors: version 1, this is version 3")
    Traceback (most recent call last):
        ...
    gramlab.nets.checkpoint.CheckpointError: step-000000004.safetensors: version 1, this is version 3
    """


def write(path: Path, tensors: dict[str, Tensor], metadata: dict[str, Any] | None = None) -> None:
    """Write tensors to a safetensors file, atomically.

    Parameters
    ----------
    path : Path
    tensors : dict of str to Tensor
    metadata : dict, optional
        In JSON's types.

    Raises
    ------
    CheckpointError
        If the file cannot be written, for instance because the disk is full.

    Examples
    --------
    >>> import tempfile, torch
    >>> from safetensors.torch import load_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(Path(folder, "weights.safetensors"), {"W": torch.ones(2)})
    ...     load_file(Path(folder, "weights.safetensors"))
    {'W': tensor([1., 1.])}
    """
    # contiguous, since a tensor can be an expanded view, and save_file refuses shared memory
    contiguous = {key: value.detach().cpu().contiguous() for key, value in tensors.items()}
    try:
        with atomic(path) as temporary:
            save_file(contiguous, temporary, {"about": json.dumps(metadata)} if metadata else None)
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"{path}: not written ({error})") from error


def save(folder: Path, step: int, tensors: dict[str, Tensor], metadata: dict[str, Any]) -> None:
    """Write the state before a step, and delete all but the last two checkpoints.

    The checksum is written last, so a checkpoint without one is incomplete.

    Parameters
    ----------
    folder : Path
    step : int
        Number of the next step.
    tensors : dict of str to Tensor
    metadata : dict
        In JSON's types.

    Raises
    ------
    CheckpointError
        If the files cannot be written; the earlier checkpoints are still there.

    Examples
    --------
    >>> import tempfile, torch
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(Path(folder), 7, {"W": torch.ones(2)}, {"seeds": 1})
    ...     _, tensors, metadata = newest(Path(folder))
    >>> metadata["step"], tensors
    (7, {'W': tensor([1., 1.])})
    """
    path = folder / f"step-{step:09d}.safetensors"
    write(path, tensors, {"version": VERSION, "step": step, **metadata})
    try:
        with atomic(path.with_suffix(".sha256")) as temporary:
            temporary.write_text(sha256(path))
    except OSError as error:
        path.unlink()
        raise CheckpointError(f"{path}: its checksum was not written ({error})") from error
    for old in sorted(folder.glob("step-*.safetensors"))[:-2]:
        old.unlink()
        old.with_suffix(".sha256").unlink(missing_ok=True)


def newest(folder: Path) -> tuple[Path, dict[str, Tensor], dict[str, Any]] | None:
    """Read the newest undamaged checkpoint; a damaged newer one is named in the log.

    Parameters
    ----------
    folder : Path

    Returns
    -------
    tuple of Path, dict of str to Tensor, and dict; or None if there is no checkpoint
        The file, its tensors, and its metadata with the ``step`` and the ``version``.

    Raises
    ------
    CheckpointError
        If there are checkpoints but all are damaged (a silent restart would hide this), or the newest one has
        another version.

    Examples
    --------
    >>> print(newest(Path("no such folder")))
    None
    """
    files = sorted(folder.glob("step-*.safetensors"), reverse=True)
    finished = [file for file in files if file.with_suffix(".sha256").exists()]
    for path in finished:
        if sha256(path) == path.with_suffix(".sha256").read_text():
            with safe_open(path, "pt") as file:
                metadata = json.loads(file.metadata()["about"])
                if metadata["version"] != VERSION:
                    raise CheckpointError(f"{path}: version {metadata['version']}, this is version {VERSION}")
                return path, {key: file.get_tensor(key) for key in file.keys()}, metadata  # noqa: SIM118
        log.warning("checkpoint %s is damaged; using the one before it", path)
    if finished:
        raise CheckpointError(f"{folder}: every checkpoint is damaged; remove the folder to train anew")
    return None


def content_hash(tensors: Mapping[str, Tensor], *others: Any) -> str:
    """SHA-256 of tensors with their names, types and shapes, and of other values by their representations.

    Parameters
    ----------
    tensors : mapping of str to Tensor
    *others
        Such as the number of classes.

    Returns
    -------
    str
        64 hexadecimal digits.

    Examples
    --------
    >>> content_hash({"x": Tensor([1.0])}, 10) == content_hash({"x": Tensor([1.0])}, 2)
    False
    """
    digest = hashlib.sha256(repr(others).encode())
    for name, tensor in tensors.items():
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(memoryview(tensor.cpu().contiguous().numpy()))  # type: ignore[arg-type]
    return digest.hexdigest()
