"""The papers: each folder is a paper, with its claims and its experiments.

A paper's ``__init__.py`` holds ``LETTER`` (the first letter of its claims' ids), ``TITLE`` and ``ARXIV``. The key of a
claim or an experiment, such as ``a_fig7``, names its file, its stage, its table and its figure. This module imports a
paper only on request, so that a stage depends on its own paper alone.
"""

from importlib import import_module
from pathlib import Path
from types import ModuleType

from gramlab.arguments import did_you_mean

FOLDER = Path(__file__).parent


def names() -> list[str]:
    """The names of the papers' folders."""
    return sorted(path.parent.name for path in FOLDER.glob("*/__init__.py"))


def paper(name: str) -> ModuleType:
    """A paper's package."""
    return import_module(f"tasks.papers.{name}")


def no_file(paper: str, section: str, key: str, folder: Path = FOLDER) -> str:
    """The error message for an entry of params.yaml whose claim or experiment has no file; empty if it has one."""
    kind = "claims" if section == "claims" else "experiments"
    keys = [path.stem for path in sorted((folder / paper / kind).glob("[!_]*.py"))]
    if key in keys:
        return ""
    file = f"tasks/papers/{paper}/{kind}/{key}.py"
    return f"params.yaml: {paper}.{section}.{key}: there is no file {file}{did_you_mean(key, keys)}"


def claim(paper: str, key: str) -> ModuleType:
    """The module of a claim: its constants, its statements with their rules, and ``draw``."""
    return import_module(f"tasks.papers.{paper}.claims.{key}")


def experiment(paper: str, key: str) -> ModuleType:
    """The module of an experiment: ``measure`` and, where it trains nothing, the class ``Settings``."""
    return import_module(f"tasks.papers.{paper}.experiments.{key}")


def differences(paper: str) -> ModuleType | None:
    """The module that measures differences between the authors' code and the text, if the paper has one."""
    file = FOLDER / paper / "differences.py"
    return import_module(f"tasks.papers.{paper}.differences") if file.is_file() else None
