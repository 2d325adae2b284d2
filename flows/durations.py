"""How long stages take, so that the longest chains of stages begin first: ``python -m flows.durations`` records it.

durations.json has the stages of the quick scale that took a second or more. It serves a clone in which they have not
run yet; after that, the last run in this clone counts. Numbers that are somewhat wrong cost a little time and change no
result.
"""

import json
from functools import cache
from pathlib import Path
from typing import Protocol

from tasks.stage import write_json

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "flows/durations.json"
LEAST = 1.0  # seconds
SHORT_SECONDS = 1.0  # a stage that neither computes nor is recorded takes about this long


class Stages(Protocol):
    """As much of `flows.graph.Graph` as this module uses."""

    scale: str

    def provenance(self, name: str) -> Path:
        """The file of a stage's last run."""


def last_duration(graph: Stages, name: str) -> float | None:
    """The seconds that the stage's program took the last time in this clone, or else where the record was made."""
    try:
        return float(json.loads(graph.provenance(name).read_text(encoding="utf-8"))["seconds"])
    except (OSError, ValueError, KeyError):
        return _recorded().get(name) if graph.scale == "quick" else None


@cache
def _recorded() -> dict[str, float]:
    return json.loads(FILE.read_text(encoding="utf-8")) if FILE.is_file() else {}


def main() -> None:
    """Record how long the stages took in this clone."""
    from flows.graph import Graph

    graph = Graph(ROOT, "quick")
    seconds = {name: last_duration(graph, name) for name in sorted(graph.stages)}
    write_json(FILE, {name: round(value) for name, value in seconds.items() if value is not None and value >= LEAST})


if __name__ == "__main__":
    main()
