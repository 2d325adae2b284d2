"""Run the stages that a node was handed, and no other: ``python -m flows.alone JSON``.

`flows.nodes.stage` starts it in a process of its own, so that the code is that of the commit which it has checked out,
and holds the clone's turn meanwhile. What other stages have made comes from DVC's remote, or the stage fails.
"""

import json
import sys
from pathlib import Path

from dvc.stage import PipelineStage

from flows.graph import Graph, Refused
from flows.recorder import Outcome, Recorder
from flows.runner import Runner


def run_stages(
    names: list[str], scale: str, inputs: dict[str, str], force: bool = False, hours: float | None = None
) -> list[Outcome]:
    """Run these stages on these inputs and push their results. Return the outcome of each stage."""
    graph = Graph(Path.cwd(), scale)
    runner = Runner(graph.root, (graph.parameters.get("machine") or {}).get("threads", 1), ())
    outcomes: list[Outcome] = []

    def run(stage: PipelineStage) -> int:
        environment = {"DVC_ROOT": str(graph.root), "DVC_STAGE": stage.addressing, "GRAMLAB_LAUNCHED": "1"}
        for command in [stage.cmd] if isinstance(stage.cmd, str) else stage.cmd:
            if status := runner.run(command, environment, print, hours * 3600 if hours else None):
                return status
        return 0

    try:
        recorder = Recorder(graph, force, pull=True, push=True, inputs=inputs)
        recorder.reproduce(names, run, outcomes.append)
    finally:
        runner.close()
    return outcomes


def main() -> None:
    """Exit with status 2 on a mistake, and with 1 if a stage has failed; the last line names the stage."""
    try:
        outcomes = run_stages(**json.loads(sys.argv[1]))
    except Refused as error:
        print(error)
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    failed = [outcome for outcome in outcomes if outcome.failure]
    print("; ".join(map(str, failed or outcomes)))
    raise SystemExit(bool(failed))


if __name__ == "__main__":
    main()
