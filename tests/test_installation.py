"""The wheel: built without a network, and used in environments that hold what it declares and nothing else."""

import os
import re
import subprocess
import sys
import venv
import zipfile
from importlib.metadata import Distribution, PackageNotFoundError, PathDistribution, distribution
from pathlib import Path

import extras
import pytest
import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
BUILD = "import sys; from setuptools import build_meta; print(build_meta.build_wheel(sys.argv[1]))"
IDENTITY = ["-c", "user.name=test", "-c", "user.email=test@localhost"]


@pytest.fixture(scope="module")
def wheel(copy_project, environment, tmp_path_factory) -> Path:
    """The wheel of the project as it stands, four commits after no tag at all."""
    clone, out = copy_project("wheel"), tmp_path_factory.mktemp("dist")
    done = subprocess.run(
        [sys.executable, "-c", BUILD, out], cwd=clone, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return out / done.stdout.split()[-1]


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """A function that makes an environment of the wheel, its dependencies and those of an extra; its Python."""

    def make(extra: str) -> Path:
        folder = tmp_path_factory.mktemp(extra or "none") / "environment"
        venv.create(folder, symlinks=True)
        (site,) = folder.glob("lib/python*/site-packages")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(site)
        (info,) = site.glob("gramlab-*.dist-info")
        for package in closure(PathDistribution(info), extra):
            for name in {file.parts[0] for file in package.files or () if file.parts[0] not in ("..", "__pycache__")}:
                if not (site / name).exists():
                    (site / name).symlink_to(package.locate_file(name))
        return folder / "bin/python"

    return make


def closure(start: Distribution, extra: str) -> list[Distribution]:
    """The distributions that one needs with an extra, and that those need; itself left out."""
    distributions: dict[tuple[str, str], Distribution] = {}
    waiting = [(start, extra)]
    while waiting:
        package, wanted = waiting.pop()
        for text in package.requires or ():
            needed = Requirement(text)
            if needed.marker and not any(needed.marker.evaluate({"extra": name}) for name in {"", wanted}):
                continue
            for name in {"", *needed.extras}:
                key = (re.sub("[-_.]+", "-", needed.name).lower(), name)
                if key not in distributions:
                    try:
                        distributions[key] = start if key[0] == "gramlab" else distribution(needed.name)
                    except PackageNotFoundError:  # an optional one that is not needed on this machine
                        continue
                    waiting.append((distributions[key], name))
    return [package for package in dict.fromkeys(distributions.values()) if package is not start]


def run(python: Path, program: str, folder: Path) -> subprocess.CompletedProcess:
    env = {**os.environ, "PYTHONPATH": "", "DO_NOT_TRACK": "1", "PREFECT_HOME": str(python.parents[1] / "prefect")}
    return subprocess.run([python, "-c", program], cwd=folder, env=env, capture_output=True, text=True)


@pytest.mark.parametrize("extra", ["", "figures", "pipeline"])
def test_an_environment_of_what_is_declared_suffices(installed, extra):
    python = installed(extra)
    done = run(python, extras.PROGRAMS[extra], ROOT if extra in extras.IN_THE_PROJECT else python.parent)
    assert done.returncode == 0, done.stderr[-3000:]
    if extra == "":
        where = run(python, "import gramlab; print(gramlab.__file__)", python.parent).stdout
        assert Path(where.strip()).is_relative_to(python.parents[1])
        refused = run(python, extras.PROBE, python.parent)
        assert "gramlab probe: drawing needs seaborn: pip install 'gramlab[figures]'\n" in refused.stderr


def test_the_wheel_holds_the_library_and_its_types(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    files = {path.relative_to(ROOT).as_posix() for path in (ROOT / "gramlab").rglob("*.py")}
    assert names > files | {"gramlab/py.typed", "gramlab/__init__.pyi"}
    assert {name.split("/")[0].split("-")[0] for name in names} == {"gramlab"}


@pytest.mark.parametrize(("tag", "after", "version"), [(None, 0, r"0\.1\.\d+\.dev\d+\+g\w+"), ("v1.2.0", 0, r"1\.2\.0"),
                                                       ("v1.2.0", 2, r"1\.2\.1\.dev2\+g\w+")])  # fmt: skip
def test_the_version_comes_from_the_last_tag(tmp_path, tag, after, version):
    (tmp_path / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text())
    commands = [
        ["init", "-q"],
        ["add", "."],
        [*IDENTITY, "commit", "-q", "-m", "one"],
        *([["tag", tag]] if tag else []),
    ]
    for command in [*commands, *[[*IDENTITY, "commit", "-q", "--allow-empty", "-m", "more"]] * after]:
        subprocess.run(["git", *command], cwd=tmp_path, check=True, capture_output=True)
    assert re.fullmatch(version, scm(tmp_path))


def test_an_archive_and_a_bare_folder_have_a_version(tmp_path):
    for name in ("pyproject.toml", ".git_archival.txt", ".gitattributes"):
        (tmp_path / name).write_text((ROOT / name).read_text())
    bare = tmp_path / "bare"
    bare.mkdir()
    (bare / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text())
    assert scm(bare) == "0.1.0"
    for command in (["init", "-q"], ["add", "."], [*IDENTITY, "commit", "-q", "-m", "one"], ["tag", "v2.0.0"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True, capture_output=True)
    archive = tmp_path / "archive"
    archive.mkdir()
    packed = subprocess.run(["git", "archive", "HEAD"], cwd=tmp_path, check=True, capture_output=True).stdout
    subprocess.run(["tar", "x"], cwd=archive, input=packed, check=True)
    assert scm(archive) == "2.0.0"


def scm(folder: Path) -> str:
    env = {**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.parent)}
    command = [sys.executable, "-m", "setuptools_scm"]
    return subprocess.run(command, cwd=folder, env=env, check=True, capture_output=True, text=True).stdout.strip()


def test_the_workflows_test_what_is_supported():
    """The matrix has the versions of the classifiers, and each step's file is there."""
    folder = ROOT / ".github/workflows"
    workflows = {path.stem: yaml.safe_load(path.read_text()) for path in folder.glob("*.yml")}
    classifiers = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', (ROOT / "pyproject.toml").read_text())
    for job in ("library", "extras"):
        assert workflows["test"]["jobs"][job]["strategy"]["matrix"]["python"] == classifiers
    steps = [
        step.get("run", "") for flow in workflows.values() for job in flow["jobs"].values() for step in job["steps"]
    ]
    named = {word for step in steps for word in step.split() if "/" in word and "." in word and "$" not in word}
    assert all((ROOT / name).exists() for name in named if name.split("/")[0] in ("tests", ".ci")), named
    assert "extras.py" in " ".join(named)
