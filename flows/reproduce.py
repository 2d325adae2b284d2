"""Run what is stale of the pipeline, independent stages in parallel: ``python -m flows.reproduce --help``.

The graph is DVC's, and DVC says what is stale; this flow only says when, and keeps nothing from one run to the next.
"""

import os
import queue
import signal
import sys
import threading
import time
from collections import deque
from contextlib import ExitStack, nullcontext
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from dvc.stage import PipelineStage
from prefect import flow, get_client, get_run_logger, task
from prefect.cache_policies import NO_CACHE
from prefect.concurrency.sync import concurrency
from prefect.logging.handlers import APILogHandler
from prefect.runtime import flow_run
from prefect.settings import PREFECT_API_URL, get_current_settings, temporary_settings
from prefect.states import Completed, Failed, State
from pydantic import Field
from typer import Argument, Option

from flows.artifacts import publish, verdicts
from flows.console import LOGS, Console, Progress, logged
from flows.gpus import limit, visible_gpus
from flows.graph import Graph, Refused, load
from flows.recorder import Outcome, Recorder
from flows.runner import LIBRARIES, Runner
from flows.schedule import Batch, Schedule, kind
from flows.server import embedded
from flows.turn import OtherMachine, turn

ROOT = Path(__file__).resolve().parent.parent
LAUNCHED = {"prepare", "train", "measure", "simulate"}  # what --launch sends out; the rest takes seconds
PATIENCE = 4.5  # seconds from Ctrl-C to the end, whatever hangs
LAST_WORDS = 3  # lines of a failed program that its failure shows
UsageError: type[Exception] = typer.BadParameter.__mro__[1]  # typer has no name of its own for it
console: Console | None = None  # where the flow runs at a terminal


@task(name="stages", task_run_name="{label}", cache_policy=NO_CACHE)
def bring_up_to_date(
    label: str, batch: Batch, recorder: Recorder, runner: Runner, options: dict[str, Any], events: queue.SimpleQueue
) -> None:
    """Bring stages up to date whose dependencies are up to date; put what became of each among the events."""
    log = get_run_logger().info
    gpu = {} if batch.gpu is None else {"CUDA_VISIBLE_DEVICES": batch.gpu}
    last: deque[str] = deque(maxlen=LAST_WORDS)
    words: list[str] = []

    def say(line: str) -> None:
        log(line)
        last.append(line)

    def run(stage: PipelineStage) -> int:
        last.clear()
        launch = options["launch"] if kind(stage.name) in LAUNCHED else None
        environment = {"DVC_ROOT": str(runner.root), "DVC_STAGE": stage.addressing, **gpu}  # as DVC does
        environment |= {"GRAMLAB_LAUNCHED": "1"} if launch else {}  # the provenance then names the node
        for command in [stage.cmd] if isinstance(stage.cmd, str) else stage.cmd:
            if status := runner.run(command, environment, say, options["seconds"], launch):
                words.extend(last)
                return status
        return 0

    def tell(outcome: Outcome) -> None:
        log(str(outcome))
        ending = outcome.name == batch.names[-1]
        events.put((outcome, tuple(words) if outcome.failure else (), ending))

    # where a client gives up on a busy server's answer, a slot stays taken until its lease runs out; 300 s are usual
    slot = nullcontext() if batch.gpu is None else concurrency(limit(batch.gpu), occupy=1, lease_duration=60)
    with slot:
        recorder.reproduce(batch.names, run, tell)
    if failed := sorted(set(batch.names) - recorder.recorded):
        raise RuntimeError(f"{', '.join(failed)} failed; the log above says why")


def run_name() -> str:
    """The scale and the targets of a run."""
    parameters: dict[str, Any] = flow_run.parameters
    return f"{parameters.get('scale', 'quick')}: {', '.join(parameters.get('targets') or ['everything'])}"


@flow(name="reproduce", flow_run_name=run_name)
def reproduce(
    targets: Annotated[list[str] | None, Argument(help="stages, or keys of claims and experiments")] = None,
    scale: Annotated[Literal["quick", "paper"], Option(help="quick or paper")] = "quick",
    workers: Annotated[
        int | None, Option(min=1, help="stages at once; one a core by default"), Field(ge=1, le=1000)
    ] = None,
    force: Annotated[bool, Option("--force", "-f", help="run also what is up to date")] = False,
    pull: Annotated[bool, Option("--pull", help="take from DVC's remote what another machine has computed")] = False,
    keep_going: Annotated[bool, Option(help="after a failure go on with what does not need it")] = True,
    retries: Annotated[
        int, Option(min=0, help="of a failed training run, from its checkpoint; of all that --launch sends out"),
        Field(ge=0, le=10),
    ] = 1,
    hours: Annotated[float | None, Option(min=0, help="the longest that a stage may take"), Field(gt=0)] = None,
    launch: Annotated[
        str | None, Option(help="command that runs a stage's program elsewhere, such as 'srun -n1'; docs/running.md")
    ] = None,
    dry_run: Annotated[bool, Option("--dry-run", help="only say which stages are stale")] = False,
    root: Annotated[str, Option(help="the project")] = str(ROOT),
) -> State:  # fmt: skip
    """Run what is stale of the pipeline, independent stages in parallel."""
    log = get_run_logger().info
    try:
        with turn(Path(root), log):
            graph, chosen = choose(root, scale, targets)
            if dry_run:
                return Completed(message="\n".join(what_is_stale(graph, chosen)))
            return bring_all_up_to_date(graph, chosen, workers, force, pull, keep_going, retries, hours, launch)
    except (Refused, OtherMachine) as error:
        return Failed(message=str(error))


def bring_all_up_to_date(
    graph: Graph, chosen: list[str], workers: int | None, force: bool, pull: bool, keep_going: bool, retries: int,
    hours: float | None, launch: str | None,
) -> State:  # fmt: skip
    """Bring these stages up to date, as the flow does; how the run went."""
    machine = graph.parameters.get("machine") or {}
    gpus = [] if launch else visible_gpus(machine.get("device", "auto"))  # the engine's, where there is one
    for gpu in gpus:
        with get_client(sync_client=True) as client:
            client.upsert_global_concurrency_limit_by_name(limit(gpu), 1)
    slots = workers or os.cpu_count() or 1
    before = verdicts(graph)
    schedule = Schedule(graph, chosen, slots, gpus, force, keep_going)
    events: queue.SimpleQueue[Any] = queue.SimpleQueue()  # outcomes of stages, and ends of batches
    ours = any(" -m tasks." in str(graph.stages[name].cmd) for name in chosen)
    runner = Runner(graph.root, machine.get("threads", 1), LIBRARIES if ours else ())
    recorder, running = Recorder(graph, force, pull), 0
    progress = Progress(graph, chosen, set(chosen) if force else graph.likely_stale(chosen), slots)
    options = {"seconds": hours * 3600 if hours else None, "launch": launch}

    def start(batch: Batch) -> None:
        name = kind(batch.names[0])
        again = retries if name == "train" or (launch and name in LAUNCHED) else 0
        call = bring_up_to_date.with_options(retries=again, tags=[name])
        future = call.submit(batch.label, batch, recorder, runner, options, events)
        future.add_done_callback(lambda future: events.put((batch, future)))

    try:
        while True:
            for batch in schedule.begin():
                start(batch)
                running += 1
            progress.up_to_date(schedule.done)
            if not running:
                break
            while isinstance((event := events.get())[0], Outcome):
                outcome, words, ending = event
                show(progress, outcome, words, running - ending)
            batch, future = event
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
    publish(graph, before, summary)
    get_run_logger().info(summary)
    return Failed(message=summary) if schedule.failed else Completed(message=summary)


def show(progress: Progress, outcome: Outcome, words: tuple[str, ...], running: int) -> None:
    """Say what became of a stage; the last words of a failed program stay on the terminal."""
    line = progress.ended(outcome, running)
    if console is None:
        get_run_logger().info(line)
    elif outcome.failure:
        console.note("\n".join([line, *(f"    {word}" for word in words)]))
    else:
        console.progress(line)


def what_is_stale(graph: Graph, chosen: list[str]) -> list[str]:
    """A line for each stage that is stale by itself, and how many need one of those."""
    stale, likely = graph.stale(chosen), graph.likely_stale(chosen)
    lines = [f"{name} is stale" for name in chosen if name in stale]
    return [*lines, f"{len(stale)} of {len(chosen)} stages are stale, {len(likely - stale)} more need one of them"]


def choose(root: str, scale: str, targets: list[str] | None) -> tuple[Graph, list[str]]:
    """The graph, and the stages to bring up to date."""
    os.chdir(root)  # DVC takes some paths from the working directory
    graph = load(Path.cwd(), scale)
    return graph, graph.select(targets or [])


@wraps(reproduce.fn)
def main(**options: Any) -> None:
    """Run the flow; exit with status 2 on a mistake, 1 where a stage has failed, 130 after Ctrl-C."""
    global console
    console = Console()
    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
    try:
        with turn(Path(options["root"]), console.note):
            status = run(options, console)
    except (Refused, OtherMachine, TimeoutError) as error:
        print(error, file=sys.stderr)
        status = 2
    except KeyboardInterrupt:
        console.note(INTERRUPTED)
        status = 130
    sys.stdout.flush()
    os._exit(status) if status == 130 else sys.exit(status)


INTERRUPTED = "interrupted; run the same command again: it goes on where this run ended"


def stop(number: int, _: Any) -> None:
    """Unwind once, and end this process after PATIENCE even so; the programs and the server end with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)

    def end() -> None:
        time.sleep(PATIENCE)
        assert console is not None
        console.note(INTERRUPTED)
        os._exit(128 + number)

    threading.Thread(target=end, daemon=True).start()
    raise KeyboardInterrupt


def run(options: dict[str, Any], console: Console) -> int:
    """Run the flow where something is stale; the exit status."""
    graph, chosen = choose(*(options[name] for name in ("root", "scale", "targets")))
    if options["dry_run"]:
        print(*what_is_stale(graph, chosen), sep="\n")
        return 0
    stale = set(chosen) if options["force"] else graph.likely_stale(chosen)
    settings = get_current_settings()
    if not (stale or settings.api.url):
        console.note(f"0 stages brought up to date, {len(chosen)} already were")  # not worth a server
        return 0
    with ExitStack() as stack:
        log = stack.enter_context(logged(graph.root, graph.scale))
        if not settings.api.url:
            console.progress(f"{len(chosen)} stages, {len(stale)} of them stale; Prefect's server starts")
            patience = float(settings.server.ephemeral.startup_timeout_seconds)
            address = stack.enter_context(embedded(log, patience))
            stack.enter_context(temporary_settings({PREFECT_API_URL: address}))
        state = reproduce(**options, return_state=True)
        APILogHandler().flush()  # while there is a server
    console.note(str(state.message))
    if not state.is_completed():
        console.note(f"all that was said is in {LOGS / log.name}")
    return 0 if state.is_completed() else 1


if __name__ == "__main__":
    app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)
    app.command()(main)
    try:
        app(standalone_mode=False)
    except UsageError as error:
        print(error.format_message(), file=sys.stderr)  # type: ignore[attr-defined]
        raise SystemExit(2) from None
