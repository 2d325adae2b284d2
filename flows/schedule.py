"""Which stages may begin: those of which everything that they need is up to date."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

from flows.graph import Graph

SHORT = {"check"}  # a call of DVC takes as long as such a stage, so several go into one call
LARGEST = 4


@dataclass(frozen=True)
class Batch:
    """Stages of one call of DVC, none of which needs another, and the GPU that the call may use."""

    names: tuple[str, ...]
    gpu: str | None = None

    @property
    def label(self) -> str:
        """For people."""
        return self.names[0] + (f" and {len(self.names) - 1} more" if len(self.names) > 1 else "")

    @property
    def kind(self) -> str:
        """What kind of stage the first one is."""
        return kind(self.names[0])


class Schedule:
    """What is done and what waits. ``ran`` are those of ``done`` that were run; ``waiting`` is in order of urgency."""

    def __init__(self, graph: Graph, chosen: list[str], workers: int, gpus: list[str], force: bool, keep_going: bool):
        self.graph, self.keep_going = graph, keep_going
        self.waiting, self.chosen = list(chosen), set(chosen)
        self.stale: set[str] = set(chosen) if force else set()
        self.done: set[str] = set()
        self.ran: set[str] = set()
        self.failed: set[str] = set()
        self.slots, self.has_gpu, self.gpus = workers, bool(gpus), list(gpus)

    def begin(self) -> Iterator[Batch]:
        """The batches for which there is room; what DVC holds for up to date is done without one."""
        ready = self._ready()
        while current := [name for name in ready if name not in self.stale]:
            self.done.update(current)
            self._take(current)
            ready = self._ready()
        for name in ready:
            on_gpu = self.has_gpu and self._computes(name)
            if self.slots and kind(name) not in SHORT and (self.gpus or not on_gpu):
                yield self._batch([name], self.gpus.pop(0) if on_gpu else None)
        short = [name for name in ready if kind(name) in SHORT]
        while short and self.slots:
            size = min(LARGEST, ceil(len(short) / self.slots))
            yield self._batch(short[:size])
            short = short[size:]

    def end(self, batch: Batch, succeeded: bool) -> None:
        """Take note that a batch has ended."""
        self.slots += 1
        self.gpus += [batch.gpu] if batch.gpu is not None else []
        bad: set[str] = set()
        if not succeeded:
            bad = set(batch.names)
            if len(bad) > 1:  # DVC went on with the others; where all look well, the call itself failed
                bad = Graph(self.graph.root, self.graph.scale).stale(batch.names) or bad
        self.failed |= bad
        self.ran |= set(batch.names) - bad
        self.done |= set(batch.names) - bad

    def _ready(self) -> list[str]:
        if self.failed and not self.keep_going:
            return []
        ready = [name for name in self.waiting if self.graph.needs[name] <= self.done]
        running = self.chosen - self.done - self.failed - set(self.waiting)
        if self.failed and not ready and not running and self.graph.scale == "paper" and "report" in self.waiting:
            ready = ["report"]  # of what there is: one data set that cannot be had must not keep days of work unread
        self.stale |= self.graph.stale(name for name in ready if name not in self.stale)
        return ready

    def _computes(self, name: str) -> bool:
        """Whether the stage computes on a GPU where there is one."""
        key = name.partition("@")[2]
        return kind(name) in ("train", "measure") or (
            kind(name) == "simulate" and bool(self.graph.settings.simulate[key].gpu)
        )

    def _batch(self, names: list[str], gpu: str | None = None) -> Batch:
        self.slots -= 1
        self._take(names)
        return Batch(tuple(names), gpu)

    def _take(self, names: list[str]) -> None:
        self.waiting = [name for name in self.waiting if name not in names]


def kind(name: str) -> str:
    """``train`` of ``train@a_fig7``."""
    return name.split("@")[0]
