"""An object of DVC's cache is compared with its name once, and again when it has changed; by one process at a time."""

import fcntl
import json
import os
import resource
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from dummy_project import ROOT, background, call, environment, until
from dvc.repo import Repo

from flows import cache
from flows.turn import FILE, OtherMachine, turn

CHECK = [sys.executable, "-m", "flows.cache"]


def test_only_new_and_changed_objects_are_read_again(project: Path) -> None:
    for number in range(3):
        (project / f"file{number}").write_text(f"content {number}")
    call("dvc", "add", "--quiet", *(f"file{number}" for number in range(3)), cwd=project)
    objects = sorted((project / ".dvc/cache/files/md5").glob("*/*"))
    repo = Repo(str(project))
    with repo.lock:
        assert cache.mend(repo, recheck=False) == []
        before = objects[0].stat()
        objects[0].chmod(0o644)
        objects[0].write_bytes(b"x" * before.st_size)
        os.utime(objects[0], ns=(before.st_atime_ns, before.st_mtime_ns))  # nothing shows that it has changed
        objects[1].chmod(0o644)
        objects[1].write_bytes(objects[1].read_bytes()[:2])
        names = [path.parent.name + path.name for path in objects]
        assert cache.mend(repo, recheck=False) == [names[1]], "the first is not read again"
        assert cache.mend(repo) == [names[0]], "`python -m flows.cache` reads all"
    assert objects[2].exists()
    assert not objects[1].exists()


@pytest.mark.parametrize("folder", [".", "pipeline/quick"])
def test_a_check_waits_for_the_flow_that_runs(project: Path, tmp_path: Path, folder: str) -> None:
    env = environment(tmp_path / "home", PYTHONPATH=str(ROOT), PYTHONUNBUFFERED="1")
    log = tmp_path / "log"
    with ExitStack() as flow:
        flow.enter_context(turn(project, print))
        with background(CHECK, project / folder, env, log) as process:
            line = f"waits for the flow that runs in this clone: process {os.getpid()} on "
            assert until(lambda: line in log.read_text(), 60), log.read_text()
            assert process.poll() is None
            flow.close()
            assert process.wait(60) == 0
    assert log.read_text().splitlines()[1:] == ["0 damaged objects in the cache"]


def test_who_waits_waits_for_the_next_flow_too_where_the_file_of_the_lock_was_deleted(
    project: Path, tmp_path: Path
) -> None:
    env, log = environment(tmp_path / "home", PYTHONPATH=str(ROOT)), tmp_path / "log"
    with ExitStack() as flow:
        flow.enter_context(turn(project, print))
        with background(CHECK, project, env, log) as process:
            assert until(lambda: "waits for the flow" in log.read_text(), 60), log.read_text()
            (project / FILE).unlink()
            with (project / FILE).open("w") as other:  # as another flow does, which begins now
                fcntl.flock(other, fcntl.LOCK_EX)
                flow.close()
                assert not until(lambda: process.poll() is not None, 5)
            assert process.wait(60) == 0


def test_a_file_system_that_takes_no_byte_takes_no_turn_away(project: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        with turn(project, print), (project / FILE).open("ab") as other, pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def refused(folder: Path, home: Path) -> str:
    """The one line with which a check is refused."""
    env = environment(home, PYTHONPATH=str(ROOT))
    done = subprocess.run(CHECK, cwd=folder, env=env, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    return done.stderr


def test_a_check_that_cannot_begin_is_one_line(project: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    assert "not inside of a DVC repository" in refused(tmp_path / "elsewhere", tmp_path / "home")
    holder = {"host": "elsewhere", "process": 12, "command": "", "since": 0}
    (project / FILE).parent.mkdir(parents=True, exist_ok=True)
    (project / FILE).write_text(json.dumps(holder))
    assert refused(project, tmp_path / "home").startswith("process 12 on elsewhere")
    (project / FILE).unlink()
    (project / "dvc.yaml").write_text("stages: {one: {cmd: [}}\n")
    damaged = project / ".dvc/cache/files/md5/00/0"
    damaged.parent.mkdir(parents=True)
    damaged.write_text("not what the name says")
    assert "dvc.yaml" in refused(project, tmp_path / "home")
    assert damaged.exists(), "its copies could not be found"


def test_a_clone_that_cannot_be_written_to_is_named(project: Path) -> None:
    """A folder in the file's place, because no mode of a file keeps root from writing."""
    (project / FILE).mkdir(parents=True)
    with pytest.raises(OtherMachine) as refusal, turn(project, print):
        pass
    line = f"{project / FILE}: Is a directory; a flow needs a clone that it may write to"
    assert str(refusal.value) == line
