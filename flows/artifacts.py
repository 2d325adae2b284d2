"""Verdicts as Prefect artifacts."""

import json
from collections import Counter
from pathlib import Path

from prefect.artifacts import create_markdown_artifact, create_table_artifact

from flows.graph import Graph

COLUMNS = ("id", "title", "verdict", "reason", "supported", "asserted", "measured", "printed")


def publish(graph: Graph, names: list[str], summary: str) -> None:
    """Show how the run went, and the verdicts that the stages ``verdicts@PAPER`` among these wrote."""
    files = [Path(graph.stages[name].outs[0].fs_path) for name in names if name.startswith("verdicts@")]
    rows = [verdict for file in sorted(files) for verdict in json.loads(file.read_text(encoding="utf-8")).values()]
    rows.sort(key=lambda row: str(row.get("id")))
    lines = [f"# gramlab, {graph.scale} scale", "", summary, ""]
    lines += [f"- {count} {verdict}" for verdict, count in Counter(str(row["verdict"]) for row in rows).most_common()]
    create_markdown_artifact(key=f"run-{graph.scale}", markdown="\n".join(lines) + "\n")
    if rows:
        table = [{column: row.get(column) for column in COLUMNS} for row in rows]
        for row, verdict in zip(table, rows, strict=True):
            controls = verdict.get("controls", {}).values()
            row["controls"] = f"{sum(control['rejected'] for control in controls)} of {len(controls)} rejected"
        description = f"Verdicts at the {graph.scale} scale."
        create_table_artifact(key=f"verdicts-{graph.scale}", table=table, description=description)
