"""A copy of this project, with all of its programs, whose pipelines have few stages that cost nothing."""

import json
import shutil
import sys
from pathlib import Path

import dummy_nodes
import dummy_project
import yaml

CLAIM, PAPER, DATA = "c_lemf_2", "fact", "swiss_roll"  # what the pipelines have of params.yaml
FEW = "pipeline/few.yaml"
TOOLS = ("python", "mypy", "ruff")  # that the Makefile calls


def cheapen(project: Path) -> None:
    """Replace the stages of a copy by those of a claim, a data set and two of the atlas; they leave the reports alone.

    All other files are the real ones: params.yaml, the committed reports, and the programs that the Makefile calls. At
    other roots of the random streams the tables differ, and the verdicts and the atlas are the committed ones.
    """
    params = yaml.safe_load((project / "params.yaml").read_text())
    cells = yaml.safe_load((project / "pipeline/atlas/cells.yaml").read_text())
    experiment = params[PAPER]["claims"][CLAIM]
    settings = {
        "data": {DATA: params["data"][DATA]},
        PAPER: {"train": {}, "simulate": {experiment: {}}, "claims": {CLAIM: experiment}},
        "stages": dict(list(cells["stages"].items())[:2]),
    }
    (project / FEW).write_text(yaml.safe_dump(settings))
    for file in [project / "dvc.yaml", *sorted(project.glob("pipeline/**/dvc.yaml"))]:
        folder = file.parent.relative_to(project)
        if folder.parts[2:] and folder.name not in ("data", "atlas", PAPER):
            file.unlink()
            continue
        pipeline = dummy_project.pipeline(file.read_text())
        up = "../" * (len(folder.parts) - 1)
        if variables := pipeline.get("vars"):
            of_files = ("../../../params.yaml", "cells.yaml:stages")
            pipeline["vars"] = [f"{up}few.yaml" if entry in of_files else entry for entry in variables]
        file.write_text(yaml.safe_dump(pipeline, sort_keys=False))
    (project / "stage.py").write_text(dummy_project.PROGRAM)
    claims = json.loads((project / "reports/quick/claims.json").read_text())
    (project / "verdicts.json").write_text(json.dumps(claims))
    shutil.copy(project / "reports/atlas.json", project / "atlas.json")
    of_root = {
        f"simulate@{experiment}": {"params.yaml": f"data/quick/tables/{experiment}.parquet"},
        f"verdicts@{PAPER}": {"verdicts.json": f"data/quick/verdicts/{PAPER}.json"},
        "chart@whole": {"atlas.json": "reports/atlas.json"},
    }
    (project / "orders.json").write_text(json.dumps({"keep": "reports", "provenance": True, "copy": of_root}))
    with (project / ".git/info/exclude").open("a") as file:
        file.write("/trace.jsonl\n")
    dummy_nodes.commit(project)


def install(project: Path) -> None:
    """Give a project the environment of the tests in place of the one that the Makefile would install."""
    folder = project / ".venv/bin"
    folder.mkdir(parents=True)
    for name in TOOLS:
        program = sys.executable if name == "python" else f'{sys.executable}" -m "{name}'
        (folder / name).write_text(f'#!/bin/sh\nexec "{program}" "$@"\n')
        (folder / name).chmod(0o755)
    (project / ".venv/installed").touch()
