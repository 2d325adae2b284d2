"""The progress of a long stage: a bar with rate and time left on a terminal, otherwise a line every 30 seconds."""

import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn


class Bar:
    """A context manager. ``advance(step, steps, loss)`` may be called at every step."""

    def __init__(self, name: str, interval: float = 30.0):
        self.name, self.interval = name, interval
        self.printed = self.started = time.monotonic()
        self.first: int | None = None
        console = Console(stderr=True)
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
                   TextColumn("{task.fields[note]}"), TimeElapsedColumn(), TimeRemainingColumn())  # fmt: skip
        self.progress = Progress(*columns, console=console) if console.is_terminal else None

    def __enter__(self) -> "Bar":
        if self.progress:
            self.progress.start()
            self.task = self.progress.add_task(self.name, total=None, note="")
        return self

    def advance(self, step: int, steps: int, loss: float) -> None:
        """Show the progress to ``step`` of ``steps``. The first call of a resumed training starts in the middle."""
        self.first = step if self.first is None else self.first
        now = time.monotonic()
        rate = (step - self.first) / max(now - self.started, 1e-9)
        note = f"loss {loss:.4g}, {rate:.0f} steps/s"
        if self.progress:
            self.progress.update(self.task, completed=step, total=steps, note=note)
        elif now - self.printed >= self.interval:
            left = f", {(steps - step) / rate:.0f} s left" if rate else ""
            print(f"{self.name}: step {step} of {steps}, {note}{left}", flush=True)
            self.printed = now

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.progress:
            self.progress.stop()
