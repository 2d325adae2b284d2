"""The flow on dummy projects whose stages cost nothing: order, parallelism, failure, and death."""

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

import dummy_project
import psutil
import pytest
from dummy_project import ROOT, begun, call, environment, order, traces, until, until_hanging
from dvc.utils.serialize import modify_yaml
from networkx import DiGraph

from flows import durations, gpus
from flows.console import Progress
from flows.durations import FILE, LEAST
from flows.gpus import visible_gpus
from flows.graph import Graph, Refused
from flows.recorder import Outcome
from flows.schedule import Schedule

SIMULATIONS = 6
GPUS = ("3", "5", "7")
QUICK = ("dvc.yaml", "pipeline/quick/data/dvc.yaml", "pipeline/quick/fact/dvc.yaml")
RUN = {"prepare@roll", "train@run", "measure@run"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    home = tmp_path_factory.mktemp("server")
    folder = dummy_project.with_database(home / "home")
    env = environment(folder, **dummy_project.server_variables(dummy_project.port()))
    with dummy_project.server(home, env):
        yield env


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One run of everything, against the embedded server, four stages at once.

    The variable alone says what GPUs there are, so this needs none. The proxy of the environment answers nobody.
    """
    settings = dummy_project.params(SIMULATIONS, device="auto")
    root = dummy_project.make(tmp_path_factory.mktemp("flows") / "project", settings, seconds=0.5)
    env = environment(root / "home", CUDA_VISIBLE_DEVICES=",".join(GPUS), http_proxy="http://127.0.0.1:9")
    done = flow(env, root, "--workers", "4")
    assert done.returncode == 0, done.stdout
    return root


def flow(env: dict[str, str], root: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "flows.reproduce", "--root", str(root), *arguments]
    pipe = subprocess.PIPE
    return subprocess.run(command, cwd=ROOT, env=env, stdout=pipe, stderr=subprocess.STDOUT, text=True, timeout=1500)


def stale(root: Path, *targets: str) -> list[str]:
    """The stages that DVC itself finds stale."""
    return sorted(json.loads(call("dvc", "status", "--json", *targets, cwd=root)))


def rerun(root: Path, env: dict[str, str], *arguments: str) -> list[str]:
    """The stages that run when the flow runs again."""
    before = len(begun(root))
    done = flow(env, root, *arguments)
    assert done.returncode == 0, done.stdout
    return sorted(begun(root)[before:])


def spans(root: Path) -> dict[str, tuple[float, float]]:
    """When each stage began and ended."""
    events: dict[str, dict[str, float]] = {}
    for trace in traces(root):
        events.setdefault(trace["stage"], {})[trace["event"]] = trace["time"]
    return {name: (times["begin"], times["end"]) for name, times in events.items()}


def test_every_stage_runs_once_and_dvc_finds_nothing_stale(project: Path) -> None:
    graph = Graph(project, "quick")
    assert sorted(begun(project)) == sorted(graph.stages)
    assert len(graph.stages) == len(RUN) + SIMULATIONS + (1 + SIMULATIONS) + len(["verdicts", "report", "site"])
    assert stale(project, *QUICK) == []
    assert all(name.startswith("pipeline/paper/") for name in stale(project))
    call("dvc", "repro", cwd=project)
    assert len(begun(project)) == len(graph.stages), "`dvc repro` has nothing to do"
    for lock in [project / "dvc.lock", *project.glob("pipeline/quick/*/dvc.lock")]:
        written = lock.read_bytes()
        with modify_yaml(str(lock)):
            pass
        assert lock.read_bytes() == written, "the bytes are those that DVC writes"


def test_a_stage_begins_after_all_that_it_needs_and_others_run_meanwhile(project: Path) -> None:
    graph, times = Graph(project, "quick"), spans(project)
    for name, needed in graph.needs.items():
        assert all(times[other][1] < times[name][0] for other in needed), name
    at_once = [sum(a <= begin < b for a, b in times.values()) for begin, _ in times.values()]
    assert 2 <= max(at_once) <= 4


def test_stages_on_one_gpu_take_turns(project: Path) -> None:
    times, used = spans(project), {trace["stage"]: trace["gpu"] for trace in traces(project)}
    for gpu in GPUS:
        turns = sorted(times[name] for name in used if used[name] == gpu)
        assert turns
        assert all(first[1] < second[0] for first, second in pairwise(turns))
    computing = {name for name in used if name.split("@")[0] in {"train", "measure", "simulate"}}
    computing -= {f"simulate@{name}" for name in dummy_project.NOT_ON_GPU}
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


@pytest.mark.parametrize(("name", "share"), [("dvc.lock", 0.3), ("pipeline/quick/fact/dvc.lock", 0.9)])
def test_a_lock_file_torn_by_a_kill_is_mended(project: Path, server: dict[str, str], name: str, share: float) -> None:
    lock = project / name
    content = lock.read_bytes()
    lock.write_bytes(content[: content.index(b"    outs:", int(share * len(content))) + 6])
    refused = subprocess.run(["dvc", "status"], cwd=project, env=server, capture_output=True, text=True)
    assert "is invalid" in refused.stderr + refused.stdout
    assert set(rerun(project, server)) <= {"report", "site"}, "all else comes from DVC's run-cache"
    assert stale(project, *QUICK) == []


def test_a_deleted_output_and_old_settings_come_back_from_the_run_cache(project: Path, server: dict[str, str]) -> None:
    shutil.rmtree(project / "data/quick/train/run")
    (project / "data/quick/tables/s0.parquet").unlink()
    assert rerun(project, server) == []
    assert (project / "data/quick/train/run/weights").read_text() == "train@run"
    path = project / "params.yaml"
    before = path.read_text()
    path.write_text(before.replace("lr: 0.1", "lr: 0.2"))
    assert rerun(project, server) == ["measure@run", "report", "site", "train@run"], "what depends on them is unchanged"
    path.write_text(before)
    assert rerun(project, server) == ["report", "site"]
    assert stale(project, *QUICK) == []


@pytest.mark.parametrize(("scale", "then"), [("paper", ["verdicts"]), ("quick", [])])
def test_at_the_papers_scale_the_report_is_made_of_what_there_is(scale: str, then: list[str]) -> None:
    needs = {"train": set(), "check@a": set(), "check@b": {"train"}, "verdicts": {"check@a", "check@b"},
             "report": {"verdicts"}}  # fmt: skip
    edges = DiGraph([(name, need) for name in needs for need in needs[name]])
    graph = SimpleNamespace(scale=scale, needs=needs, edges=edges, stale=set)
    schedule = Schedule(graph, list(needs), 2, [], force=False, keep_going=True)
    train, check = schedule.begin()
    schedule.end(train, [])
    assert not list(schedule.begin())  # the check is still running
    schedule.end(check, check.names)
    assert [name for batch in schedule.begin() for name in batch.names] == then
    assert schedule.failed == {"train"}


def test_a_check_that_has_not_run_yet_is_not_expected_to_take_as_long_as_a_training(tmp_path: Path) -> None:
    graph = Graph(dummy_project.make(tmp_path / "project", dummy_project.params(2)), "quick")
    progress = Progress(graph, list(graph.stages), set(graph.stages), workers=1)
    progress.ended(Outcome("train@run", seconds=100.0), running=0)
    computing = {"measure@run", "simulate@s0", "simulate@s1"}
    assert progress.seconds_left() == 100 * len(computing) + len(graph.stages) - len({"train@run", *computing})


@pytest.mark.parametrize(
    ("variable", "answer", "status", "gpus"),
    [("0, 2", "", 0, ["0", "2"]), ("-1", "", 0, []), ("1,-1,0", "", 0, ["1"]), ("", "", 0, []),
     (None, "0\n1", 0, ["0", "1"]), (None, "No devices were found", 6, [])],
)  # fmt: skip
def test_which_gpus_there_are(tmp_path: Path, monkeypatch, variable, answer, status, gpus) -> None:
    (tmp_path / "nvidia-smi").write_text(f"#!/bin/sh\necho '{answer}'\nexit {status}\n")
    (tmp_path / "nvidia-smi").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if variable is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", variable)
    assert visible_gpus("auto") == gpus
    assert visible_gpus("cpu") == []


def test_a_driver_that_hangs_ends_the_flow_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "nvidia-smi").write_text("#!/bin/sh\nexec sleep 600\n")
    (tmp_path / "nvidia-smi").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(gpus, "PATIENCE", 0.5)
    with pytest.raises(Refused, match=r"nvidia-smi does not answer within 0\.5 s.*set CUDA_VISIBLE_DEVICES=-1$"):
        visible_gpus("auto")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    assert visible_gpus("auto") == []


@pytest.mark.parametrize("torn", ["", '{"read": {"/some/where": [{"pid": 12'])
def test_a_list_of_processes_torn_by_a_kill_is_removed(project: Path, server: dict[str, str], torn: str) -> None:
    (project / ".dvc/tmp/rwlock").write_text(torn)
    command = ["dvc", "repro", "--force", "--single-item", "report"]
    refused = subprocess.run(command, cwd=project, env=server, capture_output=True, text=True)
    assert "JSON structure is corrupted" in refused.stderr + refused.stdout
    assert flow(server, project).returncode == 0
    assert subprocess.run(command, cwd=project, env=server, capture_output=True).returncode == 0


def test_targets_are_stages_kinds_and_keys(project: Path) -> None:
    graph = Graph(project, "quick")
    assert set(graph.select(["measure@run"])) == set(graph.select(["run"])) == RUN
    assert set(graph.select(["c_run"])) == RUN | {"check@c_run"}
    assert set(graph.select(["simulate", "roll"])) == {"prepare@roll"} | {f"simulate@s{i}" for i in range(SIMULATIONS)}
    assert graph.select([])[0] == "prepare@roll"
    assert graph.select([])[-2:] == ["report", "site"]


def test_the_chain_that_takes_longest_begins_first(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = Graph(project, "quick")
    seconds = {"simulate@s3": 50.0, "simulate@s1": 20.0, "measure@run": 15.0, "train@run": 10.0}
    monkeypatch.setattr("flows.graph.last_duration", lambda _, name: seconds.get(name))
    chosen = graph.select(["measure", "simulate"])
    first = sorted(chosen[:5], key=chosen.index)
    assert first == ["simulate@s3", "prepare@roll", "train@run", "simulate@s1", "measure@run"]  # 50, 26, 25, 20, 15 s


def test_recorded_durations_are_those_of_long_stages_of_the_pipeline() -> None:
    recorded = json.loads(FILE.read_text(encoding="utf-8"))
    assert set(recorded) <= set(Graph(ROOT, "quick").stages)
    assert min(recorded.values()) >= LEAST


@pytest.mark.parametrize(("targets", "scale", "line"), [
    (["c_rum"], "quick", "unknown target 'c_rum'; did you mean 'c_run'?; allowed: prepare, "),
    (["check@c_rum"], "quick", "unknown target 'check@c_rum'; did you mean 'check@c_run'?; allowed: prepare, "),
    ([], "papr", "unknown scale 'papr'; did you mean 'paper'?; allowed: paper, quick"),
])  # fmt: skip
def test_a_mistyped_name_gets_the_nearest_allowed_one(project: Path, targets: list[str], scale: str, line: str) -> None:
    with pytest.raises(Refused) as refused:
        Graph(project, scale).select(targets)
    assert str(refused.value).startswith(line)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("content", ["", "{", "null", "[]", '{"seconds": null}', '{"seconds": "long"}'])
def test_a_damaged_record_of_durations_stops_nothing(tmp_path: Path, monkeypatch, content: str) -> None:
    """No result needs it; the one of this clone, and the one that git holds."""
    root = dummy_project.make(tmp_path / "project", dummy_project.params(1))
    (recorded := tmp_path / "durations.json").write_text(content)
    (own := root / "data/quick/provenance/measure@s0.json").parent.mkdir(parents=True)
    own.write_text(content)
    monkeypatch.setattr(durations, "FILE", recorded)
    durations._recorded.cache_clear()
    graph = Graph(root, "quick")
    assert durations.last_duration(graph, "simulate@s0") is None
    assert graph.select(["s0"]) == ["simulate@s0"]
    recorded.write_text('{"simulate@s0": 7}')
    durations._recorded.cache_clear()
    assert durations.last_duration(graph, "simulate@s0") == 7.0
    durations._recorded.cache_clear()


def test_a_dependency_that_cannot_be_read_is_stale_and_stops_no_flow(tmp_path: Path) -> None:
    root = dummy_project.make(tmp_path / "project", dummy_project.params(1))
    command = [sys.executable, "-m", "flows", "measure@run"]
    env = environment(tmp_path / "home", PYTHONPATH=str(ROOT))
    assert subprocess.run(command, cwd=root, env=env).returncode == 0
    (root / "data/quick/train/run/link").symlink_to("nothing")
    done = subprocess.run(command, cwd=root, env=env, capture_output=True, text=True)
    assert done.stdout.endswith("1 stage brought up to date, 2 already were\n"), done.stderr
    assert len(begun(root)) == 3, "the outputs came back from the cache"


def test_what_editors_put_beside_a_file_makes_no_stage_stale(tmp_path: Path) -> None:
    root = dummy_project.make(tmp_path / "project", dummy_project.params(1))
    shutil.copy(ROOT / ".dvcignore", root)
    env = environment(tmp_path / "home", PYTHONPATH=str(ROOT))
    command = [sys.executable, "-m", "flows", "measure@run"]
    assert subprocess.run(command, cwd=root, env=env).returncode == 0
    run = root / "data/quick/train/run"
    (run / ".#weights").symlink_to("user@host.1234:5")  # Emacs locks a file so
    for name in ("#weights#", "weights~", ".weights.swp", ".DS_Store"):
        (run / name).touch()
    again = subprocess.run(command, cwd=root, env=env, capture_output=True, text=True)
    assert again.stdout == "0 stages brought up to date, 3 already were\n"


@pytest.mark.parametrize("option", [("--hours", "0"), ("--hours", "inf"), ("--workers", "1001"), ("--retries", "11")])
def test_an_option_out_of_its_range_is_refused_before_a_server_starts(project: Path, option: tuple[str, str]) -> None:
    done = flow(environment(project / "home"), project, *option)
    assert done.returncode == 2, done.stdout
    assert "server starts" not in done.stdout
    assert option[0] in done.stdout


def test_a_stage_that_takes_longer_than_its_hours_says_so(tmp_path: Path, server: dict[str, str]) -> None:
    root = dummy_project.make(tmp_path / "project", dummy_project.params(2), hang=["simulate@s0"], fail=["simulate@s1"])
    done = flow(server, root, "s0", "s1", "--workers", "2", "--hours", "0.002")
    assert done.returncode == 1, done.stdout
    assert "simulate@s0 failed: its program was stopped after 0.002 hours (--hours)" in done.stdout
    assert "simulate@s1 failed: its program ended with status 1" in done.stdout
    assert not any(psutil.pid_exists(pid) for trace in traces(root) for pid in trace.get("processes", ()))


def test_a_failure_stops_what_needs_it_and_nothing_else(tmp_path: Path, server: dict[str, str]) -> None:
    root = dummy_project.make(tmp_path / "project", dummy_project.params(1), fail=["train@run", "check@c_s0"])
    done = flow(server, root, "--workers", "2")
    assert done.returncode == 1, done.stdout
    assert "failed: check@c_s0, train@run; not run, because they need a failed stage: measure@run, " in done.stdout
    assert "check@c_s0 failed: its program ended with status 1" in done.stdout
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
    assert stale(root, *QUICK) == []


def test_each_failed_stage_shows_its_own_words_and_damaged_verdicts_stop_nothing(
    tmp_path: Path, server: dict[str, str]
) -> None:
    fail = ["check@c_s0", "check@c_s1"]  # of one batch
    root = dummy_project.make(tmp_path / "a project", dummy_project.params(2), fail=fail)
    damaged = root / "data/quick/verdicts/fact.json"
    damaged.parent.mkdir(parents=True)
    damaged.write_text("{")
    command = [sys.executable, "-m", "flows.reproduce", "--root", "a project", "--workers", "1", "--no-keep-going"]
    env = {**server, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 1, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    for name in fail:
        (failed,) = [index for index, line in enumerate(lines) if f"{name} failed: its program" in line]
        assert lines[failed + 1].strip() == f"{name} was told to fail"
        assert "was told to fail" not in lines[failed + 2]
    assert "; not run, because a stage failed (--no-keep-going): " in done.stdout


@pytest.mark.parametrize("stage", ["train@run", "measure@run"], ids=["in a fork", "in a shell"])
def test_no_process_outlives_a_killed_flow_and_the_next_run_goes_on(
    tmp_path: Path, server: dict[str, str], stage: str
) -> None:
    root = dummy_project.make(tmp_path / "project", dummy_project.params(1), hang=[stage])
    command = [sys.executable, "-m", "flows.reproduce", "--root", str(root), "run"]
    with dummy_project.background(command, ROOT, server, tmp_path / "log") as process:
        processes = until_hanging(root)
        others = {child.pid for child in psutil.Process(process.pid).children(recursive=True)}
        assert others > set(processes)
        os.kill(process.pid, signal.SIGKILL)
        assert until(lambda: not any(map(dummy_project.alive, others)), 15)
    order(root)
    call("dvc", "repro", "pipeline/quick/fact/dvc.yaml:measure@run", cwd=root)
    ran = begun(root)
    assert [ran.count(name) for name in sorted(RUN)] == [1 + (name == stage) for name in sorted(RUN)]


def test_another_dvc_is_refused_what_a_running_stage_works_on(tmp_path: Path, server: dict[str, str]) -> None:
    root = dummy_project.make(tmp_path / "project", dummy_project.params(1), hang=["train@run"])
    command = [sys.executable, "-m", "flows.reproduce", "--root", str(root), "run", "s0"]
    with dummy_project.background(command, ROOT, server, tmp_path / "log"):
        until_hanging(root)
        for name in ("data/dvc.yaml:prepare@roll", "fact/dvc.yaml:train@run"):  # read and written by it
            command = ["dvc", "repro", "--force", "--single-item", f"pipeline/quick/{name}"]
            refused = subprocess.run(command, cwd=root, env=server, capture_output=True, text=True)
            assert "is busy, it is being blocked by" in refused.stderr + refused.stdout
        # simulate@s0 has ended meanwhile, and reads the same code: the training run's reservation outlasts its own
        assert until(lambda: "simulate@s0 done in " in (tmp_path / "log").read_text(), 30)
        call("dvc", "repro", "--force", "--single-item", "pipeline/quick/fact/dvc.yaml:simulate@s0", cwd=root)
    assert begun(root).count("simulate@s0") == 2


def test_parallel_stages_do_not_clash(tmp_path: Path, server: dict[str, str]) -> None:
    root = dummy_project.make(tmp_path / "project", dummy_project.params(40))
    for _ in range(3):
        assert len(rerun(root, server, "--force", "--workers", "6")) == len(Graph(root, "quick").stages)
        assert stale(root, *QUICK) == []


def test_another_machines_results_are_taken_from_the_remote(tmp_path: Path, server: dict[str, str]) -> None:
    first = dummy_project.make(tmp_path / "first", dummy_project.params(1))
    second = Path(shutil.copytree(first, tmp_path / "second"))
    for root in (first, second):
        call("dvc", "remote", "add", "--quiet", "--default", "store", str(tmp_path / "store"), cwd=root)
    call("dvc", "repro", "pipeline/quick/fact/dvc.yaml:simulate@s0", cwd=first)
    call("dvc", "push", "--run-cache", cwd=first)
    assert rerun(second, server, "--pull", "simulate") == []
    assert stale(second, "pipeline/quick/fact/dvc.yaml:simulate@s0") == []
    shutil.copy(first / "pipeline/quick/fact/dvc.lock", second / "pipeline/quick/fact/dvc.lock")
    shutil.rmtree(second / "data")
    shutil.rmtree(second / ".dvc/cache")
    assert rerun(second, server, "--pull", "simulate") == []
    assert begun(first) == ["simulate@s0"]
