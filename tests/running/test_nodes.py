"""A coordinator and two nodes, each in a clone of its own: no shared folder but git's and DVC's remotes."""

import json
import os
import subprocess
import sys
from contextlib import suppress

import dummy_nodes
import psutil
import pytest
from dummy_nodes import commit, coordinate, logs
from dummy_project import ROOT, background, begun, call, order, until, until_hanging

from flows.graph import Graph

PAGES = {"report", "site"}


@pytest.fixture(scope="module")
def page(printed):
    """The commands of docs/how-to/machines.md: on the server's machine, of a node and of the coordinator."""
    return [list(block.commands()) for block in printed("docs/how-to/machines.md")]


@pytest.fixture(scope="module")
def env(clones, server, page):
    return dummy_nodes.deploy(clones, server, page[0])


def test_two_nodes_run_each_stage_once_and_the_coordinator_none(clones, env, workers, page) -> None:
    (_, (of_a_node,), ((python, *arguments),)) = page
    assert python == "python"
    workers.command = of_a_node
    assert workers["one"]
    assert workers["two"]
    done = subprocess.run(
        [sys.executable, *arguments], cwd=clones["coordinator"], env=env, capture_output=True, text=True, timeout=900
    )
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
    commit(clones["coordinator"])
    for name in ("one", "two"):
        (clones[name] / "trace.jsonl").unlink(missing_ok=True)  # one node may have run all stages
    order(clones["one"], hang=["train@run"])
    first = workers["one"]
    with background(coordinate(clones, "run"), ROOT, env, tmp_path / "log") as process:
        until_hanging(clones["one"], 150)
        processes = psutil.Process(first.pid).children(recursive=True)
        os.kill(first.pid, 9)
        for child in processes:
            with suppress(psutil.NoSuchProcess):
                child.kill()
        assert workers["two"]
        assert until(lambda: process.poll() is not None, 300), (tmp_path / "log").read_text()
        assert process.returncode == 0, (tmp_path / "log").read_text() + logs(clones)
    assert begun(clones["two"]) == ["train@run", "measure@run"]
