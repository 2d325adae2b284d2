"""Stages that run in other clones: the coordinator's side, which hands them out, and the node's, the flow ``stage``.

The clones share a git remote and DVC's remote, and no folder. A coordinator (``python -m flows.reproduce --nodes
stage/node``) sends each stale stage to a deployment, and takes the result from DVC's remote. It computes only what
DVC's cache does not hold: the pages and the map of the atlas. A node checks out the coordinator's commit, fetches the
stage's inputs from the remote, runs this stage alone, and pushes the result (`flows.alone`).
"""

import json
import shlex
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, cast
from uuid import UUID

from prefect import flow, get_client, get_run_logger
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.filters import (
    DeploymentFilter,
    DeploymentFilterId,
    FlowRunFilter,
    FlowRunFilterState,
    FlowRunFilterStateType,
)
from prefect.client.schemas.objects import FlowRun, StateType, WorkerStatus
from prefect.deployments import run_deployment
from prefect.exceptions import ObjectNotFound
from prefect.states import Cancelling, Completed, Failed, State

from flows.graph import Graph, Refused
from flows.runner import ENDING, Runner
from flows.turn import OtherMachine, turn

CODE = ("flows", "gramlab", "tasks", "pipeline", "params.yaml", "dvc.yaml", ".dvc/config")
POLL_SECONDS = 1.0  # between two requests for the state of a run
PATIENCE = 10.0  # seconds until the coordinator looks for workers of the pool


def git(*command: str, folder: Path | str = ".") -> str:
    """Return the output of a git command as it is. If git fails, raise Refused with its message.

    A byte that is no UTF-8, such as one of a file's name in Latin-1, becomes an escape that can be printed.
    """
    # apart from the terminal, on which git or ssh could ask for a password, and wait for an answer
    result = subprocess.run(
        ["git", *command], cwd=folder, capture_output=True, stdin=subprocess.DEVNULL, start_new_session=True
    )
    output, message = (part.decode(errors="backslashreplace") for part in (result.stdout, result.stderr))
    if result.returncode:
        raise Refused(" ".join(f"git {command[0]}: {message}".split()))
    return output


def head(folder: Path | str = ".") -> str:
    """The commit that is checked out."""
    return git("rev-parse", "HEAD", folder=folder).strip()


def changed(folder: Path, *paths: str) -> list[str]:
    """The files that differ from the commit, without lock files and stages' outputs; with ``paths``, below these.

    Untracked files count if they are code, because stages read them.
    """
    names = git("diff", "--name-only", "--no-renames", "-z", "HEAD", "--", *paths, folder=folder)
    names += git("ls-files", "--others", "--exclude-standard", "-z", "--", *CODE, folder=folder)
    edited = [name for name in names.split("\0") if name and Path(name).name != "dvc.lock"]
    stage_outputs = outputs(folder) if edited else set()
    return [name for name in edited if not stage_outputs & {name, *map(str, Path(name).parents)}]


def outputs(folder: Path) -> set[str]:
    """The outputs of the stages of all scales."""
    scales = {file.relative_to(folder / "pipeline").parts[0] for file in folder.glob("pipeline/**/dvc.yaml")}
    outs = [out for scale in scales for stage in Graph(folder, scale).stages.values() for out in stage.outs]
    return {Path(out.fs_path).relative_to(folder).as_posix() for out in outs}


def committed(folder: Path) -> str:
    """The commit that the nodes must check out. If the code or the settings differ from it, raise Refused."""
    if names := changed(folder, *CODE):
        raise Refused(f"nodes check out a commit, and {names[0]} is not committed; commit and push first")
    return head(folder)


class Nodes:
    """A deployment that runs stages in other clones, and its runs for one coordinator.

    ``warn`` receives a line if no worker serves the deployment's work pool.
    """

    def __init__(self, deployment: str, root: Path, warn: Callable[[str], None]):
        self.deployment, self.root, self.warn = deployment, root, warn
        self.lock, self.runs, self.ended, self.warned = threading.Lock(), set[UUID](), False, False
        with get_client(sync_client=True) as client:
            try:
                remote = client.read_deployment_by_name(deployment)
            except (ObjectNotFound, ValueError):
                raise Refused(
                    f"the server has no deployment {deployment!r}; docs/how-to/machines.md has the commands"
                ) from None
        self.pool, self.id = remote.work_pool_name, remote.id

    def hand_out(
        self, names: list[str], scale: str, inputs: dict[str, str], force: bool, hours: float | None,
        say: Callable[[str], None],
    ) -> int:  # fmt: skip
        """Have a node run these stages; wait for its end. Return 0 on success, else 1.

        If `cancel` ends the coordinator's runs, InterruptedError is raised.
        If a node still runs them for an earlier coordinator, which was killed, this waits for that run.
        """
        if self.ended:
            raise InterruptedError(ENDING)
        try:
            commit = committed(self.root)
        except Refused as error:
            say(str(error))
            return 1
        parameters = {"names": names, "scale": scale, "commit": commit, "inputs": inputs, "force": force,
                      "hours": hours}  # fmt: skip
        with get_client(sync_client=True) as client:
            if run := self._earlier_run(client, parameters):
                self.warn(f"waits for {', '.join(names)}, which a node runs for an earlier coordinator")
            else:
                run = cast(FlowRun, run_deployment(self.deployment, parameters=parameters, timeout=0, as_subflow=False))
            with self.lock:
                self.runs.add(run.id)
            if self.ended:
                self.cancel()
            try:
                run = self._until_final(client, run)
            except InterruptedError:
                raise
            except Exception:  # of the connection: a second try finds the run as one of an earlier coordinator
                with self.lock:
                    self.runs.discard(run.id)
                raise
        with self.lock:
            self.runs.discard(run.id)
        assert run.state is not None
        if run.state.is_completed():
            return 0
        if self.ended:
            raise InterruptedError(ENDING)
        say(f"on a node: {run.state.name}: {run.state.message}")
        return 1

    def _until_final(self, client: SyncPrefectClient, run: FlowRun) -> FlowRun:
        """Wait until a run has ended, and return it as it is then."""
        began = time.monotonic()
        while run.state is None or not run.state.is_final():
            if self.ended:
                raise InterruptedError(ENDING)
            if not (run.start_time or self.warned) and time.monotonic() - began > PATIENCE:
                self._look_for_workers()
            time.sleep(POLL_SECONDS)
            run = client.read_flow_run(run.id)
        return run

    def _earlier_run(self, client: SyncPrefectClient, parameters: dict[str, Any]) -> FlowRun | None:
        """An unfinished run of the same stages on the same inputs, which an earlier coordinator has started."""
        begun = FlowRunFilterState(type=FlowRunFilterStateType(any_=[StateType.PENDING, StateType.RUNNING]))
        runs = client.read_flow_runs(
            flow_run_filter=FlowRunFilter(state=begun),
            deployment_filter=DeploymentFilter(id=DeploymentFilterId(any_=[self.id])),
        )
        return next((run for run in runs if run.id not in self.runs and run.parameters == parameters), None)

    def _look_for_workers(self) -> None:
        """If no worker is online, say once how to start one."""
        with get_client(sync_client=True) as client:
            workers = client.read_workers_for_work_pool(self.pool or "")
            process = client.read_work_pool(self.pool or "").type == "process"
        with self.lock:
            if not self.warned and all(worker.status != WorkerStatus.ONLINE for worker in workers):
                self.warned = True
                command = f"prefect worker start --pool {self.pool} --limit 1"
                where = (
                    f"in the clone of a node type `GRAMLAB_CLONE=$PWD {command}`" if process else f"type `{command}`"
                )
                self.warn(f"waits: no worker serves the work pool {self.pool!r}; {where}")

    def cancel(self) -> None:
        """Stop this coordinator's runs on the nodes, and hand out no more."""
        self.ended = True
        with self.lock, get_client(sync_client=True) as client:
            while self.runs:
                with suppress(ObjectNotFound):
                    client.set_flow_run_state(self.runs.pop(), Cancelling())


@flow(name="stage", flow_run_name="{names}")
def stage(
    names: list[str], scale: Literal["quick", "paper", "atlas"], commit: str, inputs: dict[str, str],
    force: bool = False, hours: float | None = None,
) -> State:  # fmt: skip
    """In a node's clone: check out the commit, run these stages on these inputs, and push their results."""
    root, log = Path.cwd(), get_run_logger().info
    last = ""

    def say(line: str) -> None:
        nonlocal last
        log(line)
        last = line

    try:
        with turn(root, log):
            if edited := changed(root):  # the checkout would lose it, or the result would depend on it
                raise Refused(f"{edited[0]} in the node's clone {root} is not committed; commit it there")
            if head() != commit:
                git("fetch", "--quiet", "--all")
                git("checkout", "--quiet", "--force", "--detach", commit)
            request = {"names": names, "scale": scale, "inputs": inputs, "force": force, "hours": hours}
            # `exec` makes the runner start a new process, because this one may hold the code of another commit
            command = f"exec {shlex.join(['python', '-m', 'flows.alone', json.dumps(request)])}"
            runner = Runner(root, 1, ())
            try:
                status = runner.run(command, {}, say)
            finally:
                runner.close()
    except (Refused, OtherMachine) as error:
        return Failed(message=str(error))
    return Failed(message=last) if status else Completed(message=last)
