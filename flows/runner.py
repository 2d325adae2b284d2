"""Starts the programs of stages and passes on what they print; none of their processes outlives the flow."""

import contextlib
import json
import os
import shlex
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from dvc.stage import PipelineStage

# what takes long to import and most stages import
LIBRARIES = (
    "torch", "pyarrow.parquet", "pandas", "scipy.stats", "sklearn.base", "safetensors.torch", "matplotlib.figure",
    "matplotlib.backends.backend_svg", "seaborn", "pydantic", "yaml", "rich.progress", "hypothesis",
)  # fmt: skip


class Runner:
    """Programs of one project; `flows.forkserver` starts them."""

    def __init__(self, root: Path, threads: int, libraries: tuple[str, ...]):
        self.root = root
        # the libraries read these when they are loaded; as in tasks/stage.py
        environment = {f"{library}_NUM_THREADS": str(threads) for library in ("OMP", "OPENBLAS", "MKL")}
        environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
        self.lock, self.closed = threading.Lock(), False
        self.leashes: set[socket.socket] = set()
        self.requests, theirs = socket.socketpair()
        with theirs:
            self.server = subprocess.Popen(
                [sys.executable, "-m", "flows.forkserver", *libraries], cwd=Path(__file__).parent.parent,
                stdin=theirs.fileno(), stdout=subprocess.DEVNULL, env={**os.environ, **environment},
                start_new_session=True,
            )  # fmt: skip

    def run_stage(
        self, stage: PipelineStage, environment: Mapping[str, str], say: Callable[[str], None], seconds: float | None
    ) -> int:
        """Run a stage's commands until one fails; its exit status."""
        address = f"{Path(stage.path_in_repo).as_posix()}:{stage.name}"
        environment = {"DVC_ROOT": str(self.root), "DVC_STAGE": address, **environment}  # as DVC does
        for command in [stage.cmd] if isinstance(stage.cmd, str) else stage.cmd:
            if status := self.run(command, environment, say, seconds):
                return status
        return 0

    def run(
        self, command: str, environment: Mapping[str, str], say: Callable[[str], None], seconds: float | None = None
    ) -> int:
        """Run one command to its end, or for at most so many seconds; its exit status.

        ``python -m MODULE ARGUMENTS`` runs in a copy of the process that has loaded the libraries, anything else in a
        shell.
        """
        words = shlex.split(command)
        plain = words[:2] == ["python", "-m"] and shlex.join(words) == command
        request = {
            "folder": str(self.root), "environment": dict(environment), "command": command,
            "module": words[2] if plain else None, "arguments": words[3:],
        }  # fmt: skip
        leash, theirs = socket.socketpair()
        source, output = os.pipe()
        with leash, open(source, errors="replace") as lines:
            try:
                with self.lock:
                    if self.closed:
                        raise InterruptedError("the run is ending")
                    socket.send_fds(self.requests, [json.dumps(request).encode()], [output, theirs.fileno()])
                    self.leashes.add(leash)
            finally:
                theirs.close()
                os.close(output)
            timer = threading.Timer(seconds or threading.TIMEOUT_MAX, release, [leash])
            timer.daemon = True
            timer.start()
            try:
                for line in lines:
                    if line.strip():
                        say(line.rstrip())
                return int(leash.recv(16) or 255)
            finally:
                timer.cancel()
                self.leashes.discard(leash)

    def close(self) -> None:
        """End all programs and start no more."""
        with self.lock:
            self.closed = True
            for leash in self.leashes.copy():
                release(leash)
            self.requests.close()


def release(leash: socket.socket) -> None:
    """Have the supervisor end its program."""
    with contextlib.suppress(OSError):
        leash.shutdown(socket.SHUT_WR)
