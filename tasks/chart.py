"""Judge the atlas: ``python -m tasks.chart PART``, where PART is ``slice``, ``whole`` or ``claims``."""

import json
from pathlib import Path
from typing import Any

from gramlab.files import BadInput, atomic
from tasks import stage as stages
from tasks.settings import ROOT, allowed, refuse

DIGITS = 4  # after the decimal point
REPORTS = {"slice": "reports/quick/atlas.json", "whole": "reports/atlas.json",
           "claims": "reports/quick/multiverse.json"}  # fmt: skip


def as_text(result: dict[str, Any]) -> str:
    """JSON with one line for each cell."""

    def rounded(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: rounded(part) for key, part in value.items()}
        if isinstance(value, list):
            return [rounded(part) for part in value]
        return round(value, DIGITS) if isinstance(value, float) else value

    def line(value: Any) -> str:
        return json.dumps(rounded(value), ensure_ascii=False)

    cells = ",\n".join(f"  {line(name)}: {line(cell)}" for name, cell in result["cells"].items())
    others = "".join(f",\n{line(key)}: {line(value)}" for key, value in result.items() if key != "cells")
    return f'{{"cells": {{\n{cells}\n}}{others}\n}}\n'


def tables_of_cells(folder: Path, part: str) -> list[Path]:
    """The tables in a folder that a part of the atlas reads. If there is none, raise BadInput."""
    files = sorted(folder.glob("slice.parquet" if part == "slice" else "*.parquet"))
    if not files:
        command = "cells@slice" if part == "slice" else "--scale atlas cells"
        raise BadInput(f"{folder.relative_to(ROOT)} has no table of cells; type `python -m flows {command}` first")
    return files


def main() -> None:
    """Write the verdicts of the measured cells. The part ``whole`` also writes one table with all scores.

    The part ``claims`` writes the multiverse of the papers' claims, from the quick scale's tables.
    """
    stage = stages.arguments("chart")
    if stage.key not in REPORTS:
        refuse(f"unknown part of the atlas {stage.key!r}{allowed(stage.key, REPORTS)}")
    import pandas as pd

    from gramlab import tables
    from tasks.atlas import table
    from tasks.atlas.cells import all_cells, cells_folder, stage_cells
    from tasks.atlas.judging.claims import COMPARISONS, multiverse_of_claims
    from tasks.atlas.judging.verdicts import judge_all

    with stages.recorded(stage):
        if stage.key == "claims":
            files = {comparison.table: stage.table(comparison.table) for comparison in COMPARISONS}
            rows = {key: tables.read(file).to_pandas() for key, file in files.items() if file.is_file()}
            stages.write_json(ROOT / REPORTS[stage.key], multiverse_of_claims(rows))
            return
        of_cells = {name: tables_of_cells(cells_folder() / name, stage.key) for name in ("scores", "facts")}
        scores = table.read(*of_cells["scores"])
        facts = pd.concat([tables.read(file).to_pandas() for file in of_cells["facts"]])
        cells = {cell.name: cell for cell in stage_cells("slice")} if stage.key == "slice" else all_cells()
        with atomic(ROOT / REPORTS[stage.key]) as temporary:
            temporary.write_text(as_text(judge_all(cells, scores.to_pandas(), facts)), encoding="utf-8")
        if stage.key == "whole":
            table.write(cells_folder() / "atlas.parquet", scores)


if __name__ == "__main__":
    main()
