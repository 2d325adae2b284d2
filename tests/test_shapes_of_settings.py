"""A params.yaml with a value of a wrong shape, as the programs meet it: one line that names the place."""

import subprocess
import sys
from pathlib import Path

import dummy_project
import pytest
import yaml

from flows.graph import Graph, Refused

PROGRAMS = {"train": ["tasks.train", "a_fig7"], "check": ["tasks.check", "a_fig7"], "flows": ["flows", "a_fig7"],
            "claims run": ["gramlab", "claims", "run", "a_fig7"]}  # fmt: skip


@pytest.fixture(scope="module")
def clone(copy_project):
    return copy_project("shapes", locks=True)


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_program_names_the_place_in_one_line(clone, environment, program):
    raw = yaml.safe_load((clone / "params.yaml").read_text())
    raw["weight_gram"]["train"] = list(raw["weight_gram"]["train"])
    before = (clone / "params.yaml").read_text()
    (clone / "params.yaml").write_text(yaml.safe_dump(raw))
    try:
        done = subprocess.run(
            [sys.executable, "-m", *PROGRAMS[program]], cwd=clone, env=environment, capture_output=True, text=True
        )
    finally:
        (clone / "params.yaml").write_text(before)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "params.yaml: weight_gram.train must hold entries by name" in done.stderr
    assert len(done.stderr) < 200


@pytest.mark.parametrize(("content", "says"), [
    (b"lr: \xff\n", "params.yaml: not valid YAML: "), (b"lr: 2020-13-45\n", "params.yaml: not valid YAML: month must"),
    (b"- 1\n", "params.yaml: holds no settings"),
])  # fmt: skip
def test_a_file_that_is_no_yaml_is_one_line(clone, environment, content, says):
    before = (clone / "params.yaml").read_bytes()
    (clone / "params.yaml").write_bytes(content)
    command = [sys.executable, "-m", *PROGRAMS["train"]]
    try:
        done = subprocess.run(command, cwd=clone, env=environment, capture_output=True, text=True)
    finally:
        (clone / "params.yaml").write_bytes(before)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert done.stderr.startswith(says)


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Path:
    return dummy_project.make(tmp_path_factory.mktemp("shapes") / "project", dummy_project.params(1))


@pytest.mark.parametrize(("path", "value", "says"), [
    ("", [1], "the file must hold entries by name, or {} for none, not [1]"),
    ("", None, "machine must hold entries by name"),
    ("machine", None, "machine must hold entries by name"),
    ("data", None, "data must hold entries by name"),
    ("data", 5, "data must hold entries by name, or {} for none, not 5"),
    ("data", [1], "data must hold entries by name"),
    ("data", {5: {}}, "data: a name must be text, not 5; write it in quotes"),
    ("fact", [1], "fact must hold entries by name"),
    ("fact", None, "fact must hold entries by name"),
    ("fact", {5: {}}, "fact: a name must be text, not 5"),
    ("fact.claims", None, "fact.claims must hold entries by name"),
    ("fact.train", "text", "fact.train must hold entries by name, or {} for none, not 'text'"),
    ("fact.simulate", ["x" * 99], "fact.simulate must hold entries by name, or {} for none, not ['xxx"),
])  # fmt: skip
def test_the_flow_names_the_place_and_not_a_line_of_dvc_yaml(project, path, value, says):
    raw = dummy_project.params(1)
    level, (*parents, last) = {"": raw}, ["", *filter(None, path.split("."))]
    for name in parents:
        level = level[name]
    level[last] = value
    (project / "params.yaml").write_text(yaml.safe_dump(value if not path else raw))
    with pytest.raises(Refused) as refused:
        Graph(project, "quick")
    line = str(refused.value)
    assert line.startswith(f"params.yaml: {says}")
    assert len(line) < 200


@pytest.mark.parametrize("value", [[1], 5, "text", None])
def test_the_flow_leaves_a_single_entry_to_its_stage(project, value):
    raw = dummy_project.params(1)
    raw["fact"]["simulate"]["s0"]["paper"] = value
    (project / "params.yaml").write_text(yaml.safe_dump(raw))
    graph = Graph(project, "quick")
    assert not graph.on_gpu("simulate@s0")
