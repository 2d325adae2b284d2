"""Decide which stages may begin: those whose dependencies are up to date."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import ceil

import networkx

from flows.graph import Graph

SHORT = {"check"}  # half a second each, so several are one task
LARGEST = 8
PARTIAL = {"verdicts", "report"}  # at the paper scale they use the results that there are


@dataclass(frozen=True)
class Batch:
    """Stages of one task, none of which needs another, and the GPU that they may use."""

    names: tuple[str, ...]
    gpu: str | None = None

    @property
    def label(self) -> str:
        """The batch in words."""
        return self.names[0] + (f" and {len(self.names) - 1} more" if len(self.names) > 1 else "")


class Schedule:
    """Stages that are done, and stages that wait, the most urgent first. ``ran`` holds those of ``done`` that ran."""

    def __init__(self, graph: Graph, chosen: list[str], workers: int, gpus: list[str], force: bool, keep_going: bool):
        self.graph, self.keep_going = graph, keep_going
        self.waiting = list(chosen)
        self.stale: set[str] = set(chosen) if force else set()
        self.done: set[str] = set()
        self.ran: set[str] = set()
        self.failed: set[str] = set()
        self.slots, self.has_gpu, self.gpus = workers, bool(gpus), list(gpus)

    def begin(self) -> Iterator[Batch]:
        """The batches for which there are free slots. A stage that is up to date needs no batch."""
        ready = self._ready()
        while current := [name for name in ready if name not in self.stale]:
            self.done.update(current)
            self.waiting = [name for name in self.waiting if name not in current]
            ready = self._ready()
        for name in ready:
            on_gpu = self.has_gpu and self._uses_gpu(name)
            if self.slots and kind(name) not in SHORT and (self.gpus or not on_gpu):
                yield self._batch([name], self.gpus.pop(0) if on_gpu else None)
        short = [name for name in ready if kind(name) in SHORT]
        while short and self.slots:
            size = min(LARGEST, ceil(len(short) / self.slots))
            yield self._batch(short[:size])
            short = short[size:]

    def end(self, batch: Batch, recorded: Iterable[str]) -> None:
        """Record that a batch has ended, and which stages are up to date."""
        self.slots += 1
        self.gpus += [batch.gpu] if batch.gpu is not None else []
        current = set(batch.names) & set(recorded)
        self.failed |= set(batch.names) - current
        self.ran |= current
        self.done |= current

    def _ready(self) -> list[str]:
        if self.failed and not self.keep_going:
            return []
        finished = self.done | (self._blocked() if self.graph.scale == "paper" else set())
        needs = self.graph.needs
        ready = [name for name in self.waiting if needs[name] <= (finished if kind(name) in PARTIAL else self.done)]
        self.stale |= self.graph.stale(name for name in ready if name not in self.stale)
        return ready

    def _blocked(self) -> set[str]:
        """The failed stages, and the stages that cannot run because of them."""
        needing = self.graph.edges.subgraph(name for name in self.graph.needs if kind(name) not in PARTIAL)
        return self.failed.union(*(networkx.ancestors(needing, name) for name in self.failed if name in needing))

    def _uses_gpu(self, name: str) -> bool:
        """Whether the stage computes on a GPU where there is one."""
        return kind(name) in ("train", "measure") or (kind(name) == "simulate" and self.graph.on_gpu(name))

    def _batch(self, names: list[str], gpu: str | None = None) -> Batch:
        self.slots -= 1
        self.waiting = [name for name in self.waiting if name not in names]
        return Batch(tuple(names), gpu)


def kind(name: str) -> str:
    """``train`` of ``train@a_fig7``."""
    return name.split("@")[0]
