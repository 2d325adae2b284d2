"""The papers: each folder here is a paper, with its claims and its experiments.

A paper's ``__init__.py`` says ``LETTER`` (the first letter of its claims' ids), ``TITLE`` and ``ARXIV``. A claim or an
experiment has one key, such as ``a_fig7``, which names its file, its stage, its table and its figure.
"""

from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).parent


@cache
def papers() -> dict[str, ModuleType]:
    """Every paper's package by the name of its folder, in the order of their letters."""
    names = [path.parent.name for path in FOLDER.glob("*/__init__.py")]
    packages = {name: import_module(f"tasks.papers.{name}") for name in names}
    return dict(sorted(packages.items(), key=lambda item: item[1].LETTER))


def claim(paper: str, key: str) -> ModuleType:
    """The module of a claim: its statement, constants, ``rule`` and ``draw``."""
    return import_module(f"tasks.papers.{paper}.claims.{key}")


def experiment(paper: str, key: str) -> ModuleType:
    """The module of an experiment: ``measure`` and, where it trains nothing, the class ``Settings``."""
    return import_module(f"tasks.papers.{paper}.experiments.{key}")
