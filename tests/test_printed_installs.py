"""Snippets that install the project, run as printed without a network.

Wheels with the names, versions and requirements of this environment's packages, and nothing in them, stand in for those
of the package index. So pip and uv choose and install what pyproject.toml declares, but not the gigabytes of PyTorch.
Only what builds and installs is real. `tests/test_installation.py` tests that what is declared suffices.
"""

import base64
import hashlib
import json
import os
import re
import venv
import zipfile
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution, distributions
from pathlib import Path

import dummy_project
import pytest
from dummy_project import BIN, call
from test_installation import closure

REAL = ("packaging", "setuptools", "setuptools-scm", "typing-extensions", "uv", "vcs-versioning")
LIST = "import json; from importlib.metadata import distributions as all; print(json.dumps([d.name for d in all()]))"


def normal(name: str) -> str:
    return re.sub("[-_.]+", "-", name).lower()


def contents(package: Distribution) -> Iterator[tuple[str, bytes]]:
    """The files of a package's wheel; those of a real one as they are installed, programs in the folder for them."""
    stem = f"{normal(package.name).replace('-', '_')}-{package.version}"
    yield f"{stem}.dist-info/METADATA", (package.read_text("METADATA") or "").encode()
    yield f"{stem}.dist-info/WHEEL", b"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    if normal(package.name) in REAL:
        if entry_points := package.read_text("entry_points.txt"):
            yield f"{stem}.dist-info/entry_points.txt", entry_points.encode()
        for file in package.files or ():
            path = Path(package.locate_file(file))
            if file.parent.name == BIN.name and path.read_bytes()[:2] != b"#!":  # a script is made of its entry point
                yield f"{stem}.data/scripts/{path.name}", path.read_bytes()
            elif file.parts[0] != ".." and not file.parts[0].endswith(".dist-info") and file.suffix != ".pyc":
                yield file.as_posix(), path.read_bytes()


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the wheels."""
    folder = tmp_path_factory.mktemp("wheels")
    for package in distributions():
        stem = f"{normal(package.name).replace('-', '_')}-{package.version}"
        if normal(package.name) == "gramlab":
            continue
        record = []
        with zipfile.ZipFile(folder / f"{stem}-py3-none-any.whl", "w") as wheel:
            for name, content in contents(package):
                digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
                record.append(f"{name},sha256={digest},{len(content)}\n")
                entry = zipfile.ZipInfo(name)
                entry.external_attr = (0o100755 if "/scripts/" in name else 0o100644) << 16
                wheel.writestr(entry, content)
            wheel.writestr(f"{stem}.dist-info/RECORD", "".join([*record, f"{stem}.dist-info/RECORD,,\n"]))
    return folder


@pytest.fixture
def env(wheels: Path, tmp_path: Path) -> dict[str, str]:
    """The environment of a machine whose only packages are the wheels, and whose Python is that of the tests."""
    inherited = dummy_project.environment(tmp_path / "home")
    (tmp_path / "uv.toml").write_text(f'no-index = true\nfind-links = ["{wheels}"]\n')
    return {
        **{name: value for name, value in inherited.items() if not name.startswith(("PIP_", "UV_", "VIRTUAL_ENV"))},
        "PYTHONPATH": "", "PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1", "UV_CONFIG_FILE": str(tmp_path / "uv.toml"),
        "UV_CACHE_DIR": str(tmp_path / "uv"),
    }  # fmt: skip


def installed(python: Path, env: dict[str, str]) -> set[str]:
    """The packages of an environment, without pip and what an older pip puts beside it."""
    names = json.loads(call(str(python), "-c", LIST, cwd=python.parent, env=env))
    return set(map(normal, names)) - {"pip", "setuptools"}


def declared(*extras: str) -> set[str]:
    """The project, its dependencies, those of its extras, and what all of them need."""
    packages = [package for extra in extras for package in closure(distribution("gramlab"), extra)]
    return {"gramlab", *(normal(package.name) for package in packages)} - {"setuptools"}


@pytest.fixture(scope="module")
def project(copy_project) -> Path:
    """A clone, from which every test installs into an environment of its own."""
    return copy_project("installs")


@pytest.fixture
def own(env: dict[str, str], tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """A new environment of the reader's, and the variables of somebody who has activated it."""
    venv.create(tmp_path / "own", with_pip=True)
    folder = tmp_path / "own/bin"
    return folder / "python", {**env, "PATH": f"{folder}{os.pathsep}{env['PATH']}"}


@pytest.mark.parametrize(
    ("page", "extra"),
    [("README.md", "figures"), ("docs/tutorials/your-network.md", "figures"), ("docs/text.md", "text")],
)
def test_pip_installs_what_an_extra_declares(project, own, printed, page, extra) -> None:
    (block,) = printed(page)
    python, env = own
    block.run(project, env)
    assert installed(python, env) == declared(extra)
    if page.endswith("your-network.md"):
        assert (project.parent / "my-network").is_dir(), "beside the clone"


def test_the_makefile_installs_everything(project, env, printed) -> None:
    """An edit of the code needs no new installation; a second call does nothing."""
    (block,) = printed("docs/tutorials/fifth-paper.md")
    block.run(project, env)
    python = project / ".venv/bin/python"
    assert installed(python, env) == declared("pipeline", "dev") | {"uv"}
    place = call(str(python), "-c", "import gramlab.files; print(gramlab.files.__file__)", cwd=project.parent, env=env)
    assert Path(place.strip()).is_relative_to(project)
    before = (project / ".venv/installed").stat().st_mtime_ns
    block.run(project, env)
    assert (project / ".venv/installed").stat().st_mtime_ns == before
