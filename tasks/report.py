"""Show the verdicts: ``python -m tasks.report --scale quick`` writes the pages, claims.json and the figures.

These files hold no time, commit or machine, so that a reproduction on a like machine leaves them as they are. Where,
when and with which code each stage ran goes into provenance.json and provenance.js beside them, which the page shows.
"""

import json
import shutil
from pathlib import Path
from typing import Any, NoReturn

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from gramlab.files import atomic
from tasks import papers
from tasks import stage as stages
from tasks.reporting import authors, mutants, words
from tasks.reporting.counts import counts, verdicts
from tasks.reporting.fresh import fresh_runs
from tasks.reporting.settings import left_out, settings_of
from tasks.settings import ROOT

VERDICTS = {
    "holds": "every asserted statement is found to hold, and controls break each of them",
    "holds corrected": "as printed a statement is not found to hold; in the corrected form all hold",
    "fails": "an asserted statement is refuted, at this scale's settings",
    "inconclusive": "no asserted statement is refuted, and not all are decided",
}
REASONS = {
    "refuted": "the rule finds the opposite, after Holm's correction",
    "hypothesis not met": "the paper states it under a condition that the measured networks do not meet",
    "too few seeds": "the interval does not decide, or not after Holm's correction over the paper's statements",
    "reduced too far": "the reduced settings miss a condition that the paper's settings meet",
    "control kept": "no control breaks the statement, so that the check shows nothing",
    "print differs": "the measured number differs from the printed number",
    "data not here": "the data or the machine that it needs is not here",
}
STAMP = {
    "quick": "Quick scale: reduced settings, and data that ship with a dependency — not the papers'.",
    "paper": "Paper scale: the papers' settings, and their data except where said; `affordable` among a claim's "
    "settings replaces settings that need a larger machine.",
}


def main() -> None:
    """Read every verdict, figure and provenance record of this scale; write the report."""
    stage = stages.arguments("report", key="")
    records = provenance(stage)
    packages = {name: papers.paper(name) for name in papers.names()}
    packages = dict(sorted(packages.items(), key=lambda item: item[1].LETTER))
    claims = [
        collect(stage, key, verdict, records)
        for paper in packages
        for key, verdict in document(stage, stage.verdicts(paper), f"verdicts@{paper}").items()
    ]
    fresh = fresh_runs(stage.scale, {claim["id"]: claim["verdict"] for claim in claims})
    claims = [{**claim, "fresh": fresh.get(claim["id"])} for claim in claims]
    order = list(stage.settings.claims)
    claims.sort(key=lambda claim: (claim["paper"], order.index(claim["key"])))
    environment = Environment(
        loader=FileSystemLoader(ROOT / "tasks" / "reporting" / "templates"), undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
        autoescape=lambda name: "html" in (name or ""),
    )  # fmt: skip
    for name in ("number", "measured", "interval", "rejection", "verdict", "controls"):
        environment.filters[name] = getattr(words, name)
    content = {
        "claims": claims,
        "all": len(stage.settings.claims),
        "waiting": [key for key in stage.settings.claims if key not in {claim["key"] for claim in claims}],
        "reasons": REASONS,
        "calibration": json.loads((ROOT / "reports" / "calibration.json").read_text(encoding="utf-8"))["rules"],
        "scale": stage.scale,
        "papers": {package.LETTER: f"{package.TITLE} (arXiv {package.ARXIV})" for package in packages.values()},
        "verdicts": VERDICTS,
        "stamp": STAMP[stage.scale],
        "differences": [row for name in packages if (code := papers.differences(name)) for row in code.measured(stage)],
        "authors": authors.compared(),
        "mutants": mutants.summary(),
    }
    hidden = ("settings", "stages", "data sets", "fresh")
    data = {claim["id"]: {key: value for key, value in claim.items() if key not in hidden} for claim in claims}
    pages = {
        "index.html": environment.get_template("index.html").render(content),
        "controls.html": environment.get_template("controls.html").render(content),
        "README.md": environment.get_template("README.md").render(content),
        "claims.json": json.dumps(data, indent=2, ensure_ascii=False) + "\n",
        "counts.json": json.dumps(counts(data), indent=2) + "\n",
        "verdicts.json": json.dumps(verdicts(data), indent=2) + "\n",
        "provenance.json": json.dumps(records, indent=1, ensure_ascii=False) + "\n",
        "provenance.js": f"const provenance = {json.dumps(records, indent=1, ensure_ascii=False)};\n",
    }
    copy_figures(stage, claims)
    for name, text in pages.items():
        with atomic(stage.reports / name) as temporary:
            temporary.write_text(text, encoding="utf-8")


def provenance(stage: stages.Stage) -> dict[str, Any]:
    """The records of this machine's stages by name, over those that the report already has."""
    path = stage.reports / "provenance.json"
    records = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    for record in (stage.data / "provenance").glob("*@*.json"):
        records[record.stem] = json.loads(record.read_text(encoding="utf-8"))
    return dict(sorted(records.items()))


def copy_figures(stage: stages.Stage, claims: list[dict[str, Any]]) -> None:
    """Put the figure of every claim that was run beside the pages, and remove all other figures."""
    folder = stage.reports / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    run = [claim for claim in claims if claim["figure"]]
    for claim in run:
        figure = stage.figure(claim["key"])
        if not figure.is_file():
            missing(stage, figure, f"check@{claim['key']}")
        with atomic(folder / figure.name) as temporary:
            shutil.copyfile(figure, temporary)
    for figure in folder.glob("*.svg"):
        if figure.stem not in {claim["key"] for claim in run}:
            figure.unlink()


def collect(stage: stages.Stage, key: str, verdict: dict[str, Any], records: dict[str, Any]) -> dict[str, Any]:
    """One claim's verdict, its files, its settings, and the stages that it rests on."""
    experiment, paper = stage.settings.claims[key], stage.settings.paper[key]
    run = stage.settings.train.get(experiment)
    names = [f"check@{key}", f"measure@{experiment}"]
    names += [f"train@{experiment}", f"prepare@{run.data}"] if run else []
    home = f"tasks/papers/{stage.settings.paper[experiment]}/experiments/{experiment}.py"
    return {
        "statements": [],
        "controls": {},
        "hypotheses": [],
        "smallest violations": {},
        "measured": "",
        "deciding": "",
        "evidence": "",  # of a claim that has not run
        **verdict,
        "key": key,
        "stage": stage.address(f"check@{key}"),
        "code": [f"tasks/papers/{paper}/claims/{key}.py", home],
        "figure": f"reports/{stage.scale}/figures/{key}.svg" if verdict["verdict"] != "not run" else "",
        "table": str(stage.table(experiment).relative_to(ROOT)),
        "altered": "; ".join(
            (altered(stage, run.data, verdict["data sets"]) if run else [])
            + left_out(stage.settings, key, verdict["data sets"])
            + [f"{name} made with other settings" for name in names if outdated(stage, name, records.get(name, {}))]
        ),
        "stages": names,
        "settings": settings_of(stage, experiment, verdict["settings"]),
    }


def altered(stage: stages.Stage, data: str, data_sets: list[str]) -> list[str]:
    """How prepared data differ from the paper's, "name: how" where they are several sets; of the claim's sets only."""
    path = stage.altered(data)
    differences = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return [f"{name}: {how}" if name else how for name, how in differences.items()
            if not name or not data_sets or name in data_sets]  # fmt: skip


def outdated(stage: stages.Stage, name: str, record: dict[str, Any]) -> bool:
    """Whether a record is of other settings than the report shows; older records do not say."""
    return record.get("settings") not in (None, stages.settings_hash(stage.settings, *name.split("@")))


def document(stage: stages.Stage, path: Path, name: str) -> dict[str, Any]:
    """A JSON file that another stage has left."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        missing(stage, path, name)
    except json.JSONDecodeError as error:
        again = f"`dvc repro --force {stage.address(name)}` makes it anew"
        raise SystemExit(f"{path.relative_to(ROOT)} is damaged ({error}); {again}") from error


def missing(stage: stages.Stage, path: Path, name: str) -> NoReturn:
    """Say which file is not there and what makes it."""
    raise SystemExit(f"{path.relative_to(ROOT)} is missing; `dvc repro {stage.address(name)}` makes it")


if __name__ == "__main__":
    main()
