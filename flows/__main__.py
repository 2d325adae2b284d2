"""Bring a few stages up to date in this process, without Prefect: ``python -m flows check@a_fig7``.

Targets are named as for `flows.reproduce`, and DVC finds the stale stages. A claim takes a few seconds. DVC's command
would read all stages of all scales first, and Prefect's would take as long to start.
"""

import signal

from flows.interrupts import INTERRUPTED, end_at_once

if __name__ == "__main__":  # before the other imports, which take seconds
    signal.signal(signal.SIGINT, end_at_once)

import argparse
from pathlib import Path

from dvc.stage import PipelineStage

from flows.graph import Graph, Refused, commands, counts_in_words, dvc_environment
from flows.recorder import Recorder
from flows.runner import Runner
from flows.turn import OtherMachine, turn


def bring_up_to_date(graph: Graph, targets: list[str], force: bool) -> bool:
    """Bring the targets and what they need up to date; stop at the first failure. True if nothing failed."""
    chosen = graph.select(targets)
    recorder = Recorder(graph, force, pull=False)
    runner = Runner(graph.root, (graph.parameters.get("machine") or {}).get("threads", 1), ())

    def run(stage: PipelineStage) -> int:
        return runner.run_all(commands(stage), dvc_environment(stage), print, None)

    try:
        for name in chosen:
            if force or graph.stale([name]):
                recorder.reproduce([name], run, print)
                if name not in recorder.recorded:
                    return False
    finally:
        runner.close()
    print(counts_in_words(len(recorder.recorded), len(chosen) - len(recorder.recorded)))
    return True


def main() -> None:
    """Exit with status 2 on a mistake, 1 if a stage failed, 130 after Ctrl-C."""
    parser = argparse.ArgumentParser(prog="python -m flows", description="Bring a few stages up to date.")
    parser.add_argument("targets", nargs="+", help="stages, or keys of claims and experiments")
    parser.add_argument("--scale", default="quick", help="quick, paper or atlas")
    parser.add_argument("--force", "-f", action="store_true", help="run also what is up to date")
    options = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # from here on the programs of stages must end too
    try:
        with turn(Path.cwd(), print):
            succeeded = bring_up_to_date(Graph(Path.cwd(), options.scale), options.targets, options.force)
    except (Refused, OtherMachine) as error:
        parser.exit(2, f"{error}\n")
    except KeyboardInterrupt:
        print(INTERRUPTED)
        raise SystemExit(130) from None
    raise SystemExit(not succeeded)


if __name__ == "__main__":
    main()
