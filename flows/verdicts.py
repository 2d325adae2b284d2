"""Verdicts as Prefect artifacts."""

import json
from collections import Counter

from prefect.artifacts import create_markdown_artifact, create_table_artifact

from flows.graph import Graph

COLUMNS = ("id", "title", "verdict", "evidence", "statistic", "low", "high", "printed")

BEFORE = "As each check gives it: Holm's correction over a paper's claims comes in the report, and has the last word."


def publish(graph: Graph, names: list[str], summary: str) -> None:
    """Show the verdicts of these stages, read from what the checks wrote, and how the run went."""
    checks = [graph.verdict(name) for name in names if name.startswith("check@")]
    rows = [json.loads(path.read_text()) for path in checks]
    rows.sort(key=lambda row: str(row.get("id")))
    counted = Counter(str(row.get("verdict")) for row in rows)
    lines = [f"# gramlab, {graph.scale} scale", "", summary, "", BEFORE, ""]
    lines += [f"- {count} {verdict}" for verdict, count in counted.most_common()]
    if rows:
        key = f"verdicts-{graph.scale}"
        table = [{column: row.get(column) for column in COLUMNS} for row in rows]
        create_table_artifact(key=key, table=table, description=f"Verdicts at the {graph.scale} scale. {BEFORE}")
        lines += ["", "| claim | verdict | evidence | control |", "| --- | --- | --- | --- |"]
        for row in rows:
            control = "rejected" if (row.get("control") or {}).get("rejected") else "not rejected"
            shown = (f"{row.get('id')} {row.get('title')}", row.get("verdict"), row.get("evidence"), control)
            lines.append(f"| {' | '.join(map(str, shown))} |")
    create_markdown_artifact(key=f"run-{graph.scale}", markdown="\n".join(lines) + "\n")
