"""The graph, as DVC loads it from the dvc.yaml files, and what of it is stale, as DVC says."""

import io
import json
import re
from collections.abc import Iterable
from contextlib import redirect_stderr
from pathlib import Path

import yaml
from dvc.exceptions import DvcException
from dvc.lock import make_lock
from dvc.repo import Repo, lock_repo
from dvc.rwlock import RWLOCK_FILE, RWLOCK_LOCK

from gramlab.files import atomic
from tasks import settings

FILES = {
    "quick": ("runs/dvc.yaml", "tables/dvc.yaml", "dvc.yaml"),
    "paper": ("paper/runs/dvc.yaml", "paper/tables/dvc.yaml", "paper/dvc.yaml"),
}


class Refused(ValueError):
    """A mistake in params.yaml or in what was asked for, in one line."""


class Graph:
    """The stages of one scale.

    ``needs`` maps a stage's name to the names of the stages that it reads from.
    """

    def __init__(self, root: Path, scale: str):
        self.root, self.scale = root, scale
        self.settings = _settings(root, scale)
        try:
            # without waiting, DVC gives up on its lock after 3 s, and a running stage may hash for longer
            self.repo = Repo(str(root), _wait_for_lock=True)
            with lock_repo(self.repo):
                forget(self.repo)
                for name in FILES[scale]:
                    mend(root / name.replace(".yaml", ".lock"))
            edges = self.repo.index.graph
        except DvcException as error:
            raise Refused(f"{root.name}: {error}") from error
        files = {name: [one for one in edges if Path(one.path_in_repo).as_posix() == name] for name in FILES[scale]}
        self.stages = {one.name: one for stages in files.values() for one in stages}
        self.needs = {
            name: {up.name for up in edges.successors(one) if up.name in self.stages}
            for name, one in self.stages.items()
        }

    def select(self, targets: Iterable[str]) -> list[str]:
        """The stages that the targets name, and all that those need; every stage where there is no target.

        A target is a stage (``train@a_fig7``), a kind of stage (``train``), or the key of a claim, an experiment or a
        data set (``a_fig7``), which stands for all stages of that key.
        """
        wanted = set() if (targets := list(targets)) else set(self.stages)
        for target in targets:
            if not (found := {name for name in self.stages if target in (name, *name.split("@"))}):
                kinds = dict.fromkeys(name.split("@")[0] for name in self.stages)
                keys = dict.fromkeys(name.split("@")[1] for name in self.stages if "@" in name)
                raise Refused(f"unknown target {target!r}; allowed: {', '.join((*kinds, *keys))}, or both as KIND@KEY")
            wanted |= found
        growing = list(wanted)
        while growing:
            more = self.needs[growing.pop()] - wanted
            wanted |= more
            growing += more
        height = {name: self._height(name, wanted) for name in wanted}
        return sorted(wanted, key=lambda name: (-height[name], name))

    def _height(self, name: str, chosen: set[str]) -> int:
        """How many stages still have to follow this one, one after the other."""
        return max((1 + self._height(other, chosen) for other in chosen if name in self.needs[other]), default=0)

    def stale(self, names: Iterable[str]) -> set[str]:
        """Those of the stages that DVC would run."""
        with lock_repo(self.repo):
            return {name for name in names if self.stages[name].changed()}

    def address(self, name: str) -> str:
        """The stage as DVC takes it on its command line, from the root."""
        return f"{Path(self.stages[name].path_in_repo).as_posix()}:{name}"

    def verdict(self, name: str) -> Path:
        """The verdict that a check leaves."""
        return next(path for out in self.stages[name].outs if (path := Path(out.fs_path)).parent.name == "verdicts")


def forget(repo: Repo) -> None:
    """Remove DVC's list of which process works on what, if it is torn.

    DVC writes this file in place too, twice a stage. A torn one it refuses, and so would every process on the list.
    """
    guard = str(Path(repo.tmp_dir, RWLOCK_LOCK))
    with make_lock(guard, tmp_dir=repo.tmp_dir, hardlink_lock=repo.config["core"].get("hardlink_lock", False)):
        listed = Path(repo.tmp_dir, RWLOCK_FILE)
        try:
            json.loads(listed.read_text() if listed.is_file() else "{}")
        except json.JSONDecodeError:
            listed.unlink()


def mend(lock: Path) -> bool:
    """Drop the torn end of a lock file; whether there was one.

    DVC writes dvc.lock in place, so a kill at that moment leaves its beginning only, which DVC then refuses. A stage
    without an entry is taken from DVC's run-cache, or run again.
    """
    text = lock.read_text() if lock.is_file() else ""
    if re.search(r"^(<{7}|={7}|>{7})", text, flags=re.M):
        raise Refused(f"{lock}: holds an unresolved merge conflict")
    whole = text
    while whole and not _complete(whole):
        entries = [found.start() for found in re.finditer(r"^  \S", whole, flags=re.M)]
        whole = whole[: entries[-1]] if len(entries) > 1 else ""
    if whole == text:
        return False
    with atomic(lock) as temporary:
        temporary.write_text(whole or "schema: '2.0'\nstages: {}\n")
    return True


def _complete(text: str) -> bool:
    """Whether every stage of this lock file has all its parts; the last entry's outputs come last."""
    try:
        stages = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))["stages"]
        return text.endswith("\n") and all(
            out.get("md5") and out.get("size") is not None for one in stages.values() for out in one["outs"]
        )
    except (yaml.YAMLError, KeyError, TypeError, AttributeError):
        return False


def _settings(root: Path, scale: str) -> settings.Settings:
    said = io.StringIO()
    try:
        with redirect_stderr(said):
            if scale not in settings.SCALES:
                settings.refuse(f"unknown scale {scale!r}; allowed: {', '.join(settings.SCALES)}")
            return settings.Settings(settings.read(root / "params.yaml"), scale)
    except SystemExit:
        raise Refused(said.getvalue().strip()) from None
