"""What changed between two snapshots that a claim rests on: code, settings and data, by the stages that use them.

A stage's entry in a lock file has the hashes of all that it read and wrote, and its settings. A stage that made the
same bytes as before is no cause, whatever was edited. The paper scale was run elsewhere and has no lock files here:
its stages are those of the quick scale, their code is compared by git and their settings in params.yaml.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from tasks.reporting.snapshot import Snapshot, changed_files

DRAWING = "tasks/drawing"  # checks depend on it for their figures; it moves no number


class Cause(NamedTuple):
    """Something that changed: ``code``, ``settings``, or ``machine`` where the same inputs gave other bytes."""

    kind: str
    text: str


class Stage(NamedTuple):
    """A stage as it ran: hashes by path (None where they are not known) and settings by name."""

    deps: dict[str, str | None]
    outs: dict[str, str | None]
    settings: dict[str, Any]


class Causes:
    """What changed between two snapshots at a scale.

    Parameters
    ----------
    before, now : Snapshot
        The first is a commit.
    scale : str
        ``quick`` or ``paper``.
    """

    def __init__(self, before: Snapshot, now: Snapshot, scale: str):
        self.files = changed_files(before, now)
        first, second = before.locked(scale), now.locked(scale)
        self.locked = bool(first and second)
        if self.locked:
            self.before, self.now = ({name: _ran(stage) for name, stage in lock.items()} for lock in (first, second))
        else:
            self.before, self.now = _declared(before, before, scale), _declared(now, before, scale)
        self.makers = {path: name for name, stage in self.now.items() for path in stage.outs}

    def of_claim(self, key: str) -> dict[str, list[Cause]]:
        """The causes by stage, of the stages whose results the claim rests on; empty where nothing changed."""
        causes: dict[str, list[Cause]] = {}
        check = f"check@{key}"
        waiting = [] if self._same_finding(self.before.get(check), self.now.get(check)) else [check]
        while waiting:
            name = waiting.pop(0)
            if name in causes:
                continue
            causes[name] = list(self.of_stage(name))
            waiting += [self.makers[path] for path in self._other_data(name) if path in self.makers]
        return {name: changed for name, changed in causes.items() if changed}

    @staticmethod
    def _same_finding(before: Stage | None, now: Stage | None) -> bool:
        """Whether a check's finding is known to be the same; its figure may differ."""
        if before is None or now is None:
            return False
        hashes = {path: value for path, value in now.outs.items() if "/findings/" in path}
        return all(value and before.outs.get(path) == value for path, value in hashes.items())

    def of_judging(self, paper: str) -> list[Cause]:
        """The causes in the stage that judges all claims of the paper together."""
        return [cause for cause in self.of_stage(f"verdicts@{paper}") if cause.kind != "machine"]

    def of_stage(self, name: str) -> Iterator[Cause]:
        """What changed of a stage's own code and settings; another machine where nothing did and the result differs."""
        before, now = self.before.get(name), self.now.get(name)
        if before is None or now is None:
            if before or now:
                yield Cause("code", f"the stage {name} is {'new' if now else 'gone'}")
            return
        same = True
        for path in dict.fromkeys([*before.deps, *now.deps]):
            if not path.startswith(("data/", DRAWING)) and self._differs(path, before.deps, now.deps):
                same = False
                yield from self._code(path)
        for setting in _leaves_that_differ(before.settings, now.settings):
            same = False
            yield Cause("settings", setting)
        known = [path for path in now.outs if None not in (before.outs.get(path), now.outs[path])]
        if same and not self._other_data(name) and any(before.outs[path] != now.outs[path] for path in known):
            yield Cause(
                "machine", "other bytes from the same code, data and settings: another machine or other packages"
            )

    def _differs(self, path: str, before: dict[str, str | None], now: dict[str, str | None]) -> bool:
        first, second = before.get(path), now.get(path)
        if first is None or second is None:
            return bool(self._changed_in(path))
        return first != second

    def _changed_in(self, path: str) -> list[str]:
        return [file for file in self.files if file == path or file.startswith(f"{path}/")]

    def _code(self, path: str) -> Iterator[Cause]:
        names = self._changed_in(path)
        if not names:  # the stage ran with an edit that neither snapshot has
            names = [f"{path}, as it was when the stage ran"]
        yield from (Cause("code", name) for name in names)

    def _other_data(self, name: str) -> list[str]:
        """The data that a stage read and that differ, or that have no hash to compare."""
        before, now = self.before.get(name), self.now.get(name)
        if before is None or now is None:
            return []
        data = [path for path in now.deps if path.startswith("data/")]
        return [path for path in data if before.deps.get(path) is None or before.deps[path] != now.deps[path]]


def _ran(stage: dict[str, Any]) -> Stage:
    """A stage of a lock file."""
    deps, outs = ({entry["path"]: entry["md5"] for entry in stage.get(kind, ())} for kind in ("deps", "outs"))
    return Stage(deps, outs, stage.get("params", {}).get("params.yaml") or {})


def _declared(snapshot: Snapshot, reference: Snapshot, scale: str) -> dict[str, Stage]:
    """The stages of a scale without lock files: the quick scale's, with the hashes of the tables that git holds."""
    stages = {}
    for name, locked in reference.locked("quick").items():
        ran = _ran(locked)

        def renamed(hashes: dict[str, str | None]) -> dict[str, str | None]:
            paths = [path.replace("data/quick/", f"data/{scale}/") for path in hashes]
            return {path: _table(snapshot, scale, path) for path in paths}

        settings = {setting: _setting(snapshot, setting) for setting in ran.settings}
        if scale == "paper":  # its stages depend on no reduction
            settings = {leaf: value for leaf, value in _leaves(settings) if ".quick." not in f"{leaf}."}
        stages[name] = Stage(renamed(ran.deps), renamed(ran.outs), settings)
    return stages


def _table(snapshot: Snapshot, scale: str, path: str) -> str | None:
    folder, _, name = path.rpartition("/")
    return snapshot.table_hash(scale, name) if folder == f"data/{scale}/tables" else None


def _setting(snapshot: Snapshot, name: str) -> Any:
    """An entry of params.yaml by its dotted name; None where there is none."""
    value: Any = snapshot.settings
    for part in name.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _leaves_that_differ(before: dict[str, Any], now: dict[str, Any]) -> Iterator[str]:
    """Lines ``name: before -> now``, of each single setting that differs."""
    first, second = dict(_leaves(before)), dict(_leaves(now))
    for name in dict.fromkeys([*first, *second]):
        if first.get(name, "not set") != second.get(name, "not set"):
            yield f"{name}: {first.get(name, 'not set')} -> {second.get(name, 'not set')}"


def _leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for key, part in value.items():
            yield from _leaves(part, f"{name}.{key}" if name else str(key))
    else:
        yield name, value
