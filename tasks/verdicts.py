"""Print the verdict table: ``python -m tasks.verdicts --scale quick``."""

import json

from rich.console import Console
from rich.table import Table

from tasks import stage as stages


def main() -> None:
    """One row a claim; the table is as wide as it needs to be where there is no terminal."""
    stage = stages.arguments("verdicts", key="")
    path = stage.reports / "claims.json"
    if not path.is_file():
        raise SystemExit(f"{path.relative_to(stages.ROOT)} is missing; `make repro` makes it")
    console = Console()
    console = console if console.is_terminal else Console(width=150)
    table = Table("claim", "title", "verdict", "evidence", "statistic", "control", title=f"{stage.scale} scale")
    claims = json.loads(path.read_text())
    for claim in claims.values():
        control = "rejected" if claim["control"]["rejected"] else "NOT rejected"
        table.add_row(
            claim["id"], claim["title"], claim["verdict"], claim["evidence"], f"{claim['statistic']:.4g}", control
        )
    console.print(table)
    counts = {name: sum(claim["verdict"] == name for claim in claims.values()) for name in
              ("holds", "holds corrected", "fails", "inconclusive")}  # fmt: skip
    console.print(f"{len(claims)} claims: " + ", ".join(f"{count} {name}" for name, count in counts.items()))


if __name__ == "__main__":
    main()
