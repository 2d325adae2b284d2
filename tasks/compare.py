"""Show which verdicts and numbers moved, by how much, and why: ``gramlab compare [REV_A [REV_B]]``.

It compares the reports of two commits or, without REV_B, of a commit and of your own run.
"""

import json
import math
import sys
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import typer

from gramlab.cli import main as gramlab
from gramlab.cli.errors import errors_in_one_line
from tasks import papers
from tasks.reporting.causes import Cause, Causes
from tasks.reporting.comparison import Change, compare
from tasks.reporting.keys import claim_key
from tasks.reporting.snapshot import Snapshot, SnapshotError
from tasks.settings import SCALES

UNEXPLAINED = "no code, data or setting of its stages differs: another machine, or other packages"
P_VALUES = ("p", "p_against", "p, Holm", "p_against, Holm")  # their names in claims.json
HOLM = "Holm's correction: another claim of the paper moved"


def main(
    before: Annotated[str, typer.Argument(metavar="REV_A", help="a commit, tag or branch")] = "HEAD",
    now: Annotated[
        str | None,
        typer.Argument(
            metavar="REV_B", help="a second commit, tag or branch; without it, the files in the working tree"
        ),
    ] = None,
    scale: Annotated[Literal["quick", "paper"] | None, typer.Option(help="quick or paper; without it, both")] = None,
    shown: Annotated[int, typer.Option("--numbers", min=0, help="how many numbers to print of each claim")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON in place of text")] = False,
) -> None:
    """Compare two reports. Name the verdicts and numbers that moved, and what caused it."""
    scales = [scale] if scale else list(SCALES)
    with errors_in_one_line("compare"):
        first, second = Snapshot(before), Snapshot(now)
        if not any(snapshot.claims(scale) for snapshot in (first, second) for scale in scales):
            where = f"neither {first.in_words} nor {second.in_words}"
            raise SnapshotError(f"{where} has a report at the {' or the '.join(scales)} scale")
        if as_json:
            content = {scale: as_dictionary(first, second, scale) for scale in scales}
            print(json.dumps(content, indent=2, ensure_ascii=False))
        else:
            texts = ("\n".join(lines(first, second, scale, shown)) for scale in scales)
            print("\n\n".join(filter(None, texts)))


def as_dictionary(before: Snapshot, now: Snapshot, scale: str) -> dict[str, Any]:
    """The differences at a scale, for programs."""
    difference = compare(before.claims(scale) or {}, now.claims(scale) or {})
    return {
        "verdicts": [dict(zip(("claim", "before", "now"), moved, strict=True)) for moved in difference.verdicts],
        "only in one": [{"claim": claim, "report": side} for claim, side in difference.missing],
        "numbers": [change._asdict() for change in difference.changes],
        "numbers in all": difference.numbers,
    }


def lines(before: Snapshot, now: Snapshot, scale: str, shown: int = 1) -> Iterator[str]:
    """The lines on a scale; none if neither snapshot has its report."""
    first, second = before.claims(scale), now.claims(scale)
    if first is None and second is None:
        return
    title = f"{scale} scale, {before.name} -> {now.name}"
    if first is None or second is None:
        yield f"{title}: only {(now if first is None else before).in_words} has reports/{scale}/claims.json"
        return
    difference = compare(first, second)
    if not difference.moved:
        yield f"{title}: {len(second)} verdicts and {difference.numbers} numbers are the same"
        return
    round_off = sum(change.round_off for change in difference.changes)
    numbers = [change for change in difference.changes if math.isfinite(change.relative) and not change.round_off]
    one_sided = len(difference.changes) - len(numbers) - round_off
    verdicts = f"{len(difference.verdicts)} of {len(second)} verdicts"
    are = "number is" if one_sided == 1 else "numbers are"
    one_sided_text = f", {one_sided} {are} in one report only" if one_sided else ""
    hidden = f"; differences by round-off, not shown: {round_off}" if round_off else ""
    yield f"{title}: {verdicts} and {len(numbers)} of {difference.numbers} numbers moved{one_sided_text}{hidden}"
    for name, old, new in difference.verdicts:
        reason = second[name].get("reason")
        yield f"  {name}: {old} -> {new}{f' ({reason})' if reason else ''}"
    for name, side in difference.missing:
        yield f"  {name}: only in the report of {(before if side == 'before' else now).in_words}"
    yield from _statements(first, second)
    if numbers:
        yield "Numbers, by claim, moved verdicts first, then the most different; p values last within a claim:"
    for name in difference.by_size:
        yield from _numbers(name, [change for change in numbers if change.claim == name], shown)
    yield from _cause_lines(Causes(before, now, scale), difference.moved, difference.changes, second | first)
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
    changes = sorted(changes, key=lambda change: (change.path[-1] in P_VALUES, -change.relative))
    for change in changes[:shown]:
        path = " / ".join(part for part in change.path if part not in ("statements", "forms"))
        values = f"{_number(change.before)} -> {_number(change.now)} ({_percent(change.relative)})"
        yield f"  {name}: {path}: {values}" + (f"; {len(changes)} numbers" if len(changes) > 1 else "")


def _percent(share: float) -> str:
    """A share in per cent, without a power of ten if it is large.

    Examples
    --------
    >>> _percent(1.94), _percent(0.0123)
    ('194 %', '1.2 %')
    """
    return f"{100 * share:.0f} %" if share >= 0.1 else f"{100 * share:.2g} %"


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.6g}"


def _cause_lines(causes: Causes, moved: list[str], changes: list[Change], claims: dict[str, Any]) -> Iterator[str]:
    """Each cause of a change once, with its stages and the moved claims that rest on it."""
    stages_by_cause: dict[Cause, dict[str, None]] = {}
    claims_by_cause: dict[Cause, dict[str, None]] = {}
    packages = {papers.paper(name).LETTER: name for name in papers.names()}
    for claim in moved:
        by_stage = causes.of_claim(claim_key(claim))
        if not by_stage and (judging := causes.of_judging(paper := packages.get(claims[claim].get("paper", ""), ""))):
            by_stage = {f"verdicts@{paper}": judging}
        if not by_stage:
            moved_numbers = [change.path[-1] for change in changes if change.claim == claim]
            corrected = bool(moved_numbers) and all("Holm" in name for name in moved_numbers)
            by_stage = {"": [Cause("", HOLM if corrected else UNEXPLAINED)]}
        for stage, changed in by_stage.items():
            for cause in changed:
                stages_by_cause.setdefault(cause, {})[stage] = None
                claims_by_cause.setdefault(cause, {})[claim] = None
    texts_by_place: dict[tuple[str, str, str], list[str]] = {}  # by a cause's kind, stages and claims
    for cause in sorted(stages_by_cause, key=lambda cause: (cause.kind == "", -len(claims_by_cause[cause]), cause)):
        lists = _shortened(list(stages_by_cause[cause])), _shortened(list(claims_by_cause[cause]))
        texts_by_place.setdefault((cause.kind, *lists), []).append(cause.text)
    yield "What changed, the stages that use it, and the claims above that rest on it:"
    for (kind, where, names), texts in texts_by_place.items():
        yield f"  {f'{kind}: ' if kind else ''}{_shortened(texts)}{f' [{where}]' if kind else ''}: {names}"


def _shortened(names: list[str], shown: int = 5) -> str:
    return ", ".join(names[:shown]) + (f" and {len(names) - shown} more" if len(names) > shown else "")


def _packages(before: Snapshot, now: Snapshot) -> Iterator[str]:
    """The pinned packages that differ. Snapshots do not record the installed packages."""
    old, new = ((snapshot.text("constraints.txt") or "").splitlines() for snapshot in (before, now))
    pins = [dict(line.split("==", 1) for line in lines if "==" in line) for lines in (old, new)]
    for name in dict.fromkeys([*pins[0], *pins[1]]):
        if pins[0].get(name) != pins[1].get(name):
            yield f"  package: {name} {pins[0].get(name, 'not pinned')} -> {pins[1].get(name, 'not pinned')}"


if __name__ == "__main__":
    gramlab(["compare", *sys.argv[1:]])
