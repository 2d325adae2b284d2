"""Which verdicts and numbers of two reports differ, and by how much: of a run and its commit, or of two commits."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tasks.reporting.snapshot import Snapshot, SnapshotError

ROUND_OFF = 1e-9  # relative differences up to this are the order of additions, and so are numbers below SMALLEST
SMALLEST = 1e-12
NumberPath = tuple[str, ...]  # of a number in nested dictionaries and lists


class Change(NamedTuple):
    """A number of a claim that differs; None where a report lacks it."""

    claim: str
    path: NumberPath
    before: float | None
    now: float | None

    @property
    def relative(self) -> float:
        """The relative difference; infinite where a report lacks the number."""
        return relative(self.before, self.now)

    @property
    def round_off(self) -> bool:
        """Whether it is a difference of floating-point arithmetic alone."""
        if self.before is None or self.now is None:
            return False
        return self.relative <= ROUND_OFF or max(abs(self.before), abs(self.now)) <= SMALLEST


class Difference(NamedTuple):
    """What differs between two reports of a scale."""

    verdicts: list[tuple[str, str, str]]  # claim, verdict before, verdict now
    missing: list[tuple[str, str]]  # claim, the one report that has it: "before" or "now"
    changes: list[Change]
    numbers: int  # how many numbers there are in either report

    @property
    def moved(self) -> list[str]:
        """The claims in which anything differs."""
        parts = (self.verdicts, self.missing, self.changes)
        return list(dict.fromkeys(str(entry[0]) for part in parts for entry in part))

    @property
    def by_size(self) -> list[str]:
        """These claims, those whose verdict moved first, then those whose numbers moved most."""
        verdicts = {claim for claim, *_ in self.verdicts}
        largest: dict[str, float] = {}
        for change in self.changes:
            if math.isfinite(change.relative) and not change.round_off:
                largest[change.claim] = max(change.relative, largest.get(change.claim, 0.0))
        return sorted(self.moved, key=lambda claim: (claim not in verdicts, -largest.get(claim, 0.0)))


def compare(before: dict[str, Any], now: dict[str, Any]) -> Difference:
    """Compare the claims of two reports by their ids."""
    in_both = [name for name in now if name in before]
    verdicts = [
        (name, before[name]["verdict"], now[name]["verdict"])
        for name in in_both
        if before[name]["verdict"] != now[name]["verdict"]
    ]
    missing = [(name, "before") for name in before if name not in now]
    missing += [(name, "now") for name in now if name not in before]
    first, second = dict(numbers(before)), dict(numbers(now))
    paths = list(dict.fromkeys([*first, *second]))
    changes = [Change(path[0], path[1:], first.get(path), second.get(path))
               for path in paths if first.get(path) != second.get(path)]  # fmt: skip
    return Difference(verdicts, missing, changes, len(paths))


def reproduction(scale: str, commit: str = "HEAD") -> str:
    """One line: how many verdicts, numbers and tables are as committed, or which differ and by how much."""
    path = f"reports/{scale}/claims.json"
    try:
        committed = Snapshot(commit).claims(scale)
    except SnapshotError as error:
        return f"nothing to compare with: {error}"
    if committed is None:
        return f"nothing to compare with: {path} is not in {commit}"
    tables_before, tables_now = table_hashes(scale, commit), table_hashes(scale)
    return difference(committed, Snapshot().claims(scale) or {}, tables_before, tables_now)


def difference(
    committed: dict[str, Any], current: dict[str, Any], tables_before: dict[str, str], tables_now: dict[str, str]
) -> str:
    """The line for two reports' claims by id and the hashes of their tables by name."""
    differs = compare(committed, current)
    verdicts = [f"{name}: {before} -> {now}" for name, before, now in differs.verdicts]
    where = {"before": "commit", "now": "new report"}
    missing = [f"{name} is only in the {where[side]}" for name, side in differs.missing]
    tables = sorted(name for name in tables_before if tables_now.get(name) not in (None, tables_before[name]))
    same_tables = f"{len(tables_before)} tables byte for byte" if tables_before else "no table to compare"
    number_of_numbers = sum(1 for _ in numbers(current))
    if not (differs.moved or tables):
        return f"{len(current)} verdicts and {number_of_numbers} numbers as committed, {same_tables}"
    parts = [f"verdicts that differ: {'; '.join(sorted(verdicts + missing))}" if verdicts or missing else
             f"{len(current)} verdicts as committed"]  # fmt: skip
    if differs.changes:
        worst = max(differs.changes, key=lambda change: change.relative)
        parts.append(f"{len(differs.changes)} of {differs.numbers} numbers differ from the committed ones, the most in "
                     f"{' / '.join((worst.claim, *worst.path))}: {worst.before} -> {worst.now}")  # fmt: skip
    else:
        parts.append(f"{number_of_numbers} numbers as committed")
    parts.append(f"{len(tables)} of {len(tables_before)} tables differ" if tables else same_tables)
    return "; ".join(parts)


def numbers(value: Any, path: NumberPath = ()) -> Iterator[tuple[NumberPath, float]]:
    """Every number of nested dictionaries and lists, with its path. Truth values are no numbers.

    The path of an entry of a list has the entry's name, or its index where the entries have no names.
    """
    if isinstance(value, dict):
        for name, part in value.items():
            yield from numbers(part, (*path, str(name)))
    elif isinstance(value, list):
        names = [part.get("name") if isinstance(part, dict) else None for part in value]
        named = None not in names and len(set(names)) == len(names)
        for index, part in enumerate(value):
            yield from numbers(part, (*path, str(names[index] if named else index)))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path, math.inf if math.isnan(value) else float(value)


def relative(before: float | None, now: float | None) -> float:
    """The relative difference of two numbers; infinite where one is missing."""
    if before is None or now is None:
        return math.inf
    return abs(now - before) / max(abs(before), abs(now), 1e-300) if before != now else 0.0


def table_hashes(scale: str, commit: str | None = None, root: Path | None = None) -> dict[str, str]:
    """Hashes of the experiments' tables by file name, from the lock files of a commit or, without one, of a folder."""
    return {
        Path(out["path"]).name: out["md5"]
        for stage in Snapshot(commit, root).locked(scale).values()
        for out in stage.get("outs", ())
        if f"data/{scale}/tables/" in out["path"]
    }
