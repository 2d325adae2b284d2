"""Bring today's verdicts in docs/rules/verdicts.md up to date: ``python benchmarks/verdicts.py``.

The page compares the verdicts before and after the judging was changed. The verdicts before and the words stay as they
are; the columns "now" are those of reports/quick/claims.json and reports/paper/claims.json.
"""

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "rules" / "verdicts.md"
SCALES = ("quick", "paper")
ROW = re.compile(r"\| ([ABCD]\.\S+) \|")
COLUMNS = 6  # of the table of all claims
COUNTS = re.compile(r"\| now, (quick|paper) \|.*")
VERDICTS = ("holds", "holds corrected", "fails", "inconclusive", "not run")


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


def reports() -> dict[str, dict[str, Any]]:
    """The claims of both reports."""
    return {scale: json.loads((ROOT / "reports" / scale / "claims.json").read_text("utf-8")) for scale in SCALES}


if __name__ == "__main__":
    PAGE.write_text(updated(PAGE.read_text("utf-8"), reports()), "utf-8")
