"""Starts the programs of stages and passes on what they print; none of their processes outlives the flow.

A program is a copy of a process that has loaded the libraries, or a shell. Its supervisor holds one end of a pipe, the
leash. The supervisor ends the program's process group when the program ends, when the flow closes the leash, or when
the flow dies.
"""

import contextlib
import gc
import multiprocessing
import os
import runpy
import shlex
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from multiprocessing import forkserver, spawn
from multiprocessing.connection import Connection
from pathlib import Path

# what takes long to import and most stages import; none of the project's own modules, which may change meanwhile
LIBRARIES = (
    "torch", "pyarrow.parquet", "pandas", "scipy.stats", "sklearn.base", "safetensors.torch", "matplotlib.figure",
    "matplotlib.backends.backend_svg", "seaborn", "pydantic", "yaml", "rich.progress", "hypothesis",
)  # fmt: skip
GRACE = ((signal.SIGINT, 5.0), (signal.SIGTERM, 2.0), (signal.SIGKILL, 1.0))
Say = Callable[[str], None]

prepare = spawn.get_preparation_data
# multiprocessing would import the flow, and Prefect with it, into each program
spawn.get_preparation_data = lambda name: {k: v for k, v in prepare(name).items() if not k.startswith("init_main")}


class Runner:
    """The programs of one project; ``libraries`` are loaded once for all."""

    def __init__(self, root: Path, threads: int, libraries: tuple[str, ...]):
        self.root, self.lock, self.closed = root, threading.Lock(), False
        self.leashes: set[Connection] = set()
        # the libraries read these when they are loaded; as in tasks/stage.py
        os.environ.update({f"{library}_NUM_THREADS": str(threads) for library in ("OMP", "OPENBLAS", "MKL")})
        self.context = multiprocessing.get_context("forkserver")
        self.context.set_forkserver_preload([__name__, *libraries])
        forkserver.ensure_running()

    def run(self, command: str, environment: Mapping[str, str], say: Say, seconds: float | None = None) -> int:
        """Run one command to its end, or for at most so many seconds; its exit status."""
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
        # not by the exit status of the process, which multiprocessing loses where several threads start processes
        (lines, output), (ended, status), (held, leash) = (self.context.Pipe(duplex=False) for _ in range(3))
        arguments = (command, str(self.root), {"PATH": path, **environment}, output, status, held)
        process = self.context.Process(target=supervise, args=arguments)
        timer = threading.Timer(seconds or threading.TIMEOUT_MAX, leash.close)
        timer.daemon = True
        with lines, output, ended, status, held, leash:
            with self.lock:
                if self.closed:
                    raise InterruptedError("the run is ending")
                process.start()
                self.leashes.add(leash)
            output.close()
            status.close()
            timer.start()
            try:
                with open(lines.fileno(), closefd=False, errors="replace") as text:
                    for line in filter(str.strip, text):
                        say(line.rstrip())
                return ended.recv()
            except EOFError:  # the supervisor was killed
                return 255
            finally:
                timer.cancel()
                self.leashes.discard(leash)

    def close(self) -> None:
        """End all programs and start no more."""
        with self.lock:
            self.closed = True
            for leash in self.leashes.copy():
                leash.close()


def supervise(
    command: str, folder: str, environment: Mapping[str, str], output: Connection, ended: Connection, leash: Connection
) -> None:
    """Run one program; at its end, or when the leash is let go, end its process group; send its exit status."""
    os.setsid()  # what ends the flow's group must not end this process
    gc.freeze()  # else each program searches the libraries' objects for garbage, which takes it 0.2 s
    group = os.fork()
    if group == 0:
        return become(command, folder, environment, output.fileno())
    with contextlib.suppress(OSError):  # both processes set it, so that it is set before either goes on
        os.setpgid(group, group)
    output.close()  # its reader sees the end once the group is gone

    def watch() -> None:
        os.read(leash.fileno(), 1)
        end(group)

    threading.Thread(target=watch, daemon=True).start()
    status = os.waitstatus_to_exitcode(os.waitpid(group, 0)[1])
    end(group)
    with contextlib.suppress(BrokenPipeError):
        ended.send(status if status >= 0 else 128 - status)


def become(command: str, folder: str, environment: Mapping[str, str], output: int) -> None:
    """Be the program: for ``python -m MODULE ARGUMENTS`` in this process, or else in a shell."""
    os.setpgid(0, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.chdir(folder)
    os.environ.update(environment)
    words = shlex.split(command)
    if words[:2] != ["python", "-m"] or shlex.join(words) != command:
        os.execl("/bin/sh", "sh", "-c", command)
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    sys.path[0], sys.argv = folder, words[2:]
    runpy.run_module(words[2], run_name="__main__", alter_sys=True)  # multiprocessing turns its end into a status


def end(group: int) -> None:
    """End every process of the group."""
    for kind, seconds in GRACE:
        deadline = time.monotonic() + seconds
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, kind)
            while time.monotonic() < deadline:
                os.killpg(group, 0)
                time.sleep(0.02)
