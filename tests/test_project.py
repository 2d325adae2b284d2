"""The promises of the layout: arrows between packages go one way, a claim is a file, every public name loads."""

import ast
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def imported(path) -> set[str]:
    """Modules that a file imports, anywhere in it."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


@pytest.mark.parametrize(
    ("folder", "never"),
    [
        ("gramlab", ("dvc", "prefect", "tasks", "flows", "yaml", "pydantic")),
        ("gramlab/measures", ("gramlab.theory", "gramlab.nets", "matplotlib", "seaborn")),
        ("gramlab/kernels", ("gramlab.nets", "matplotlib", "seaborn")),
        ("gramlab/theory", ("gramlab.measures",)),
        ("gramlab/nets", ("gramlab.measures", "matplotlib", "seaborn")),
        ("gramlab/data", ("gramlab.measures", "gramlab.nets", "matplotlib", "seaborn")),
        ("tasks", ("dvc", "prefect", "flows")),
    ],
)
def test_arrows_go_one_way(folder, never):
    for path in (ROOT / folder).rglob("*.py"):
        crossed = {name for name in imported(path) for other in never if name == other or name.startswith(other + ".")}
        assert not crossed, f"{path.relative_to(ROOT)} imports {crossed}"


def test_a_claim_and_an_experiment_is_one_file():
    """A paper's folder holds a file for each key in params.yaml, and no other; the file says the key's id."""
    from tasks import papers
    from tasks.settings import load

    settings = load("quick")
    for paper in papers.names():
        folder = ROOT / "tasks" / "papers" / paper
        claims, experiments = (
            {path.stem for path in (folder / kind).glob("*.py")} - {"__init__"} for kind in ("claims", "experiments")
        )
        assert claims == set(settings.claims_of(paper))
        assert experiments == {key for key in settings.experiments if settings.paper[key] == paper}
        for key in claims:
            source = (folder / "claims" / f"{key}.py").read_text()
            identity = re.search(r'^ID = "(.*)"', source, flags=re.M).group(1)
            assert key == identity.lower().replace(".", "_")
            assert identity.startswith(papers.paper(paper).LETTER)
            assert len(ast.get_docstring(ast.parse(source))) > 40


def test_a_paper_names_no_other_paper():
    """A fifth paper is a fifth folder and its stages: nothing else in tasks/ or flows/ knows a paper's name."""
    names = [path.parent.name for path in ROOT.glob("tasks/papers/*/__init__.py")]
    for path in [*ROOT.glob("tasks/**/*.py"), *ROOT.glob("flows/*.py")]:
        named = {name for name in names if name not in path.parts and f"papers.{name}" in path.read_text()}
        assert not named, f"{path.relative_to(ROOT)} names {named}"


def test_light_modules_need_no_torch():
    code = "import sys, gramlab, gramlab.tables, gramlab.files; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_claim_starts_without_torch():
    claim, slow = "tasks.papers.weight_gram.claims.a_fig7", {"torch"}
    code = f"import sys, {claim}; print({slow} & {{*sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True)
    assert done.stdout == "set()\n"


def test_every_public_name_loads():
    import gramlab

    for name in gramlab._HOME:
        assert getattr(gramlab, name).__doc__, name


def test_two_files_of_tests_share_no_name():
    """Without packages, pytest imports a file of tests by its bare name, and so only one of two equal names."""
    names = Counter(path.name for path in (ROOT / "tests").rglob("test_*.py"))
    assert max(names.values()) == 1, names.most_common(3)
