"""Checkpoints: whole, checksummed, the last two kept."""

import json
import logging
from pathlib import Path

from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from gramlab.files import BadInput, atomic, sha256

VERSION = 1
log = logging.getLogger("gramlab")


class CheckpointError(BadInput):
    """A checkpoint belongs to another run, another version, or is damaged beyond use."""


def save(folder: Path, epoch: int, tensors: dict[str, Tensor], about: dict) -> None:
    """Write the state after ``epoch``; its checksum is written last, so a file without one was never finished."""
    path = folder / f"epoch-{epoch:06d}.safetensors"
    with atomic(path) as temporary:
        save_file(
            {key: value.detach().cpu().contiguous() for key, value in tensors.items()},
            temporary,
            {"about": json.dumps({"version": VERSION, "epoch": epoch, **about})},
        )
    with atomic(path.with_suffix(".sha256")) as temporary:
        temporary.write_text(sha256(path))
    for old in sorted(folder.glob("epoch-*.safetensors"))[:-2]:
        old.unlink()
        old.with_suffix(".sha256").unlink(missing_ok=True)


def newest(folder: Path) -> tuple[dict[str, Tensor], dict] | None:
    """The newest checkpoint that is whole, (tensors, about), or None where there is none at all.

    A damaged one is named in the log and the one before it used. Raises CheckpointError when files are there
    but none is whole: training silently from the beginning would hide the damage.
    """
    files = sorted(folder.glob("epoch-*.safetensors"), reverse=True)
    finished = [file for file in files if file.with_suffix(".sha256").exists()]
    for path in finished:
        if sha256(path) == path.with_suffix(".sha256").read_text():
            with safe_open(path, "pt") as file:
                about = json.loads(file.metadata()["about"])
                if about["version"] != VERSION:
                    raise CheckpointError(f"{path}: version {about['version']}, this is version {VERSION}")
                return {key: file.get_tensor(key) for key in file.keys()}, about  # noqa: SIM118
        log.warning("checkpoint %s is damaged; using the one before it", path)
    if finished:
        raise CheckpointError(f"{folder}: every checkpoint is damaged; remove the folder to train anew")
    return None
