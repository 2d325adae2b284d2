"""The atlas on fresh seeds: real runs of a tiny one at two roots, and the count of the verdicts that came back."""

import json
import subprocess
import sys

import pyarrow.parquet as pq
import pytest
import yaml
from dummy_project import with_database

from tasks.reporting import fresh

ROOTS = ("11", "12")
CELLS = ("known_initialisation", "linear_teacher_sgd_decay", "linear_teacher_adam", "linear_teacher_adam_decay")


def shrink(project):
    """Two stages with four cells of two seeds and few steps."""
    file = project / "pipeline/atlas/cells.yaml"
    content = yaml.safe_load(file.read_text())
    for group in content["groups"].values():
        group["steps"] = min(group["steps"], 40)
    for of in [content["slice"], *content["stages"].values()]:
        for cell in of.values():
            cell.pop("steps", None)
    chosen = {stage: {name: of for name, of in cells.items() if name in CELLS}
            for stage, cells in content["stages"].items()}  # fmt: skip
    content |= {"seeds": 2, "slice": {name: of for name, of in content["slice"].items() if name in CELLS},
                "stages": {stage: cells for stage, cells in chosen.items() if cells}}  # fmt: skip
    file.write_text(yaml.safe_dump(content, sort_keys=False))


def verdict(cell):
    return cell["sides"]["forward"]["change"]["winner"]


def atlas(project, root):
    """What a root's run has left."""
    return json.loads((project / ".scratch/fresh" / root / "reports/atlas.json").read_text())


@pytest.fixture(scope="module")
def project(copy_project, environment):
    """A project with a tiny atlas, whose committed map says "FACT" of one cell and "tie" of the others."""
    clone = copy_project("fresh_atlas")
    with_database(clone / ".prefect")
    shrink(clone)
    committed = {name: {"answer": "", "sides": {"forward": {"change": {"winner": "tie"}}}} for name in CELLS}
    committed["linear_teacher_adam"]["sides"]["forward"]["change"]["winner"] = "FACT"
    committed["known_initialisation"]["answer"] = "nobody"
    (clone / "reports/atlas.json").write_text(json.dumps({"cells": committed, "known": [], "diverged": []}))
    command = [sys.executable, "-m", "flows.fresh", *ROOTS, "--scale", "atlas", "--jobs", "1"]
    done = subprocess.run(command, cwd=clone, env=environment, capture_output=True, text=True, timeout=1500)
    assert done.returncode == 0, done.stdout + done.stderr
    return clone, json.loads((clone / fresh.ATLAS_FILE).read_text())


def test_the_counts_are_those_of_a_count_by_hand(project):
    clone, record = project
    results = {root: atlas(clone, root) for root in ROOTS}
    assert record["roots"].keys() == set(ROOTS)
    assert all(root["seconds"] > 0 for root in record["roots"].values())
    assert record["cells"].keys() == {name for name in CELLS if not name.startswith("known")}
    for name, cell in record["cells"].items():
        winner = "FACT" if name == "linear_teacher_adam" else "tie"
        by_root = {root: verdict(results[root]["cells"][name]) for root in ROOTS}
        assert (cell["verdict"], cell["verdicts"]) == (winner, by_root)
        assert cell["came back"] == list(by_root.values()).count(winner)
        assert cell["runs"] == 2
    assert record["known"] == {root: {"known_initialisation": True} for root in ROOTS}
    assert {len(of_root) for of_root in record["sentences"].values()} == {5}


def test_each_root_trains_other_networks(project):
    clone, _ = project
    scores = {}
    for root in ROOTS:
        table = pq.ParquetFile(clone / ".scratch/fresh" / root / "data/atlas/scores/linear_teacher.parquet").read()
        last = table.to_pandas().query("step == 40 and entrant == 'AGOP^1/2' and side == 'forward'")
        scores[root] = last["cosine"].to_numpy()
    assert len(scores["11"]) == len(scores["12"]) == 2 * 2 * 3 * 2  # cells, seeds, layers, targets
    assert abs(scores["11"] - scores["12"]).min() > 1e-6
    assert not (clone / "data/atlas").exists()


def test_a_diverged_cell_has_not_come_back(monkeypatch, tmp_path):
    """The count is against the verdicts that the map has now, not those of the day of the run."""
    monkeypatch.setattr(fresh, "ROOT", tmp_path)
    cell = {"answer": "", "sides": {"forward": {"change": {"winner": "AGOP"}}}}
    result = {"cells": {"a": cell, "b": cell}, "diverged": ["c"]}
    assert fresh.fresh_cells(result) == {}
    (tmp_path / "reports").mkdir()
    cells = {"a": {"verdict": "FACT", "verdicts": {"11": "AGOP", "12": "tie"}},
             "b": {"verdict": "AGOP", "verdicts": {"11": "diverged", "12": "diverged"}},
             "c": {"verdict": "tie", "verdicts": {"11": "diverged", "12": "tie"}},
             "gone": {"verdict": "AGOP", "verdicts": {"11": "AGOP", "12": "AGOP"}}}  # fmt: skip
    record = {"roots": {"11": {}, "12": {}}, "cells": cells, "known": {}, "sentences": {}}
    (tmp_path / fresh.ATLAS_FILE).write_text(json.dumps(record))
    fresh_record = fresh.fresh_cells(result)
    assert fresh_record["roots"] == ["11", "12"]
    assert {name: of["came back"] for name, of in fresh_record["cells"].items()} == {"a": 1, "b": 0, "c": 1}
