"""Snippets with the targets of the Makefile, which cost hours on the real pipeline, run on less.

They run as printed, with the project's Makefile and programs. The environment of the tests stands in for the one that
the Makefile would install, and an empty program for the browser. The stages cost nothing (`tests/cheap_stages.py`), and
the tests and mutants are those of a project of one function.
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import dummy_project
import pytest
from cheap_stages import cheapen, install
from dummy_project import ROOT, begun
from printed import Block

from tasks.reporting import fresh

CLAIM = "C.lemF.2"  # whose stages the pipelines have
TESTED = {
    "tests/test_area.py": "from gramlab.area import area\n\n\ndef test_area():\n    assert area(3, 4) == 12\n",
    "gramlab/area.py": '"""Areas."""\n\n\ndef area(width: float, height: float) -> float:\n'
    '    """Return the area of a rectangle."""\n    return width * height\n',
    **{f"{package}/__init__.py": '"""A package."""\n' for package in ("gramlab", "tasks", "flows")},
}
MUTANT = """[[mutant]]
name = "{new}"
kind = "operator"
file = "gramlab/area.py"
old = "width * height"
new = "{new}"
tests = ["tests/test_area.py"]
"""


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of somebody with a browser and a Prefect server, so that not every command starts a server."""
    home = tmp_path_factory.mktemp("server")
    (home / "programs").mkdir()
    (home / "programs/chromium").touch(mode=0o755)
    variables = dummy_project.server_variables(dummy_project.port())
    folder = dummy_project.with_database(home / "home")
    env = dummy_project.environment(folder, **variables, PYTHONPATH="", DVC_NO_ANALYTICS="1")
    with dummy_project.server(home, env):
        yield {**env, "PATH": f"{env['PATH']}{os.pathsep}{home / 'programs'}"}


@pytest.fixture(scope="module")
def project(copy_project) -> Path:
    """A copy with cheap stages; each test brings some of them up to date."""
    project = copy_project("make")
    cheapen(project)
    install(project)
    return project


@pytest.fixture
def one_function(tmp_path: Path) -> Path:
    """A project of one function, its test and two mutants of it."""
    files = {**TESTED, "tests/mutants/areas.toml": MUTANT.format(new="width + height"),
             "tests/mutants/fact.toml": MUTANT.format(new="height * width")}  # fmt: skip
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    for name in ("Makefile", "pyproject.toml", "constraints.txt", ".gitignore", "gramlab/files.py",
                 *(f"tests/mutants/{program.name}" for program in (ROOT / "tests/mutants").glob("*.py"))):  # fmt: skip
        shutil.copy(ROOT / name, tmp_path / name)
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    install(tmp_path)
    return tmp_path


def ends_as_committed(printed: str, scale: str) -> bool:
    """Whether the last lines count the verdicts of the committed report, all of them as committed."""
    claims = json.loads((ROOT / f"reports/{scale}/claims.json").read_text())
    totals, compared = printed.splitlines()[-2:]
    return totals.startswith(f"{len(claims)} claims: ") and compared.startswith(f"{len(claims)} verdicts and ")


def test_repro_is_the_main_job(project: Path, env: dict[str, str], printed) -> None:
    (block,) = printed("docs/tutorials/first-run.md")
    before = len(begun(project))
    assert ends_as_committed(block.run(project, env), "quick")
    assert "site" in begun(project)[before:]


def test_the_two_commands_of_the_project(project: Path, one_function: Path, env: dict[str, str], printed) -> None:
    (block,) = printed("README.md")
    repro, test = block.commands()
    assert ends_as_committed(dummy_project.call(*repro, cwd=project, env=env), "quick")
    assert " passed" in dummy_project.call(*test, cwd=one_function, env=env)
    with (one_function / "tests/test_area.py").open("a") as file:
        file.write("\n\ndef test_no_area():\n    assert area(0, 4) == 1\n")
    assert subprocess.run(test, cwd=one_function, env=env, capture_output=True).returncode != 0


def test_the_atlas(project: Path, env: dict[str, str], printed) -> None:
    (block,) = printed("docs/how-to/atlas.md")
    (project / "reports/atlas/index.html").unlink()
    assert "chart@whole" not in begun(project)
    block.run(project, env)
    assert "chart@slice" in begun(project)
    assert "chart@whole" in begun(project)
    assert (project / "reports/atlas/index.html").is_file()


def test_the_papers_scale(project: Path, env: dict[str, str], printed) -> None:
    (block,) = printed("docs/how-to/paper-scale.md")
    before = len(begun(project))
    assert ends_as_committed(block.run(project, env), "paper")
    stages = begun(project)[before:]
    assert stages[-1] == "report"
    assert (stages.count("verdicts@fact"), stages.count("report")) == (1, 1), "once, though the page runs it twice"


@pytest.fixture(scope="module")
def of_fresh_seeds(printed) -> list[Block]:
    """The page's snippets: of the report, and of the atlas."""
    return printed("docs/how-to/fresh-seeds.md")


def test_fresh_seeds(project: Path, env: dict[str, str], of_fresh_seeds: list[Block]) -> None:
    """The verdicts are the committed ones at each root, so they all came back."""
    of_fresh_seeds[0].run(project, env)
    record = json.loads((project / fresh.FILE).read_text())
    assert record["roots"].keys() == {"13", "14", "21", "22"}, "--keep adds to the call before"
    assert record["claims"][CLAIM]["runs"] == record["claims"][CLAIM]["came back"] == 4
    ran = {folder.name for folder in (project / ".scratch/fresh").iterdir() if "verdicts@fact" in begun(folder)}
    named = re.search(r"(?m)^ROOTS \?= ([\d ]+)$", (project / "Makefile").read_text())
    assert named
    assert ran >= {*named[1].split(), "21", "22", "23"}


def test_fresh_seeds_of_the_atlas(project: Path, env: dict[str, str], of_fresh_seeds: list[Block]) -> None:
    of_fresh_seeds[1].run(project, env)
    record = json.loads((project / fresh.ATLAS_FILE).read_text())
    assert record["roots"].keys() == {"13", "14"}
    assert all(cell["came back"] == cell["runs"] == 2 for cell in record["cells"].values())
    assert "chart@whole" in begun(project / ".scratch/fresh/12")


def test_mutants(one_function: Path, env: dict[str, str], printed) -> None:
    (block,) = printed("docs/how-to/mutants.md")
    lines = block.run(one_function, env).splitlines()
    assert "2 mutants, 2 to run" in lines
    assert "2 mutants, 0 to run" in lines, "a mutant with a result does not run again"
    mutants = json.loads((one_function / "reports/mutants.json").read_text())["mutants"]
    assert {mutant["name"]: mutant["result"] for mutant in mutants} == {
        "width + height": "killed", "height * width": "survived"
    }  # fmt: skip
