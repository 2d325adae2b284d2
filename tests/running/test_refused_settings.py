"""A project whose settings are wrong, or a folder that is none: the flow refuses them in one line, and runs nothing."""

import subprocess
import sys
from pathlib import Path

import dummy_project
import pytest
import yaml
from dummy_project import ROOT, begun, environment

from flows.graph import Graph, Refused, load


def flow(home: Path, root: Path) -> "subprocess.CompletedProcess[str]":
    command, pipe = [sys.executable, "-m", "flows.reproduce", "--root", str(root)], subprocess.PIPE
    env = environment(home)
    return subprocess.run(command, cwd=ROOT, env=env, stdout=pipe, stderr=subprocess.STDOUT, text=True, timeout=600)


@pytest.mark.parametrize(("name", "line"), [
    ("nowhere", "{}: No such file or directory"),
    ("", "{} is not the project's folder: it has no file pipeline/SCALE/dvc.yaml"),
])  # fmt: skip
def test_a_root_without_a_project_is_one_line_and_status_2(tmp_path: Path, name: str, line: str) -> None:
    done = flow(tmp_path / "home", tmp_path / name)
    assert (done.returncode, done.stdout) == (2, f"{line.format(tmp_path / name)}\n")


def test_invalid_yaml_is_one_line_and_status_2_and_nothing_is_written(tmp_path: Path) -> None:
    root = dummy_project.make(tmp_path / "project", dummy_project.params(1))
    (root / "params.yaml").write_text("machine: {device: cpu\n")
    before = sorted(path for path in root.rglob("*") if ".dvc" not in path.parts)
    done = flow(tmp_path / "home", root)
    assert (done.returncode, done.stdout.count("\n")) == (2, 1), done.stdout
    assert "params.yaml" in done.stdout
    assert sorted(path for path in root.rglob("*") if ".dvc" not in path.parts) == before


@pytest.mark.parametrize("entry", [{"paper": {"lr": 0.1}, "quick": {}}, {"paper": {"data": None}, "quick": {}}, None])
def test_a_training_run_without_data_is_named(tmp_path: Path, entry: dict | None) -> None:
    """DVC's own message names a line of dvc.yaml, which is right, and not the entry of params.yaml, which is wrong."""
    settings = dummy_project.params(1)
    settings[dummy_project.PAPER]["train"]["run"] = entry
    root = dummy_project.make(tmp_path / "project", settings)
    with pytest.raises(Refused) as refused:
        Graph(root, "quick")
    assert str(refused.value).startswith("params.yaml: fact.train.run.paper.data must name a data set")
    assert "\n" not in str(refused.value)


def with_a_name_changed(folder: Path, section: str | None, key: str | None, renamed: str | dict) -> Path:
    """A project in whose params.yaml a paper, a section or a key has another name, or a key another value."""
    settings = dummy_project.params(1)
    root = dummy_project.make(folder, settings)
    level = settings if section is None else settings[dummy_project.PAPER]
    level, key = (level, section or dummy_project.PAPER) if key is None else (level[section], key)
    level.update(renamed if isinstance(renamed, dict) else {renamed: level.pop(key)})
    (root / "params.yaml").write_text(yaml.safe_dump(settings))
    return root


@pytest.mark.parametrize(("section", "key", "renamed", "line"), [
    ("claims", "c_run", "c_runx",
     "fact.claims.c_runx: there is no file tasks/papers/fact/claims/c_runx.py; did you mean 'c_run'?"),
    ("train", "run", "runx",
     "fact.train.runx: there is no file tasks/papers/fact/experiments/runx.py; did you mean 'run'?"),
    ("simulate", "s0", "s00",
     "fact.simulate.s00: there is no file tasks/papers/fact/experiments/s00.py; did you mean 's0'?"),
    ("claims", "c_run", {"c_run": "runy"}, "fact.claims.c_run: no experiment 'runy'; did you mean 'run'?"),
    ("claims", "c_run", {"c_run": None}, "fact.claims.c_run: no experiment None"),
    ("claims", None, "claim", "fact: unknown section 'claim'; did you mean 'claims'?"),
    (None, None, "facts", "unknown section 'facts'; did you mean 'fact'?"),
])  # fmt: skip
def test_a_mistyped_key_is_named(tmp_path: Path, section, key, renamed, line) -> None:
    root = with_a_name_changed(tmp_path / "project", section, key, renamed)
    with pytest.raises(Refused) as refused:
        load(root, "quick")
    assert str(refused.value) == f"params.yaml: {line}"


def test_a_mistyped_key_stops_the_flow_before_anything_runs(tmp_path: Path) -> None:
    root = with_a_name_changed(tmp_path / "project", "claims", None, "claim")
    (report := root / "reports/quick/figures/c_run.svg").parent.mkdir(parents=True)
    report.write_text("a committed figure")
    done = flow(tmp_path / "home", root)
    line = "params.yaml: fact: unknown section 'claim'; did you mean 'claims'?"
    assert (done.returncode, done.stdout) == (2, f"{line}\n")
    assert begun(root) == []
    assert report.read_text() == "a committed figure"
