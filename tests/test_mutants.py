"""The run of mutants, on a project of one function, and what the report shows of it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tasks.reporting.mutants import summary
from tests.mutants.mutants import edits, read
from tests.mutants.needed import needed
from tests.mutants.order import functions_of, ranks

ROOT = Path(__file__).resolve().parent.parent
CODE = """def area(width, height):
    return 2 * width * height / 2


def unused(x):
    return x + 1
"""
TEST = """import time

from package.code import area


def test_area():
    assert area(3, 4) == 12
"""
HEAD = '[[mutant]]\nfile = "package/code.py"\nkind = "factor"\n'
LIST = f"""
{HEAD}name = "half"\nold = "height / 2"\nnew = "height / 4"\ntests = ["tests/test_code.py"]
{HEAD}name = "unseen"\nold = "x + 1"\nnew = "x + 2"\ntests = ["tests/test_code.py::test_area"]\nexplained = "no caller"
{HEAD}name = "gone"\nold = "width + height"\nnew = "width"\ntests = ["tests/test_code.py"]
{HEAD}name = "several"\nold = "return"\nnew = "yield"\ntests = ["tests/test_code.py"]
{HEAD}name = "no code"\nold = "x + 1"\nnew = "x +"\ntests = ["tests/test_code.py"]
{HEAD}name = "red"\nold = "x + 1"\nnew = "x + 2"\ntests = ["tests/test_red.py"]
"""
EDITS = 'seed = 0\n[[module]]\nfile = "package/code.py"\ntests = ["tests/test_code.py"]\nsample = 100\n'


@pytest.fixture
def tree(tmp_path):
    """A git repository with one function, one test of it, and one that always fails."""
    files = {"package/code.py": CODE, "tests/test_code.py": TEST, "tests/mutants/by_hand.toml": LIST,
             "tests/test_red.py": "def test_red():\n    assert False\n"}  # fmt: skip
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    return tmp_path


def run(tree: Path, *options: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "tests.mutants.run", "--tree", str(tree), "--jobs", "1", *options]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def results(tree: Path) -> dict[str, tuple[str, str]]:
    mutants = json.loads((tree / "reports/mutants.json").read_text())["mutants"]
    return {mutant["name"]: (mutant["result"], mutant["by"]) for mutant in mutants}


def test_mutants_are_killed_survive_or_do_not_apply(tree):
    done = run(tree)
    assert done.returncode == 1, done.stderr  # not all could be judged
    assert "6 mutants, 6 to run" in done.stdout
    assert results(tree) == {
        "half": ("killed", "tests/test_code.py::test_area"),
        "unseen": ("survived", ""),
        "gone": ("does not apply", "the old text occurs 0 times in package/code.py"),
        "several": ("does not apply", "the old text occurs 2 times in package/code.py"),
        "no code": ("does not apply", "invalid syntax (<unknown>, line 6)"),
        "red": ("tests fail without it", "tests/test_red.py::test_red"),
    }
    assert (tree / "package/code.py").read_text() == CODE


def test_only_what_has_no_result_runs(tree):
    two = LIST.split(HEAD)[1:3]
    (tree / "tests/mutants/by_hand.toml").write_text("".join(HEAD + entry for entry in two))
    assert "2 to run" in run(tree).stdout
    first = (tree / "reports/mutants.json").read_bytes()
    again = run(tree)
    assert again.returncode == 0
    assert "2 mutants, 0 to run" in again.stdout
    assert (tree / "reports/mutants.json").read_bytes() == first
    # as if the run had been killed after the first mutant
    content = json.loads(first)
    (tree / "reports/mutants.json").write_text(json.dumps({**content, "mutants": content["mutants"][:1]}))
    assert "2 mutants, 1 to run" in run(tree).stdout
    assert (tree / "reports/mutants.json").read_bytes() == first
    # a test that sees more kills more; what killed the first mutant is as it was
    more = TEST + "\n\ndef test_unused():\n    from package.code import unused\n\n    assert unused(1) == 2\n"
    (tree / "tests/test_code.py").write_text(more)
    mutants = (tree / "tests/mutants/by_hand.toml").read_text().replace("::test_area", "")
    (tree / "tests/mutants/by_hand.toml").write_text(mutants)
    assert "2 mutants, 1 to run" in run(tree).stdout
    assert results(tree)["unseen"] == ("killed", "tests/test_code.py::test_unused")
    (tree / "package/code.py").write_text(CODE + "\n")
    assert "2 mutants, 0 to run" in run(tree, "--only", "another").stdout
    assert run(tree, "--list").stdout.count("not run") == 2


ORDERED = """import time
from pathlib import Path

from package import code


def test_reads_the_file():
    assert "+ 1" in Path(code.__file__).read_text()


def test_slow():
    time.sleep(0.3)
    assert code.area(3, 4) == 12


def test_fast():
    assert code.area(3, 4) == 12
"""


def test_the_fastest_test_that_enters_the_mistake_runs_first(tree):
    """All others run after it: the last mutant is killed by a test that calls nothing."""
    (tree / "tests/test_code.py").write_text(ORDERED)
    mutants = "".join(HEAD + entry for entry in LIST.split(HEAD)[1:3]).replace("::test_area", "")
    (tree / "tests/mutants/by_hand.toml").write_text(mutants)
    assert run(tree).returncode == 0
    assert results(tree) == {
        "half": ("killed", "tests/test_code.py::test_fast"),
        "unseen": ("killed", "tests/test_code.py::test_reads_the_file"),
    }


def test_a_change_is_in_the_innermost_function_around_it():
    source = "import math\n\n\n@decorated\ndef outer(x):\n    def inner(y):\n        return y\n\n    return inner(x)\n"
    assert functions_of(source, [7]) == {6}
    assert functions_of(source, [9]) == {4}  # its code begins at the decorator
    assert functions_of(source, [7, 9]) == {4, 6}
    assert functions_of(source, [1]) == set()
    # a change outside all functions runs when the module is imported: no test is outside
    records = {"a": (0.2, frozenset({"m.py:6"})), "b": (0.1, frozenset())}
    assert ranks(records, "m.py", source, [1]) == {"a": (False, 0.2), "b": (False, 0.1)}
    assert ranks(records, "m.py", source, [7]) == {"a": (False, 0.2), "b": (True, 0.1)}


def test_edits_that_are_not_python_are_not_drawn():
    source = "def join(a, b):\n    return dict(**a, **b)\n"
    assert [name for _, name, _ in edits(source, "0", 10)] == []


def test_every_mutant_of_this_project_fits_the_code_and_names_tests_that_exist():
    wrong = []
    for mutant in read(ROOT, by_hand_alone=True):
        try:
            mutant.planted_in((ROOT / mutant.file).read_text(encoding="utf-8"))
        except (OSError, ValueError, SyntaxError) as error:
            wrong.append(f"{mutant.group}, {mutant.name}: {error}")
        for file, _, test in (name.partition("::") for name in mutant.tests):
            if f"def {test.partition('[')[0]}" not in (ROOT / file).read_text(encoding="utf-8"):
                wrong.append(f"{mutant.group}, {mutant.name}: {file} has no {test}")
    assert not wrong, "\n".join(wrong)


def test_a_result_from_before_a_change_is_kept_apart(tree):
    first, second = (HEAD + entry for entry in LIST.split(HEAD)[1:3])
    (tree / "tests/mutants/by_hand.toml").write_text(first)
    (tree / "tests/mutants/other.toml").write_text(second)
    assert run(tree).returncode == 0
    (tree / "tests/test_code.py").write_text(TEST.replace("12", "12.0"))
    for _ in range(2):  # a second run keeps what the first one kept
        assert run(tree, "--only", "other").returncode == 0
        half, unseen = json.loads((tree / "reports/mutants.json").read_text())["mutants"]
        assert (half["result"], half["earlier"]["result"]) == ("not run", "killed")
        assert unseen["result"] == "survived"
        assert "earlier" not in unseen
    assert run(tree).returncode == 0
    assert results(tree) == {"half": ("killed", "tests/test_code.py::test_area"), "unseen": ("survived", "")}


NEEDS = """import helpers
import pytest
from other import SIZE, unused

pytestmark = []


@pytest.fixture(name="three")
def _three():
    return helpers.three()


def test_a(three, above):
    assert three == SIZE


@pytest.mark.parametrize("x", [1])
def test_b(x):
    assert "unused" or unused
"""


@pytest.mark.parametrize(
    ("file", "old", "new", "out_of_date"),
    [
        ("tests/code/test_code.py", "== SIZE", "<= SIZE", "a"),  # the test itself
        ("tests/code/test_code.py", "helpers.three()", "1 + helpers.three()", "a"),  # a fixture with another name
        ("tests/code/helpers.py", "1 + 2", "2 + 1", "a"),  # what the fixture calls
        ("tests/other.py", "SIZE = 3", "SIZE = 4", "a"),  # a constant from another folder
        ("tests/conftest.py", "return 5", "return 6", "a"),  # a fixture of a folder above
        ("tests/conftest.py", "yield 7", "yield 8", "ab"),  # a fixture that every test has
        ("tests/code/test_code.py", "pytestmark = []", "pytestmark = [1]", "ab"),
        ("tests/code/test_code.py", "[1]", "[2]", "b"),
        ("tests/other.py", "def unused(): ...", "def unused(): pass", "b"),
        ("tests/other.py", "NOBODY = 1", "NOBODY = 2", ""),
        ("package/code.py", "width", "length", ""),
    ],
)
def test_a_result_is_out_of_date_when_code_changes_that_its_test_needs(tree, file, old, new, out_of_date):
    files = {
        "tests/code/test_code.py": NEEDS,
        "tests/code/helpers.py": "def three():\n    return plus()\n\n\ndef plus():\n    return 1 + 2\n",
        "tests/other.py": "SIZE = 3\nNOBODY = 1\ndef unused(): ...\n",
        "tests/conftest.py": "import pytest\n\n\n@pytest.fixture\ndef above():\n    return 5\n\n\n"
                             "@pytest.fixture(autouse=True)\ndef always():\n    yield 7\n",
    }  # fmt: skip
    for name, text in files.items():
        (tree / name).parent.mkdir(exist_ok=True)
        (tree / name).write_text(text)
    tests = {"a": "tests/code/test_code.py::test_a", "b": "tests/code/test_code.py::test_b[1]"}
    before = {name: needed(tree, test) for name, test in tests.items()}
    text = (tree / file).read_text()
    assert old in text
    (tree / file).write_text(text.replace(old, new, 1))
    assert {name for name, test in tests.items() if needed(tree, test) != before[name]} == set(out_of_date)


def test_a_test_that_never_ends_is_killed(tree):
    endless = LIST.split(HEAD)[1].replace('"height / 4"', '"height / 2 + 0 * [None for _ in iter(int, 1)]"')
    (tree / "tests/mutants/by_hand.toml").write_text(HEAD + endless)
    assert run(tree, "--seconds", "3").returncode == 0
    assert results(tree) == {"half": ("killed", "the time limit")}


def test_small_edits_are_drawn_once_a_place(tree):
    (tree / "tests/mutants/by_hand.toml").unlink()
    (tree / "tests/mutants/generic.toml").write_text(EDITS)
    assert run(tree).returncode == 0
    by_name = results(tree)
    # two numbers and three operators in `area`, a number and an operator in `unused`
    assert len(by_name) == 7
    assert all(result == "survived" for name, (result, _) in by_name.items() if "x + 1" in name)
    assert sum("x + 1" in name for name in by_name) == 2
    (tree / "tests/mutants/generic.toml").write_text(EDITS.replace("100", "3"))
    names = [line for line in run(tree, "--list").stdout.splitlines() if line.startswith("generic")]
    assert len(names) == 3
    assert not any(name.endswith("not run") for name in names)  # a smaller sample is part of the larger one


def test_the_report_counts_by_kind_and_file(tmp_path):
    path = tmp_path / "mutants.json"
    assert summary(path) is None
    mutants = [
        {"group": group, "kind": kind, "name": str(i), "file": file, "result": result, "explained": ""}
        for i, (group, kind, file, result) in enumerate([
            ("library", "sign", "a.py", "killed"), ("library", "sign", "b.py", "survived"),
            ("generic", "number", "a.py", "killed"), ("library", "sign", "b.py", "does not apply"),
        ])
    ]  # fmt: skip
    path.write_text(json.dumps({"commit": "", "mutants": mutants}))
    shown = summary(path)
    assert (shown["planted"], shown["killed"]) == (3, 2)
    assert [tuple(row.values()) for row in shown["kinds"]] == [("drawn: number", 1, 1), ("sign", 2, 1)]
    assert [tuple(row.values()) for row in shown["files"]] == [("a.py", 2, 2), ("b.py", 1, 0)]
    assert [mutant["name"] for mutant in shown["survivors"]] == ["1"]
