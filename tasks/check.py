"""Check one claim: ``python -m tasks.check KEY --scale quick`` writes its finding and its figure."""

from gramlab import tables
from gramlab.files import atomic
from tasks import papers
from tasks import stage as stages
from tasks.judging.contract import refuse_undescribed, with_all_forms, without_retired
from tasks.judging.decay import with_total_decay
from tasks.judging.finding import find
from tasks.judging.parts import refuse_incomplete
from tasks.judging.rows import Rows


def main() -> None:
    """Apply the claim's rules to all arms of its experiment's table, and draw the figure."""
    stage = stages.arguments("check")
    experiment = stage.settings.claims.pick(stage.key)
    paper = stage.settings.paper[stage.key]
    from tasks.drawing.style import save
    from tasks.drawing.svg import statements

    claim = papers.claim(paper, stage.key)
    path = stage.table(experiment)
    if not path.is_file():
        kind = "measure" if experiment in stage.settings.train else "simulate"
        stages.refuse(f"{path.relative_to(stages.ROOT)} is missing; `dvc repro {stage.address(f'{kind}@{experiment}')}`"
                      " makes it")  # fmt: skip
    with stages.recorded(stage):
        table = tables.read(path)
        rows = with_all_forms(without_retired(Rows(table), claim, stage.scale), claim)
        refuse_undescribed(rows, claim)
        refuse_incomplete(rows, claim, stage.scale)
        letter = papers.paper(paper).LETTER
        reduced = stage.settings.reduced(experiment)
        finding = find(claim, letter, rows, experiment, stage.scale, tables.seeds(table), reduced)
        if experiment in stage.settings.train:
            finding = with_total_decay(finding, claim, rows, stage.settings.train[experiment].by_variant())
        if finding["ran"]:
            save(claim.draw(rows.frame, claim), stage.figure(stage.key), stage.scale, statements(finding))
        else:  # DVC expects a file; the report shows no figure for a claim that was not run
            with atomic(stage.figure(stage.key)) as temporary:
                temporary.touch()
        stages.write_json(stage.finding(stage.key), {**finding, "experiment": experiment, "scale": stage.scale})


if __name__ == "__main__":
    main()
