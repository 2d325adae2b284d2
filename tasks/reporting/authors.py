"""gramlab beside the code of the papers' authors: what the report shows of reports/authors.json."""

import json
from itertools import groupby
from pathlib import Path
from typing import Any

from tasks.settings import ROOT

RESULTS = ROOT / "reports" / "authors.json"  # benchmarks/authors writes it


def compared(path: Path = RESULTS) -> dict[str, Any] | None:
    """The comparisons by repository, and how many agree, differ by a tested cause, or differ without; None if none."""
    if not path.is_file():
        return None
    rows = json.loads(path.read_text(encoding="utf-8"))["comparisons"]
    explained = [row for row in rows if row["explained"]]
    return {
        "count": len(rows),
        "agree": sum(not row["cause"] for row in explained),
        "explained": sum(bool(row["cause"]) and row["their_value"] is not None for row in explained),
        "broken": sum(row["their_value"] is None for row in rows),
        "unexplained": len(rows) - len(explained),
        "repositories": [
            {"name": name, "commit": commit, "rows": list(members)}
            for (name, commit), members in groupby(rows, lambda row: (row["repository"], row["commit"]))
        ],
    }
