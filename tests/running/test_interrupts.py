"""Ctrl-C at moments at which Python or a library would show a traceback."""

import subprocess
import sys
from pathlib import Path

import pytest
from dummy_project import ROOT, environment

from flows.interrupts import INTERRUPTED

CTRL_C_AT_AN_IMPORT = """
import os, signal, sys

class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == {library!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Finder)
"""
CTRL_C_IN_A_LIBRARY = """
import os, signal
from flows import reproduce

def run(options, console):
    try:
        os.kill(os.getpid(), signal.SIGINT)
    except KeyboardInterrupt:
        raise ValueError("an error of pydantic's")

reproduce.run = run
reproduce.main(root=".")
"""


def interrupted(command: list[str], cwd: Path, **variables: str) -> None:
    env = environment(cwd / "home", **variables)
    done = subprocess.run([sys.executable, *command], cwd=cwd, env=env, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (130, f"{INTERRUPTED}\n", "")


@pytest.mark.parametrize("program", ["flows.reproduce", "flows"])
@pytest.mark.parametrize("library", ["dvc", "networkx"])
def test_ctrl_c_while_the_libraries_are_imported_is_one_line(tmp_path: Path, program: str, library: str) -> None:
    (tmp_path / "sitecustomize.py").write_text(CTRL_C_AT_AN_IMPORT.format(library=library))
    interrupted(["-m", program, "s0"], tmp_path, PYTHONPATH=f"{tmp_path}:{ROOT}")


def test_ctrl_c_that_a_library_turns_into_an_error_of_its_own_is_one_line(tmp_path: Path) -> None:
    interrupted(["-c", CTRL_C_IN_A_LIBRARY], tmp_path, PYTHONPATH=str(ROOT))
