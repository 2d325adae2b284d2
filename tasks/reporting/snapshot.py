"""The project at a commit, or as it lies in the folder: its report, its lock files and its settings."""

import json
import subprocess
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from tasks.settings import ROOT

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class SnapshotError(ValueError):
    """There is no such commit, or a file of it cannot be read."""


class Snapshot:
    """The files of a commit, or of the working tree.

    Parameters
    ----------
    commit : str or None
        What git takes as a commit; the working tree where it is None.
    root : Path or None
        The project's folder; this project's where it is None.

    Raises
    ------
    SnapshotError
        If there is no git repository, or no such commit in it.
    """

    def __init__(self, commit: str | None = None, root: Path | None = None):
        self.root = root or ROOT
        self.commit = commit
        self.name = commit or "working tree"
        self.in_words = commit or "the working tree"  # in a sentence
        if commit is not None:
            if git(self.root, "rev-parse", "--git-dir") is None:
                raise SnapshotError(f"{self.root.name} is not in a git repository")
            if git(self.root, "rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}") is None:
                raise SnapshotError(f"{commit} is not a commit of this repository")

    def text(self, path: str) -> str | None:
        """A file's text; None where there is no such file."""
        if self.commit is not None:
            return git(self.root, "show", f"{self.commit}:./{path}")
        return (self.root / path).read_text(encoding="utf-8") if (self.root / path).is_file() else None

    def claims(self, scale: str) -> dict[str, Any] | None:
        """The claims of a scale's report by id; None where there is no report."""
        path = f"reports/{scale}/claims.json"
        try:
            text = self.text(path)
            claims = None if text is None else json.loads(text)
        except ValueError as error:  # also of a file that ends within a letter
            raise SnapshotError(f"{path} of {self.in_words} is damaged: {error}") from error
        if text is not None and not (isinstance(claims, dict) and all(isinstance(c, dict) for c in claims.values())):
            raise SnapshotError(f"{path} of {self.in_words} is damaged: it is no dictionary of claims")
        return claims

    def lock_files(self) -> list[str]:
        """The paths of the lock files."""
        if self.commit is None:
            paths = [*self.root.glob("pipeline/**/dvc.lock"), *self.root.glob("dvc.lock")]
            return sorted(path.relative_to(self.root).as_posix() for path in paths)
        names = git(self.root, "ls-tree", "-r", "--name-only", self.commit, "--", "pipeline", "dvc.lock") or ""
        return [name for name in names.splitlines() if Path(name).name == "dvc.lock"]

    def locked(self, scale: str) -> dict[str, dict[str, Any]]:
        """What the lock files say of each stage of a scale, by the stage's name."""
        folders = (f"data/{scale}/", f"reports/{scale}/")
        return {name: stage for name, stage in self._locked
                if any(out["path"].startswith(folders) for out in stage.get("outs", ()))}  # fmt: skip

    @cached_property
    def _locked(self) -> list[tuple[str, dict[str, Any]]]:
        return list(self._read_locks())

    def _read_locks(self) -> Iterator[tuple[str, dict[str, Any]]]:
        for path in self.lock_files():
            try:
                lock = yaml.load(self.text(path) or "", LOADER) or {}
            except yaml.YAMLError as error:
                raise SnapshotError(f"{path} of {self.in_words} is damaged") from error
            yield from (lock.get("stages") or {}).items()

    @cached_property
    def settings(self) -> dict[str, Any]:
        """params.yaml as it stands; empty where there is none or it cannot be read."""
        try:
            return yaml.load(self.text("params.yaml") or "", LOADER) or {}
        except yaml.YAMLError:
            return {}

    def table_hash(self, scale: str, table: str) -> str | None:
        """The hash of a table that is kept beside the report, as the paper scale keeps them; None where it is not."""
        path = f"reports/{scale}/tables/{table}"
        if self.commit is None:
            return (git(self.root, "hash-object", path) or "").strip() or None
        return (git(self.root, "rev-parse", "--verify", "--quiet", f"{self.commit}:./{path}") or "").strip() or None


def changed_files(before: Snapshot, now: Snapshot) -> list[str]:
    """The paths that differ between two snapshots; new files of a working tree are among them."""
    if before.commit is None:
        raise SnapshotError("the first of two snapshots is a commit")
    commits = [before.commit, *([now.commit] if now.commit else [])]
    names = git(before.root, "diff", "--name-only", "--no-renames", "--relative", *commits, "--") or ""
    if now.commit is None:
        names += git(before.root, "ls-files", "--others", "--exclude-standard") or ""
    return sorted(set(names.splitlines()))


def git(root: Path, *command: str) -> str | None:
    """What a git command prints; None where it fails or there is no git."""
    try:
        done = subprocess.run(["git", *command], cwd=root, capture_output=True, text=True, encoding="utf-8")
    except FileNotFoundError:
        return None
    return done.stdout if done.returncode == 0 else None
