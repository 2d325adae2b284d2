"""Two clones on one machine share DVC's cache, as docs/how-to/machines.md says."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import dummy_project
import pytest
import yaml
from dummy_project import ROOT, begun, call, order


@pytest.fixture(scope="module")
def page(printed) -> list:
    """The snippets of docs/how-to/machines.md: a remote, a part of the work, all of it, and a shared cache."""
    return printed("docs/how-to/machines.md")


def test_provenance_comes_with_a_pulled_result(project: Path, tmp_path: Path, server: dict[str, str]) -> None:
    """Through a remote; and a result that comes back from the cache has the provenance of the run that made it."""
    order(project, provenance=True)
    call("dvc", "remote", "add", "--quiet", "--default", "store", str(tmp_path / "store"), cwd=project)
    second = Path(shutil.copytree(project, tmp_path / "second"))

    def flow(clone: Path, *arguments: str) -> dict:
        command = [sys.executable, "-m", "flows.reproduce", "--root", str(clone), "s0", *arguments]
        subprocess.run(command, cwd=ROOT, env=server, check=True, capture_output=True)
        return json.loads((clone / "data/quick/provenance/measure@s0.json").read_text())

    first = flow(project, "--push")
    assert first["node"] == project.name
    assert flow(second, "--pull") == first
    assert begun(second) == []
    settings = (project / "params.yaml").read_text()
    changed = yaml.safe_load(settings)
    changed["fact"]["simulate"]["s0"]["paper"]["gpu"] = False
    (project / "params.yaml").write_text(yaml.safe_dump(changed))
    other = flow(project)
    assert other["made"] > first["made"]
    assert "node" not in other
    (project / "params.yaml").write_text(settings)
    assert flow(project) == first
    assert begun(project).count("simulate@s0") == 2


def test_a_second_clone_restores_what_the_first_has_computed(
    project: Path, tmp_path: Path, server: dict[str, str], page: list
) -> None:
    clones = [project, Path(shutil.copytree(project, tmp_path / "second"))]
    *_, block = page
    ((*set_folder, folder),) = block.commands()
    assert folder == "/a/folder/for/the/cache"
    for clone in clones:
        call(*set_folder, str(tmp_path / "cache"), cwd=clone)
        command = [sys.executable, "-m", "flows.reproduce", "--root", str(clone), "simulate", "run"]
        subprocess.run(command, cwd=ROOT, env=server, check=True, capture_output=True)
    assert len(begun(clones[0])) == 5
    assert begun(clones[1]) == []
    for clone in clones:
        assert (clone / "data/quick/train/run/weights").read_text() == "train@run"


def test_what_one_machine_pushes_the_other_pulls(tmp_path: Path, server: dict[str, str], page: list) -> None:
    """The commands of docs/how-to/machines.md in two clones; the training run has the name that the page has."""
    add_remote, part, whole, _ = page
    settings = dummy_project.params(1)
    settings["fact"]["train"]["a_fig4"] = settings["fact"]["train"].pop("run")
    settings["fact"]["claims"] = {"a_fig4": "a_fig4", "c_s0": "s0"}
    first = dummy_project.make(tmp_path / "first", settings)
    shutil.copytree(ROOT / "flows", first / "flows", ignore=shutil.ignore_patterns("__pycache__"))
    second = Path(shutil.copytree(first, tmp_path / "second"))
    env = {**server, "PYTHONPATH": str(ROOT)}
    for clone in (first, second):
        add_remote.run(clone, env)
    part.run(first, env)
    assert (tmp_path / "store/runs").is_dir(), "the run-cache is in the remote"
    whole.run(second, env)
    assert begun(first) == ["prepare@roll", "train@a_fig4", "measure@a_fig4", "check@a_fig4"]
    assert not set(begun(second)) & set(begun(first))
    assert {"simulate@s0", "check@c_s0", "report"} <= set(begun(second))
