"""Two clones on one machine share DVC's cache, as docs/how-to/machines.md says."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import yaml
from dummy_project import ROOT, begun, call, order


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
    project: Path, tmp_path: Path, server: dict[str, str], printed
) -> None:
    clones = [project, Path(shutil.copytree(project, tmp_path / "second"))]
    (block,) = printed("docs/how-to/machines.md")
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
