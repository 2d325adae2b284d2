"""Files of an earlier report that the present one no longer makes."""

from collections.abc import Iterable
from pathlib import Path


def remove_others(folder: Path, names: Iterable[str]) -> None:
    """Remove the files of a folder that have other names; a folder in it, such as Jupyter's, stays."""
    kept = set(names)
    for path in folder.glob("*"):  # none if there is no such folder
        if path.name not in kept and not path.is_dir():
            path.unlink()
