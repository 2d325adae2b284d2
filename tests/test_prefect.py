"""The commands of docs/running.md on schedules: server, work pool, deployment, worker, and a scheduled run."""

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dummy_project
import pytest
from dummy_project import ROOT, ask, background, begun, call, environment, order, until, until_hanging

COPIED = ("flows", "prefect.toml", "prefect.yaml", ".prefect/.gitignore")


def commands() -> list[list[str]]:
    """The four commands of the section on schedules."""
    section = (ROOT / "docs/running.md").read_text().split("## On a schedule")[1]
    block = re.search(r"```sh\n(.*?)```", section, re.S)
    assert block
    lines = [shlex.split(line, comments=True) for line in block[1].splitlines()]
    return [line for line in lines if line[0] == "prefect"]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The flows and deployments as they are, over a pipeline that costs nothing."""
    root = dummy_project.make(tmp_path_factory.mktemp("prefect") / "project", dummy_project.params(0))
    for name in COPIED:
        (root / name).parent.mkdir(exist_ok=True)
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, root / name)
    return root


@pytest.fixture(scope="module")
def env(project: Path) -> dict[str, str]:
    """As in a user's shell, but for the port and the intervals; the settings are prefect.toml's."""
    often = {"PREFECT_WORKER_QUERY_SECONDS": "2", "PREFECT_SERVER_SERVICES_SCHEDULER_LOOP_SECONDS": "2"}
    env = environment(project, **dummy_project.at(dummy_project.port()), **often, PWD=str(project))
    del env["PREFECT_HOME"], env["PREFECT_SERVER_ANALYTICS_ENABLED"]
    return env


@pytest.fixture(scope="module")
def server(project: Path, env: dict[str, str]) -> Iterator[str]:
    """All four commands, in their order; the worker and the server run until the end."""
    start, pool, deploy, work = commands()
    with dummy_project.server(project, env, start) as address:
        call(*pool, cwd=project, env=env)
        call(*deploy, cwd=project, env=env)
        with background(work, project, env, project / "worker.log"):
            yield address


def runs(server: str, deployment: str, *states: str) -> list[dict[str, Any]]:
    question = {"deployments": {"name": {"any_": [deployment]}}, "flow_runs": {"state": {"type": {"any_": states}}}}
    return ask(f"{server}/flow_runs/filter", question) or []


def test_a_scheduled_run_finishes_and_shows_its_verdicts(project: Path, env: dict[str, str], server: str) -> None:
    schedule = ("prefect", "deployment", "schedule")
    call(*schedule, "create", "reproduce/nightly", "--interval", "15", "--accept-yes", cwd=project, env=env)
    finished = until(lambda: runs(server, "nightly", "COMPLETED", "FAILED", "CRASHED"), 150, every=0.5)
    assert finished, (project / "worker.log").read_text() + (project / "server.log").read_text()
    call(*schedule, "clear", "reproduce/nightly", "--accept-yes", cwd=project, env=env)
    run = min(runs(server, "nightly", "COMPLETED"), key=lambda run: run["expected_start_time"])
    assert run["auto_scheduled"]
    assert begun(project) == [
        "prepare@roll",
        "train@run",
        "measure@run",
        "check@c_run",
        "verdicts@fact",
        "report",
        "site",
    ]
    of_run = {"artifacts": {"flow_run_id": {"any_": [run["id"]]}}}
    shown = {artifact["key"]: artifact["data"] for artifact in ask(f"{server}/artifacts/filter", of_run)}
    assert shown.keys() == {"run-quick", "verdicts-quick"}
    assert '"verdict": "holds"' in shown["verdicts-quick"]
    assert "7 stages brought up to date, 0 already were" in shown["run-quick"]


def test_cancelling_a_run_ends_its_stage(project: Path, env: dict[str, str], server: str) -> None:
    order(project, hang=["prepare@roll"])
    wanted = ["--param", 'targets=["prepare"]', "--param", "force=true"]
    call("prefect", "deployment", "run", "reproduce/on-demand", *wanted, cwd=project, env=env)
    stage = until_hanging(project)
    (run,) = runs(server, "on-demand", "RUNNING")
    call("prefect", "flow-run", "cancel", run["id"], cwd=project, env=env)
    assert until(lambda: not any(map(dummy_project.alive, stage)), 60), (project / "worker.log").read_text()
    assert until(lambda: runs(server, "on-demand", "CANCELLED"), 60), (project / "worker.log").read_text()
