"""Errors that are nobody's mistake: of the file system while a result is kept, and of the server's answers."""

import os
import signal
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

from dummy_nodes import coordinate
from dummy_project import DIRECT, ROOT, alive, ask, background, begun, call, environment, order, until, until_hanging


def test_an_error_of_the_cache_fails_its_stage_in_one_line(project: Path, server: dict[str, str]) -> None:
    cache = project / ".dvc/cache"
    cache.mkdir(parents=True, exist_ok=True)
    (cache / "files").write_text("no folder")
    command = [sys.executable, "-m", "flows.reproduce", "--root", str(project), "s0"]
    done = subprocess.run(command, cwd=ROOT, env=server, capture_output=True, text=True)
    said = done.stdout + done.stderr
    assert done.returncode == 1, said
    (line,) = {line[line.index("simulate@s0") :] for line in said.splitlines() if "simulate@s0 failed: " in line}
    assert ".dvc/cache/files" in line
    assert "the disk is full" not in said
    assert "Traceback" not in said
    (cache / "files").unlink()
    assert subprocess.run(command, cwd=ROOT, env=server, capture_output=True).returncode == 0


def test_an_error_of_a_remotes_own_library_fails_its_stage_in_one_line(project: Path, server: dict[str, str]) -> None:
    """The library is missing, or reaches no host of this name."""
    call("dvc", "remote", "add", "--quiet", "--default", "store", "ssh://nowhere.invalid/store", cwd=project)
    command = [sys.executable, "-m", "flows.reproduce", "--root", str(project), "--push", "--workers", "1", "s0"]
    done = subprocess.run(command, cwd=ROOT, env=server, capture_output=True, text=True)
    said = done.stdout + done.stderr
    assert done.returncode == 1, said
    assert len([line for line in said.splitlines() if "simulate@s0 failed: " in line and "ssh" in line]) == 1, said
    assert "Traceback" not in said
    (log,) = (project / ".scratch/logs").glob("*.log")
    assert "Traceback" in log.read_text(encoding="utf-8")


def test_ctrl_c_leaves_no_temporary_folder_of_a_few_stages(project: Path, tmp_path: Path) -> None:
    order(project, hang=["simulate@s0"])
    temporary = Path(tempfile.mkdtemp())  # a short path, because a socket's may have 107 characters
    env = environment(tmp_path / "home", TMPDIR=str(temporary), PYTHONPATH=str(ROOT))
    command = [sys.executable, "-m", "flows", "simulate@s0"]
    with background(command, project, env, tmp_path / "log") as process:
        programs = until_hanging(project, 120)
        assert list(temporary.iterdir())
        os.killpg(process.pid, signal.SIGINT)
        assert until(lambda: process.poll() is not None and not any(map(alive, programs)), 30)
    assert process.returncode == 130
    temporary.rmdir()  # nothing is left in it


def test_a_run_that_the_server_has_lost_fails_its_stage_in_one_line(clones, env, tmp_path) -> None:
    """The coordinator asks after the run, and the server's answer is an error."""
    api, log = env["PREFECT_API_URL"], tmp_path / "log"
    deployed = lambda: [run for run in ask(f"{api}/flow_runs/filter", {}) if run["deployment_id"]]  # noqa: E731
    with background(coordinate(clones, "simulate@s0", "--retries", "0"), ROOT, env, log) as process:
        assert until(deployed, 120), log.read_text()
        (run,) = deployed()
        DIRECT.open(urllib.request.Request(f"{api}/flow_runs/{run['id']}", method="DELETE"), timeout=30).close()
        assert until(lambda: process.poll() is not None, 60), log.read_text()
    said = log.read_text()
    assert process.returncode == 1, said
    assert "failed: simulate@s0" in said
    assert "Traceback" not in said
    assert begun(clones["coordinator"]) == []
