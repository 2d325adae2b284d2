"""The steps of a stage around its work: the files that it names, and the code that changes while it runs."""

import subprocess
import sys
from pathlib import Path

import pytest

from flows.graph import Graph
from tasks.stage import Stage

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = """
import shutil, sys
from pathlib import Path
from tasks import stage
from gramlab.data import roll
with stage.recorded(stage.Stage("prepare", "swiss_roll", "quick")):
    for path in sys.argv[1:]:
        shutil.rmtree(path) if Path(path).is_dir() else Path(path).unlink()
"""


@pytest.mark.parametrize("deleted", ["gramlab/data/roll.py", "gramlab/data"])
def test_code_that_is_deleted_while_a_stage_runs_is_named(copy_project, environment, deleted):
    clone = copy_project("deleted")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, deleted], cwd=clone, env=environment, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert done.stderr.startswith("prepare@swiss_roll: gramlab/data/")
    assert "gramlab/data/roll.py" in done.stderr
    assert done.stderr.endswith(" changed while the stage ran; run it again\n")
    assert not list(clone.glob("data/quick/provenance/*"))


@pytest.mark.parametrize("scale", ["quick", "paper"])
def test_a_stage_that_a_message_names_has_dvcs_address(scale):
    stage = Stage("report", "", scale)
    named = {name: found.addressing for name, found in Graph(ROOT, scale).stages.items()
             if name.split("@")[0] in ("measure", "simulate", "check", "verdicts")}  # fmt: skip
    assert len(named) > 100
    assert {name: str(ROOT / stage.address(name)) for name in named} == {
        name: str((ROOT / address).resolve()) for name, address in named.items()
    }
