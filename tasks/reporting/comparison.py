"""Compare the verdicts and numbers of this run with those of a commit: the proof of a reproduction."""

import json
import math
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tasks.settings import ROOT


def reproduction(scale: str, commit: str = "HEAD") -> str:
    """One line: how many verdicts, numbers and tables are as committed, or which differ and by how much."""
    path = f"reports/{scale}/claims.json"
    committed_text = _git("show", f"{commit}:{path}")
    if committed_text is None:
        return f"nothing to compare with: {path} is not in {commit}"
    committed, current = json.loads(committed_text), json.loads((ROOT / path).read_text(encoding="utf-8"))
    tables_before, tables_now = table_hashes(scale, commit), table_hashes(scale)
    return difference(committed, current, tables_before, tables_now)


def difference(
    committed: dict[str, Any], current: dict[str, Any], tables_before: dict[str, str], tables_now: dict[str, str]
) -> str:
    """The line for two reports' claims by id and the hashes of their tables by name."""
    verdicts = [
        f"{name}: {committed[name]['verdict']} -> {current[name]['verdict']}"
        for name in committed.keys() & current.keys()
        if committed[name]["verdict"] != current[name]["verdict"]
    ]
    missing = [f"{name} is only in the {where}" for where, names in (
        ("commit", committed.keys() - current.keys()), ("new report", current.keys() - committed.keys())
    ) for name in names]  # fmt: skip
    before, now = dict(numbers(committed)), dict(numbers(current))
    paths = before.keys() | now.keys()
    changed = {path: relative(before.get(path), now.get(path)) for path in paths if before.get(path) != now.get(path)}
    tables = sorted(name for name in tables_before if tables_now.get(name) not in (None, tables_before[name]))
    same_tables = f"{len(tables_before)} tables byte for byte" if tables_before else "no table to compare"
    if not (verdicts or missing or changed or tables):
        return f"{len(current)} verdicts and {len(now)} numbers as committed, {same_tables}"
    parts = [f"verdicts that differ: {'; '.join(sorted(verdicts + missing))}" if verdicts or missing else
             f"{len(current)} verdicts as committed"]  # fmt: skip
    if changed:
        worst = max(changed, key=lambda path: changed[path])
        parts.append(f"{len(changed)} of {len(paths)} numbers differ from the committed ones, the most in "
                     f"{' / '.join(worst)}: {before.get(worst)} -> {now.get(worst)}")  # fmt: skip
    else:
        parts.append(f"{len(now)} numbers as committed")
    parts.append(f"{len(tables)} of {len(tables_before)} tables differ" if tables else same_tables)
    return "; ".join(parts)


def numbers(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], float]]:
    """Every number of nested dictionaries and lists, with its path. Truth values are no numbers."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield from numbers(part, (*path, str(name)))
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from numbers(part, (*path, str(index)))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path, math.inf if math.isnan(value) else float(value)


def relative(before: float | None, now: float | None) -> float:
    """The relative difference of two numbers; infinite where one is missing."""
    if before is None or now is None:
        return math.inf
    return abs(now - before) / max(abs(before), abs(now), 1e-300) if before != now else 0.0


def table_hashes(scale: str, commit: str | None = None, root: Path | None = None) -> dict[str, str]:
    """Hashes of the experiments' tables by file name, from the lock files of a commit or, without one, of a folder."""
    if commit is None:
        texts = [path.read_text(encoding="utf-8") for path in (root or ROOT).glob("pipeline/**/dvc.lock")]
    else:
        names = (_git("ls-tree", "-r", "--name-only", commit) or "").splitlines()
        texts = [_git("show", f"{commit}:{name}") or "" for name in names if Path(name).name == "dvc.lock"]
    hashes = {}
    for text in texts:
        lock = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader)) or {}
        for stage in (lock.get("stages") or {}).values():
            for out in stage.get("outs", ()):
                if f"data/{scale}/tables/" in out["path"]:
                    hashes[Path(out["path"]).name] = out["md5"]
    return hashes


def _git(*command: str) -> str | None:
    done = subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True, encoding="utf-8")
    return done.stdout if done.returncode == 0 else None
