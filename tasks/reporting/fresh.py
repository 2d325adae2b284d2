"""How often verdicts came back on fresh seeds: what the report shows of reports/fresh.json and atlas_fresh.json."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tasks.settings import ROOT

FILE = "reports/fresh.json"  # flows/fresh.py writes it
ATLAS_FILE = "reports/atlas_fresh.json"  # of the atlas's cells; flows/fresh.py writes it too
STEADY = 0.9  # a verdict that came back in a smaller share of the runs is fragile


def came_back(verdict: str, by_root: dict[str, str]) -> dict[str, Any]:
    """How many runs have this verdict, their share, and whether the verdict is fragile."""
    count = sum(other == verdict for other in by_root.values())
    return {"came back": count, "runs": len(by_root), "share": count / len(by_root),
            "fragile": count < STEADY * len(by_root)}  # fmt: skip


def fresh_runs(scale: str, verdicts: dict[str, str]) -> dict[str, dict[str, Any]]:
    """How often the report's verdict came back, by claim; nothing of a claim or scale that was not repeated."""
    path = ROOT / FILE
    record = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    if record.get("scale") != scale:
        return {}
    return {name: came_back(verdicts[name], claim["verdicts"])
            for name, claim in record["claims"].items() if name in verdicts}  # fmt: skip


def summary(path: Path = ROOT / FILE) -> dict[str, Any] | None:
    """The roots that ran, how many verdicts came back at them, and the fragile claims; None if none ran."""
    if not path.is_file():
        return None
    record = json.loads(path.read_text(encoding="utf-8"))
    claims = record["claims"].values()
    return {
        "roots": sorted(map(int, record["roots"])),
        "verdicts": sum(claim["runs"] for claim in claims),
        "came back": sum(claim["came back"] for claim in claims),
        "fragile": [name for name, claim in record["claims"].items() if claim["fragile"]],
    }


def verdicts_of_cells(result: Mapping[str, Any]) -> dict[str, str]:
    """Who wins for the change of WᵀW on the forward side, by cell of the map; "diverged" where training did.

    Parameters
    ----------
    result : mapping
        The content of reports/atlas.json; cells with a known answer are left out.
    """
    winners = {name: cell["sides"]["forward"]["change"]["winner"] for name, cell in result["cells"].items()
             if not cell["answer"]}  # fmt: skip
    return {**winners, **dict.fromkeys(result["diverged"], "diverged")}


def fresh_cells(result: Mapping[str, Any]) -> dict[str, Any]:
    """How the atlas came out on fresh seeds, counted against the verdicts of ``result``.

    Parameters
    ----------
    result : mapping
        The content of reports/atlas.json.

    Returns
    -------
    dict
        "roots": their names; "cells": by cell "verdicts" by root, and what `came_back` says; "known": by root which
        known answers came out; "sentences": by root whether a sentence holds, by its key; "note": what
        differs from today's rules, if anything does. Empty where the atlas was not repeated.
    """
    path = ROOT / ATLAS_FILE
    if not path.is_file():
        return {}
    record, verdicts = json.loads(path.read_text(encoding="utf-8")), verdicts_of_cells(result)
    cells = {name: {"verdicts": cell["verdicts"], **came_back(verdicts[name], cell["verdicts"])}
             for name, cell in record["cells"].items() if name in verdicts}  # fmt: skip
    return {"roots": list(record["roots"]), "cells": cells, "known": record["known"],
            "sentences": record["sentences"], "note": record.get("note", "")}  # fmt: skip
