"""Which verdicts and numbers moved, by how much, and why: ``python -m tasks.compare [REV_A [REV_B]]``.

It compares the reports of two commits or, without REV_B, the report of a commit with that of your own run.
"""

import argparse
import math
from collections.abc import Iterator
from typing import Any

from tasks import papers
from tasks.reporting.causes import Cause, Causes
from tasks.reporting.comparison import Change, compare
from tasks.reporting.snapshot import Snapshot, SnapshotError
from tasks.settings import refuse

SCALES = ("quick", "paper")
UNEXPLAINED = "no code, data or setting of its stages differs: another machine, or other packages"
HOLM = "Holm's correction: another claim of the paper moved"


def main() -> None:
    """Print the comparison of each scale; exit with status 2 and one line where there is nothing to compare."""
    parser = argparse.ArgumentParser(prog="python -m tasks.compare")
    parser.add_argument("before", metavar="REV_A", nargs="?", default="HEAD", help="a commit, tag or branch (HEAD)")
    parser.add_argument("now", metavar="REV_B", nargs="?", help="another one; without it, the files as they are here")
    parser.add_argument("--scale", help="quick or paper; without it, both")
    parser.add_argument("--numbers", type=int, default=1, help="how many numbers to print of each claim (1)")
    options = parser.parse_args()
    if options.scale not in (None, *SCALES):
        refuse(f"tasks.compare: there is no scale {options.scale}; the scales are {', '.join(SCALES)}")
    try:
        before, now = Snapshot(options.before), Snapshot(options.now)
        scales = [options.scale] if options.scale else SCALES
        texts = {scale: "\n".join(lines(before, now, scale, options.numbers)) for scale in scales}
    except SnapshotError as error:
        refuse(f"tasks.compare: {error}")
    if not any(texts.values()):
        refuse(f"tasks.compare: neither {before.name} nor the {now.name} has a report at {' or '.join(scales)} scale")
    print("\n\n".join(filter(None, texts.values())))


def lines(before: Snapshot, now: Snapshot, scale: str, shown: int = 1) -> Iterator[str]:
    """The lines about a scale; none where neither snapshot has its report."""
    first, second = before.claims(scale), now.claims(scale)
    if first is None and second is None:
        return
    title = f"{scale} scale, {before.name} -> {now.name}"
    if first is None or second is None:
        yield f"{title}: only the {(now if first is None else before).name} has reports/{scale}/claims.json"
        return
    differs = compare(first, second)
    if not differs.moved:
        yield f"{title}: {len(second)} verdicts and {differs.numbers} numbers are the same"
        return
    numbers = [change for change in differs.changes if math.isfinite(change.relative)]
    one_sided = len(differs.changes) - len(numbers)
    verdicts = f"{len(differs.verdicts)} of {len(second)} verdicts"
    rest = f", {one_sided} numbers are in one report only" if one_sided else ""
    yield f"{title}: {verdicts} and {len(numbers)} of {differs.numbers} numbers moved{rest}"
    for name, old, new in differs.verdicts:
        reason = second[name].get("reason")
        yield f"  {name}: {old} -> {new}{f' ({reason})' if reason else ''}"
    for name, side in differs.missing:
        yield f"  {name}: only in the report of the {(before if side == 'before' else now).name}"
    yield from _statements(first, second)
    if numbers:
        yield "Numbers, by claim, the most different first and p values last:"
    for name in differs.moved:
        yield from _numbers(name, [change for change in numbers if change.claim == name], shown)
    yield from _why(Causes(before, now, scale), differs.moved, differs.changes, second | first)
    yield from _packages(before, now)


def _statements(first: dict[str, Any], second: dict[str, Any]) -> Iterator[str]:
    """The statements whose verdict moved, with their statistic."""
    for name in second:
        old = {statement["name"]: statement for statement in first.get(name, {}).get("statements", ())}
        for statement in second[name].get("statements", ()):
            earlier = old.get(statement["name"])
            if earlier and earlier["verdict"] != statement["verdict"]:
                values = f"{_number(earlier.get('statistic'))} -> {_number(statement.get('statistic'))}"
                verdicts = f"{earlier['verdict']} -> {statement['verdict']}"
                yield f"  {name}, {statement['name']}: {verdicts}; statistic {values}"


def _numbers(name: str, changes: list[Change], shown: int) -> Iterator[str]:
    changes = sorted(changes, key=lambda change: (change.path[-1].startswith("p"), -change.relative))
    for change in changes[:shown]:
        path = " / ".join(part for part in change.path if part not in ("statements", "forms"))
        values = f"{_number(change.before)} -> {_number(change.now)} ({100 * change.relative:.2g} %)"
        yield f"  {name}: {path}: {values}" + (f"; {len(changes)} numbers" if len(changes) > 1 else "")


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.6g}"


def _why(causes: Causes, moved: list[str], changes: list[Change], claims: dict[str, Any]) -> Iterator[str]:
    """What changed, each cause once: its stages, and the moved claims that rest on it."""
    stages: dict[Cause, dict[str, None]] = {}
    resting: dict[Cause, dict[str, None]] = {}
    packages = {papers.paper(name).LETTER: name for name in papers.names()}
    for claim in moved:
        by_stage = causes.of_claim(claim.lower().replace(".", "_"))
        if not by_stage and (judging := causes.of_judging(paper := packages.get(claims[claim].get("paper", ""), ""))):
            by_stage = {f"verdicts@{paper}": judging}
        if not by_stage:
            corrected = all("Holm" in change.path[-1] for change in changes if change.claim == claim)
            by_stage = {"": [Cause("", HOLM if corrected else UNEXPLAINED)]}
        for stage, changed in by_stage.items():
            for cause in changed:
                stages.setdefault(cause, {})[stage] = None
                resting.setdefault(cause, {})[claim] = None
    alike: dict[tuple[str, str, str], list[str]] = {}  # the texts of causes of a kind, by their stages and claims
    for cause in sorted(stages, key=lambda each: (each.kind == "", -len(resting[each]), each)):
        lists = _some(list(stages[cause])), _some(list(resting[cause]))
        alike.setdefault((cause.kind, *lists), []).append(cause.text)
    yield "What changed, the stages that use it, and the claims above that rest on it:"
    for (kind, where, names), texts in alike.items():
        yield f"  {f'{kind}: ' if kind else ''}{_some(texts)}{f' [{where}]' if kind else ''}: {names}"


def _some(names: list[str], shown: int = 5) -> str:
    return ", ".join(names[:shown]) + (f" and {len(names) - shown} more" if len(names) > shown else "")


def _packages(before: Snapshot, now: Snapshot) -> Iterator[str]:
    """The pinned packages that differ; no lock file holds what was installed."""
    old, new = ((each.text("constraints.txt") or "").splitlines() for each in (before, now))
    pins = [dict(line.split("==", 1) for line in lines if "==" in line) for lines in (old, new)]
    for name in dict.fromkeys([*pins[0], *pins[1]]):
        if pins[0].get(name) != pins[1].get(name):
            yield f"  package: {name} {pins[0].get(name, 'not pinned')} -> {pins[1].get(name, 'not pinned')}"


if __name__ == "__main__":
    main()
