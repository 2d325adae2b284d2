"""No stage and no launch command trusts the clock of the machine that it runs on."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from dummy_project import ROOT, environment

# Python imports it at its start: a machine whose clock is wrong, while that of the file system is right
SKEWED = """
import os, time
right = time.time
time.time = lambda: right() + float(os.environ["SKEW"])
"""
SSH = """#!/bin/sh
eval host=\\${$(($# - 1))}
test -e "$FOLDER/lost-$host" && exit 255
echo "$host" >> "$FOLDER/used"
"""
STAGE = """
import sys
from pathlib import Path
from tasks import stage as stages
with stages.recorded(stages.Stage("prepare", sys.argv[1], "quick")):
    if sys.argv[2:]:
        Path(sys.argv[2]).touch()
"""


@pytest.fixture(params=[-3600, 3600])
def env(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    """A clock that is an hour late, or early."""
    (tmp_path / "clock").mkdir()
    (tmp_path / "clock/sitecustomize.py").write_text(SKEWED)
    env = environment(tmp_path / "home", PYTHONPATH=str(tmp_path / "clock"), SKEW=str(request.param))
    asked = subprocess.run([sys.executable, "-c", "import time; print(time.time())"], env=env, capture_output=True)
    assert abs(float(asked.stdout) - time.time() - request.param) < 600
    return env


def test_a_lost_host_is_left_out_for_a_minute_of_the_folders_clock(env: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "ssh").write_text(SSH)
    (tmp_path / "ssh").chmod(0o755)
    env |= {"PATH": f"{tmp_path}{os.pathsep}{env['PATH']}", "FOLDER": str(tmp_path)}
    command = [sys.executable, str(ROOT / "examples/launch/over_ssh.py"), "one,two", "--", "true"]

    def launch() -> int:
        return subprocess.run(command, cwd=tmp_path, env=env).returncode

    (tmp_path / "lost-one").touch()
    assert [launch(), launch()] == [255, 0]
    (tmp_path / "lost-one").unlink()
    mark = tmp_path / ".scratch/hosts/one.lost"
    lost = mark.stat().st_mtime - 61
    os.utime(mark, (lost, lost))
    assert launch() == 0
    assert (tmp_path / "used").read_text().split() == ["two", "one"]


def test_provenance_and_the_search_for_edits_do_not_need_a_right_clock(env: dict[str, str], tmp_path: Path) -> None:
    root = tmp_path / "project"
    for name in ("gramlab", "tasks"):  # with new times, as in a clone that has just been made
        shutil.copytree(ROOT / name, root / name, copy_function=shutil.copyfile)
    shutil.copyfile(ROOT / "params.yaml", root / "params.yaml")
    key = "swiss_roll"

    def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-c", STAGE, key, *arguments]
        path = f"{root}{os.pathsep}{env['PYTHONPATH']}"
        return subprocess.run(command, cwd=root, env={**env, "PYTHONPATH": path}, capture_output=True, text=True)

    began = time.monotonic()
    done = run()
    assert done.returncode == 0, done.stderr
    record = json.loads((root / f"data/quick/provenance/prepare@{key}.json").read_text())
    assert 0 <= record["seconds"] < time.monotonic() - began
    done = run("gramlab/files.py")
    assert done.returncode == 2
    assert f"prepare@{key}: gramlab/files.py changed while the stage ran; run it again" in done.stderr
