"""How long stages take, so that the longest chains of stages begin first: ``python -m flows.durations`` records it.

durations.json has the stages of the quick scale that took a second or more. It serves a clone in which they have not
run yet; after that, the last run in this clone counts. Numbers that are somewhat wrong cost a little time and change no
result.
"""

import json
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Protocol

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
    sources = [(_read(graph.provenance(name)), "seconds"), *([(_recorded(), name)] if graph.scale == "quick" else [])]
    found = (content.get(key) for content, key in sources)
    return next((float(seconds) for seconds in found if isinstance(seconds, int | float)), None)


@cache
def _recorded() -> dict[str, Any]:
    return _read(FILE)


def _read(path: Path) -> dict[str, Any]:
    """The content of a JSON file; nothing if it is missing or damaged, because no result needs it."""
    with suppress(OSError, ValueError):
        content = json.loads(path.read_text(encoding="utf-8"))
        return content if isinstance(content, dict) else {}
    return {}


def main() -> None:
    """Record how long the stages took in this clone."""
    from flows.graph import Graph

    graph = Graph(ROOT, "quick")
    seconds = {name: last_duration(graph, name) for name in sorted(graph.stages)}
    write_json(FILE, {name: round(value) for name, value in seconds.items() if value is not None and value >= LEAST})


if __name__ == "__main__":
    main()
