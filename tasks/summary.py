"""Print the verdicts, and compare them with the commit's: ``python -m tasks.summary --scale quick``."""

import json

from rich.console import Console
from rich.table import Table

from tasks import stage as stages
from tasks.reporting.comparison import reproduction
from tasks.reporting.controls import controls
from tasks.reporting.counts import counts
from tasks.reporting.words import statements_found


def main() -> None:
    """Print a row for each claim, the counts, and a line that compares all numbers with the committed numbers."""
    stage = stages.arguments("summary", key="")
    path = stage.reports / "claims.json"
    if not path.is_file():
        maker = "make paper" if stage.scale == "paper" else "make repro"
        raise SystemExit(f"{path.relative_to(stages.ROOT)} is missing; `{maker}` makes it")
    console = Console()
    console = console if console.is_terminal else Console(width=150)
    columns = ("claim", "title", "verdict", "why", "statements found", "controls")
    table = Table(*columns, title=f"{stage.scale} scale")
    claims = json.loads(path.read_text(encoding="utf-8"))
    for claim in claims.values():
        table.add_row(
            claim["id"], claim["title"], claim["verdict"], claim["reason"], statements_found(claim), controls(claim)
        )
    console.print(table)
    totals = {verdict: number for verdict, number in counts(claims).items() if isinstance(number, int)}
    claim_count = totals.pop("claims")
    print(f"{claim_count} claims: " + ", ".join(f"{number} {name}" for name, number in totals.items() if number))
    print(reproduction(stage.scale))


if __name__ == "__main__":
    main()
