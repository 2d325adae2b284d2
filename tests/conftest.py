import os
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from helpers import NO_SERVER
from hypothesis import settings
from printed import blocks

ROOT = Path(__file__).resolve().parent.parent

# read when torch is first imported, here and in the programs that tests start: threads of several workers of pytest on
# few cores spend their time on waiting for each other
for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

settings.register_profile("gramlab", derandomize=True, deadline=None)
settings.load_profile("gramlab")


def pytest_ignore_collect(collection_path):
    """Leave helper modules unimported: --doctest-modules would import every file in search of doctests."""
    return True if collection_path.suffix == ".py" and not collection_path.name.startswith("test_") else None


# in a file of its own, since a change of this one makes the results of mutants old (tests/mutants/needed.py)
FIRST = (ROOT / "tests/started_first.txt").read_text().split("\n\n")[1].split()


def pytest_collection_modifyitems(items):
    """Put the files of tests/started_first.txt first, in its order."""
    items.sort(key=lambda item: FIRST.index(item.path.name) if item.path.name in FIRST else len(FIRST))


@pytest.fixture
def offline(monkeypatch):
    """No download succeeds: the proxy answers nobody. The opener that Python keeps with this proxy goes afterwards."""
    monkeypatch.setattr(urllib.request, "_opener", None)
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, NO_SERVER)


@pytest.fixture(scope="session")
def copy_project(tmp_path_factory):
    """A function that makes a git and DVC repository of the project as it stands, committed or not.

    Without the lock files, so that no stage counts as done; with them it is as a fresh clone is.
    """

    def copy(name: str, source: Path = ROOT, locks: bool = False) -> Path:
        clone = tmp_path_factory.mktemp(name) / "gramlab"
        listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(listing, cwd=source, capture_output=True, check=True)
        for file in filter(None, listed.stdout.decode().split("\0")):
            if (source / file).is_file():
                (clone / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source / file, clone / file)
        for lock in [] if locks else clone.rglob("dvc.lock"):  # what was computed elsewhere is not here
            lock.unlink()
        subprocess.run(["git", "init", "-q"], cwd=clone, check=True)
        # git finds the committed files' objects in the source, and packs none of them again
        asking = ["git", "rev-parse", "--git-path", "objects"]
        asked = subprocess.run(asking, cwd=source, capture_output=True, text=True, check=True)
        objects = (source / asked.stdout.strip()).resolve()
        (clone / ".git/objects/info/alternates").write_text(f"{objects}\n")
        git = ["git", "-c", "user.name=test", "-c", "user.email=test@example.org"]
        for command in (["add", "-A"], ["commit", "-q", "-m", "copy"]):
            subprocess.run([*git, *command], cwd=clone, check=True, capture_output=True)
        return clone

    return copy


@pytest.fixture(scope="module")
def printed(request):
    """A function: the snippets of a page that name this test file. It fails where the tests leave one unused."""
    given = []

    def of(page: str):
        snippets = blocks(page, request.path)
        given.extend(snippets)
        return snippets

    yield of
    assert given
    assert all(block.is_used for block in given), "a snippet that the page calls run by this test is not run"


@pytest.fixture(scope="session")
def programs(tmp_path_factory):
    """A folder with the command ``gramlab`` of the project in which it is typed, not of the installed one."""
    folder = tmp_path_factory.mktemp("programs")
    (folder / "gramlab").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gramlab "$@"\n')
    (folder / "gramlab").chmod(0o755)
    return folder


@pytest.fixture(scope="session")
def environment():
    """The environment of commands in a copy: its own code, not the installed project's."""
    return {**os.environ, "PYTHONPATH": "", "DVC_NO_ANALYTICS": "1", "PREFECT_SERVER_ANALYTICS_ENABLED": "false"}
