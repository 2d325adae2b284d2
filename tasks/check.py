"""Check one claim: ``python -m tasks.check KEY --scale quick`` writes what its rule finds, and its figure."""

from gramlab import tables
from tasks import papers
from tasks import stage as stages
from tasks.judging.finding import find
from tasks.judging.rows import Rows


def main() -> None:
    """Apply the claim's rule to its experiment's table and to the controls; draw the figure."""
    stage = stages.arguments("check")
    experiment = stage.settings.claims.pick(stage.key)
    paper = stage.settings.paper[stage.key]
    from tasks.drawing import svg
    from tasks.drawing.style import blank, save

    claim = papers.claim(paper, stage.key)
    with stages.recorded(stage):
        table = tables.read(stage.table(experiment))
        rows = Rows(table)
        letter = papers.paper(paper).LETTER
        finding = find(claim, letter, rows, experiment, stage.scale, tables.seeds(table))
        figure = claim.draw(rows.frame, claim) if finding["ran"] else blank(claim)
        save(figure, stage.figure(stage.key), stage.scale, svg.statements(finding))
        stages.write_json(stage.finding(stage.key), {**finding, "experiment": experiment, "scale": stage.scale})


if __name__ == "__main__":
    main()
