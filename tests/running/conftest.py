"""A Prefect server and a dummy project for the tests of one file."""

from collections.abc import Iterator
from pathlib import Path

import dummy_project
import pytest


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of those who use a Prefect server on this machine."""
    home = tmp_path_factory.mktemp("server")
    env = dummy_project.environment(home / "home", **dummy_project.at(dummy_project.port()))
    with dummy_project.server(home, env):
        yield env


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a training run, two simulations and a claim on each; nothing has run."""
    return dummy_project.make(tmp_path / "project", dummy_project.params(2))
