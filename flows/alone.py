"""Run the stages that a coordinator gives to a node, and no others: ``python -m flows.alone JSON``.

`flows.nodes.stage` starts this in a separate process, with the code of the commit that it has checked out, and holds
the clone's turn meanwhile. The inputs from other stages come from DVC's remote; a stage without them fails.
"""

import json
import sys
from pathlib import Path

from dvc.stage import PipelineStage

from flows.graph import Graph, Refused, commands, dvc_environment
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
        environment = {**dvc_environment(stage), "GRAMLAB_LAUNCHED": "1"}
        return runner.run_all(commands(stage), environment, print, hours)

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
