"""Replay recorded durations through the flow's own schedule, with 1 to 64 workers: ``python benchmarks/scaling.py``.

Time is simulated. Each stage takes the seconds of its provenance, plus the time that the flow spends on a stage. The
provenance is that of the committed report or, without a report, of the clone's last run. `benchmarks/estimates.py`
estimates stages without provenance from operation counts. The schedule (flows/schedule.py) starts the stages, as in a
real run. docs/performance/scaling.md has the tables.
"""

import argparse
import heapq
import itertools
import json
import statistics
import sys
from pathlib import Path

import networkx

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.estimates import estimates  # noqa: E402
from flows.graph import Graph  # noqa: E402
from flows.schedule import Schedule, kind  # noqa: E402
from tasks import settings as reader  # noqa: E402


def durations(graph: Graph) -> dict[str, float]:
    """Seconds by stage, from the committed report or, without one, from the clone's last run.

    Trainings on a GPU and their measurements are left out, since a core takes far longer.
    """
    folder = ROOT / "data" / graph.scale / "provenance"
    committed = ROOT / "reports" / graph.scale / "provenance.json"
    if committed.is_file():
        records = json.loads(committed.read_text(encoding="utf-8"))
    else:
        records = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*.json")}
    trained = reader.load(graph.scale).train
    seconds = {name: float(record["seconds"]) for name, record in records.items()
               if record.get("device") != "cuda" or name.partition("@")[2] not in trained}  # fmt: skip
    return {name: seconds[record] for name in graph.stages
            if (record := name.replace("simulate@", "measure@")) in seconds}  # fmt: skip


def replay(graph: Graph, seconds: dict[str, float], workers: int, gpus: int, overhead: float) -> tuple[float, float]:
    """Wall time of a run of all stages, and the share of the workers' time in which they work."""
    graph.stale = lambda names: set(names)  # type: ignore[method-assign]
    graph.on_gpu = lambda name: True  # type: ignore[method-assign]
    schedule = Schedule(graph, graph.select([]), workers, [str(gpu) for gpu in range(gpus)], True, True)
    now, order, ends = 0.0, itertools.count(), []  # type: ignore[var-annotated]
    while True:
        for batch in schedule.begin():
            length = sum(seconds.get(name, 0.0) + overhead for name in batch.names)
            heapq.heappush(ends, (now + length, next(order), batch))
        if not ends:
            break
        now, _, batch = heapq.heappop(ends)
        schedule.end(batch, batch.names)
    assert len(schedule.done) == len(graph.stages)
    work = sum(seconds.get(name, 0.0) + overhead for name in graph.stages)
    return now, work / (workers * now)


def longest_chain(graph: Graph, seconds: dict[str, float], overhead: float) -> tuple[float, list[str]]:
    """The length of the longest chain of stages, which no number of workers can shorten, and its stages."""
    weighted = networkx.DiGraph()
    weighted.add_nodes_from(graph.stages)
    for name, needed in graph.needs.items():
        weighted.add_edges_from((other, name, {"seconds": seconds.get(other, 0.0) + overhead}) for other in needed)
    chain = networkx.dag_longest_path(weighted, weight="seconds")
    return sum(seconds.get(name, 0.0) + overhead for name in chain), chain


def work(seconds: dict[str, float]) -> str:
    """Hours of work, in all and by kind of stage, in words."""
    kinds: dict[str, float] = {}
    for name, duration in seconds.items():
        kinds[kind(name)] = kinds.get(kind(name), 0.0) + duration
    return f"{sum(seconds.values()) / 3600:.2f} hours of work: " + ", ".join(
        f"{name} {duration / 3600:.2f}" for name, duration in sorted(kinds.items())
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", default="paper")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4, 8, 16, 64])
    parser.add_argument("--gpus", type=int, default=0, help="of this machine; 0 where the engine has them, or none")
    parser.add_argument("--overhead", type=float, default=0.3, help="seconds that the flow spends on a stage")
    parser.add_argument("--rate", type=float, help="GFLOP/s of training runs without a duration; else a median")
    parser.add_argument("--recorded-only", action="store_true", help="stages without a duration take no time")
    chosen = parser.parse_args()
    graph = Graph(ROOT, chosen.scale)
    seconds = durations(graph)
    print(f"{len(seconds)} of {len(graph.stages)} stages have a duration; {work(seconds)}")
    if chosen.recorded_only:
        missing = dict.fromkeys(graph.stages.keys() - seconds.keys(), 0.0)
    else:
        missing, rates = estimates(set(graph.stages), seconds, chosen.scale, chosen.rate and chosen.rate * 1e9)
        rate = chosen.rate or statistics.median(rates) / 1e9
        print(f"{len(missing)} are estimated, at {rate:.1f} GFLOP/s; the median of {len(rates)} recorded runs is "
              f"{statistics.median(rates) / 1e9:.1f} ({rates[0] / 1e9:.1f} to {rates[-1] / 1e9:.1f}); "
              f"{work(missing)}")  # fmt: skip
        longest = sorted(missing.items(), key=lambda item: -item[1])[:12]
        print("longest of the estimated: " + ", ".join(f"{name} {duration / 3600:.1f} h" for name, duration in longest))
    seconds = {**seconds, **missing}
    print("| workers | wall time, min | work / (workers x wall) |\n| ---: | ---: | ---: |")
    for workers in chosen.workers:
        wall, share = replay(graph, seconds, workers, chosen.gpus, chosen.overhead)
        print(f"| {workers} | {wall / 60:.1f} | {share:.0%} |")
    length, chain = longest_chain(graph, seconds, chosen.overhead)
    print(f"longest chain: {length / 60:.1f} min: {' > '.join(chain)}")
    longest = sorted(seconds.items(), key=lambda item: -item[1])[:5]
    print("longest stages: " + ", ".join(f"{name} {duration / 60:.1f} min" for name, duration in longest))


if __name__ == "__main__":
    main()
