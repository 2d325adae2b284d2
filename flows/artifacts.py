"""Verdicts as Prefect artifacts."""

import json
from collections import Counter
from pathlib import Path

from prefect.artifacts import create_markdown_artifact, create_table_artifact

from flows.graph import Graph

COLUMNS = ("id", "title", "verdict", "evidence", "statistic", "low", "high", "printed")


def publish(graph: Graph, names: list[str], summary: str) -> None:
    """Show how the run went, and the verdicts that the stages ``verdicts@PAPER`` among these wrote."""
    files = [Path(graph.stages[name].outs[0].fs_path) for name in names if name.startswith("verdicts@")]
    rows = [verdict for file in sorted(files) for verdict in json.loads(file.read_text(encoding="utf-8")).values()]
    rows.sort(key=lambda row: str(row.get("id")))
    counts = Counter(str(row.get("verdict")) for row in rows)
    lines = [f"# gramlab, {graph.scale} scale", "", summary, ""]
    lines += [f"- {count} {verdict}" for verdict, count in counts.most_common()]
    if rows:
        table = [{column: row.get(column) for column in COLUMNS} for row in rows]
        key = f"verdicts-{graph.scale}"
        create_table_artifact(key=key, table=table, description=f"Verdicts at the {graph.scale} scale.")
        lines += ["", "| claim | verdict | evidence | control |", "| --- | --- | --- | --- |"]
        for row in rows:
            control = "rejected" if (row.get("control") or {}).get("rejected") else "not rejected"
            cells = (f"{row.get('id')} {row.get('title')}", row.get("verdict"), row.get("evidence"), control)
            lines.append(f"| {' | '.join(map(str, cells))} |")
    create_markdown_artifact(key=f"run-{graph.scale}", markdown="\n".join(lines) + "\n")
