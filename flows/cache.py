"""Compare every object of DVC's cache with its name, which is its hash: ``python -m flows.cache``.

DVC trusts an object that nobody may write to and never reads it again, so an object that a full disk or a crash cut off
would be checked out as if it were whole. Damaged objects are removed, and so are their copies in the working tree:
the next run fetches them with ``--pull``, or makes them anew.
"""

import hashlib
import json
import sys
from collections.abc import Iterable
from pathlib import Path

from dvc.output import Output
from dvc.repo import Repo


def damaged(folder: Path) -> Iterable[Path]:
    """The objects below a cache's folder whose content has another hash than their name says."""
    for path in sorted(folder.glob("[0-9a-f][0-9a-f]/*")):
        if path.suffix in ("", ".dir") and not path.is_dir():
            with path.open("rb") as file:
                content = hashlib.file_digest(file, "md5").hexdigest()
            if content != path.parent.name + path.stem:
                yield path


def mend(repo: Repo, outs: Iterable[Output] | None = None) -> list[str]:
    """Remove damaged objects and their copies in the working tree; the hashes of the objects."""
    folder = Path(repo.cache.local.path)
    objects = {path.parent.name + path.name: path for path in damaged(folder)}
    if objects:
        for out in repo.index.outs if outs is None else outs:
            for path, name in _files(out, folder):
                if name in objects:
                    path.unlink(missing_ok=True)
        for path in objects.values():
            path.unlink()
    return list(objects)


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
    except (OSError, ValueError):  # DVC finds the folder stale by itself
        return
    for entry in entries:
        yield path / entry["relpath"], entry["md5"]


if __name__ == "__main__":
    repo = Repo()
    with repo.lock:
        names = mend(repo)
    print(f"{len(names)} damaged objects" + (f", now removed: {', '.join(names)}" if names else " in the cache"))
    sys.exit(1 if names else 0)
