"""Snippets of the how-to pages that cost hours on the real pipeline or need the web, run on less.

The commands of the pipeline run as printed on a pipeline with the same names whose stages cost nothing. What loads a
model of the hub loads a tiny one from a folder of the same name.
"""

import shutil
from collections import Counter
from pathlib import Path

import dummy_project
import pytest
from dummy_project import ROOT, begun, environment

from flows.graph import Graph

KEYS = {"a_fig4": "train", "a_fig7": "train", "a_eq1": "simulate"}  # of paper A


def settings() -> dict:
    """Two training runs and a simulation of paper A, a simulation of paper C, and a claim on each."""
    base = dummy_project.params(0)
    entries = {"train": {"paper": {"data": "roll", "lr": 0.1}, "quick": {}}, "simulate": {"paper": {}, "quick": {}}}
    sections: dict[str, dict] = {kind: {} for kind in entries}
    for key, kind in KEYS.items():
        sections[kind][key] = entries[kind]
    base["weight_gram"] = {**sections, "claims": {key: key for key in KEYS}}
    base["fact"] = {"train": {}, "simulate": {"c_lemf_2": entries["simulate"]}, "claims": {"c_lemf_2": "c_lemf_2"}}
    return base


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pipeline with names of the real one; nothing has run."""
    return dummy_project.make(tmp_path_factory.mktemp("printed") / "project", settings())


@pytest.fixture(scope="module")
def env(project: Path) -> dict[str, str]:
    """The environment of somebody who types commands in the project's folder, where no server runs."""
    shutil.copytree(ROOT / "flows", project / "flows", ignore=shutil.ignore_patterns("__pycache__"))
    with (project / ".git/info/exclude").open("a") as file:
        file.write("/flows\n")
    return environment(project / "home", PYTHONPATH=str(ROOT))


def test_dvc_and_the_flows_agree_on_what_is_stale(project: Path, env: dict[str, str], printed) -> None:
    """One claim, its paper, and all the rest by DVC; after that nothing is stale for either of them."""
    one_claim, alone, flow = printed("docs/how-to/running.md")
    (one_claim_of_the_papers,) = printed("docs/how-to/paper-scale.md")
    chain = ["prepare@roll", "train@a_fig7", "measure@a_fig7", "check@a_fig7"]
    lines = one_claim.run(project, env).splitlines()
    assert [line for line in lines if "up to date" in line] == [
        "4 stages brought up to date, 0 already were",
        "6 stages brought up to date, 4 already were",
        "4 stages brought up to date, 0 already were",
    ]
    assert (begun(project)[:4], begun(project)[10:]) == (chain, chain)
    assert begun(project)[9] == "verdicts@weight_gram"
    assert alone.run(project, env).splitlines()[-1] == "Data and pipelines are up to date."
    quick, paper = (Graph(project, scale) for scale in ("quick", "paper"))
    assert Counter(begun(project)) == Counter([*quick.stages, *paper.stages]), "each stage ran once at each scale"
    asked = (quick, []), (quick, ["a_fig7"]), (quick, ["check@a_eq1", "train"]), (paper, []), (paper, ["c_lemf_2"])
    assert [len(graph.select(targets)) for graph, targets in asked[1:3]] == [4, 5]
    done = [*flow.run(project, env).splitlines(), *one_claim_of_the_papers.run(project, env).splitlines()]
    assert done == [
        f"0 stages brought up to date, {len(graph.select(targets))} already were" for graph, targets in asked
    ]
