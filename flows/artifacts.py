"""The artifacts of a run in Prefect's interface: its outcome, the verdicts, their changes, and a link to the report."""

import json
from collections import Counter
from contextlib import suppress
from html import escape
from pathlib import Path
from typing import Any

from prefect.artifacts import create_link_artifact, create_markdown_artifact, create_table_artifact

from flows.graph import Graph

COLUMNS = ("id", "title", "verdict", "reason", "supported", "asserted", "measured", "printed")


def verdicts(graph: Graph) -> dict[str, dict[str, Any]]:
    """The report's verdicts by the claims' ids, from the stages ``verdicts@PAPER``, after Holm's correction."""
    rows: dict[str, dict[str, Any]] = {}
    for name, stage in graph.stages.items():
        file = Path(stage.outs[0].fs_path)
        if name.startswith("verdicts@") and file.is_file():
            with suppress(ValueError):  # a damaged file is made anew by its stage
                rows.update({row["id"]: row for row in json.loads(file.read_text(encoding="utf-8")).values()})
    return dict(sorted(rows.items()))


def publish(graph: Graph, before: dict[str, dict[str, Any]], summary: str, address: str | None) -> None:
    """Show the outcome of the run, and the verdicts that differ from those ``before`` it.

    ``address`` is the report's address for a browser. Without it the report's path is shown, because browsers block
    links from a server's page to files.
    """
    after = verdicts(graph)
    lines = [f"# gramlab, {graph.scale} scale", "", text(summary), ""]
    lines += [
        f"- {count} {text(verdict)}" for verdict, count in Counter(_verdict(row) for row in after.values()).items()
    ]
    lines += ["", *(changes(before, after) or ["No verdict changed."])]
    if (report := graph.root / "reports" / "index.html").is_file() and not address:
        lines += ["", f"The report: {text(str(report))}"]
    create_markdown_artifact(key=f"run-{graph.scale}", markdown="\n".join(lines) + "\n")
    if address:
        create_link_artifact(key=f"report-{graph.scale}", link=address, link_text="The report")
    if after:
        table = [{column: row.get(column) for column in COLUMNS} for row in after.values()]
        for row, verdict in zip(table, after.values(), strict=True):
            controls = verdict.get("controls", {}).values()
            row["controls"] = f"{sum(control['rejected'] for control in controls)} of {len(controls)} rejected"
        description = f"Verdicts at the {graph.scale} scale."
        create_table_artifact(key=f"verdicts-{graph.scale}", table=table, description=description)


def changes(before: dict[str, dict[str, Any]], after: dict[str, dict[str, Any]]) -> list[str]:
    """A line for each claim whose verdict has changed, is new, or is gone."""
    lines = []
    for name in sorted(before.keys() | after.keys()):
        old, new = (_verdict(rows[name]) if name in rows else "nothing" for rows in (before, after))
        if old != new:
            lines.append(f"- {text(name)}: {text(old)} before, {text(new)} now")
    return lines


def text(words: str) -> str:
    """The words with escapes, so that Markdown shows no HTML, link or emphasis."""
    return "".join(f"\\{letter}" if letter in "\\`*_[]#|" else letter for letter in escape(words, quote=False))


def _verdict(row: dict[str, Any]) -> str:
    return str(row["verdict"])
