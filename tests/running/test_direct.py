"""``python -m flows``: a few stages, in one process and without Prefect."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from dummy_project import ROOT, alive, background, begun, call, environment, order, until, until_hanging

FACT = "pipeline/quick/fact/dvc.yaml"
CHAIN = ["prepare@roll", "train@run", "measure@run", "check@c_run"]


def direct(root: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    env = environment(root / "home", PYTHONPATH=str(ROOT))
    return subprocess.run(
        [sys.executable, "-m", "flows", *arguments], cwd=root, env=env, capture_output=True, text=True, timeout=300
    )


def test_it_runs_what_is_stale_of_the_targets_and_dvc_finds_nothing_to_do(project: Path) -> None:
    done = direct(project, "check@c_run")
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("4 stages brought up to date, 0 already were\n")
    assert begun(project) == CHAIN
    assert "Running stage" not in call("dvc", "repro", f"{FACT}:check@c_run", cwd=project)
    assert direct(project, "check@c_run").stdout == "0 stages brought up to date, 4 already were\n"
    assert begun(project) == CHAIN


def test_a_single_stage_is_counted_in_the_singular(project: Path) -> None:
    assert direct(project, "prepare@roll").stdout.endswith("1 stage brought up to date, 0 already were\n")
    assert direct(project, "prepare@roll").stdout == "0 stages brought up to date, 1 already was\n"


def test_force_runs_all_of_the_targets(project: Path) -> None:
    for _ in range(2):
        assert direct(project, "--force", "s0").returncode == 0
    assert begun(project) == ["simulate@s0", "simulate@s0"]


def test_a_failure_stops_it_and_a_second_call_goes_on(project: Path) -> None:
    order(project, fail=["measure@run"])
    done = direct(project, "c_run")
    assert done.returncode == 1
    assert "measure@run was told to fail" in done.stdout
    assert done.stdout.splitlines()[-1] == "measure@run failed: its program ended with status 1"
    assert "Traceback" not in done.stderr
    order(project)
    assert direct(project, "c_run").returncode == 0
    assert begun(project) == [*CHAIN[:3], *CHAIN[2:]]


def test_no_process_outlives_a_kill(project: Path) -> None:
    order(project, hang=["measure@run"])
    command = [sys.executable, "-m", "flows", "c_run"]
    env = environment(project / "home", PYTHONPATH=str(ROOT))
    with background(command, project, env, project / "log") as process:
        processes = until_hanging(project)
        os.kill(process.pid, signal.SIGKILL)
        assert until(lambda: not any(map(alive, processes)), 15)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["chek@c_run"], "unknown target 'chek@c_run'; did you mean 'check@c_run'?"),
        (["c_run", "--scale", "quik"], "unknown scale 'quik'; did you mean 'quick'?"),
    ],
)
def test_a_mistake_is_named(project: Path, arguments: list[str], message: str) -> None:
    done = direct(project, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(message)
