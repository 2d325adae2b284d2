"""--launch: the programs of stages run elsewhere, here through a stand-in for ssh in another session and folder."""

import json
import os
import subprocess
import sys
from pathlib import Path

import dummy_nodes
import dummy_project
import dummy_ssh
import psutil
import pytest
import yaml
from dummy_project import ROOT, background, begun, order, traces, until, until_hanging

# an engine that takes the first of two nodes that is not left out, and fails where none is
ENGINE = f"""#!{sys.executable}
import os, subprocess, sys
options, program = sys.argv[1:sys.argv.index("sh")], sys.argv[sys.argv.index("sh"):]
avoid = [name for option in options if option.startswith("--exclude=") for name in option[10:].split(",")]
node = next(name for name in ("node1", "node2") if name not in avoid)
sys.exit(subprocess.run(program, env={{**os.environ, "SLURMD_NODENAME": node}}, start_new_session=True).returncode)
"""
SLURM = f"sh {ROOT / 'examples/launch/over_slurm.sh'} -N1 -n1"
PRINTED = ("slurm", "ssh", "any engine with an option")
SENT = ["prepare@roll", "train@run", "measure@run", "simulate@s0", "simulate@s1"]


@pytest.fixture
def hosts(tmp_path: Path) -> Path:
    """The folder with the stand-in; ``used`` in it lists the hosts in the order of their programs."""
    return dummy_ssh.make(tmp_path / "hosts")


@pytest.fixture(scope="module")
def launches(printed) -> dict[str, str]:
    """The launch commands of docs/how-to/machines.md that need no engine but Slurm or ssh."""
    commands = [command for block in printed("docs/how-to/machines.md") for command in block.commands()]
    assert all(command[:3] == ["python", "-m", "flows.reproduce"] and command[-2] == "--launch" for command in commands)
    return dict(zip(PRINTED, (command[-1] for command in commands), strict=True))


def command(root: Path, *arguments: str) -> list[str]:
    launch = f"{sys.executable} {ROOT / 'examples/launch/over_ssh.py'} one,two --"
    return [sys.executable, "-m", "flows.reproduce", "--root", str(root), "--launch", launch, *arguments]


def flow(env: dict[str, str], hosts: Path, root: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    env = {**env, "PATH": f"{hosts}{os.pathsep}{env['PATH']}", "CUDA_VISIBLE_DEVICES": "0"}
    pipe = subprocess.PIPE
    return subprocess.run(
        command(root, *arguments), cwd=ROOT, env=env, stdout=pipe, stderr=subprocess.STDOUT, text=True, timeout=600
    )


def test_programs_run_on_both_hosts_once_each_and_the_report_stays(
    project: Path, hosts: Path, server: dict[str, str]
) -> None:
    order(project, seconds=0.5)
    done = flow(server, hosts, project, "--workers", "3")
    assert done.returncode == 0, done.stdout
    stages = begun(project)
    assert len(stages) == len(set(stages))
    sent = {"prepare@roll", "train@run", "measure@run", "simulate@s0", "simulate@s1"}
    nodes = {trace["stage"]: trace["node"] for trace in traces(project) if trace["event"] == "begin"}
    assert {name for name, node in nodes.items() if node} == sent
    assert set(nodes.values()) == {"one", "two", None}
    assert (hosts / "used").read_text().count("\n") == len(sent)
    assert all(trace["gpu"] is None for trace in traces(project) if trace["stage"] in sent), "the engine's to give"
    for host in ("one", "two"):  # a program at a time
        times = [trace["time"] for trace in traces(project) if trace["node"] == host]
        assert times == sorted(times)


def test_a_program_is_tried_once_more_and_a_lost_host_fails_its_stage_only(
    project: Path, hosts: Path, server: dict[str, str]
) -> None:
    order(project, fail=["simulate@s0"])
    done = flow(server, hosts, project, "s0", "run", "--workers", "1")
    assert done.returncode == 1
    assert begun(project).count("simulate@s0") == 2
    assert "failed: simulate@s0; not run" not in done.stdout.splitlines()[0]
    assert "measure@run" in begun(project)
    for host in ("one", "two"):
        (hosts / f"lost-{host}").touch()
    order(project)
    done = flow(server, hosts, project, "s0", "--workers", "1")
    assert "simulate@s0 failed: its program ended with status 255" in done.stdout


def test_the_second_try_goes_to_another_host(project: Path, hosts: Path, server: dict[str, str]) -> None:
    (hosts / "lost-one").touch()
    done = flow(server, hosts, project, "s0", "s1", "--workers", "2")
    assert done.returncode == 0, done.stdout
    ran = [trace for trace in traces(project) if trace["event"] == "begin" and trace["stage"].startswith("simulate@")]
    assert sorted(trace["stage"] for trace in ran) == ["simulate@s0", "simulate@s1"]
    assert {trace["node"] for trace in ran} == {"two"}


@pytest.mark.parametrize("name", PRINTED)
@pytest.mark.parametrize("status", [0, 1])
def test_every_kind_of_stage_that_fails_on_a_node_runs_on_another(
    project: Path, hosts: Path, server: dict[str, str], launches: dict[str, str], name: str, status: int
) -> None:
    """Status 0 is that of an ``srun`` whose node has died: the stage then has no output."""
    dummy_nodes.add_atlas(project)
    (project / "examples").symlink_to(ROOT / "examples")
    for program, content in {"srun": ENGINE, "sinfo": "#!/bin/sh\necho node1; echo node2\n"}.items():
        (hosts / program).write_text(content)
        (hosts / program).chmod(0o755)
    order(project, broken={"node1": status})
    launch = ["--launch", launches[name], "--workers", "1"]
    for targets in (SENT, ["--scale", "atlas", "cells@first"]):
        done = flow(server, hosts, project, *launch, *targets)
        assert done.returncode == 0, done.stdout
    nodes: dict[str, list[str]] = {}
    for trace in traces(project):
        if trace["event"] == "begin":
            nodes.setdefault(trace["stage"], []).append(trace["node"])
    assert nodes == {stage: ["node1", "node2"] for stage in [*SENT, "cells@first"]}
    assert flow(server, hosts, project, *launch, "--force", "s0").returncode == 0, "a later run may try it again"
    assert [trace["node"] for trace in traces(project) if trace["event"] == "begin"][-2:] == ["node1", "node2"]


def test_a_second_try_stays_where_there_is_one_node(project: Path, hosts: Path, server: dict[str, str]) -> None:
    for program, content in {"srun": ENGINE, "sinfo": "#!/bin/sh\necho node1\n"}.items():
        (hosts / program).write_text(content)
        (hosts / program).chmod(0o755)
    order(project, broken={"node1": 1})
    done = flow(server, hosts, project, "--launch", SLURM, "s0")
    assert done.returncode == 1, done.stdout
    assert [trace["node"] for trace in traces(project)] == ["node1", "node1"]


def test_cancelling_reaches_the_other_host(project: Path, hosts: Path, tmp_path: Path, server: dict[str, str]) -> None:
    order(project, hang=["train@run"])
    env = {**server, "PATH": f"{hosts}{os.pathsep}{server['PATH']}"}
    with background(command(project, "run"), ROOT, env, tmp_path / "log") as process:
        remote = until_hanging(project)
        (session,) = {os.getsid(number) for number in remote}
        assert session != os.getsid(process.pid)
        psutil.Process(process.pid).send_signal(2)
        assert until(lambda: not any(map(dummy_project.alive, remote)), 30)
        assert until(lambda: process.poll() is not None, 30)
    assert json.loads((project / ".dvc/tmp/flow").read_text()) == {}


@pytest.mark.parametrize("launched", [True, False])
def test_cells_of_the_atlas_are_sent_out_or_run_at_once_without_a_gpu(
    project: Path, hosts: Path, server: dict[str, str], launched: bool
) -> None:
    dummy_nodes.add_atlas(project)
    (project / "params.yaml").write_text(yaml.safe_dump(dummy_project.params(0, "auto")))
    order(project, seconds=0.5)
    if launched:
        assert flow(server, hosts, project, "--scale", "atlas", "--workers", "2").returncode == 0
    else:
        local = [sys.executable, "-m", "flows.reproduce", "--root", str(project), "--scale", "atlas", "--workers", "2"]
        subprocess.run(local, cwd=ROOT, env={**server, "CUDA_VISIBLE_DEVICES": "0"}, check=True, capture_output=True)
    cells = [trace for trace in traces(project) if trace["stage"].startswith("cells@")]
    assert [trace["event"] for trace in cells if trace["event"] == "begin"] == ["begin", "begin"]
    if launched:
        assert {trace["node"] for trace in cells} == {"one", "two"}
    else:
        assert [trace["event"] for trace in cells] == ["begin"] * 2 + ["end"] * 2, "they train on the CPU"
