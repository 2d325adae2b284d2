"""What may go wrong with a coordinator and nodes, each injected."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import dummy_nodes
from dummy_nodes import commit, coordinate, logs
from dummy_project import ROOT, alive, ask, background, begun, call, order, traces, until, until_hanging

from flows.graph import Graph
from flows.nodes import changed
from flows.recorder import in_run_cache

STAGE = """
import json, sys
from flows.nodes import stage
state = stage(return_state=True, **json.loads(sys.argv[1]))
print(state.name, state.message)
"""


def run(command: list[str], env: dict[str, str], cwd: Path = ROOT) -> "subprocess.CompletedProcess[str]":
    pipe = subprocess.PIPE
    return subprocess.run(command, cwd=cwd, env=env, stdout=pipe, stderr=subprocess.STDOUT, text=True, timeout=600)


def forget(clones: dict[str, Path]) -> None:
    """Remove the traces of the stages that have run."""
    for clone in clones.values():
        (clone / "trace.jsonl").unlink(missing_ok=True)


def flow_runs(env: dict[str, str], deployed: bool) -> dict[str, str]:
    """The names of the states of all flow runs of nodes, or of coordinators, by their ids."""
    runs = ask(f"{env['PREFECT_API_URL']}/flow_runs/filter", {})
    return {run["id"]: run["state_name"] for run in runs if bool(run["deployment_id"]) == deployed}


def test_what_only_the_coordinator_has_goes_to_the_nodes_and_nothing_runs_twice(clones, env, workers, tmp_path) -> None:
    coordinator, worker = clones["coordinator"], clones["one"]
    local = [sys.executable, "-m", "flows.reproduce", "--root", str(coordinator), "train"]
    assert run(local, env).returncode == 0
    assert begun(coordinator) == ["prepare@roll", "train@run"]
    assert not (coordinator.parent / "store").exists(), "nothing is pushed"
    marker = tmp_path / "loaded"  # of the commit that the node does not have yet
    with (coordinator / "flows/recorder.py").open("a") as file:
        file.write(f"\nPath({str(marker)!r}).touch()\n")
    commit(coordinator)
    order(worker, fail=["check@c_s0"])
    assert workers["one"]
    done = run(coordinate(clones, "c_run", "c_s0", "c_s1", "--workers", "1", "--retries", "0"), env)
    assert done.returncode == 1, done.stdout + logs(clones)
    wanted = {"measure@run", "simulate@s0", "simulate@s1", "check@c_s0", "check@c_s1", "check@c_run"}
    assert set(begun(worker)) == wanted, done.stdout
    assert len(begun(worker)) == 6
    assert begun(coordinator) == ["prepare@roll", "train@run"]
    assert "; failed: check@c_s0" in done.stdout, "the other checks of its batch have not failed"
    assert "check@c_s0 failed: its program ended with status 1" in done.stdout
    assert marker.exists(), "a process that began before the checkout has old code"
    artifacts = ask(f"{env['PREFECT_API_URL']}/artifacts/filter", {})
    assert artifacts
    assert {artifact["flow_run_id"] for artifact in artifacts} <= set(flow_runs(env, deployed=False))
    order(worker, provenance=True)


def test_a_node_without_its_input_says_so_in_one_line_and_computes_nothing_else(clones, env) -> None:
    forget(clones)
    asked = {"names": ["measure@run"], "scale": "quick", "inputs": {"data/quick/train/run": f"{'0' * 32}.dir"}}
    done = run([sys.executable, "-m", "flows.alone", json.dumps(asked)], env, clones["two"])
    line = "measure@run failed: its input data/quick/train/run of train@run is not in DVC's remote"
    assert line in done.stdout.splitlines()[-1], done.stdout
    assert done.returncode == 1
    assert "Traceback" not in done.stdout
    assert begun(clones["two"]) == []


def test_every_stage_that_is_handed_out_reads_only_what_dvc_keeps() -> None:
    """A result that git holds, not DVC's cache, would not reach a node."""
    for scale in ("quick", "paper", "atlas"):
        graph = Graph(ROOT, scale)
        for name, stage in graph.stages.items():
            if in_run_cache(stage):
                assert all(out.use_cache for other in graph.needs[name] for out in graph.stages[other].outs), name


def test_a_node_does_not_check_out_over_edits(clones, env) -> None:
    two = clones["two"]
    with (two / ".dvcignore").open("a") as file:  # tracked, and no code
        file.write("*.draft\n")
    with (clones["coordinator"] / "stage.py").open("a") as file:
        file.write("\n# another commit\n")
    now, before = commit(clones["coordinator"]), call("git", "rev-parse", "HEAD", cwd=two)
    forget(clones)
    asked = {"names": ["prepare@roll"], "scale": "quick", "commit": now, "inputs": {}}
    command = [sys.executable, "-c", STAGE, json.dumps(asked)]
    done = run(command, env, two)
    assert f".dvcignore in the node's clone {two} is not committed; commit it there" in done.stdout.splitlines()[-1]
    assert (two / ".dvcignore").read_text().endswith("*.draft\n")
    assert call("git", "rev-parse", "HEAD", cwd=two) == before
    assert begun(two) == []
    call("git", "checkout", "--quiet", ".dvcignore", cwd=two)
    done = run(command, env, two)
    assert done.stdout.splitlines()[-1].startswith("Completed prepare@roll done in "), done.stdout
    assert call("git", "rev-parse", "HEAD", cwd=two).strip() == now


def test_locks_and_what_stages_write_are_no_edits(clones) -> None:
    worker = clones["one"]
    for name, content in {"reports/quick/claims.json": "{}", "pipeline/quick/fact/dvc.lock": "", "note.md": ""}.items():
        (worker / name).parent.mkdir(parents=True, exist_ok=True)
        (worker / name).write_text(content)
    call("git", "add", "--force", "reports", "pipeline", "note.md", cwd=worker)
    call("git", *dummy_nodes.AUTHOR, "commit", "--quiet", "-m", "outputs", cwd=worker)
    (worker / "reports/quick/claims.json").write_text("another run")
    (worker / "pipeline/quick/fact/dvc.lock").write_text("another run")
    assert changed(worker) == []
    (worker / "flows/new.py").touch()
    assert changed(worker) == ["flows/new.py"]
    (worker / "note.md").write_text("somebody's work")
    assert changed(worker) == ["note.md", "flows/new.py"]
    (worker / "flows/new.py").unlink()
    call("git", "checkout", "--quiet", "note.md", cwd=worker)


def test_edits_of_files_with_odd_names_are_edits(tmp_path: Path) -> None:
    """A space at either end of a name, a line's end in it, and a byte that is no UTF-8."""
    call("git", "init", "--quiet", cwd=tmp_path)
    names = [b" dvc.lock", b"a\nb", b"at the end ", b"caf\xe9.md"]
    for name in names:
        (tmp_path / os.fsdecode(name)).touch()
    commit(tmp_path)
    for name in names:
        (tmp_path / os.fsdecode(name)).write_text("somebody's work")
    assert changed(tmp_path) == [" dvc.lock", "a\nb", "at the end ", "caf\\xe9.md"]


def test_hours_and_force_reach_the_nodes(clones, env, workers) -> None:
    two = clones["two"]
    assert workers["two"]
    assert run(coordinate(clones, "simulate@s2"), env).returncode == 0
    forget(clones)
    order(two, hang=["simulate@s2"])
    done = run(coordinate(clones, "simulate@s2", "--force", "--hours", "0.001", "--retries", "0"), env)
    assert begun(two) == ["simulate@s2"], done.stdout + logs(clones)
    assert done.returncode == 1, done.stdout
    assert "simulate@s2 failed: it failed on a node" in done.stdout
    assert "simulate@s2 failed: its program was stopped after 0.001 hours (--hours)" in done.stdout, "the node's words"
    order(two)
    forget(clones)
    address = "https://reports.example.org/"
    assert run(coordinate(clones, "simulate@s2", "--force", "--report", address), env).returncode == 0
    assert begun(two) == ["simulate@s2"]
    artifacts = ask(f"{env['PREFECT_API_URL']}/artifacts/filter", {})
    (link,) = [artifact for artifact in artifacts if artifact["key"] == "report-quick"]
    assert address in link["data"]


def test_a_coordinator_without_a_worker_says_how_to_start_one_and_ctrl_c_cancels_what_waits_and_runs(
    clones, env, workers, tmp_path
) -> None:
    worker, log = clones["one"], tmp_path / "log"
    with background(coordinate(clones, "simulate@s2", "--force"), ROOT, env, log) as process:
        line = "waits: no worker serves the work pool 'nodes'; in the clone of a node type "
        assert until(lambda: line in log.read_text(), 120), log.read_text()
        os.killpg(process.pid, signal.SIGINT)
        assert until(lambda: process.poll() is not None, 10)
        assert process.returncode == 130
    (told,) = [message for message in log.read_text().splitlines() if message.startswith("waits: no worker")]
    assert "`GRAMLAB_CLONE=$PWD prefect worker start --pool nodes --limit 1`" in told
    assert "Cancelled" in flow_runs(env, deployed=True).values()
    before = set(flow_runs(env, deployed=True))
    forget(clones)
    order(worker, hang=["simulate@s2"])
    assert workers["one"]
    with background(coordinate(clones, "simulate@s2", "--force"), ROOT, env, log) as process:
        programs = until_hanging(worker, 150)
        os.killpg(process.pid, signal.SIGINT)
        assert until(lambda: process.poll() is not None, 10)
        assert until(lambda: not any(map(alive, programs)), 60), logs(clones)
    (cancelled,) = set(flow_runs(env, deployed=True)) - before
    assert until(lambda: flow_runs(env, deployed=True)[cancelled] == "Cancelled", 60), logs(clones)
    assert workers["one"].poll() is None, "the worker goes on"
    order(worker)


def test_an_unknown_deployment_is_one_line(clones, env) -> None:
    command = coordinate(clones, "simulate@s0", "--force")
    command[command.index("stage/node")] = "stage/nodes"
    done = run(command, env)
    assert done.returncode == 1
    assert "the server has no deployment 'stage/nodes'; docs/how-to/machines.md has the commands" in done.stdout
    assert "Traceback" not in done.stdout


def hanging(clones: dict[str, Path], stage: str) -> list[int]:
    """The processes of a stage that hangs on a node: its program, and the one that it waits for."""
    left = [trace for clone in clones.values() for trace in traces(clone)]
    return next((trace["processes"] for trace in left if (trace["event"], trace["stage"]) == ("hang", stage)), [])


def test_nodes_end_the_stages_of_a_killed_coordinator_and_the_next_one_computes_nothing_twice(
    clones, env, workers, tmp_path
) -> None:
    params = clones["coordinator"] / "params.yaml"
    params.write_text(params.read_text().replace("lr: 0.1", "lr: 0.3"))
    commit(clones["coordinator"])
    forget(clones)
    log, line = tmp_path / "log", "waits for {}, which a node runs for an earlier coordinator"
    for name in ("one", "two"):  # while a node hangs, the other is free
        order(clones[name], hang=["train@run", "measure@run"], provenance=True)
        assert workers[name]
    before = set(flow_runs(env, deployed=True))

    def on_nodes() -> list[str]:
        return begun(clones["one"]) + begun(clones["two"])

    with background(coordinate(clones, "run"), ROOT, env, log) as first:
        assert until(lambda: hanging(clones, "train@run"), 200), log.read_text() + logs(clones)
        os.kill(first.pid, signal.SIGKILL)
    program, waits = hanging(clones, "train@run")
    with background(coordinate(clones, "run"), ROOT, env, log) as second:
        handed_out_again = lambda: on_nodes().count("train@run") > 1  # noqa: E731
        assert until(lambda: line.format("train@run") in log.read_text() or handed_out_again(), 200), log.read_text()
        assert alive(program), "the node goes on"
        os.kill(waits, signal.SIGTERM)  # the program no longer hangs
        assert until(lambda: hanging(clones, "measure@run"), 200), log.read_text() + logs(clones)
        os.kill(second.pid, signal.SIGKILL)
    os.kill(hanging(clones, "measure@run")[1], signal.SIGTERM)
    runs = lambda: {state for run, state in flow_runs(env, deployed=True).items() if run not in before}  # noqa: E731
    assert until(lambda: runs() == {"Completed"}, 200), logs(clones)
    done = run(coordinate(clones, "run"), env)
    assert done.returncode == 0, done.stdout
    assert "measure@run done" in done.stdout or "measure@run restored" in done.stdout, done.stdout
    assert sorted(on_nodes()) == ["measure@run", "train@run"]
    assert begun(clones["coordinator"]) == []
    for name in ("one", "two"):
        order(clones[name], provenance=True)
