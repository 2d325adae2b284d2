"""Start the programs of stages and pass on their output. None of their processes outlives the flow.

A program is a copy of a process that has loaded the libraries, or a shell. Its supervisor watches a pipe that the flow
holds open. The supervisor ends the program's process group when the program ends, when the flow closes the pipe, or
when the flow dies.
"""

import codecs
import contextlib
import gc
import io
import locale
import multiprocessing
import os
import runpy
import shlex
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from multiprocessing import connection, forkserver, spawn
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

# slow imports of most stages; none of the project's own modules, because they may change while the flow runs
LIBRARIES = (
    "torch", "pyarrow.parquet", "pandas", "scipy.stats", "sklearn.base", "safetensors.torch", "matplotlib.figure",
    "matplotlib.backends.backend_svg", "seaborn", "pydantic", "yaml", "rich.progress", "hypothesis",
)  # fmt: skip
GRACE = ((signal.SIGINT, 2.0), (signal.SIGTERM, 1.5), (signal.SIGKILL, 1.0))  # one Ctrl-C ends all within 5 s
ENDING = "the run is ending"
READ_BYTES = 2**20  # more than a pipe holds
LONGEST_LINE = 2**16  # letters; Prefect's server refuses a message of a million
Say = Callable[[str], None]


class OutOfTime(Exception):
    """A program was stopped because its time was up."""


preparation_data = spawn.get_preparation_data


def without_main(name: str) -> dict[str, Any]:
    """Keep multiprocessing from importing the flow, and Prefect with it, into each program."""
    return {key: value for key, value in preparation_data(name).items() if not key.startswith("init_main")}


spawn.get_preparation_data = without_main


class Runner:
    """The programs of a project. ``libraries`` are loaded once for all of them."""

    def __init__(self, root: Path, threads: int, libraries: tuple[str, ...]):
        self.root, self.lock, self.closed = root, threading.Lock(), False
        self.pipes: set[Connection] = set()  # the ends that the flow holds: a program may run while its own is open
        # the libraries read these when they are loaded; as in tasks/stage.py
        os.environ.update({f"{library}_NUM_THREADS": str(threads) for library in ("OMP", "OPENBLAS", "MKL")})
        os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"  # for `python`
        self.context = multiprocessing.get_context("forkserver")
        self.context.set_forkserver_preload([__name__, *libraries])
        forkserver.ensure_running()

    def run(
        self, command: str, environment: Mapping[str, str], say: Say, seconds: float | None = None,
        launch: str | None = None,
    ) -> int:  # fmt: skip
        """Run a command until it ends or its time is up, and return its exit status.

        With ``launch`` the shell runs the launch command, with the command's words as further arguments.

        Raises OutOfTime if the time ends the command, and InterruptedError if `close` ends it. The last words of a
        command that `close` ends are not passed on: Python's are the traceback of a KeyboardInterrupt.
        """
        # the status comes through a pipe: multiprocessing loses it where several threads start processes
        (output_reader, output_writer), (status_reader, status_writer), (life_reader, life_writer) = (
            self.context.Pipe(duplex=False) for _ in range(3)
        )
        command = f"{launch} {command}" if launch else command
        arguments = (command, str(self.root), dict(environment), output_writer, status_writer, life_reader)
        process = self.context.Process(target=supervise, args=arguments)
        expired = threading.Event()

        def expire() -> None:
            expired.set()
            life_writer.close()

        timer = threading.Timer(min(seconds or threading.TIMEOUT_MAX, threading.TIMEOUT_MAX), expire)
        timer.daemon = True
        with output_reader, output_writer, status_reader, status_writer, life_reader, life_writer:
            with self.lock:
                if self.closed:
                    raise InterruptedError(ENDING)
                process.start()
                self.pipes.add(life_writer)
            output_writer.close()
            status_writer.close()
            timer.start()
            try:
                for line in filter(str.strip, output_lines(output_reader, status_reader)):
                    if not self.closed:
                        say(line.rstrip())
                exit_status = status_reader.recv()
            except EOFError:  # the supervisor was killed
                exit_status = 255
            finally:
                timer.cancel()
                self.pipes.discard(life_writer)
            if exit_status and self.closed:
                raise InterruptedError(ENDING)
            if exit_status and seconds and expired.is_set():  # the status is that of the signal
                raise OutOfTime(f"its program was stopped after {seconds / 3600:g} hours (--hours)")
            return exit_status

    def run_all(
        self, commands: list[str], environment: Mapping[str, str], say: Say, hours: float | None,
        launch: str | None = None,
    ) -> int:  # fmt: skip
        """Run commands one after the other, each for at most so many hours. Return the first status other than 0.

        Raises OutOfTime if a command takes longer.
        """
        seconds = hours * 3600 if hours else None
        return next(filter(None, (self.run(command, environment, say, seconds, launch) for command in commands)), 0)

    def close(self) -> None:
        """End all programs and start no more."""
        with self.lock:
            self.closed = True
            for pipe in self.pipes.copy():
                pipe.close()


def output_lines(output: Connection, status: Connection) -> Iterator[str]:
    """The lines that a program writes until its status is there.

    A process that it leaves behind, such as a daemon, may hold the output open for longer.
    """
    decode = codecs.getincrementaldecoder(locale.getencoding())
    decoder = io.IncrementalNewlineDecoder(decode("replace"), translate=True)
    line, is_open = "", True
    while is_open:
        has_ended = status in connection.wait([output, status])
        part = os.read(output.fileno(), READ_BYTES) if output.poll() else b""
        is_open = bool(part) and not has_ended
        *lines, line = (line + decoder.decode(part, final=not is_open)).split("\n")
        yield from lines
        if len(line) > LONGEST_LINE:
            yield line
            line = ""
    yield line


def supervise(
    command: str, folder: str, environment: Mapping[str, str], output_writer: Connection, status_writer: Connection,
    life_reader: Connection,
) -> None:  # fmt: skip
    """Run a program and send its exit status; its process group ends with it, or when the flow closes its pipe."""
    os.setsid()  # a signal to the flow's group must not end this process
    gc.freeze()  # else each program spends 0.2 s on searching the libraries' objects for garbage
    group = os.fork()
    if group == 0:
        return become(command, folder, environment, output_writer.fileno())
    with contextlib.suppress(OSError):  # both processes set it, so that it is set before either goes on
        os.setpgid(group, group)
    output_writer.close()  # its reader sees the end once the group is gone
    told_to_end = threading.Event()

    def watch() -> None:
        os.read(life_reader.fileno(), 1)
        told_to_end.set()
        end_group(group)

    threading.Thread(target=watch, daemon=True).start()
    status = os.waitstatus_to_exitcode(os.waitpid(group, 0)[1])
    if status == 0 and told_to_end.is_set():  # it caught the signal, and its result may be half made
        status = -signal.SIGINT
    end_group(group)
    with contextlib.suppress(BrokenPipeError):
        status_writer.send(status if status >= 0 else 128 - status)


def become(command: str, folder: str, environment: Mapping[str, str], output: int) -> None:
    """Turn this process into the program: run ``python -m MODULE ARGUMENTS`` here, any other command in a shell."""
    os.setpgid(0, 0)
    with open(os.devnull, "rb") as nothing:  # else `srun` as a launch command reads what follows the flow in a script
        os.dup2(nothing.fileno(), 0)
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


def end_group(group: int) -> None:
    """End every process of the group."""
    for kind, seconds in GRACE:
        deadline = time.monotonic() + seconds
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, kind)
            while time.monotonic() < deadline:
                os.killpg(group, 0)
                time.sleep(0.02)
