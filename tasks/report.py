"""The results of a scale: ``python -m tasks.report --scale quick`` writes what the site and programs read.

The program writes into ``reports/SCALE``: claims.json with every verdict and number, counts.json and verdicts.json for
DVC's commands, differences.json, the figures, the rows behind each claim, and the tables of these rows. These files
hold no time, commit or machine, so that a reproduction on a like machine leaves them unchanged. The machine, time and
code of each stage stand in provenance.json and provenance.js beside them. ``tasks.site`` makes the pages of both
scales.
"""

import json
import shutil
from pathlib import Path
from typing import Any, NoReturn

from gramlab import tables
from gramlab.files import atomic
from tasks import papers
from tasks import stage as stages
from tasks.judging.contract import with_all_forms, without_retired
from tasks.judging.finding import not_run
from tasks.judging.rows import Rows
from tasks.judging.statement import OLD_TABLE, reason_not_run
from tasks.judging.verdict import judge
from tasks.reporting import rows
from tasks.reporting.counts import NOT_RUN, counts, verdicts
from tasks.reporting.deviations import COLUMNS, deviations
from tasks.reporting.explore import views
from tasks.reporting.outdated import remove_others
from tasks.reporting.settings import left_out, stages_of
from tasks.settings import ROOT, Train

NAMES = {"cifar10": "CIFAR-10"}  # of the sources that have stand-ins, for readers


def main() -> None:
    """Read every verdict, table, figure and provenance record of this scale; write the results."""
    stage = stages.arguments("report", key="")
    records = provenance(stage)
    packages = dict(sorted(((name, papers.paper(name)) for name in papers.names()), key=lambda item: item[1].LETTER))
    judged = {
        key: verdict
        for paper in packages
        for key, verdict in document(stage, stage.verdicts(paper), f"verdicts@{paper}").items()
    }
    order = list(stage.settings.claims)
    claims = [collect(stage, key, judged.get(key) or not_measured(stage, key), records) for key in order]
    claims.sort(key=lambda claim: (claim["paper"], order.index(claim["key"])))
    claims_run = [claim for claim in claims if claim["verdict"] != NOT_RUN]
    copy_figures(stage, claims_run)
    write_rows(stage, claims_run)
    differences = {
        package.LETTER: code.measured(stage) for name, package in packages.items() if (code := papers.differences(name))
    }
    by_id = {claim["id"]: claim for claim in claims}
    content = {
        "claims.json": by_id,
        "counts.json": counts(by_id),
        "verdicts.json": verdicts(by_id),
        "differences.json": differences,
        "provenance.json": records,
    }
    with atomic(stage.reports / "explore.json") as temporary:  # without indent, because its lists of numbers are long
        temporary.write_text(json.dumps(views(stage), ensure_ascii=False) + "\n", encoding="utf-8")
    for name, data in content.items():
        stages.write_json(stage.reports / name, data)
    with atomic(stage.reports / "provenance.js") as temporary:
        script = f"provenance.{stage.scale} = {json.dumps(records, indent=1, ensure_ascii=False)};\n"
        temporary.write_text(f"var provenance = window.provenance || {{}};\n{script}", encoding="utf-8")


def provenance(stage: stages.Stage) -> dict[str, Any]:
    """The records by stage: those of this machine, and those of the report for all other stages."""
    path = stage.reports / "provenance.json"
    records = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    for record in (stage.data / "provenance").glob("*@*.json"):
        records[record.stem] = json.loads(record.read_text(encoding="utf-8"))
    return dict(sorted(records.items()))


def copy_figures(stage: stages.Stage, claims: list[dict[str, Any]]) -> None:
    """Copy the figure of every claim that was run, and remove all other figures."""
    folder = stage.reports / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    for claim in claims:
        figure = stage.figure(claim["key"])
        if not figure.is_file():
            missing(stage, figure, f"check@{claim['key']}")
        with atomic(folder / figure.name) as temporary:
            shutil.copyfile(figure, temporary)
    remove_others(folder, {f"{claim['key']}.svg" for claim in claims})


def write_rows(stage: stages.Stage, claims: list[dict[str, Any]]) -> None:
    """Write the rows behind every claim that was run and copy their tables, and remove all others.

    A claim has few rows, for people to read. Some are means; the copied table has all rows, as Parquet and, if it is
    short, as CSV. A table that is older than its statements is kept, although its claims were not run.
    """
    folder, copies = stage.reports / "rows", stage.reports / "tables"
    for path in (folder, copies):  # DVC expects both, also where no claim was run
        path.mkdir(parents=True, exist_ok=True)
    by_experiment: dict[str, list[str]] = {}
    for claim in claims:
        by_experiment.setdefault(stage.settings.claims[claim["key"]], []).append(claim["key"])
    for experiment, keys in by_experiment.items():
        path = stage.table(experiment)
        if not path.is_file():
            kind = "measure" if experiment in stage.settings.train else "simulate"
            missing(stage, path, f"{kind}@{experiment}")
        with atomic(copies / path.name) as temporary:
            shutil.copyfile(path, temporary)
        table = tables.read(path).to_pandas()
        rows.write_whole(copies, experiment, table)
        for key in keys:
            module = papers.claim(stage.settings.paper[key], key)
            judged = with_all_forms(without_retired(Rows(table), module, stage.scale), module).frame
            rows.write(folder, key, rows.judged_rows(judged, module))
    remove_others(folder, {f"{claim['key']}.{kind}" for claim in claims for kind in ("csv", "parquet")})
    experiments = (*stage.settings.train, *stage.settings.simulate)
    remove_others(copies, {f"{experiment}.{kind}" for experiment in experiments for kind in ("csv", "parquet")})


def not_measured(stage: stages.Stage, key: str) -> dict[str, Any]:
    """A claim without a finding, because its run takes too long on this machine or its table is too old.

    Every claim is in claims.json, with its statements and the reason why they were not judged.
    """
    experiment, paper = stage.settings.claims[key], stage.settings.paper[key]
    claim = papers.claim(paper, key)
    table = stage.table(experiment)
    copy = stage.reports / "tables" / table.name  # git holds the tables of the paper scale there
    reason = OLD_TABLE if table.is_file() or copy.is_file() else reason_not_run(getattr(claim, "NEEDS", ""))
    reasons = {statement.name: reason for statement in claim.STATEMENTS if statement.concerns(stage.scale)}
    finding = not_run(claim, papers.paper(paper).LETTER, reasons)
    return judge({key: {**finding, "experiment": experiment, "scale": stage.scale}})[key]


def collect(stage: stages.Stage, key: str, verdict: dict[str, Any], records: dict[str, Any]) -> dict[str, Any]:
    """A claim's verdict, its files, its settings, and how its data and settings differ from the paper's."""
    experiment, paper = stage.settings.claims[key], stage.settings.paper[key]
    run, claim = stage.settings.train.get(experiment), papers.claim(paper, key)
    names = stages_of(stage.settings, key)
    experiment_file = f"tasks/papers/{stage.settings.paper[experiment]}/experiments/{experiment}.py"
    stored = {name: value for name, value in verdict.items() if name != "data sets"}
    return {
        "statements": [],
        "controls": {},
        "hypotheses": [],
        "smallest violations": {},
        "measured": "",
        "deciding": "",
        "evidence": "",  # of a claim that has not run
        **stored,
        "key": key,
        "stage": stage.address(f"check@{key}"),
        "code": [f"tasks/papers/{paper}/claims/{key}.py", experiment_file],
        "figure": f"reports/{stage.scale}/figures/{key}.svg" if verdict["verdict"] != NOT_RUN else "",
        "table": str(stage.table(experiment).relative_to(ROOT)),
        "altered": "; ".join(
            (altered(stage, run, verdict["data sets"]) if run else [])
            + (measured_otherwise(stage, key) if verdict["verdict"] != NOT_RUN else [])
            + left_out(
                stage.settings,
                key,
                verdict["data sets"],
                concerns=getattr(claim, "CONCERNS", {}),
                printed=getattr(claim, "PRINTED_SETTINGS", {}),
            )
            + [f"{name} made with other settings" for name in names if outdated(stage, name, records.get(name, {}))]
        ),
    }


def altered(stage: stages.Stage, run: Train, data_sets: list[str]) -> list[str]:
    """The differences of the claim's prepared data from the paper's, with the set's name.

    At the paper scale a run may leave out sets; at the quick scale digits stand for the sets of all names.
    """
    path, trained = stage.altered(run.data), {variant.part for variant in run.by_variant().values()}
    differences = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    of_data_sets = {name for name in data_sets or differences if name in trained or stage.scale == "quick"}
    source = getattr(stage.settings.data[run.data], "source", "")  # several sets have names of their own
    return [": ".join(filter(None, (name or NAMES.get(source), difference))) for name, difference in differences.items()
            if not name or name in of_data_sets]  # fmt: skip


def measured_otherwise(stage: stages.Stage, key: str) -> list[str]:
    """The differences from the paper's experiment that the rows of the claim's table tell."""
    path = stage.table(stage.settings.claims[key])
    if not path.is_file():  # ``write_rows`` names it
        return []
    return deviations(tables.read(path).select(COLUMNS).to_pandas(), papers.claim(stage.settings.paper[key], key))


def outdated(stage: stages.Stage, name: str, record: dict[str, Any]) -> bool:
    """Whether a record has other settings than the report; older records have none."""
    return record.get("settings") not in (None, stages.settings_hash(stage.settings, *name.split("@")))


def document(stage: stages.Stage, path: Path, name: str) -> dict[str, Any]:
    """The content of a JSON file that another stage makes."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        missing(stage, path, name)
    except json.JSONDecodeError as error:
        again = f"`dvc repro --force {stage.address(name)}` makes it anew"
        raise SystemExit(f"{path.relative_to(ROOT)} is damaged ({error}); {again}") from error


def missing(stage: stages.Stage, path: Path, name: str) -> NoReturn:
    """Exit with a message that names the missing file and its stage."""
    raise SystemExit(f"{path.relative_to(ROOT)} is missing; `dvc repro {stage.address(name)}` makes it")


if __name__ == "__main__":
    main()
