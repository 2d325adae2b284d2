"""Run what is stale of the pipeline, independent stages in parallel: ``python -m flows.reproduce --help``.

The graph is DVC's, and DVC says what is stale; this flow only says when, and keeps nothing from one run to the next.
"""

import os
import queue
import shutil
import signal
import subprocess
import sys
from contextlib import nullcontext
from functools import wraps
from pathlib import Path
from socket import gethostname
from typing import Annotated, Any

import typer
from dvc.stage import PipelineStage
from prefect import flow, get_client, get_run_logger, task
from prefect.cache_policies import NO_CACHE
from prefect.concurrency.sync import concurrency
from prefect.futures import PrefectFuture
from prefect.settings import get_current_settings
from prefect.states import Failed, State
from typer import Argument, Option

from flows.artifacts import publish
from flows.graph import Graph, Refused, load
from flows.recorder import Recorder
from flows.runner import LIBRARIES, Runner
from flows.schedule import Batch, Schedule, kind

ROOT = Path(__file__).resolve().parent.parent


@task(name="stages", task_run_name="{label}", cache_policy=NO_CACHE)
def bring_up_to_date(label: str, batch: Batch, recorder: Recorder, runner: Runner, seconds: float | None) -> None:
    """Bring stages up to date whose dependencies are up to date."""
    log = get_run_logger().info
    gpu = {} if batch.gpu is None else {"CUDA_VISIBLE_DEVICES": batch.gpu}

    def run(stage: PipelineStage) -> int:
        environment = {"DVC_ROOT": str(runner.root), "DVC_STAGE": stage.addressing, **gpu}  # as DVC does
        for command in [stage.cmd] if isinstance(stage.cmd, str) else stage.cmd:
            if status := runner.run(command, environment, log, seconds):
                return status
        return 0

    # where a client gives up on a busy server's answer, a slot stays taken until its lease runs out; 300 s are usual
    slot = nullcontext() if batch.gpu is None else concurrency(limit(batch.gpu), occupy=1, lease_duration=60)
    with slot:
        recorder.reproduce(batch.names, run, log)
    if failed := sorted(set(batch.names) - recorder.recorded):
        raise RuntimeError(f"{', '.join(failed)} failed; the log above says why")


@flow(name="reproduce", flow_run_name="{scale}")
def reproduce(
    targets: Annotated[list[str] | None, Argument(help="stages, or keys of claims and experiments")] = None,
    scale: Annotated[str, Option(help="quick or paper")] = "quick",
    workers: Annotated[int | None, Option(min=1, help="stages at once; one a core by default")] = None,
    force: Annotated[bool, Option("--force", "-f", help="run also what is up to date")] = False,
    pull: Annotated[bool, Option("--pull", help="take from DVC's remote what another machine has computed")] = False,
    keep_going: Annotated[bool, Option(help="after a failure go on with what does not need it")] = True,
    retries: Annotated[int, Option(min=0, help="of a failed training run, from its checkpoint")] = 1,
    hours: Annotated[float | None, Option(min=0, help="the longest that a stage may take")] = None,
    root: Annotated[str, Option(help="the project")] = str(ROOT),
) -> State | None:
    """Run what is stale of the pipeline, independent stages in parallel."""
    graph, chosen = choose(root, scale, targets)
    machine = graph.parameters.get("machine") or {}
    gpus = visible_gpus(machine.get("device", "auto"))
    for gpu in gpus:
        with get_client(sync_client=True) as client:
            client.upsert_global_concurrency_limit_by_name(limit(gpu), 1)
    schedule = Schedule(graph, chosen, workers or os.cpu_count() or 1, gpus, force, keep_going)
    ended: queue.SimpleQueue[tuple[Batch, PrefectFuture]] = queue.SimpleQueue()
    ours = any(" -m tasks." in str(graph.stages[name].cmd) for name in chosen)
    runner = Runner(graph.root, machine.get("threads", 1), LIBRARIES if ours else ())
    recorder, running = Recorder(graph, force, pull), 0

    def start(batch: Batch) -> None:
        name = kind(batch.names[0])
        call = bring_up_to_date.with_options(retries=retries if name == "train" else 0, tags=[name])
        future = call.submit(batch.label, batch, recorder, runner, hours * 3600 if hours else None)
        future.add_done_callback(lambda future: ended.put((batch, future)))

    try:
        while True:
            for batch in schedule.begin():
                start(batch)
                running += 1
            if not running:
                break
            batch, future = ended.get()
            running -= 1
            future.wait()  # without it the state is the server's, which may lag behind
            schedule.end(batch, recorder.recorded)
    finally:
        runner.close()
    summary = f"{len(schedule.ran)} stages brought up to date, {len(schedule.done - schedule.ran)} already were"
    if schedule.failed:
        summary += f"; failed: {', '.join(sorted(schedule.failed))}"
    if schedule.waiting:
        summary += f"; not run, because they need a failed stage: {', '.join(schedule.waiting)}"
    publish(graph, [name for name in chosen if name in schedule.done], summary)
    get_run_logger().info(summary)
    return Failed(message=summary) if schedule.failed else None


def choose(root: str, scale: str, targets: list[str] | None) -> tuple[Graph, list[str]]:
    """The graph, and the stages to bring up to date."""
    os.chdir(root)  # DVC takes some paths from the working directory
    graph = load(Path.cwd(), scale)
    return graph, graph.select(targets or [])


def limit(gpu: str) -> str:
    """The name of Prefect's concurrency limit of one GPU of this machine."""
    return f"gpu:{gethostname()}:{gpu}"


def visible_gpus(device: str) -> list[str]:
    """The GPUs that stages may use: those of CUDA_VISIBLE_DEVICES, or all."""
    if device == "cpu":
        return []
    if (visible := os.environ.get("CUDA_VISIBLE_DEVICES")) is not None:
        named = [gpu.strip() for gpu in visible.split(",") if gpu.strip()]
        return named[: named.index("-1")] if "-1" in named else named  # CUDA stops at it too
    if not shutil.which("nvidia-smi"):
        return []
    query = ["nvidia-smi", "--query-gpu=index", "--format=csv,noheader"]
    done = subprocess.run(query, capture_output=True, text=True)
    return done.stdout.split() if done.returncode == 0 else []  # where it fails it says so on stdout


@wraps(reproduce.fn)
def main(**options: Any) -> None:
    """Run the flow; exit with status 2 on a mistake, 1 where a stage has failed."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # unwinds, so that the embedded server ends too
    try:
        graph, chosen = choose(*(options[name] for name in ("root", "scale", "targets")))
    except Refused as error:
        print(error, file=sys.stderr)
        raise SystemExit(2) from error
    if not (options["force"] or get_current_settings().api.url or graph.stale(chosen)):
        print(f"0 stages brought up to date, {len(chosen)} already were")  # not worth the start of an embedded server
        return
    sys.exit(0 if reproduce(**options, return_state=True).is_completed() else 1)


if __name__ == "__main__":
    app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)
    app.command()(main)
    app()
