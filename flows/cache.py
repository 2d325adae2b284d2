"""Compare every object of DVC's cache with its name, which is its hash: ``python -m flows.cache``.

DVC trusts a read-only object and never reads it again. So it would check out an object that a full disk or a crash cut
off. This program removes damaged objects and their copies in the working tree; the next run fetches them with
``--pull``, or makes them again.
"""

import hashlib
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from dvc.exceptions import DvcException
from dvc.output import Output
from dvc.repo import Repo

from flows.turn import OtherMachine, turn
from gramlab.files import atomic

CHECKED = "checked_objects.json"  # in .dvc/tmp


def damaged(folder: Path, checked: dict[str, list[int]]) -> Iterable[Path]:
    """The objects below a cache's folder whose content does not have the hash in their name.

    ``checked`` holds the size, time and inode of each object at its last check. An object with the same three is not
    read again. Intact objects are added to ``checked``.
    """
    for path in sorted(folder.glob("[0-9a-f][0-9a-f]/*")):
        if path.suffix in ("", ".dir") and not path.is_dir():
            with path.open("rb") as file:
                name, status = path.parent.name + path.name, os.fstat(file.fileno())
                signature = [status.st_size, status.st_mtime_ns, status.st_ino]
                if checked.get(name) == signature:
                    continue
                content = hashlib.file_digest(file, "md5").hexdigest()
            if content == path.parent.name + path.stem:
                checked[name] = signature
            else:
                yield path


def mend(repo: Repo, recheck: bool = True, outs: Iterable[Output] | None = None) -> list[str]:
    """Remove damaged objects and their copies in the working tree. Return the hashes of these objects.

    With ``recheck`` every object is read. Otherwise an object is read only if its size, time or inode differ from those
    of its last check; a node checks its cache so before each stage.
    """
    folder, record = Path(repo.cache.local.path), Path(repo.tmp_dir, CHECKED)
    checked = {} if recheck else _read(record)
    objects = {path.parent.name + path.name: path for path in damaged(folder, checked)}
    if objects:
        for out in repo.index.outs if outs is None else outs:
            for path, name in _files(out, folder):
                if name in objects:
                    path.unlink(missing_ok=True)
        for path in objects.values():
            path.unlink()
    with atomic(record) as temporary:
        temporary.write_text(json.dumps(checked), encoding="utf-8")
    return list(objects)


def _read(record: Path) -> dict[str, list[int]]:
    try:
        return dict(json.loads(record.read_text(encoding="utf-8")))
    except (OSError, ValueError):  # no earlier check
        return {}


def _files(out: Output, folder: Path) -> Iterable[tuple[Path, str]]:
    """The files of an output in the working tree, and the hashes that dvc.lock gives them."""
    if not out.hash_info or not out.use_cache:
        return
    name, path = str(out.hash_info.value), Path(out.fs_path)
    if not name.endswith(".dir"):
        yield path, name
        return
    try:
        entries = json.loads((folder / name[:2] / name[2:]).read_text(encoding="utf-8"))
    except (OSError, ValueError):  # DVC itself finds the folder stale
        return
    for entry in entries:
        yield path / entry["relpath"], entry["md5"]


def main() -> int:
    """Mend the cache of the clone that the working directory lies in. The exit status: 1 if objects were damaged."""
    try:
        repo = Repo(_wait_for_lock=True)
        with turn(Path(repo.root_dir), print), repo.lock:  # a flow may read or write any object meanwhile
            names = mend(repo)
    except (DvcException, OtherMachine, OSError) as error:
        print(" ".join(str(error).split()), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    print(f"{len(names)} damaged objects" + (f", now removed: {', '.join(names)}" if names else " in the cache"))
    return 1 if names else 0


if __name__ == "__main__":
    sys.exit(main())
