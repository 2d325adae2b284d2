"""The output of a run for people: one changing line on a terminal, otherwise plain lines. A log file has the rest."""

import logging
import shutil
import statistics
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

from prefect import get_run_logger
from prefect.exceptions import FailedRun
from prefect.logging.configuration import setup_logging

from flows.durations import SHORT_SECONDS, last_duration
from flows.graph import Graph
from flows.recorder import Outcome, duration
from flows.schedule import kind

LOGS = Path(".scratch", "logs")
LOG_FILES = 20  # log files that are kept
LONG = {"train", "measure", "simulate", "cells"}  # kinds of stage that compute
FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class Console:
    """The output of lines. On a terminal a line of progress replaces the last one; failures and notes stay."""

    def __init__(self, stream: TextIO = sys.stdout):
        self.stream, self.live, self.width = stream, stream.isatty(), 0

    def progress(self, line: str) -> None:
        """Show how far the run is."""
        if self.live:
            line = line[: shutil.get_terminal_size().columns - 1]
            self.stream.write("\r" + line.ljust(self.width))
            self.width = len(line)
            self.stream.flush()
        else:
            self.note(line)

    def note(self, line: str) -> None:
        """Show a line that stays."""
        clear = "\r" + " " * self.width + "\r" if self.width else ""
        self.width = 0
        print(f"{clear}{line}", file=self.stream, flush=True)


terminal: Console | None = None  # of the person who typed the command


def attach(stream: TextIO = sys.stdout) -> Console:
    """Have `show` write to this process's output. Return the console."""
    global terminal
    terminal = terminal or Console(stream)
    return terminal


def show(line: str, last_lines: tuple[str, ...], failed: bool) -> None:
    """Say how a stage ended, on the terminal or in the run's log. A failure stays, with its program's last lines."""
    if terminal is None:
        get_run_logger().info(line)
    elif failed:
        terminal.note("\n".join([line, *(f"    {last_line}" for last_line in last_lines)]))
    else:
        terminal.progress(line)


class Progress:
    """The number of finished stages, and the time that the others may take, from their last durations."""

    def __init__(self, graph: Graph, chosen: list[str], stale: set[str], workers: int):
        self.total, self.workers, self.restored = len(chosen), workers, 0
        self.left = {name: last_duration(graph, name) for name in chosen if name in stale}
        self.durations: dict[str, list[float]] = {}  # durations in this run, by kind

    def ended(self, outcome: Outcome, running: int) -> str:
        """The line on a stage's outcome, while ``running`` other stages run."""
        self.left.pop(outcome.name, None)
        if outcome.seconds is not None:
            self.durations.setdefault(kind(outcome.name), []).append(outcome.seconds)
        elif not outcome.failure:
            self.restored += 1
        parts = [f"[{self.total - len(self.left)}/{self.total}] {outcome}", f"{running} running"]
        parts += [f"{self.restored} restored"] if self.restored else []
        seconds = self.seconds_left()
        return ", ".join([*parts, *([f"about {duration(seconds)} left"] if seconds else [])])

    def up_to_date(self, names: Iterable[str]) -> None:
        """Record stages that need not run."""
        for name in names:
            self.left.pop(name, None)

    def seconds_left(self) -> float | None:
        """The remaining work over the number of workers; None if no duration is known."""
        known = [seconds for seconds in self.left.values() if seconds is not None]
        known += [seconds for durations in self.durations.values() for seconds in durations]
        if not known or not self.left:
            return None
        usual = {name: statistics.mean(durations) for name, durations in self.durations.items()}
        average = statistics.median(known)
        for name in self.left:
            usual.setdefault(kind(name), average if kind(name) in LONG else SHORT_SECONDS)
        expected = [usual[kind(name)] if last is None else last for name, last in self.left.items()]
        return max(sum(expected) / self.workers, max(expected))


def drop_traceback(record: logging.LogRecord) -> bool:
    """Log a failed run in one line: its message says what failed, and the traceback is Prefect's own."""
    if record.exc_info and isinstance(record.exc_info[1], FailedRun):
        record.exc_info = None
    return True


logging.getLogger("prefect.flow_runs").addFilter(drop_traceback)


@contextmanager
def logged(root: Path, scale: str) -> Iterator[Path]:
    """Write the messages of Prefect, DVC and the stages' programs to a file, not to the terminal. Return the file."""
    folder = root / LOGS
    folder.mkdir(parents=True, exist_ok=True)
    for old in sorted(folder.glob("*.log"))[: 1 - LOG_FILES]:
        old.unlink(missing_ok=True)
    path = folder / f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{scale}.log"
    handler = logging.FileHandler(path, encoding="utf-8")
    handler.setFormatter(logging.Formatter(FORMAT))
    setup_logging()  # only once: a second time it changes levels, and no handlers
    root_logger = logging.getLogger()
    before, root_logger.handlers = root_logger.handlers, [handler]
    names = ("dvc.stage", "dvc.repo", "dvc.output")  # not "dvc": below that level DVC draws bars
    levels = {name: logging.getLogger(name).level for name in names}
    for name in names:
        logging.getLogger(name).setLevel(logging.INFO)
    logging.captureWarnings(True)
    try:
        yield path
    finally:
        logging.captureWarnings(False)
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)
        root_logger.handlers = before
        handler.close()
