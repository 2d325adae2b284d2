"""Show the verdicts: ``python -m tasks.report --scale quick`` writes claims.json, README.md, index.html and figures.

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
from tasks.reporting import words
from tasks.reporting.settings import left_out, settings_of
from tasks.settings import ROOT

VERDICTS = {
    "holds": "the rule supports the claim and rejects every control",
    "holds corrected": "not supported as printed; a corrected form is supported, and every control is rejected",
    "fails": "the rule refutes the claim, at this scale's settings",
    "inconclusive": "a control was not rejected, or the interval does not decide, or the result does not survive "
    "Holm's correction over the paper's claims",
}
STAMP = {
    "quick": "Quick scale: reduced settings, and data that ship with a dependency — not the papers'.",
    "paper": "Paper scale: the papers' settings, and their data except where said; `here` among a claim's settings "
    "replaces settings that need a larger machine.",
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
    order = list(stage.settings.claims)
    claims.sort(key=lambda claim: (claim["paper"], order.index(claim["key"])))
    environment = Environment(
        loader=FileSystemLoader(ROOT / "tasks" / "reporting" / "templates"), undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
        autoescape=lambda name: "html" in (name or ""),
    )  # fmt: skip
    for name in ("number", "measured", "interval", "rejection"):
        environment.filters[name] = getattr(words, name)
    content = {
        "claims": claims,
        "all": len(stage.settings.claims),
        "scale": stage.scale,
        "papers": {package.LETTER: f"{package.TITLE} (arXiv {package.ARXIV})" for package in packages.values()},
        "verdicts": VERDICTS,
        "stamp": STAMP[stage.scale],
        "differences": [row for name in packages if (code := papers.differences(name)) for row in code.measured(stage)],
    }
    hidden = ("settings", "stages", "data sets")
    data = {claim["id"]: {key: value for key, value in claim.items() if key not in hidden} for claim in claims}
    pages = {
        "index.html": environment.get_template("index.html").render(content),
        "README.md": environment.get_template("README.md").render(content),
        "claims.json": json.dumps(data, indent=2, ensure_ascii=False) + "\n",
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
    """Put every claim's figure beside the pages, and remove those of claims that are no more."""
    folder = stage.reports / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    for claim in claims:
        figure = stage.figure(claim["key"])
        if not figure.is_file():
            missing(stage, figure, f"check@{claim['key']}")
        with atomic(folder / figure.name) as temporary:
            shutil.copyfile(figure, temporary)
    for figure in folder.glob("*.svg"):
        if figure.stem not in {claim["key"] for claim in claims}:
            figure.unlink()


def collect(stage: stages.Stage, key: str, verdict: dict[str, Any], records: dict[str, Any]) -> dict[str, Any]:
    """One claim's verdict, its files, its settings, and the stages that it rests on."""
    experiment, paper = stage.settings.claims[key], stage.settings.paper[key]
    run = stage.settings.train.get(experiment)
    names = [f"check@{key}", f"measure@{experiment}"]
    names += [f"train@{experiment}", f"prepare@{run.data}"] if run else []
    home = f"tasks/papers/{stage.settings.paper[experiment]}/experiments/{experiment}.py"
    return {
        **verdict,
        "key": key,
        "stage": stage.address(f"check@{key}"),
        "code": [f"tasks/papers/{paper}/claims/{key}.py", home],
        "figure": f"reports/{stage.scale}/figures/{key}.svg",
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
