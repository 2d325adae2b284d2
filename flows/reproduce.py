"""Run the stale stages of the pipeline, independent stages in parallel: ``python -m flows.reproduce --help``.

DVC supplies the graph and finds the stale stages. This flow only schedules them, and keeps no state between runs.
"""

import signal

from flows.interrupts import INTERRUPTED, end_at_once

if __name__ == "__main__":  # before the other imports, which take seconds
    signal.signal(signal.SIGINT, end_at_once)

import math
import os
import shutil
import sys
import threading
import time
from contextlib import ExitStack
from functools import wraps
from multiprocessing.util import get_temp_dir
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn

import typer
from prefect import flow, get_run_logger
from prefect.logging.handlers import APILogHandler
from prefect.runtime import flow_run
from prefect.settings import PREFECT_API_URL, get_current_settings, temporary_settings
from prefect.states import Completed, Failed, State
from pydantic import Field
from typer import Argument, Option

from flows.console import LOGS, Console, attach, logged
from flows.graph import Graph, Refused, counts_in_words, load
from flows.nodes import committed
from flows.run import Options, bring_all_up_to_date
from flows.server import embedded
from flows.turn import OtherMachine, turn
from gramlab.cli.errors import run_program

ROOT = Path(__file__).resolve().parent.parent
PATIENCE = 4.5  # seconds from Ctrl-C to the end, whatever hangs
stopping = threading.Event()  # set by Ctrl-C


def web_address(address: str | None) -> str | None:
    """Refuse an address that a browser does not open from a server's page."""
    if address and not address.startswith(("http://", "https://")):
        raise typer.BadParameter(f"{address!r} does not begin with http:// or https://")
    return address


def above_zero(hours: float | None) -> float | None:
    """Refuse a time in which no stage can run, and one that JSON cannot carry to a node."""
    if hours is not None and not 0 < hours < math.inf:
        raise typer.BadParameter(f"{hours:g} is not a finite number above 0")
    return hours


def run_name() -> str:
    """The scale and the targets of a run."""
    parameters: dict[str, Any] = flow_run.parameters
    return f"{parameters.get('scale', 'quick')}: {', '.join(parameters.get('targets') or ['everything'])}"


@flow(name="reproduce", flow_run_name=run_name)
def reproduce(
    targets: Annotated[list[str] | None, Argument(help="stages, or keys of claims and experiments")] = None,
    scale: Annotated[Literal["quick", "paper", "atlas"], Option(help="quick, paper or atlas")] = "quick",
    workers: Annotated[
        int | None, Option(min=1, max=1000, help="stages at once; one a core by default"), Field(ge=1, le=1000)
    ] = None,
    force: Annotated[bool, Option("--force", "-f", help="run also what is up to date")] = False,
    pull: Annotated[bool, Option("--pull", help="take from DVC's remote what another machine has computed")] = False,
    push: Annotated[bool, Option("--push", help="share what this run has computed through DVC's remote")] = False,
    keep_going: Annotated[bool, Option(help="after a failure, run the stages that do not need the failed one")] = True,
    retries: Annotated[
        int, Option(min=0, max=10, help="how often a failed training run, or a failed stage elsewhere, is tried again"),
        Field(ge=0, le=10),
    ] = 1,
    hours: Annotated[
        float | None, Option(help="the longest that one try of a stage may take",
                             callback=lambda hours: above_zero(hours)), Field(gt=0, allow_inf_nan=False),
    ] = None,
    launch: Annotated[
        str | None, Option(help="command that runs a stage's program elsewhere: 'srun -n1'; docs/how-to/machines.md")
    ] = None,
    nodes: Annotated[
        str | None, Option(help="deployment that runs stages in other clones: stage/node; docs/how-to/machines.md")
    ] = None,
    report: Annotated[
        str | None, Option(help="where a browser finds the report, http:// or https://, for Prefect's interface",
                           callback=lambda address: web_address(address)), Field(pattern="^https?://"),
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
                return Completed(message="\n".join(stale_lines(graph, chosen)))
            need_remote(graph, {"--pull": pull, "--push": push, "--nodes": nodes})
            if nodes:
                committed(graph.root)
            options = Options(
                workers, force, pull or bool(nodes), push, keep_going, retries, hours, launch, nodes, report
            )
            return bring_all_up_to_date(graph, chosen, options)
    except (Refused, OtherMachine) as error:
        return Failed(message=str(error))


def stale_lines(graph: Graph, chosen: list[str]) -> list[str]:
    """A line for each stage that is itself stale, and the number of stages that need one of these."""
    stale, likely = graph.stale(chosen), graph.likely_stale(chosen)
    lines = [f"{name} is stale" for name in chosen if name in stale]
    return [*lines, f"{len(stale)} of {len(chosen)} stages are stale, {len(likely - stale)} more need one of them"]


def choose(root: str, scale: str, targets: list[str] | None) -> tuple[Graph, list[str]]:
    """The graph, and the stages to bring up to date."""
    try:
        os.chdir(root)  # DVC takes some paths from the working directory
    except OSError as error:
        raise Refused(f"{root}: {error.strerror}") from error
    graph = load(Path.cwd(), scale)
    return graph, graph.select(targets or [])


def need_remote(graph: Graph, options: dict[str, Any]) -> None:
    """Raise Refused if one of these options is given and DVC has no remote; otherwise stages would run before that."""
    config = graph.repo.config
    if (config["core"].get("remote") or "").lower() not in config["remote"]:
        for option in (option for option, given in options.items() if given):
            raise Refused(f"{option} needs a default remote of DVC; type `dvc remote add --default NAME ADDRESS` first")


@wraps(reproduce.fn)
def main(**options: Any) -> None:
    """Run the flow; exit with status 2 on a mistake, 1 where a stage has failed, 130 after Ctrl-C."""
    console = attach()
    options["root"] = str(Path(options["root"]).resolve())  # the flow changes its folder
    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
    try:
        with turn(Path(options["root"]), console.note):
            status = run(options, console)
    except (Refused, OtherMachine, TimeoutError) as error:
        print(error, file=sys.stderr)
        status = 2
    except KeyboardInterrupt:
        status = 130
    except Exception:
        if not stopping.is_set():
            raise
        status = 130  # pydantic turns a KeyboardInterrupt into an error of its own
    if status == 130:
        console.note(INTERRUPTED)
    sys.stdout.flush()
    leave(status) if status == 130 else sys.exit(status)


def leave(status: int) -> NoReturn:
    """End this process at once, whatever its threads do, without the folder that multiprocessing has made."""
    shutil.rmtree(get_temp_dir(), ignore_errors=True)
    os._exit(status)


def stop(number: int, _: Any) -> None:
    """Unwind this process, and end it after PATIENCE in any case; the programs and the server end with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    stopping.set()

    def end() -> None:
        time.sleep(PATIENCE)
        attach().note(INTERRUPTED)
        leave(128 + number)

    threading.Thread(target=end, daemon=True).start()
    raise KeyboardInterrupt


def run(options: dict[str, Any], console: Console) -> int:
    """Run the flow if a stage is stale, and return the exit status."""
    graph, chosen = choose(*(options[name] for name in ("root", "scale", "targets")))
    if options["dry_run"]:
        print(*stale_lines(graph, chosen), sep="\n")
        return 0
    need_remote(graph, {f"--{name}": options[name] for name in ("pull", "push", "nodes")})
    stale = set(chosen) if options["force"] else graph.likely_stale(chosen)
    settings = get_current_settings()
    if not (stale or settings.api.url):
        console.note(counts_in_words(0, len(chosen)))  # not worth a server
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
        console.note(f"the whole log is in {LOGS / log.name}")
    return 0 if state.is_completed() else 1


if __name__ == "__main__":
    run_program(main)
