"""The notebooks run, and the outputs that git holds are theirs, and small."""

import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).resolve().parent.parent / "docs/notebooks").glob("*.ipynb"))


def words(cell: nbformat.NotebookNode) -> list[list[str]]:
    """What a cell prints, without its numbers and its spaces: both depend on the processor."""
    printed = (output.get("text") or output.get("data", {}).get("text/plain", "") for output in cell.get("outputs", ()))
    return [re.findall(r"[^\W\d_]{2,}", text) for text in printed]


def test_there_are_three():
    assert len(NOTEBOOKS) == 3


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_prints_what_git_holds(notebook, tmp_path):
    held = nbformat.read(notebook, as_version=4)
    assert notebook.stat().st_size < 50_000
    run = NotebookClient(nbformat.from_dict(held), timeout=300).execute(cwd=tmp_path)
    for before, after in zip(held.cells, run.cells, strict=True):
        assert words(before) == words(after)
