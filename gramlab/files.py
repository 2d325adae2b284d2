"""Atomic writes, file hashes, and the error for bad files and settings."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class BadInput(ValueError):
    """A file, data set or setting is missing, damaged or out of range; the message names it."""


def sha256(path: Path) -> str:
    """Return the file's SHA-256 in hexadecimal.

    Parameters
    ----------
    path : Path
        The file to read.

    Returns
    -------
    str
        64 hexadecimal digits.

    Raises
    ------
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "empty"
    >>> path.touch()
    >>> sha256(path)[:16]
    'e3b0c44298fc1c14'
    """
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """Write a file completely or not at all.

    Parameters
    ----------
    path : Path
        The file to write. Missing folders are created.

    Yields
    ------
    Path
        A temporary file in the same folder. It is synced and renamed to ``path`` on success, and removed on an error.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with atomic(folder / "notes.txt") as temporary:
    ...     _ = temporary.write_text("done")
    >>> [file.name for file in folder.iterdir()]
    ['notes.txt']
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield temporary
        with open(temporary, "rb") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
