"""The flow on throw-away DVC repositories whose stages cost nothing: order, parallelism, failure, and death."""

import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest
import throwaway
from throwaway import ROOT, begun, call, environment, order, traces, until

from flows.graph import FILES, Graph, Refused, mend
from flows.reproduce import visible_gpus
from flows.schedule import Schedule

SIMULATIONS = 6
GPUS = ("3", "5", "7")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    home = tmp_path_factory.mktemp("server")
    env = environment(home / "home", **throwaway.at(throwaway.port()))
    with throwaway.server(home, env):
        yield env


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One run of everything, against the embedded server, four calls of DVC at once.

    The variable alone says what GPUs there are, so this needs none.
    """
    settings = throwaway.params(SIMULATIONS, device="auto")
    # long enough to overlap where a busy machine takes seconds to start each call of DVC
    root = throwaway.make(tmp_path_factory.mktemp("flows") / "project", settings, seconds=2)
    env = environment(root / "home", CUDA_VISIBLE_DEVICES=",".join(GPUS))
    done = flow(env, root, "--workers", "4")
    assert done.returncode == 0, done.stdout
    return root


def flow(env: dict[str, str], root: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "flows.reproduce", "--root", str(root), *arguments]
    pipe = subprocess.PIPE
    return subprocess.run(command, cwd=ROOT, env=env, stdout=pipe, stderr=subprocess.STDOUT, text=True, timeout=600)


def stale(root: Path, *targets: str) -> list[str]:
    """What DVC itself holds for stale."""
    return sorted(json.loads(call("dvc", "status", "--json", *targets, cwd=root)))


def spans(root: Path) -> dict[str, tuple[float, float]]:
    """When each stage began and ended."""
    found: dict[str, dict[str, float]] = {}
    for one in traces(root):
        found.setdefault(one["stage"], {})[one["event"]] = one["time"]
    return {name: (one["begin"], one["end"]) for name, one in found.items()}


def test_every_stage_runs_once_and_dvc_finds_nothing_stale(project: Path) -> None:
    graph = Graph(project, "quick")
    assert sorted(begun(project)) == sorted(graph.stages)
    assert len(graph.stages) == 4 + SIMULATIONS + SIMULATIONS + 1
    assert stale(project, *FILES["quick"]) == []
    assert all(name.startswith("paper/") for name in stale(project))


def test_a_stage_begins_after_all_that_it_needs_and_others_run_meanwhile(project: Path) -> None:
    graph, times = Graph(project, "quick"), spans(project)
    for name, needed in graph.needs.items():
        assert all(times[other][1] < times[name][0] for other in needed), name
    at_once = [sum(a <= begin < b for a, b in times.values()) for begin, _ in times.values()]
    assert 2 <= max(at_once) <= 4


def test_stages_on_one_gpu_take_turns(project: Path) -> None:
    times, used = spans(project), {one["stage"]: one["gpu"] for one in traces(project)}
    for gpu in GPUS:
        turns = sorted(times[name] for name in used if used[name] == gpu)
        assert turns
        assert all(first[1] < second[0] for first, second in pairwise(turns))
    computing = {name for name in used if name.split("@")[0] in {"train", "measure", "simulate"}}
    computing -= {f"simulate@{name}" for name in throwaway.NOT_ON_GPU}
    assert {name for name in used if used[name] in GPUS} == computing
    with closing(sqlite3.connect(project / "home/prefect.db")) as database:
        limits = dict(database.execute('select name, "limit" from concurrency_limit_v2').fetchall())
    assert limits == {f"gpu:{socket.gethostname()}:{gpu}": 1 for gpu in GPUS}


def test_a_second_run_runs_nothing(project: Path, server: dict[str, str]) -> None:
    before = begun(project)
    line = f"0 stages brought up to date, {len(before)} already were"
    done = flow(server, project)
    assert done.returncode == 0
    assert line in done.stdout
    done = flow(environment(project / "home"), project)
    assert (done.returncode, done.stdout) == (0, f"{line}\n"), "no server is started for nothing"
    assert begun(project) == before


@pytest.mark.parametrize(("name", "share"), [("dvc.lock", 0.3), ("tables/dvc.lock", 0.9)])
def test_a_lock_file_torn_by_a_kill_is_mended(project: Path, server: dict[str, str], name: str, share: float) -> None:
    lock, before = project / name, begun(project)
    whole = lock.read_bytes()
    lock.write_bytes(whole[: whole.index(b"    outs:", int(share * len(whole))) + 6])
    refused = subprocess.run(["dvc", "status"], cwd=project, env=server, capture_output=True, text=True)
    assert "is invalid" in refused.stderr + refused.stdout
    assert flow(server, project).returncode == 0
    assert stale(project, *FILES["quick"]) == []
    again = begun(project)[len(before) :]
    assert {name.split("@")[0] for name in again} <= {"check", "report"}, "all else comes from DVC's run-cache"


def test_a_merge_conflict_in_a_lock_file_is_not_cut_off(tmp_path: Path) -> None:
    lock = tmp_path / "dvc.lock"
    text = "schema: '2.0'\nstages:\n  one:\n    outs: []\n<<<<<<< HEAD\n  two:\n    outs: []\n=======\n>>>>>>> other\n"
    lock.write_text(text)
    with pytest.raises(Refused, match="unresolved merge conflict"):
        mend(lock)
    assert lock.read_text() == text


@pytest.mark.parametrize(("scale", "then"), [("paper", ["report"]), ("quick", [])])
def test_at_the_papers_scale_the_report_is_made_of_what_there_is(scale: str, then: list[str]) -> None:
    needs = {"check@a": set(), "check@b": set(), "report": {"check@a", "check@b"}}
    graph = SimpleNamespace(root=None, scale=scale, needs=needs, stale=set)
    schedule = Schedule(graph, list(needs), 2, [], force=False, keep_going=True)
    first, second = schedule.begin()
    schedule.end(second, False)
    assert not list(schedule.begin())  # the other one is still running
    schedule.end(first, True)
    assert [name for batch in schedule.begin() for name in batch.names] == then
    assert schedule.failed == set(second.names)


@pytest.mark.parametrize(
    ("variable", "said", "status", "found"),
    [("0, 2", "", 0, ["0", "2"]), ("-1", "", 0, []), ("1,-1,0", "", 0, ["1"]), ("", "", 0, []),
     (None, "0\n1", 0, ["0", "1"]), (None, "No devices were found", 6, [])],
)  # fmt: skip
def test_which_gpus_there_are(tmp_path: Path, monkeypatch, variable, said, status, found) -> None:
    (tmp_path / "nvidia-smi").write_text(f"#!/bin/sh\necho '{said}'\nexit {status}\n")
    (tmp_path / "nvidia-smi").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if variable is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", variable)
    assert visible_gpus("auto") == found
    assert visible_gpus("cpu") == []


@pytest.mark.parametrize("left", ["", '{"read": {"/some/where": [{"pid": 12'])
def test_a_list_of_processes_torn_by_a_kill_is_removed(project: Path, server: dict[str, str], left: str) -> None:
    (project / ".dvc/tmp/rwlock").write_text(left)
    command = ["dvc", "repro", "--force", "--single-item", "report"]
    refused = subprocess.run(command, cwd=project, env=server, capture_output=True, text=True)
    assert "JSON structure is corrupted" in refused.stderr + refused.stdout
    assert flow(server, project).returncode == 0
    assert subprocess.run(command, cwd=project, env=server, capture_output=True).returncode == 0


def test_targets_are_stages_kinds_and_keys(project: Path) -> None:
    graph = Graph(project, "quick")
    run = {"prepare@roll", "train@run", "measure@run"}
    assert set(graph.select(["measure@run"])) == set(graph.select(["run"])) == run
    assert set(graph.select(["c_run"])) == run | {"check@c_run"}
    assert set(graph.select(["simulate", "roll"])) == {"prepare@roll"} | {f"simulate@s{i}" for i in range(SIMULATIONS)}
    assert graph.select([])[0] == "prepare@roll"
    assert graph.select([])[-1] == "report"


@pytest.mark.parametrize(("targets", "scale", "line"), [
    (["a_thm99"], "quick", "unknown target 'a_thm99'; allowed: prepare, train,"),
    ([], "huge", "unknown scale 'huge'; allowed: quick, paper"),
])  # fmt: skip
def test_what_is_not_there_is_named(project: Path, targets: list[str], scale: str, line: str) -> None:
    with pytest.raises(Refused) as refused:
        Graph(project, scale).select(targets)
    assert str(refused.value).startswith(line)
    assert "\n" not in str(refused.value)


def test_a_mistake_is_one_line_and_status_2_and_nothing_is_written(tmp_path: Path) -> None:
    settings = throwaway.params(1)
    settings["train"]["run"]["paper"]["lr"] = -0.1
    root = throwaway.make(tmp_path / "project", settings)
    before = sorted(root.rglob("*"))
    done = flow(environment(tmp_path / "home"), root)
    assert (done.returncode, done.stdout.count("\n")) == (2, 1), done.stdout
    assert done.stdout.startswith("params.yaml: train.run.paper.lr: ")
    assert sorted(root.rglob("*")) == before


def test_a_failure_stops_what_needs_it_and_nothing_else(tmp_path: Path, server: dict[str, str]) -> None:
    root = throwaway.make(tmp_path / "project", throwaway.params(1), fail=["train@run", "check@c_s0"])
    done = flow(server, root, "--workers", "2")
    assert done.returncode == 1, done.stdout
    assert "failed: check@c_s0, train@run; not run, for they need those: measure@run, " in done.stdout
    assert "train@run was told to fail" in done.stdout
    assert begun(root).count("train@run") == 2, "a training run is retried once, for it goes on from its checkpoint"
    assert begun(root).count("check@c_s0") == 1
    well = {"prepare@roll", "simulate@s0"}
    assert set(begun(root)) == well | {"train@run", "check@c_s0"}
    order(root)
    (root / "trace.jsonl").unlink()
    done = flow(server, root, "--workers", "2")
    assert done.returncode == 0, done.stdout
    assert set(begun(root)) == set(Graph(root, "quick").stages) - well
    assert stale(root, *FILES["quick"]) == []


def test_no_process_outlives_a_killed_flow_and_the_next_run_goes_on(tmp_path: Path, server: dict[str, str]) -> None:
    root = throwaway.make(tmp_path / "project", throwaway.params(1), hang=["prepare@roll"])
    command = [sys.executable, "-m", "flows.reproduce", "--root", str(root), "prepare"]
    with throwaway.background(command, ROOT, server, tmp_path / "log") as process:
        assert until(lambda: any(one["event"] == "hang" for one in traces(root)), 60), (tmp_path / "log").read_text()
        stage = next(one["processes"] for one in traces(root) if one["event"] == "hang")
        assert all(map(throwaway.alive, stage))
        os.kill(process.pid, signal.SIGKILL)
        assert until(lambda: not any(map(throwaway.alive, stage)), 15)
    order(root)
    call("dvc", "repro", "runs/dvc.yaml:prepare", cwd=root)


def test_what_another_machine_has_computed_is_taken_from_the_remote(tmp_path: Path, server: dict[str, str]) -> None:
    one = throwaway.make(tmp_path / "one", throwaway.params(1))
    two = Path(shutil.copytree(one, tmp_path / "two"))
    for root in (one, two):
        call("dvc", "remote", "add", "--quiet", "--default", "store", str(tmp_path / "store"), cwd=root)
    call("dvc", "repro", "tables/dvc.yaml:simulate@s0", cwd=one)
    call("dvc", "push", "--run-cache", cwd=one)
    done = flow(server, two, "--pull", "simulate")
    assert done.returncode == 0, done.stdout
    assert (begun(one), begun(two)) == (["simulate@s0"], [])
    assert stale(two, "tables/dvc.yaml:simulate@s0") == []
