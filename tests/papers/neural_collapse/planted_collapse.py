"""Planted tables of paper D's claims, and what their statements' rules find in them."""

from typing import Any

from gramlab import tables
from tasks.judging.finding import find
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding
from tasks.judging.verdict import judge


def planted(rows: list[dict], **columns: Any) -> Rows:
    """The rows as a table of the experiment "e" at the quick scale, in the arm "claim" unless they say otherwise."""
    common = {"experiment": "e", "scale": "quick", "arm": "claim", **columns}
    return Rows(tables.table([{**common, **row} for row in rows]))


def finding_of(claim: Any, name: str, rows: list[dict]) -> Finding:
    """What the rule of the statement with this name finds."""
    (statement,) = [statement for statement in claim.STATEMENTS if statement.name == name]
    return statement.rule(planted([row for row in rows if row["quantity"] in statement.reads]))


def verdict(claim: Any, rows: list[dict], seeds: int = 0, scale: str = "quick") -> dict:
    """The verdict on the claim; ``seeds`` as the settings would have them, 0 for a claim without."""
    finding = find(claim, "D", planted(rows, scale=scale), "e", scale, {seeds} - {0})
    return judge({"key": finding})["key"]
