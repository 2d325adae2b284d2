"""How often verdicts came back on fresh seeds: what the report shows of reports/fresh.json."""

import json
from typing import Any

from tasks.settings import ROOT

FILE = "reports/fresh.json"  # flows/fresh.py writes it
STEADY = 0.9  # a verdict that came back in a smaller share of the runs is fragile


def came_back(verdict: str, by_root: dict[str, str]) -> dict[str, Any]:
    """How many runs have this verdict, their share, and whether the verdict is fragile."""
    count = sum(other == verdict for other in by_root.values())
    return {"came back": count, "runs": len(by_root), "share": count / len(by_root),
            "fragile": count < STEADY * len(by_root)}  # fmt: skip


def fresh_runs(scale: str, verdicts: dict[str, str]) -> dict[str, dict[str, Any]]:
    """By claim how often the report's verdict came back; nothing of a claim or scale that was not repeated."""
    path = ROOT / FILE
    record = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    if record.get("scale") != scale:
        return {}
    return {name: came_back(verdicts[name], claim["verdicts"])
            for name, claim in record["claims"].items() if name in verdicts}  # fmt: skip
