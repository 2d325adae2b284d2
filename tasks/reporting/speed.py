"""How fast gramlab is beside other programs, and how its time and memory grow: what the report shows of benchmarks/."""

import json
import re
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape

from tasks.settings import ROOT

COMPARED = ROOT / "benchmarks" / "results.json"  # benchmarks/compare.py writes it
GROWN = ROOT / "benchmarks" / "growth.json"  # benchmarks/growth.py writes it


def compared(path: Path = COMPARED) -> dict[str, Any] | None:
    """The pairs, with the machine and the date, and in how many gramlab is faster or slower; None if none was timed.

    A pair counts as faster or slower if all its rounds agree.
    """
    if not path.is_file():
        return None
    results = json.loads(path.read_text(encoding="utf-8"))
    rows = [row | {"what": code(row["quantity"]), "faster": outcome(row)} for row in results["pairs"]]
    counts = {name: sum(row["faster"] == name for row in rows) for name in ("faster", "slower", "neither")}
    loads = [row["load"] for row in rows]
    return {**results, "pairs": rows, "counts": counts, "loads": (min(loads), max(loads)) if rows else (0.0, 0.0)}


def outcome(row: dict[str, Any]) -> str:
    """Whether gramlab was faster in all rounds, slower in all, or neither."""
    return "faster" if row["low"] > 1 else "slower" if row["high"] < 1 else "neither"


def grown(path: Path = GROWN) -> dict[str, Any] | None:
    """The axes with their slopes; None if none was measured."""
    if not path.is_file():
        return None
    results = json.loads(path.read_text(encoding="utf-8"))
    return {**results, "rows": [row | {"what": code(row["task"])} for row in results["rows"]]}


def code(text: str) -> Markup:
    """A sentence in which backticks mark code, as HTML.

    Examples
    --------
    >>> code("`enfa` of 2 < 3 layers")
    Markup('<code>enfa</code> of 2 &lt; 3 layers')
    """
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))
