"""Two clones on one machine share DVC's cache, as docs/running.md says."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from dummy_project import ROOT, begun, call


def test_a_second_clone_restores_what_the_first_has_computed(
    project: Path, tmp_path: Path, server: dict[str, str]
) -> None:
    clones = [project, Path(shutil.copytree(project, tmp_path / "second"))]
    (line,) = re.findall(r"^(dvc cache dir .*?) /a/folder", (ROOT / "docs/running.md").read_text(), re.M)
    for clone in clones:
        call(*line.split(), str(tmp_path / "cache"), cwd=clone)
        command = [sys.executable, "-m", "flows.reproduce", "--root", str(clone), "simulate", "run"]
        subprocess.run(command, cwd=ROOT, env=server, check=True, capture_output=True)
    assert len(begun(clones[0])) == 5
    assert begun(clones[1]) == []
    for clone in clones:
        assert (clone / "data/quick/train/run/weights").read_text() == "train@run"
