"""Checks of the arguments of a recorder."""

import math
import os
from collections.abc import Iterable, Mapping
from numbers import Real
from pathlib import Path
from typing import Any

from torch import nn

from gramlab import tables
from gramlab.arguments import Check
from gramlab.measures.arrays import Array, as_number
from gramlab.measures.batches import Data, iterate_batches
from gramlab.measures.preserve_state import preserved_state

WRITERS: dict[Path, object] = {}  # for each table that a recorder of this process wrote, which recorder it was


def check_not_written(path: Path, writer: object) -> None:
    """Raise ValueError if another recorder of this process has written the table, which would be lost."""
    if path.exists() and WRITERS.get(path.resolve(), writer) is not writer:
        raise ValueError(
            f"{path} has the table of another recorder, which this program made for the same path: give each recorder"
            " a path of its own. If this recorder has measured already, set recorder.path to another file and call"
            " write() again"
        )


def check_resumption(initial: Any, accumulate: bool) -> None:
    """Raise ValueError for what a table does not hold: the initial weights and the accumulated matrices."""
    if initial is None or accumulate:
        raise ValueError(
            "resume=True needs initial=, the weights before the first step, and accumulate=False: the table does not"
            " hold the accumulated matrices"
        )


def check_same_labels(rows: Iterable[Mapping[str, Any]], labels: Mapping[str, Any], path: Path) -> None:
    """Raise ValueError for a table of another run, with which one file would have two runs."""
    for row in rows:
        if others := [f"{name} {row[name]!r}, not {value!r}" for name, value in labels.items() if row[name] != value]:
            raise ValueError(
                f"{path} has rows of {', '.join(others)}: resume=True goes on with one run, whose labels stay"
            )


def check_step(step: Any, last: int | None) -> None:
    """Raise ValueError unless ``step`` is a whole number of at least 0, and no earlier than the last measured step."""
    Check(ValueError).integer("step", step, minimum=0)
    if last is not None and step < last:
        raise ValueError(f"step {step} comes before step {last}, which is measured: steps are measured in their order")


def check_every(every: Any) -> None:
    """Raise ValueError unless ``every`` is a whole number of at least 1."""
    Check(ValueError).integer("every", every)


def checked_steps(at: Any) -> frozenset[int]:
    """Return the steps to measure at, also those of an array. Raises ValueError unless they are whole numbers."""
    try:
        steps = list(at)
    except TypeError as error:
        raise ValueError(f"at must be a sequence of steps, not {at!r}") from error
    # as numbers, since a set finds no tensor equal to a step
    check = Check(ValueError, whole=Real)
    return frozenset(check.integer("a step of at", as_number(step), minimum=0) for step in steps)


def check_path(path: Path, resume: bool) -> None:
    """Raise ValueError for a folder, for a file that cannot be made, and for a table that would be lost."""
    try:
        # the table is written under the second name first (gramlab.files.atomic)
        is_folder = path.is_dir() or path.with_name(f".{path.name}.{os.getpid()}.part").is_dir()
    except OSError as error:  # the name is too long
        raise ValueError(f"{path} cannot be written: {error.strerror}") from error
    if is_folder:
        raise ValueError(f"path is the folder {str(path)!r}: name the Parquet file to write in it")
    if path.exists() and not resume:
        raise ValueError(
            f"{path} exists: resume=True goes on from its last step; for a new table give another path, or delete it"
        )
    folder = next(parent for parent in path.absolute().parents if parent.exists())
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise ValueError(f"{path} cannot be written: {folder} is no folder in which you may write")


def check_labels(labels: Mapping[str, Any]) -> None:
    """Raise ValueError for labels that the table cannot hold, such as a seed beyond int32."""
    Check(ValueError).integer("seed", labels["seed"], minimum=-math.inf)  # pyarrow would cut the digits of 0.5
    tables.table([{**labels, "step": 0, "quantity": "loss", "value": 0.0}])


def has_targets(model: nn.Module, x: Data, y: Array | None, batch_size: int) -> bool:
    """Return whether targets come as ``y``, or with the first batch."""
    if y is not None:
        return True
    with preserved_state(model, x):
        return next(iterate_batches(model, x, None, None, batch_size)).targets is not None
