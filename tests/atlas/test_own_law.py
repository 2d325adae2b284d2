"""A law of one's own, entered as docs/how-to/atlas.md says: on the slice, in the cells' tables and on the map."""

import json
import os
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import yaml

START = "LAWS: tuple[Law, ...] = (\n"
# a second one reads the target, which a law must not do: it wins wherever there is a target. It has no scrambled copy,
# which would be as good as itself
ANSWER = '    Law("the answer", lambda layer: layer.change, "it looks", of_history=True),\n'


@pytest.fixture(scope="module")
def project(copy_project, environment, printed):
    """A project with the law of docs/how-to/atlas.md, its atlas with few steps, after the commands of this page."""
    project = copy_project("own_law")
    laws = project / "tasks/atlas/laws.py"
    new_law, commands = printed("docs/how-to/atlas.md")
    function, entry = new_law.text().split(START)
    before, after = laws.read_text().split(START)
    laws.write_text(before + function + START + entry + ANSWER + after)
    file = project / "pipeline/atlas/cells.yaml"
    content = yaml.safe_load(file.read_text())
    for group in content["groups"].values():
        group["steps"] = min(group["steps"], 20)
    for cell in content["slice"].values():
        cell.pop("steps", None)
    file.write_text(yaml.safe_dump(content, sort_keys=False))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    commands.run(project, {**environment, "PATH": path}, timeout=1800)
    return project


def test_the_law_is_scored_in_every_cell_of_the_slice(project):
    rows = pq.ParquetFile(project / "data/atlas/scores/slice.parquet").read().to_pandas()
    new_law = rows[rows["entrant"] == "pull"]
    assert len(new_law["cell"].unique()) == 6
    assert set(new_law["badge"]) == {""}
    assert new_law[new_law["step"] == 20]["null_cosine"].between(-1, 1).all()
    for name in ("reports/quick/atlas.json", "reports/atlas.json"):
        cells = json.loads((project / name).read_text())["cells"]
        contest = cells["mlp_images_sgd_decay"]["sides"]["forward"]["change"]
        last = new_law.query(
            "cell == 'mlp_images_sgd_decay' and step == 20 and side == 'forward' and target == 'change'"
        )
        by_seed = last.groupby("seed")["cosine"].mean()
        assert contest["entrants"]["pull"]["score"][0] == pytest.approx(np.mean(by_seed), abs=1e-4)
        assert "pull" in contest["above_chance"]


def test_the_printed_law_can_win(project):
    """A law whose scrambled copy is the law itself cannot exceed it."""
    rows = pq.ParquetFile(project / "data/atlas/scores/slice.parquet").read().to_pandas()
    last = rows.query("entrant == 'pull' and cell == 'mlp_images_sgd_decay' and step == 20 and depth == 0")
    assert (last["cosine"] - last["scrambled_cosine"]).abs().min() > 0.01


def test_a_law_that_wins_is_on_the_map(project):
    text = (project / "reports/atlas/index.html").read_text()
    table = text.split("<caption>Which law wins for the change of WᵀW")[1].split("</table>")[0]
    assert '<td class="law-other"><a href="mlp_images_sgd_decay.html">the answer</a>' in table
    assert text.count('<span class="outcome law-other">') >= 2  # the legend has both
    laws = text.split('id="laws"')[1].split("</table>")[0]
    assert '<th scope="row">pull</th>' in laws
    page = (project / "reports/atlas/mlp_images_sgd_decay.html").read_text()
    assert '<th scope="row">pull</th>' in page
