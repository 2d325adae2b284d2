"""Checkpoints: whole, checksummed, the last two kept."""

import json
import logging
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from gramlab.files import BadInput, atomic, sha256

VERSION = 3
log = logging.getLogger("gramlab")


class CheckpointError(BadInput):
    """A checkpoint belongs to another run, another version, or cannot be read or written."""


def write(path: Path, tensors: dict[str, Tensor], about: dict[str, Any] | None = None) -> None:
    """Write tensors to a file, whole or not at all. Raises CheckpointError naming it, for instance on a full disk."""
    # a tensor may be an expanded view, and save_file wants no memory twice
    kept = {key: value.detach().cpu().contiguous() for key, value in tensors.items()}
    try:
        with atomic(path) as temporary:
            save_file(kept, temporary, {"about": json.dumps(about)} if about else None)
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"{path}: not written ({error})") from error


def save(folder: Path, step: int, tensors: dict[str, Tensor], about: dict[str, Any]) -> None:
    """Write the state before ``step``; its checksum is written last, so a file without one was never finished."""
    path = folder / f"step-{step:09d}.safetensors"
    write(path, tensors, {"version": VERSION, "step": step, **about})
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
    """The newest checkpoint that is whole, (path, tensors, about), or None where there is none at all.

    A damaged one is named in the log and the one before it used. Raises CheckpointError when files are there
    but none is whole: training silently from the beginning would hide the damage.
    """
    files = sorted(folder.glob("step-*.safetensors"), reverse=True)
    finished = [file for file in files if file.with_suffix(".sha256").exists()]
    for path in finished:
        if sha256(path) == path.with_suffix(".sha256").read_text():
            with safe_open(path, "pt") as file:
                about = json.loads(file.metadata()["about"])
                if about["version"] != VERSION:
                    raise CheckpointError(f"{path}: version {about['version']}, this is version {VERSION}")
                return path, {key: file.get_tensor(key) for key in file.keys()}, about  # noqa: SIM118
        log.warning("checkpoint %s is damaged; using the one before it", path)
    if finished:
        raise CheckpointError(f"{folder}: every checkpoint is damaged; remove the folder to train anew")
    return None
