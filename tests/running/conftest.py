"""A Prefect server and a dummy project for the tests of one file."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import dummy_nodes
import dummy_project
import pytest


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of those who use a Prefect server on this machine."""
    home = tmp_path_factory.mktemp("server")
    folder = dummy_project.with_database(home / "home")
    env = dummy_project.environment(folder, **dummy_project.server_variables(dummy_project.port()))
    with dummy_project.server(home, env):
        yield env


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a training run, two simulations and a claim on each; nothing has run."""
    return dummy_project.make(tmp_path / "project", dummy_project.params(2))


@pytest.fixture(scope="module")
def clones(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The coordinator's clone and those of two nodes."""
    return dummy_nodes.make(tmp_path_factory.mktemp("nodes"))


@pytest.fixture(scope="module")
def env(clones: dict[str, Path], server: dict[str, str]) -> dict[str, str]:
    """The environment of the coordinator and the nodes."""
    return dummy_nodes.deploy(clones, server)


@pytest.fixture
def workers(clones: dict[str, Path], env: dict[str, str]) -> Iterator[dummy_nodes.Workers]:
    """A worker in each node's clone, started by its name; all are gone afterwards."""
    with ExitStack() as stack:
        yield dummy_nodes.Workers(clones, env, stack)
