"""Bring today's verdicts in docs/rules/verdicts.md and docs/history.md up to date: ``python benchmarks/verdicts.py``.

docs/rules/verdicts.md compares the verdicts before and after the judging was changed. The verdicts before and the words
stay as they are; the columns "now" are those of reports/quick/claims.json and reports/paper/claims.json. A table of
docs/history.md counts the claims by both verdicts.
"""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "rules" / "verdicts.md"
HISTORY = ROOT / "docs" / "history.md"
SCALES = ("quick", "paper")
ROW = re.compile(r"\| ([ABCD]\.\S+) \|")
COLUMNS = 6  # of the table of all claims
COUNTS = re.compile(r"\| now, (quick|paper) \|.*")
VERDICTS = ("holds", "holds corrected", "fails", "inconclusive", "not run")
NEW = "–"  # the verdict before on a claim that is new
CHANGES = re.compile(r"(\| at `0b6b189` \| today \|.*\n\| --- .*\n)(?:\|.*\n)*")  # the table of docs/history.md


def verdict(claims: dict[str, Any], name: str) -> str:
    """A claim's verdict as the page writes it, with its reason."""
    claim = claims[name]
    return claim["verdict"] + (f": {claim['reason']}" if claim["reason"] else "")


def updated(text: str, claims: dict[str, dict[str, Any]]) -> str:
    """The page with today's verdicts."""
    lines = []
    for line in text.split("\n"):
        cells = line.split(" | ")
        if (row := ROW.match(line)) and len(cells) == COLUMNS:
            cells[2], cells[4] = (verdict(claims[scale], row[1]) for scale in SCALES)
            line = " | ".join(cells)
        elif row := COUNTS.match(line):
            verdicts = [claim["verdict"] for claim in claims[row[1]].values()]
            counts = [verdicts.count(name) for name in VERDICTS]
            line = f"| now, {row[1]} | {' | '.join(map(str, counts))} |"
        lines.append(line)
    return "\n".join(lines)


def changes(page: str, claims: dict[str, dict[str, Any]]) -> str:
    """The rows of the table of docs/history.md: how many claims of each scale have which verdict before and today."""
    columns = []
    for scale, before in zip(SCALES, (1, 3), strict=True):
        rows = [line.split(" | ") for line in page.split("\n") if ROW.match(line) and line.count(" | ") == COLUMNS - 1]
        columns.append(Counter(_change(cells[before], claims[scale][cells[0][2:]]["verdict"]) for cells in rows))
    order = [_change(was, is_now) for was in (*VERDICTS, NEW) for is_now in VERDICTS]
    kinds = [kind for kind in dict.fromkeys(order) if any(column[kind] for column in columns)]
    lines = [(*kind, *(column[kind] for column in columns)) for kind in kinds]
    lines.append(("all", "", *(column.total() for column in columns)))
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


def _change(was: str, is_now: str) -> tuple[str, str]:
    """The first two cells of a row: the verdict before and today's."""
    if was == NEW:
        return "no such claim", "new"
    if was == "not run":
        return was, "not run" if is_now == "not run" else "judged"
    return ("judged", "the same") if was == is_now else (was, is_now)


def updated_history(text: str, page: str, claims: dict[str, dict[str, Any]]) -> str:
    """docs/history.md with today's counts."""
    return CHANGES.sub(lambda table: table[1] + changes(page, claims), text)


def reports() -> dict[str, dict[str, Any]]:
    """The claims of both reports."""
    return {scale: json.loads((ROOT / "reports" / scale / "claims.json").read_text("utf-8")) for scale in SCALES}


if __name__ == "__main__":
    PAGE.write_text(updated(PAGE.read_text("utf-8"), reports()), "utf-8")
    HISTORY.write_text(updated_history(HISTORY.read_text("utf-8"), PAGE.read_text("utf-8"), reports()), "utf-8")
