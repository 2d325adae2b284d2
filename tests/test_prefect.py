"""The commands of docs/how-to/schedule.md: server, pool, deployments, automation, worker; and what a run shows."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import dummy_project
import psutil
import pytest
from dummy_project import ROOT, ask, background, begun, call, environment, order, until, until_hanging

SUMMARY = "8 stages brought up to date, 0 already were"
ENDED = ("COMPLETED", "FAILED", "CRASHED", "CANCELLED")
COPIED = ("flows", "tasks", "prefect.toml", "prefect.yaml", ".prefect/.gitignore")


@pytest.fixture(scope="module")
def page(printed) -> list:
    """The snippets of the page on schedules: the first has what starts everything, the second what one types later."""
    return printed("docs/how-to/schedule.md")


@pytest.fixture(scope="module")
def commands(page) -> list[list[str]]:
    """The five commands that start everything, after the address of the server."""
    address, *lines = page[0].commands()
    assert address == ["export", "PREFECT_API_URL=http://127.0.0.1:4200/api"]
    assert [line[0] for line in lines] == 5 * ["prefect"]
    return lines


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The flows and deployments as they are, over a pipeline that costs nothing."""
    settings = dummy_project.params(0)
    settings[dummy_project.PAPER]["claims"]["a_fig7"] = "run"  # which the page names
    root = dummy_project.make(tmp_path_factory.mktemp("prefect") / "project", settings)
    for name in COPIED:
        (root / name).parent.mkdir(exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, root / name, dirs_exist_ok=True)
        else:
            shutil.copy(ROOT / name, root / name)
    automation = root / "flows/automations.yaml"
    assert automation.read_text().count("within: 90") == 2
    automation.write_text(automation.read_text().replace("within: 90", "within: 40"))  # to wait for less
    return root


@pytest.fixture(scope="module")
def env(project: Path) -> dict[str, str]:
    """As in a user's shell, but for the port and the intervals; the settings are prefect.toml's."""
    often = {"PREFECT_WORKER_QUERY_SECONDS": "2", "PREFECT_SERVER_SERVICES_SCHEDULER_LOOP_SECONDS": "2"}
    env = environment(project, **dummy_project.server_variables(dummy_project.port()), **often, PWD=str(project))
    del env["PREFECT_HOME"], env["PREFECT_SERVER_ANALYTICS_ENABLED"]
    return env


@pytest.fixture(scope="module")
def server(project: Path, env: dict[str, str], commands: list[list[str]]) -> Iterator[str]:
    """The server with its pool, deployments and automation."""
    start, *settings, _ = commands
    with dummy_project.server(project, env, start) as address:
        for command in settings:
            call(*command, cwd=project, env=env)
        yield address


@pytest.fixture(scope="module")
def worker(
    project: Path, env: dict[str, str], server: str, commands: list[list[str]]
) -> Iterator["subprocess.Popen[bytes]"]:
    """The worker, which runs until the end of the tests, or until one kills it."""
    with background(commands[-1], project, env, project / "worker.log") as process:
        yield process


def runs(server: str, deployment: str, *states: str) -> list[dict[str, Any]]:
    question = {"deployments": {"name": {"any_": [deployment]}}, "flow_runs": {"state": {"type": {"any_": states}}}}
    return ask(f"{server}/flow_runs/filter", question) or []


def until_run(server: str, deployment: str, *states: str) -> bool:
    """Wait for a run in one of these states; seldom ask, since each answer keeps the server busy."""
    return until(lambda: runs(server, deployment, *states), 150, interval=0.5)


def states(server: str, *types: str) -> dict[str, str]:
    """The state of each run of any deployment that is in one of these states."""
    chosen = [run for name in ("nightly", "on-demand") for run in runs(server, name, *types)]
    return {run["id"]: run["state"]["type"] for run in chosen}


def schedules(server: str, deployment: str) -> list[tuple[str, bool]]:
    """The numbers of a deployment's schedules, and whether they are active."""
    answer = ask(f"{server}/deployments/name/reproduce/{deployment}")
    return [(schedule["id"], schedule["active"]) for schedule in answer["schedules"]]


def request(project: Path, env: dict[str, str], deployment: str, *parameters: str) -> None:
    """Ask for a run of a deployment with these parameters."""
    options = [word for parameter in parameters for word in ("--param", parameter)]
    call("prefect", "deployment", "run", f"reproduce/{deployment}", *options, cwd=project, env=env)


def logs(server: str, run: dict[str, Any]) -> str:
    """What a run has said."""
    messages = ask(f"{server}/logs/filter", {"logs": {"flow_run_id": {"any_": [run["id"]]}}}) or []
    return "\n".join(log["message"] for log in messages)


def test_a_scheduled_run_finishes_and_shows_its_verdicts(
    project: Path, env: dict[str, str], server: str, worker: "subprocess.Popen[bytes]", page: list
) -> None:
    list_schedules, (*resume, placeholder), run_one = page[1].commands()
    ((number, active),) = schedules(server, "nightly")
    assert (placeholder, active) == ("ID", False)
    assert number[:8] in call(*list_schedules, cwd=project, env=env)
    call(*resume, number, cwd=project, env=env)
    assert schedules(server, "nightly") == [(number, True)]
    schedule = ("prefect", "deployment", "schedule")
    call(*schedule, "create", "reproduce/nightly", "--interval", "15", "--accept-yes", cwd=project, env=env)
    finished = until_run(server, "nightly", "COMPLETED", "FAILED", "CRASHED")
    assert finished, (project / "worker.log").read_text() + (project / "server.log").read_text()
    call(*schedule, "clear", "reproduce/nightly", "--accept-yes", cwd=project, env=env)
    run = min(runs(server, "nightly", "COMPLETED"), key=lambda run: run["expected_start_time"])
    assert run["auto_scheduled"]
    assert (run["name"], run["state"]["message"]) == ("quick: everything", SUMMARY)
    ran = [name for name in begun(project) if name != "site"]  # needs none of these
    assert ran[:3] + sorted(ran[3:5]) + ran[5:] == [
        "prepare@roll", "train@run", "measure@run", "check@a_fig7", "check@c_run", "verdicts@fact", "report"
    ]  # fmt: skip
    of_run = {"artifacts": {"flow_run_id": {"any_": [run["id"]]}}}
    shown = {artifact["key"]: artifact["data"] for artifact in ask(f"{server}/artifacts/filter", of_run)}
    assert shown.keys() == {"run-quick", "verdicts-quick"}
    judged = json.loads((project / "data/quick/verdicts/fact.json").read_text())
    (row,) = json.loads(shown["verdicts-quick"])
    assert [(row["id"], row["verdict"])] == [(claim["id"], claim["verdict"]) for claim in judged.values()]
    assert SUMMARY in shown["run-quick"]
    assert "- C.1: nothing before, holds now" in shown["run-quick"]
    path = re.sub(r"([_*])", r"\\\1", str(project / "reports/index.html"))  # as Markdown has it
    assert f"The report: {path}" in shown["run-quick"], "a link to a file would not work in a browser"
    call(*run_one, cwd=project, env=env)
    assert until_run(server, "on-demand", "COMPLETED", "FAILED", "CRASHED"), (project / "worker.log").read_text()
    (run,) = runs(server, "on-demand", "COMPLETED")
    assert (run["name"], run["state"]["message"]) == ("quick: a_fig7", "0 stages brought up to date, 4 already were")


def test_a_worker_serves_the_pool_of_a_gpu(project: Path, env: dict[str, str], server: str, printed) -> None:
    (block,) = printed("docs/how-to/gpu.md")
    *settings, start = block.commands()
    for command in settings:
        call(*command, cwd=project, env=env)
    assert ask(f"{server}/deployments/name/reproduce/weekly-paper")["work_pool_name"] == "gpu"
    online = lambda: ask(f"{server}/work_pools/gpu/workers/filter", {})  # noqa: E731
    assert online() == []
    with background(start, project, env, project / "gpu.log"):
        assert until(lambda: [worker["status"] for worker in online()] == ["ONLINE"], 90), (
            project / "gpu.log"
        ).read_text()


def test_mistaken_parameters_are_one_line_each(
    project: Path, env: dict[str, str], server: str, worker: "subprocess.Popen[bytes]"
) -> None:
    for wrong, line in (("workers=-1", "-1 is less than the minimum of 1"), ('scale="huge"', "'huge' is not one of")):
        command = ["prefect", "deployment", "run", "reproduce/on-demand", "--param", wrong]
        refused = subprocess.run(command, cwd=project, env=env, capture_output=True, text=True)
        assert refused.returncode, wrong
        assert line in " ".join((refused.stdout + refused.stderr).split())
    request(project, env, "on-demand", 'targets=["c_rum"]')
    assert until_run(server, "on-demand", "FAILED"), (project / "worker.log").read_text()
    (run,) = runs(server, "on-demand", "FAILED")
    assert run["name"] == "quick: c_rum"
    assert run["state"]["message"].startswith("unknown target 'c_rum'; did you mean 'c_run'?; allowed: prepare, ")
    assert "Traceback" not in logs(server, run)


def test_a_run_waits_for_that_of_another_deployment_and_cancelling_ends_a_stage(
    project: Path, env: dict[str, str], server: str, worker: "subprocess.Popen[bytes]"
) -> None:
    order(project, hang=["prepare@roll"])
    request(project, env, "on-demand", 'targets=["prepare"]', "force=true")
    stage = until_hanging(project, 150)
    (run,) = runs(server, "on-demand", "RUNNING")
    request(project, env, "nightly")
    assert until_run(server, "nightly", "RUNNING")
    (other,) = runs(server, "nightly", "RUNNING")
    assert until(lambda: "waits for the flow that runs in this clone: process " in logs(server, other), 150, 0.5)
    order(project)
    call("prefect", "flow-run", "cancel", run["id"], cwd=project, env=env)
    assert until(lambda: not any(map(dummy_project.alive, stage)), 150), (project / "worker.log").read_text()
    assert until_run(server, "on-demand", "CANCELLED"), (project / "worker.log").read_text()
    said = logs(server, run)
    assert said.splitlines().count("prepare@roll cancelled") == 1, said
    assert not re.search("Traceback|KeyboardInterrupt|failed", said), said
    completed = lambda: [flow_run["id"] for flow_run in runs(server, "nightly", "COMPLETED")]  # noqa: E731
    assert until(lambda: other["id"] in completed(), 150, 0.5), (project / "worker.log").read_text()


def test_dead_runs_are_ended_by_the_automations_and_the_next_one_runs(
    project: Path, env: dict[str, str], server: str, worker: "subprocess.Popen[bytes]", commands: list[list[str]]
) -> None:
    ended = states(server, *ENDED)
    late = {"occurred": datetime.now(UTC).isoformat(), "event": "prefect.flow-run.heartbeat"}
    events = [
        {**late, "id": str(uuid4()), "resource": {"prefect.resource.id": f"prefect.flow-run.{run}"}} for run in ended
    ]
    (project / "trace.jsonl").unlink()
    order(project, hang=["prepare@roll"])
    request(project, env, "on-demand", 'targets=["prepare"]', "force=true")
    until_hanging(project, 150)
    (cancelled,) = runs(server, "on-demand", "RUNNING")
    request(project, env, "nightly")
    assert until_run(server, "nightly", "RUNNING")
    (crashed,) = runs(server, "nightly", "RUNNING")
    assert until(lambda: "waits for the flow that runs in this clone: process " in logs(server, crashed), 150, 0.5)
    processes = psutil.Process(worker.pid).children(recursive=True)
    worker.kill()
    for process in processes:  # its flows
        with suppress(psutil.NoSuchProcess):
            process.kill()
    ask(f"{server}/events", events)
    # nobody is left to cancel it
    call("prefect", "flow-run", "cancel", cancelled["id"], cwd=project, env=env)
    order(project)
    request(project, env, "on-demand", 'targets=["prepare"]', "force=true")
    dead = {cancelled["id"]: "CANCELLED", crashed["id"]: "CRASHED"}
    assert until(lambda: dead.items() <= states(server, *ENDED).items(), 150, 0.5), states(server, *ENDED)
    # longer than the automations wait
    assert states(server, *ENDED) == ended | dead, "a late heartbeat changes no run that has ended"
    with background(commands[-1], project, env, project / "worker.log"):
        completed = lambda: len(states(server, "COMPLETED"))  # noqa: E731
        before = list(ended.values()).count("COMPLETED")
        assert until(lambda: completed() > before, 150, 0.5), (project / "worker.log").read_text()
