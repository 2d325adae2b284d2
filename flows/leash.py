"""Run a command whose whole process group ends with whoever started it, however that one ends.

``python leash.py COMMAND...`` gives the command a session of its own and holds standard input as the leash: once
it closes (the owner closed it, crashed, or was killed), the group is interrupted, then terminated, then killed.
`Crew` is the owner's side of it.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

GRACE = ((signal.SIGINT, 5.0), (signal.SIGTERM, 2.0), (signal.SIGKILL, 1.0))  # an interrupted DVC frees its locks


class Crew:
    """Running commands of one owner; none of their processes is left once it is closed."""

    def __init__(self, root: Path):
        self.root, self.closed = root, False
        self.processes: set[subprocess.Popen[str]] = set()
        self.lock = threading.Lock()

    def run(self, command: list[str], env: dict[str, str], say: Callable[[str], None], seconds: float | None) -> int:
        """Run one command to its end, or for at most so many seconds; its exit status."""
        leashed = [sys.executable, "-IS", __file__, *command]
        pipe = subprocess.PIPE
        with self.lock:
            if self.closed:
                raise InterruptedError("the run is ending")
            process = subprocess.Popen(
                leashed, cwd=self.root, env={**os.environ, **env}, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT,
                text=True, errors="replace", start_new_session=True,
            )  # fmt: skip
            self.processes.add(process)
        timer = threading.Timer(seconds or threading.TIMEOUT_MAX, release, [process])
        timer.daemon = True
        timer.start()
        try:
            for line in process.stdout or ():
                if line.strip():
                    say(line.rstrip())
            return process.wait()
        finally:
            timer.cancel()
            release(process)
            process.wait()
            self.processes.discard(process)

    def close(self) -> None:
        """End all of them and start no more."""
        with self.lock:
            self.closed = True
            for process in self.processes.copy():
                release(process)


def release(process: "subprocess.Popen[str]") -> None:
    """Let go of the leash."""
    if process.stdin:
        process.stdin.close()


def end(group: int) -> None:
    """End every process of the group."""
    for kind, seconds in GRACE:
        until = time.monotonic() + seconds
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, kind)
            while time.monotonic() < until:
                os.killpg(group, 0)
                time.sleep(0.05)


def main(command: list[str]) -> int:
    """Run the command; its exit status."""
    for kind in (signal.SIGINT, signal.SIGTERM):
        signal.signal(kind, lambda *_: None)  # not SIG_IGN, which the command would inherit
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)

    def watch() -> None:
        while os.read(0, 1):
            pass
        end(process.pid)

    threading.Thread(target=watch, daemon=True).start()
    status = process.wait()
    end(process.pid)
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
