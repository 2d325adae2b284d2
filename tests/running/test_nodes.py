"""A coordinator and two nodes, each in a clone of its own: no shared folder but git's and DVC's remotes."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import dummy_project
import psutil
import pytest
import yaml
from dummy_project import ROOT, background, begun, call, order, until, until_hanging

from flows.graph import Graph

COPIED = ("flows", "prefect.toml", "prefect.yaml")
PAGES = {"report", "site"}
ATLAS = "pipeline/atlas/dvc.yaml"
CELLS = {"groups": {"g": 1}, "seeds": 2, "slice": {"a": 1}, "stages": {"first": {"b": 1}, "second": {"c": 1}}}


@pytest.fixture(scope="module")
def clones(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The coordinator's clone and those of two nodes."""
    folder = tmp_path_factory.mktemp("nodes")
    first = dummy_project.make(folder / "coordinator", dummy_project.params(3), seconds=1)
    for name in COPIED:
        ignored = shutil.ignore_patterns("__pycache__")
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, first / name, ignore=ignored)
        else:
            shutil.copy(ROOT / name, first / name)
    (first / "flows/automations.yaml").write_text(
        (ROOT / "flows/automations.yaml").read_text().replace("within: 90", "within: 40")
    )
    (first / ATLAS).parent.mkdir()
    (first / ATLAS).with_name("cells.yaml").write_text(yaml.safe_dump(CELLS))
    (first / ATLAS).write_text(yaml.safe_dump(dummy_project.pipeline((ROOT / ATLAS).read_text()), sort_keys=False))
    call("dvc", "remote", "add", "--quiet", "--default", "store", str(folder / "store"), cwd=first)
    call("git", "add", "--all", cwd=first)
    call("git", "-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "--quiet", "-m", "code", cwd=first)
    for name in ("one", "two"):
        call("git", "clone", "--quiet", str(first), str(folder / name), cwd=folder)
        order(folder / name, seconds=1, provenance=True)
    return {name: folder / name for name in ("coordinator", "one", "two")}


@pytest.fixture(scope="module")
def env(clones: dict[str, Path], server: dict[str, str]) -> dict[str, str]:
    """The environment of everybody, with the pool, the deployment and the automation there."""
    often = {"PREFECT_WORKER_QUERY_SECONDS": "2", "PREFECT_FLOWS_HEARTBEAT_FREQUENCY": "30"}
    env = {**server, **often, "PYTHONPATH": str(ROOT)}
    for command in (
        ["prefect", "work-pool", "create", "nodes", "--type", "process"],
        ["prefect", "--no-prompt", "deploy", "-n", "node"],
        ["prefect", "automation", "create", "--from-file", "flows/automations.yaml"],
    ):
        call(*command, cwd=clones["coordinator"], env=env)
    return env


@pytest.fixture
def workers(clones: dict[str, Path], env: dict[str, str]) -> Iterator[dict[str, "subprocess.Popen[bytes]"]]:
    """A worker in each node's clone, started by its name; all are gone afterwards."""
    with ExitStack() as stack:
        started: dict[str, subprocess.Popen[bytes]] = {}

        class Workers(dict):
            def __missing__(self, name: str) -> "subprocess.Popen[bytes]":
                here = {**env, "GRAMLAB_CLONE": str(clones[name]), "PWD": str(clones[name])}
                command = ["prefect", "worker", "start", "--pool", "nodes", "--name", name, "--limit", "1"]
                self[name] = stack.enter_context(background(command, clones[name], here, clones[name] / "worker.log"))
                return self[name]

        yield Workers(started)


def coordinate(clones: dict[str, Path], *arguments: str) -> list[str]:
    options = ["--root", str(clones["coordinator"]), "--nodes", "stage/node", "--workers", "2"]
    return [sys.executable, "-m", "flows.reproduce", *options, *arguments]


def logs(clones: dict[str, Path]) -> str:
    return "".join(log.read_text() for name in ("one", "two") if (log := clones[name] / "worker.log").is_file())


def test_two_nodes_run_each_stage_once_and_the_coordinator_none(clones, env, workers) -> None:
    assert workers["one"]
    assert workers["two"]
    done = subprocess.run(coordinate(clones), cwd=ROOT, env=env, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr + logs(clones)
    on_nodes = begun(clones["one"]) + begun(clones["two"])
    stages = set(Graph(clones["coordinator"], "quick").stages)
    assert sorted(on_nodes) == sorted(stages - PAGES)
    assert begun(clones["one"])
    assert begun(clones["two"])
    assert set(begun(clones["coordinator"])) == PAGES
    for name in ("one", "two"):  # the coordinator has their provenance, and with it where each stage ran
        for stage in begun(clones[name]):
            record = "data/quick/provenance/" + stage.replace("simulate@", "measure@") + ".json"
            assert (clones["coordinator"] / record).read_text() == (clones[name] / record).read_text()
            assert json.loads((clones["coordinator"] / record).read_text())["node"] == name
    files = ("dvc.yaml", "pipeline/quick/data/dvc.yaml", "pipeline/quick/fact/dvc.yaml")
    assert call("dvc", "status", "--json", *files, cwd=clones["coordinator"]).strip() == "{}"


def test_nodes_measure_the_cells_of_the_atlas_and_the_coordinator_judges_them(clones, env, workers) -> None:
    for clone in clones.values():
        (clone / "trace.jsonl").unlink(missing_ok=True)
    assert workers["one"]
    done = subprocess.run(
        coordinate(clones, "--scale", "atlas"), cwd=ROOT, env=env, capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stdout + done.stderr + logs(clones)
    assert sorted(begun(clones["one"])) == ["cells@first", "cells@second"]
    assert begun(clones["coordinator"]) == ["chart@whole"]


def test_a_stage_of_a_killed_node_runs_on_another(clones, env, workers, tmp_path) -> None:
    params = clones["coordinator"] / "params.yaml"
    params.write_text(params.read_text().replace("lr: 0.1", "lr: 0.2"))
    refused = subprocess.run(coordinate(clones, "run"), cwd=ROOT, env=env, capture_output=True, text=True)
    assert "nodes check out a commit, and params.yaml is not committed" in refused.stdout + refused.stderr
    author = ["-c", "user.name=t", "-c", "user.email=t@localhost"]
    call("git", *author, "commit", "--quiet", "-am", "rate", cwd=clones["coordinator"])
    for name in ("one", "two"):
        (clones[name] / "trace.jsonl").unlink(missing_ok=True)  # one node may have run all stages
    order(clones["one"], hang=["train@run"])
    first = workers["one"]
    with background(coordinate(clones, "run"), ROOT, env, tmp_path / "log") as process:
        until_hanging(clones["one"], 150)
        processes = psutil.Process(first.pid).children(recursive=True)
        os.kill(first.pid, 9)
        for each in processes:
            with suppress(psutil.NoSuchProcess):
                each.kill()
        assert workers["two"]
        assert until(lambda: process.poll() is not None, 300), (tmp_path / "log").read_text()
        assert process.returncode == 0, (tmp_path / "log").read_text() + logs(clones)
    assert begun(clones["two"]) == ["train@run", "measure@run"]
