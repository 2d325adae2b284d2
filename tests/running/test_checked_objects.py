"""An object of DVC's cache is compared with its name once, and again when it has changed."""

import os
from pathlib import Path

from dummy_project import call
from dvc.repo import Repo

from flows import cache


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
