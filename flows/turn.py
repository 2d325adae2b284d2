"""One flow at a time in a clone: a second flow waits for the first.

The operating system frees the lock when its holder ends or is killed. DVC identifies its users by process number, which
means nothing on another machine, so a flow refuses a clone that another machine uses.
"""

import fcntl
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from socket import gethostname
from typing import BinaryIO

FILE = Path(".dvc", "tmp", "flow")
_taken: set[Path] = set()  # by this process


class OtherMachine(RuntimeError):
    """The one-line message that another machine uses this clone, or that nobody may read it or write to it."""


@contextmanager
def turn(root: Path, say: Callable[[str], None]) -> Iterator[None]:
    """Wait until no other flow runs in this clone, and keep others waiting for the length of the block.

    Parameters
    ----------
    root : Path
        The clone.
    say : callable
        Receives a line if the flow has to wait.

    Raises
    ------
    OtherMachine
        If another machine uses the clone, or died without releasing it, or if the clone cannot be read or written to.
    """
    path = root.resolve() / FILE
    try:
        is_clone = (root / ".dvc").is_dir()
    except OSError as error:  # a name that is too long, or a folder that nobody may read
        raise OtherMachine(f"{root}: {error.strerror}") from error
    if path in _taken or not is_clone:
        yield
        return
    has_said = False
    while (file := _try_lock(path)) is None:
        _refuse_other_machine(path)
        if not has_said:
            say(f"waits for the flow that runs in this clone: {_holder(path)}")
            has_said = True
        time.sleep(0.2)
    with file:
        _refuse_other_machine(path)
        holder = {
            "host": gethostname(),
            "process": os.getpid(),
            "command": " ".join(sys.argv[1:]),
            "since": time.time(),
        }
        _write(file, holder)
        _taken.add(path)
        try:
            yield
        finally:
            _taken.discard(path)
            _write(file, {})


def _try_lock(path: Path) -> BinaryIO | None:
    """The file with the lock on it; None if another process has the lock.

    Each call opens the file anew, because somebody may have deleted it: a lock on a deleted file keeps nobody waiting.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("ab", buffering=0)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            raise
    except BlockingIOError:
        return None
    except OSError as error:  # also of a file system without locks
        raise OtherMachine(f"{path}: {error.strerror}; a flow needs a clone that it may write to") from error
    return file


def _refuse_other_machine(path: Path) -> None:
    if _read(path).get("host", gethostname()) != gethostname():
        raise OtherMachine(
            f"{_holder(path)} uses this clone, and DVC's locks hold on one machine only; give each machine a clone, "
            f"or delete {FILE} if that flow has ended"
        )


def _read(path: Path) -> dict[str, str]:
    try:
        return dict(json.loads(path.read_text() or "{}"))
    except (OSError, ValueError):  # torn by a kill
        return {}


def _write(file: BinaryIO, holder: dict[str, object]) -> None:
    """Write into the file itself, because a new file would not hold the lock."""
    with suppress(OSError):  # on a full disk the lock holds without the holder's name
        file.truncate(0)
        file.write(json.dumps(holder).encode())


def _holder(path: Path) -> str:
    """A text that names the holder."""
    holder = _read(path)
    if not holder:
        return "one that has just begun"
    since = time.strftime("%H:%M", time.localtime(float(holder["since"])))
    command = f" ({holder['command']})" if holder["command"] else ""
    return f"process {holder['process']} on {holder['host']}{command}, since {since}"
