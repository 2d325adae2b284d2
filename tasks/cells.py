"""Train and measure the cells of one stage of the atlas: ``python -m tasks.cells KEY``."""

from tasks import stage as stages


def main() -> None:
    """Write two Parquet tables: the scores of the stage's cells, and the facts."""
    stage = stages.arguments("cells")
    stages.compute(stage.settings)
    from gramlab import tables
    from gramlab.nets.errors import Diverged
    from tasks.atlas import table
    from tasks.atlas.cells import cells_folder, seeds, stage_cells
    from tasks.atlas.measuring.measure import measure

    with stages.recorded(stage):
        scores, facts = [], []
        for cell in stage_cells(stage.key):
            try:
                cell_scores, cell_facts = measure(cell)
            except Diverged:  # the map shows it
                cell_scores, cell_facts = [], [{"quantity": "diverged", "value": 1.0}]
            scores += cell_scores
            labels = {"experiment": "atlas", "scale": "atlas", "case": cell.name, "dtype": "float64"}
            facts += [{**labels, **row} for row in cell_facts]
        table.write(cells_folder() / "scores" / f"{stage.key}.parquet", table.from_rows(scores))
        tables.write(cells_folder() / "facts" / f"{stage.key}.parquet", facts, [seeds()])


if __name__ == "__main__":
    main()
