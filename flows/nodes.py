"""Stages that run in other clones: the coordinator's side, which hands them out, and the node's, the flow ``stage``.

The clones share a git remote and DVC's remote, and no folder. A coordinator (``python -m flows.reproduce --nodes
stage/node``) asks a deployment for each stage that is stale, and takes the result from DVC's remote; it computes
nothing itself but the pages, which git holds. A node checks out the coordinator's commit, takes what the stage needs
from the remote, runs the stage, and pushes the result.
"""

import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal, cast

from prefect import flow, get_client, get_run_logger
from prefect.client.schemas.objects import FlowRun
from prefect.deployments import run_deployment
from prefect.states import Cancelling, Failed, State

from flows.graph import Graph, Refused
from flows.turn import OtherMachine, turn

CODE = ("flows", "gramlab", "tasks", "pipeline", "params.yaml", "dvc.yaml", ".dvc/config")
SECONDS = 1.0  # between two questions of the coordinator about a run


def git(*command: str, folder: Path | str = ".") -> str:
    """What git prints; Refused with its words where it fails."""
    done = subprocess.run(["git", *command], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise Refused(" ".join(f"git {command[0]}: {done.stderr}".split()))
    return done.stdout.strip()


def committed(folder: Path) -> str:
    """The commit that the nodes are to check out; Refused where the code or the settings differ from it."""
    if changed := git("status", "--porcelain", "--", *CODE, ":!*dvc.lock", folder=folder):
        raise Refused(f"nodes check out a commit, and {changed.split()[-1]} is not committed; commit and push first")
    return git("rev-parse", "HEAD", folder=folder)


def hand_out(
    deployment: str, names: list[str], scale: str, closed: Callable[[], bool], say: Callable[[str], None]
) -> int:
    """Have a node run these stages; wait until it has ended; 0 where it has done so well."""
    parameters = {"names": names, "scale": scale, "commit": committed(Path.cwd())}
    run = cast(FlowRun, run_deployment(deployment, parameters=parameters, timeout=0, as_subflow=False))
    with get_client(sync_client=True) as client:
        while run.state is None or not run.state.is_final():
            if closed():
                client.set_flow_run_state(run.id, Cancelling())
                return 130
            time.sleep(SECONDS)
            run = client.read_flow_run(run.id)
    if run.state.is_completed():
        return 0
    say(f"on a node: {run.state.name}: {run.state.message}")
    return 1


@flow(name="stage", flow_run_name="{names}")
def stage(names: list[str], scale: Literal["quick", "paper", "atlas"], commit: str) -> State:
    """In a node's clone: check out the commit, bring these stages up to date, and push their results."""
    from flows.run import Options, bring_all_up_to_date

    root = Path.cwd()
    try:
        with turn(root, get_run_logger().info):
            committed(root)  # else somebody's work would be lost
            if git("rev-parse", "HEAD") != commit:
                git("fetch", "--quiet", "--all")
                git("checkout", "--quiet", "--force", "--detach", commit)
            graph = Graph(root, scale)
            return bring_all_up_to_date(graph, graph.select(names), Options(workers=1, pull=True, push=True, retries=0))
    except (Refused, OtherMachine) as error:
        return Failed(message=str(error))
