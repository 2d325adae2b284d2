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
from pathlib import Path
from socket import gethostname
from typing import Annotated

import typer
from prefect import flow, get_client, get_run_logger, task
from prefect.cache_policies import NO_CACHE
from prefect.concurrency.sync import concurrency
from prefect.futures import PrefectFuture
from prefect.settings import get_current_settings
from prefect.states import Failed, State

from flows.graph import Graph, Refused
from flows.leash import Crew
from flows.schedule import Batch, Schedule
from flows.verdicts import publish

ROOT = Path(__file__).resolve().parent.parent


@task(name="dvc repro", task_run_name="{label}", cache_policy=NO_CACHE)
def repro(
    label: str, addresses: list[str], options: list[str], gpu: str | None, crew: Crew, seconds: float | None
) -> None:
    """Call DVC once, for stages of which everything that they need is up to date."""
    command = [sys.executable, "-m", "dvc", "--wait-for-lock", "repro", "--single-item", "--keep-going"]
    command += [*options, *addresses]
    env = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"}
    if gpu is not None:
        env["CUDA_VISIBLE_DEVICES"] = gpu
    # where a client gives up on a busy server's answer, a slot stays taken until its lease runs out; 300 s are usual
    with concurrency(limit(gpu), occupy=1, lease_duration=60) if gpu is not None else nullcontext():
        status = crew.run(command, env, get_run_logger().info, seconds)
    if status:
        raise RuntimeError(f"{label}: dvc repro ended with status {status}; its output says why")


@flow(name="reproduce", flow_run_name="{scale}")
def reproduce(
    targets: list[str] | None = None,
    scale: str = "quick",
    workers: int | None = None,
    force: bool = False,
    pull: bool = False,
    keep_going: bool = True,
    retries: int = 1,
    hours: float | None = None,
    root: str | None = None,
) -> State | None:
    """Bring the targets up to date.

    Args:
        targets: Stages, kinds of stage, or keys of claims and experiments; everything by default.
        scale: ``quick`` or ``paper``.
        workers: How many calls of DVC at once; one a core by default.
        force: Run also what is up to date.
        pull: Take from DVC's remote what another machine has computed.
        keep_going: After a failure go on with what does not need the failed stage.
        retries: How often a failed training run goes on from its checkpoint.
        hours: How long one call of DVC may take.
        root: Another project of the same layout.
    """
    graph = Graph(Path(root).resolve() if root else ROOT, scale)
    chosen = graph.select(targets or [])
    gpus = visible_gpus(graph.settings.machine.device)
    for gpu in gpus:
        with get_client(sync_client=True) as client:
            client.upsert_global_concurrency_limit_by_name(limit(gpu), 1)
    schedule = Schedule(graph, chosen, workers or os.cpu_count() or 1, gpus, force, keep_going)
    ended: queue.SimpleQueue[tuple[Batch, PrefectFuture]] = queue.SimpleQueue()
    crew, running = Crew(graph.root), 0
    options = [option for option, wanted in (("--force", force), ("--pull", pull)) if wanted]

    def start(batch: Batch) -> None:
        call = repro.with_options(retries=retries if batch.kind == "train" else 0, tags=[batch.kind])
        addresses = [graph.address(name) for name in batch.names]
        seconds = hours * 3600 if hours else None
        future = call.submit(batch.label, addresses, options, batch.gpu, crew, seconds)
        future.add_done_callback(lambda one: ended.put((batch, one)))

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
            schedule.end(batch, future.state.is_completed())
    finally:
        crew.close()
    summary = f"{len(schedule.ran)} stages brought up to date, {len(schedule.done - schedule.ran)} already were"
    if schedule.failed:
        summary += f"; failed: {', '.join(sorted(schedule.failed))}"
    if schedule.waiting:
        summary += f"; not run, for they need those: {', '.join(schedule.waiting)}"
    publish(graph, [name for name in chosen if name in schedule.done], summary)
    get_run_logger().info(summary)
    return Failed(message=summary) if schedule.failed else None


def limit(gpu: str) -> str:
    """The name of Prefect's concurrency limit of one GPU of this machine."""
    return f"gpu:{gethostname()}:{gpu}"


def visible_gpus(device: str) -> list[str]:
    """The GPUs that stages may use: those of CUDA_VISIBLE_DEVICES, or all."""
    if device == "cpu":
        return []
    if (visible := os.environ.get("CUDA_VISIBLE_DEVICES")) is not None:
        named = [one.strip() for one in visible.split(",") if one.strip()]
        return named[: named.index("-1")] if "-1" in named else named  # CUDA stops at it too
    if not shutil.which("nvidia-smi"):
        return []
    query = ["nvidia-smi", "--query-gpu=index", "--format=csv,noheader"]
    done = subprocess.run(query, capture_output=True, text=True)
    return done.stdout.split() if done.returncode == 0 else []  # where it fails it says so on stdout


def main(
    targets: Annotated[list[str] | None, typer.Argument(help="stages, or keys of claims and experiments")] = None,
    scale: Annotated[str, typer.Option(help="quick or paper")] = "quick",
    workers: Annotated[int, typer.Option(min=1, help="calls of DVC at once")] = os.cpu_count() or 1,
    force: Annotated[bool, typer.Option("--force", "-f", help="run also what is up to date")] = False,
    pull: Annotated[bool, typer.Option("--pull", help="take from DVC's remote what another has computed")] = False,
    keep_going: Annotated[bool, typer.Option(help="after a failure go on with what does not need it")] = True,
    retries: Annotated[int, typer.Option(min=0, help="of a training run, from its checkpoint")] = 1,
    hours: Annotated[float | None, typer.Option(min=0, help="the longest that one call of DVC may take")] = None,
    root: Annotated[Path, typer.Option(help="the project")] = ROOT,
) -> None:
    """Run what is stale of the pipeline, independent stages in parallel."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # unwinds, so that the embedded server ends too
    try:
        graph = Graph(root.resolve(), scale)
        chosen = graph.select(targets or [])
    except Refused as error:
        print(error, file=sys.stderr)
        raise SystemExit(2) from error
    if not (force or get_current_settings().api.url or graph.stale(chosen)):
        print(f"0 stages brought up to date, {len(chosen)} already were")  # not worth the start of an embedded server
        return
    state = reproduce(targets, scale, workers, force, pull, keep_going, retries, hours, str(root), return_state=True)
    sys.exit(0 if state.is_completed() else 1)


if __name__ == "__main__":
    app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)
    app.command()(main)
    app()
