"""Write and mend the files dvc.lock, and mend DVC's list of the files that running processes use.

DVC writes these files in place. A kill during a write leaves a torn file, which DVC then refuses.
"""

import json
import re
from pathlib import Path

from dvc.repo import Repo
from dvc.rwlock import RWLOCK_FILE
from dvc.stage import PipelineStage
from dvc.stage.serialize import to_lockfile
from dvc.utils.serialize import dumps_yaml

from gramlab.files import atomic

START = "schema: '2.0'\nstages:\n"
# of a whole file; blank lines may follow, and no spaces, which would be those of a torn line
END = re.compile(r"^    outs:\n(?:    - path: .*\n(?:      .*\n)*?      size: \d+\n(?:      .*\n)*)+\n*\Z", flags=re.M)


def write_entry(stage: PipelineStage) -> None:
    """Write a stage's entry as DVC would, in one step; the rest of the file stays as it is.

    DVC parses and writes the whole file each time, which takes longer than everything else that it does for a stage.
    """
    lock = Path(stage.path).with_suffix(".lock")
    text = lock.read_text(encoding="utf-8") if lock.is_file() else START
    if not text.startswith(START):
        return stage.dump(update_pipeline=False)
    # through JSON, so that settings which stages share are written out: an anchor that two entries define is an error
    entry = dumps_yaml({"stages": json.loads(json.dumps(to_lockfile(stage)))}).removeprefix("stages:\n")
    _replace(lock, text, stage.name, entry)


def drop_entry(stage: PipelineStage) -> None:
    """Remove a stage's entry from dvc.lock, so that the stage is stale."""
    lock = Path(stage.path).with_suffix(".lock")
    if lock.is_file():
        _replace(lock, lock.read_text(encoding="utf-8"), stage.name, "")


def _replace(lock: Path, text: str, name: str, entry: str) -> None:
    """Replace a stage's entry by this one, or add it at the end."""
    before = re.search(rf"^  {re.escape(name)}:\n(?:    .*\n)*", text, flags=re.M)
    start, end = before.span() if before else (len(text), len(text))
    text = text[:start] + entry + text[end:]
    if text == START:  # DVC refuses a list without an entry
        return lock.unlink(missing_ok=True)
    with atomic(lock) as temporary:
        temporary.write_text(text, encoding="utf-8")


def mend_lock_file(lock: Path) -> None:
    """Drop the torn end of a dvc.lock. A stage without an entry is taken from DVC's run-cache, or run again."""
    text = lock.read_text(encoding="utf-8") if lock.is_file() else ""
    if re.search(r"^(<{7}|={7}|>{7})", text, flags=re.M):
        raise ValueError(f"{lock}: holds an unresolved merge conflict")
    *entries, last = [0, *(match.start() for match in re.finditer(r"^  \S", text, flags=re.M))]
    if len(entries) > 1 and not END.search(text):
        with atomic(lock) as temporary:
            temporary.write_text(text[:last], encoding="utf-8")
    elif not END.search(text):  # an empty file too, which a kill leaves between the truncation and the write
        lock.unlink(missing_ok=True)


def remove_torn_process_list(repo: Repo) -> None:
    """Remove DVC's list of the files that processes use, if a kill cut it off; those processes are gone too."""
    processes = Path(repo.tmp_dir, RWLOCK_FILE)
    try:
        json.loads(processes.read_text() if processes.is_file() else "{}")
    except json.JSONDecodeError:
        processes.unlink()
