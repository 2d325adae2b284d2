"""Faults that an operator meets, each injected: Ctrl-C, kills, edits during a run, damaged files, two flows at once."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import dummy_project
import psutil
import pytest
import yaml
from dummy_project import ROOT, background, begun, call, environment, order, until, until_hanging, with_database
from dvc.repo import Repo

from flows.graph import Graph
from flows.reproduce import need_remote
from flows.turn import FILE

DRY = """
import sys
from flows.reproduce import reproduce
print(reproduce(["run", "s0"], root=sys.argv[1], dry_run=True, return_state=True).message)
"""
FACT = "pipeline/quick/fact/dvc.yaml"


def command(root: Path, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "flows.reproduce", "--root", str(root), *arguments]


def flow(env: dict[str, str], root: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    pipe = subprocess.PIPE
    return subprocess.run(
        command(root, *arguments), cwd=ROOT, env=env, stdout=pipe, stderr=subprocess.STDOUT, text=True, timeout=600
    )


def stale(root: Path, stage: str) -> bool:
    return bool(json.loads(call("dvc", "status", "--json", f"{FACT}:{stage}", cwd=root)))


def test_one_ctrl_c_ends_everything_in_five_seconds_with_one_line(project: Path, tmp_path: Path) -> None:
    order(project, hang=["train@run"])
    log = tmp_path / "log"
    temporary = Path(tempfile.mkdtemp())  # a short path, because a socket's may have 107 characters
    env = environment(with_database(tmp_path / "home"), TMPDIR=str(temporary))
    with background(command(project, "run"), ROOT, env, log) as process:
        until_hanging(project, 120)
        others = {child.pid for child in psutil.Process(process.pid).children(recursive=True)}
        before, began = log.read_text(), time.monotonic()
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        assert until(lambda: process.poll() is not None and not any(map(dummy_project.alive, others)), 30)
        assert time.monotonic() - began < 5.5  # half a second for a busy machine
        assert process.returncode == 130
    temporary.rmdir()  # nothing is left in it
    (line,) = log.read_text()[len(before) :].splitlines()
    assert line.startswith("interrupted; ")
    (whole,) = (project / ".scratch/logs").glob("*.log")
    assert "train@run cancelled" in whole.read_text()
    assert not re.search("Traceback|KeyboardInterrupt", whole.read_text()), whole.read_text()
    order(project)
    call("dvc", "repro", f"{FACT}:measure@run", cwd=project)
    assert begun(project) == ["prepare@roll", "train@run", "train@run", "measure@run"]


def test_the_server_of_a_killed_flow_ends_too(project: Path, tmp_path: Path) -> None:
    order(project, hang=["train@run"])
    env = environment(with_database(tmp_path / "home"))
    with background(command(project, "run"), ROOT, env, tmp_path / "log") as process:
        until_hanging(project, 120)
        others = psutil.Process(process.pid).children(recursive=True)
        assert any("flows.server" in child.cmdline() for child in others)
        os.kill(process.pid, signal.SIGKILL)
        assert until(lambda: not any(dummy_project.alive(child.pid) for child in others), 15)
    order(project)
    again = flow(env, project, "run")
    assert again.returncode == 0
    assert "Pid" not in again.stdout, "DVC says on the terminal that it removes the killed flow's lock"


def test_what_was_made_while_its_code_changed_is_not_recorded(project: Path, server: dict[str, str]) -> None:
    order(project, edit={"simulate@s0": "stage.py"})
    assert flow(server, project, "s1").returncode == 0
    done = flow(server, project, "simulate")
    assert done.returncode == 1
    assert "simulate@s0 failed: stage.py changed while it ran; run it again" in done.stdout
    assert "simulate@s0:" not in (project / FACT).with_suffix(".lock").read_text()
    assert stale(project, "simulate@s0")
    order(project)
    assert flow(server, project, "s0").returncode == 0
    assert begun(project).count("simulate@s0") == 2, "nothing of the first came from the run-cache"
    assert not stale(project, "simulate@s0")


CHECK = "check@c_s0"  # its outputs: a finding, and the figure of it


def edit(project: Path) -> None:
    with (project / "stage.py").open("a") as file:
        file.write("\n# edited\n")


@pytest.mark.parametrize("moment", ["between check and figure", "while the figure is drawn", "before DVC hashes"])
def test_a_check_whose_code_was_edited_at_any_moment_is_not_recorded(
    project: Path, tmp_path: Path, server: dict[str, str], moment: str
) -> None:
    outs = Graph(project, "quick").stages[CHECK].outs
    assert {Path(out.fs_path).suffix for out in outs} == {".json", ".svg"}
    assert flow(server, project, "simulate@s0").returncode == 0
    log, target = tmp_path / "log", [CHECK]
    if moment == "before DVC hashes":
        order(project, hang=[CHECK])
        with background(command(project, *target), ROOT, server, log) as process:
            program, waits = until_hanging(project, 120)
            lock = Repo(str(project)).lock  # the flow waits for it when the program has ended
            lock.lock()
            os.kill(waits, signal.SIGTERM)
            assert until(lambda: not dummy_project.alive(program), 60)
            edit(project)
            lock.unlock()
            status = process.wait(120)
    else:
        order(project, edit_at_figure={CHECK: ["stage.py", "before" if "between" in moment else "during"]})
        with background(command(project, *target), ROOT, server, log) as process:
            status = process.wait(120)
    assert status == 1, log.read_text()
    assert f"{CHECK} failed: stage.py changed while it ran; run it again" in log.read_text()
    assert f"{CHECK}:" not in (project / FACT).with_suffix(".lock").read_text()
    assert stale(project, CHECK)
    order(project)
    assert flow(server, project, CHECK).returncode == 0
    assert begun(project).count(CHECK) == 2, "nothing of the first came from the run-cache"
    assert not stale(project, CHECK)


def test_a_second_try_does_not_take_the_result_of_older_settings(project: Path, server: dict[str, str]) -> None:
    assert flow(server, project, "train").returncode == 0
    (project / "params.yaml").write_text((project / "params.yaml").read_text().replace("lr: 0.1", "lr: 0.2"))
    order(project, fail=["train@run"])
    done = flow(server, project, "train")
    assert begun(project).count("train@run") == 3
    assert done.returncode == 1, done.stdout
    assert stale(project, "train@run")


def cached(root: Path, path: str) -> Path:
    """The object of DVC's cache with a file's content."""
    digest = yaml.safe_load((root / FACT).with_suffix(".lock").read_text())["stages"]
    (md5,) = [out["md5"] for stage in digest.values() for out in stage["outs"] if out["path"] == path]
    return root / ".dvc/cache/files/md5" / md5[:2] / md5[2:]


def truncate(path: Path) -> None:
    mode = path.stat().st_mode
    path.chmod(0o644)
    path.write_bytes(path.read_bytes()[:2])
    path.chmod(mode)


def check_cache(root: Path) -> "subprocess.CompletedProcess[str]":
    env = {**environment(root / "home"), "PYTHONPATH": str(ROOT)}
    return subprocess.run([sys.executable, "-m", "flows.cache"], cwd=root, env=env, capture_output=True, text=True)


def test_a_truncated_object_of_the_cache_is_found_and_made_anew(project: Path, server: dict[str, str]) -> None:
    table = "data/quick/tables/s0.parquet"
    assert flow(server, project, "s0").returncode == 0
    content = (project / table).read_text()
    assert check_cache(project).returncode == 0
    truncate(cached(project, table))
    (project / table).unlink()
    call("dvc", "checkout", f"{FACT}:simulate@s0", cwd=project)
    assert (project / table).read_text() == content[:2], "DVC does not notice"
    checked = check_cache(project)
    assert (checked.returncode, checked.stdout.count("\n")) == (1, 1), checked.stderr
    assert "1 damaged objects" in checked.stdout
    assert flow(server, project, "s0").returncode == 0
    assert (project / table).read_text() == content
    assert check_cache(project).returncode == 0


def test_with_pull_a_damaged_object_comes_from_the_remote(
    project: Path, tmp_path: Path, server: dict[str, str]
) -> None:
    weights = "data/quick/train/run"
    call("dvc", "remote", "add", "--quiet", "--default", "store", str(tmp_path / "store"), cwd=project)
    assert flow(server, project, "run").returncode == 0
    call("dvc", "push", "--run-cache", cwd=project)
    listing = cached(project, weights)
    (entry,) = json.loads(listing.with_name(listing.name).read_text())
    truncate(project / ".dvc/cache/files/md5" / entry["md5"][:2] / entry["md5"][2:])
    shutil.rmtree(project / weights)
    ran = begun(project)
    assert flow(server, project, "--pull", "run").returncode == 0
    assert begun(project) == ran
    assert (project / weights / "weights").read_text() == "train@run"


def test_a_second_flow_in_a_clone_waits_and_names_the_first(
    project: Path, tmp_path: Path, server: dict[str, str]
) -> None:
    order(project, hang=["train@run"])
    logs = [tmp_path / "first", tmp_path / "second"]
    with background(command(project, "run"), ROOT, server, logs[0]) as first:
        until_hanging(project)
        with background(command(project, "s0"), ROOT, server, logs[1]) as second:
            line = f"waits for the flow that runs in this clone: process {first.pid} on "
            assert until(lambda: line in logs[1].read_text(), 60)
            assert "simulate@s0" not in begun(project)
            os.kill(first.pid, signal.SIGKILL)
            assert second.wait(120) == 0
    assert "simulate@s0" in begun(project)


def test_a_clone_that_another_machine_uses_is_refused(project: Path, tmp_path: Path) -> None:
    holder = {"host": "elsewhere", "process": 12, "command": "", "since": 0}
    (project / FILE).write_text(json.dumps(holder))
    done = flow(environment(tmp_path / "home"), project)
    assert (done.returncode, done.stdout.count("\n")) == (2, 1), done.stdout
    assert "process 12 on elsewhere" in done.stdout
    (project / FILE).unlink()
    assert begun(project) == []


def test_a_full_disk_is_one_line_and_the_next_run_is_whole(project: Path, server: dict[str, str]) -> None:
    """DVC's cache lies on a small file system that is full, in a mount namespace of its own."""
    script = """
    mkdir -p .dvc/cache && mount -t tmpfs -o size=64k tmpfs .dvc/cache
    cat /dev/zero > .dvc/cache/full 2>/dev/null
    cd "$1" && shift && exec "$@"
    """
    namespace = ["unshare", "--map-root-user", "--mount", "sh", "-c", script, "sh", str(ROOT)]
    try:
        subprocess.run(["unshare", "--map-root-user", "--mount", "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"this machine allows no mount namespace: {error}")
    full = subprocess.run(
        [*namespace, *command(project, "s0")], cwd=project, env=server, capture_output=True, text=True
    )
    assert full.returncode == 1
    line = "simulate@s0 failed: the disk is full; free some space, type `python -m flows.cache`, and run again"
    assert line in full.stdout, full.stdout + full.stderr
    assert "Traceback" not in full.stdout + full.stderr
    assert not (project / FACT).with_suffix(".lock").exists()
    assert flow(server, project, "s0").returncode == 0
    assert begun(project) == ["simulate@s0", "simulate@s0"]
    assert check_cache(project).returncode == 0
    assert not stale(project, "simulate@s0")


def test_a_dry_run_names_what_is_stale_and_runs_nothing(project: Path, tmp_path: Path, server: dict[str, str]) -> None:
    nobody = environment(tmp_path / "home")  # no server is there, and none is started
    done = flow(nobody, project, "--dry-run", "run", "s0")
    stages = {"prepare@roll", "train@run", "measure@run", "check@c_run", "simulate@s0", "check@c_s0"}
    *named, last = done.stdout.splitlines()
    assert done.returncode == 0
    assert {line.removesuffix(" is stale") for line in named} <= stages
    count = len(named)
    assert re.fullmatch(rf"{count} of \d stages are stale, \d more need one of them", last), done.stdout
    assert begun(project) == []
    assert not list((tmp_path / "home").glob("prefect.db*"))
    assert flow(server, project, "run", "s0").returncode == 0
    ran = begun(project)
    assert (
        flow(nobody, project, "--dry-run", "run", "s0").stdout
        == f"0 of {len(ran)} stages are stale, 0 more need one of them\n"
    )
    (project / "params.yaml").write_text((project / "params.yaml").read_text().replace("lr: 0.1", "lr: 0.2"))
    done = flow(nobody, project, "--dry-run", "run", "s0")
    assert done.stdout.splitlines()[0] == "train@run is stale"
    assert begun(project) == ran
    state = subprocess.run(
        [sys.executable, "-c", DRY, str(project)], cwd=ROOT, env=server, capture_output=True, text=True
    )
    assert state.stdout == done.stdout, "a deployment's run says the same as its state's message"


@pytest.mark.parametrize("section", ["data", "claims", "paper"])
def test_a_key_that_a_shell_would_run_is_refused(project: Path, tmp_path: Path, section: str) -> None:
    settings = dummy_project.params(1)
    key = "x; touch pwned; :"
    if section == "data":
        settings["data"][key] = settings["data"]["roll"]
    elif section == "claims":
        settings["fact"]["claims"][key] = "s0"
    else:
        settings[key] = settings["fact"]
    (project / "params.yaml").write_text(yaml.safe_dump(settings))
    done = flow(environment(tmp_path / "home"), project)
    assert (done.returncode, done.stdout.count("\n")) == (2, 1), done.stdout
    assert repr(key) in done.stdout
    assert not list(project.rglob("pwned"))


@pytest.mark.parametrize(
    ("arguments", "line"),
    [(["--workers", "-1"], r"Invalid value for '--workers': .* greater than or equal to 1"),
     (["--report", "file:///report"], r"Invalid value for '--report': 'file:///report' does not begin with http://.*"),
     (["--scale", "huge"], r".*'huge' is not one of 'quick', 'paper', 'atlas'."),
     (["--scale", "papr"], r".*'papr' is not one of 'quick', 'paper', 'atlas'; did you mean 'paper'\?"),
     (["--worker", "2"], r"No such option: --worker.* --workers.*"),
     (["c_rum"], r"unknown target 'c_rum'; did you mean 'c_run'\?; allowed: prepare, .*")],
)  # fmt: skip
def test_a_mistyped_argument_is_one_line(project: Path, tmp_path: Path, arguments: list[str], line: str) -> None:
    done = flow(environment(tmp_path / "home"), project, *arguments)
    assert done.returncode == 2
    assert re.fullmatch(line, done.stdout.rstrip("\n")), done.stdout
    assert len(done.stdout) < 200


def test_a_folder_with_too_long_a_name_is_one_line(tmp_path: Path) -> None:
    done = flow(environment(tmp_path / "home"), tmp_path / ("a" * 300))
    assert (done.returncode, done.stdout) == (2, f"{tmp_path / ('a' * 300)}: File name too long\n")


@pytest.mark.parametrize("option", ["--pull", "--push"])
def test_without_a_remote_an_option_that_needs_one_is_refused_at_the_start(
    project: Path, tmp_path: Path, option: str
) -> None:
    done = flow(environment(tmp_path / "home"), project, option, "s0")
    line = f"{option} needs a default remote of DVC; type `dvc remote add --default NAME ADDRESS` first\n"
    assert (done.returncode, done.stdout) == (2, line)
    assert begun(project) == []
    call("dvc", "remote", "add", "--quiet", "--default", "Store", str(tmp_path / "store"), cwd=project)
    need_remote(Graph(project, "quick"), {option: True})


def test_a_failure_names_the_log_file_and_shows_the_last_words(project: Path, server: dict[str, str]) -> None:
    order(project, fail=["simulate@s1"], seconds=0.2)
    done = flow(server, project, "simulate", "--workers", "1")
    lines = done.stdout.splitlines()
    assert done.returncode == 1
    assert re.fullmatch(
        r"\[1/3\] prepare@roll done in 0\.\d s, 0 running, about 0\.\d s left", lines[0]
    ) or re.fullmatch(r"\[1/2\] simulate@s0 done in \d\.\d s, 0 running, about \d\.\d s left", lines[0]), done.stdout
    failure = lines.index("    simulate@s1 was told to fail")
    assert lines[failure - 1].endswith("simulate@s1 failed: its program ended with status 1, 0 running")
    assert lines[-2].endswith("; failed: simulate@s1")
    log = project / lines[-1].split()[-1]
    assert log.parent == project / ".scratch/logs"
    assert "simulate@s1 was told to fail" in log.read_text()
    shutil.rmtree(project / "data")
    order(project)
    done = flow(server, project, "simulate")
    assert "simulate@s0 restored, " in done.stdout
    assert ", 1 restored" in done.stdout
    assert "skipping run" not in done.stdout, "DVC's words are in the log file"


def test_a_lock_file_of_another_machine_hides_no_result(project: Path, server: dict[str, str]) -> None:
    """The same code and data, and outputs that this cache does not have: what ran here before is restored."""
    flow(server, project, "simulate")
    lock = project / "pipeline/quick/fact/dvc.lock"
    locked = yaml.safe_load(lock.read_text())
    for name, stage in locked["stages"].items():
        if name.startswith("simulate@"):
            stage["outs"] = [out | {"md5": "0" * 32} for out in stage["outs"]]
    lock.write_text(yaml.safe_dump(locked))
    shutil.rmtree(project / "data/quick/tables")
    done = flow(server, project, "simulate")
    assert done.returncode == 0
    assert "simulate@s0 restored, " in done.stdout
    assert "simulate@s1 restored, " in done.stdout


def test_on_a_terminal_a_line_replaces_the_one_before(project: Path, server: dict[str, str]) -> None:
    ours, theirs = os.openpty()
    process = subprocess.Popen(command(project), cwd=ROOT, env=server, stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown = b""
    while True:
        try:
            shown += os.read(ours, 4096)
        except OSError:  # the terminal's other end is closed
            break
    os.close(ours)
    assert process.wait() == 0
    count = len(Graph(project, "quick").stages)
    assert shown.count(b"\n") == 1
    assert shown.count(b"\r[") == count
    assert f"\r{count} stages brought up to date, 0 already were\r\n" in shown.decode()
