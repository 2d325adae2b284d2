"""The command ``gramlab``: its mistakes, its page, its completion, and the commands that only a clone has."""

import json
import os
import shlex
import shutil
import subprocess
import sys
import tomllib
from bisect import bisect_right
from copy import deepcopy
from pathlib import Path

import pytest
import yaml

from flows.claims import judged
from gramlab.cli import clone, main
from gramlab.files import BadInput
from tasks.commands.claims import report
from tasks.commands.new import _write, add_entry
from tasks.judging.finding import find
from tasks.judging.rows import Rows
from tasks.judging.verdict import judge
from tasks.settings import load

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ("new", "paper", "example", "--letter", "E", "--title", "An example of a paper", "--arxiv", "0000.00000")
NEW = {"E.trace": "exact", "E.norm.of.the.weights": "bound", "E.top": "statistical"}
ONE_FILE = "tests/test_project.py::test_a_claim_and_an_experiment_is_one_file"
MEASURE = """
import json, sys
from importlib import import_module
experiment = import_module(f"tasks.papers.example.experiments.{sys.argv[1]}")
print(json.dumps(list(experiment.measure(experiment.Settings(instances=20)))))
"""


def call(capsys, *arguments: str) -> tuple[int, str, str]:
    """The exit status, the output and the errors of a command."""
    with pytest.raises(SystemExit) as ending:
        main(list(arguments))
    return (ending.value.code, *capsys.readouterr())


MISTAKES = {
    "command": (["prob"],
                "gramlab: no command 'prob'; the commands are probe, batches, figures, claims, compare, new; "
                "did you mean 'probe'?\n"),
    "command of a clone": (["claim"], "gramlab: no command 'claim'; the commands are probe, "),
    "command below": (["claims", "sho"], "gramlab claims: No such command 'sho'. Did you mean 'show'?"),
    "option": (["claims", "list", "--papr", "A"], "gramlab claims list: No such option: --papr"),
    "value": (["claims", "show", "a_fig7", "--scale", "huge"], "gramlab claims show: Invalid value for '--scale'"),
    "value with a near one": (["claims", "list", "--scale", "papr"],
                              "gramlab claims list: Invalid value for '--scale': 'papr' is not one of 'quick', "
                              "'paper'; did you mean 'paper'?\n"),
    "kind": (["new", "claim", "A.b", "--kind", "exat"],
             "gramlab new claim: Invalid value for '--kind': 'exat' is not one of 'exact', 'bound', 'statistical'; "
             "did you mean 'exact'?\n"),
    "nothing": (["claims", "show"], "gramlab claims show: Missing argument 'claim'."),
    "claim": (["claims", "show", "A.fgi7"], "gramlab claims show: no claim 'A.fgi7'; did you mean 'A.fig7'?\n"),
    "claim to run": (["claims", "run", "a_fg7"], "gramlab claims run: no claim 'a_fg7'; did you mean 'a_fig7'?"),
    "paper": (["claims", "list", "--paper", "fct"],
              "gramlab claims list: no paper 'fct'; the papers are A (weight_gram), "),
    "verdict": (["claims", "list", "--verdict", "hold"],
                "gramlab claims list: no verdict 'hold'; the verdicts are holds, holds corrected, fails, inconclusive, "
                "not run; did you mean 'holds'?\n"),
    "commit": (["compare", "nonsense"], "gramlab compare: nonsense is not a commit of this repository"),
    "id": (["new", "claim", "thm1"], "gramlab new claim: 'thm1' is no id; "),
    "letter": (["new", "claim", "Z.thm1"], "gramlab new claim: no paper has the letter Z; the letters are A, B, C, D"),
    "claim that is there": (["new", "claim", "A.fig7"], "gramlab new claim: params.yaml has a claim 'a_fig7' already"),
    "experiment that is there": (["new", "claim", "A.fig8x", "--experiment", "a_fig88"],
                                 "gramlab new claim: no experiment 'a_fig88'; did you mean 'a_fig8'?"),
    "letter that is there": (["new", "paper", "x", "--letter", "A", "--title", "t", "--arxiv", "0"],
                             "gramlab new paper: the letter A is that of weight_gram; taken: A, B, C, D"),
    "name": (["new", "paper", "Two", "--letter", "E", "--title", "t", "--arxiv", "0"],
             "gramlab new paper: the name 'Two' must begin with a small letter"),
    "name that is a keyword": (["new", "paper", "class", "--letter", "A", "--title", "t", "--arxiv", "0"],
                               "gramlab new paper: the name 'class' is a word of Python's or YAML's own; choose"),
    "name that YAML reads as True": (["new", "paper", "on", "--letter", "A", "--title", "t", "--arxiv", "0"],
                                     "gramlab new paper: the name 'on' is a word of Python's or YAML's own; choose"),
    "title of two lines": (["new", "paper", "x", "--letter", "A", "--title", "two\u2028lines", "--arxiv", "0"],
                           "gramlab new paper: the title and the number must be one printable line"),
    "title with a control character": (["new", "paper", "x", "--letter", "A", "--title", "a\x0cb", "--arxiv", "0"],
                                       "gramlab new paper: the title and the number must be one printable line"),
    "empty title": (["new", "paper", "x", "--letter", "A", "--title", "", "--arxiv", "0"],
                    "gramlab new paper: --title must not be empty\n"),
    "blank title and number": (["new", "paper", "x", "--letter", "A", "--title", " ", "--arxiv", " "],
                               "gramlab new paper: --title and --arxiv must not be empty\n"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_line_with_the_nearest_name(capsys, name):
    arguments, line = MISTAKES[name]
    status, output, errors = call(capsys, *arguments)
    assert (status, output, errors.count("\n")) == (2, "", 1), errors
    assert errors.startswith(line), errors
    changed = subprocess.run(["git", "status", "--porcelain", "params.yaml", "tasks/papers"], cwd=ROOT,
                             capture_output=True, text=True)  # fmt: skip
    assert "??" not in changed.stdout


def test_without_arguments_the_help_is_shown(capsys):
    status, _, errors = call(capsys)
    assert status == 2
    assert errors.startswith("Usage: gramlab [OPTIONS] COMMAND")
    assert "130 after Ctrl-C" in " ".join(errors.split())


def test_the_page_of_the_docs_is_the_help_of_today(tmp_path):
    """``make docs/reference/cli.md`` makes it anew."""
    (line,) = [line for line in (ROOT / "Makefile").read_text().splitlines() if "utils docs" in line]
    command = shlex.split(line)[1:]
    assert command[-1] == "docs/reference/cli.md"
    documented = [sys.executable, "-m", "typer", *command[:-1], str(tmp_path / "cli.md")]
    subprocess.run(documented, check=True, cwd=ROOT, capture_output=True)
    assert (tmp_path / "cli.md").read_text() == (ROOT / "docs/reference/cli.md").read_text()


@pytest.mark.parametrize(
    ("words", "completed"),
    [("gramlab cl", {"claims"}), ("gramlab claims s", {"show"}), ("gramlab claims show a_fig1", {"a_fig1", "a_fig10"})],
)
def test_the_shell_completes_commands_and_claims(words, completed):
    env = {**os.environ, "_GRAMLAB_COMPLETE": "complete_bash", "COMP_WORDS": words,
           "COMP_CWORD": str(len(words.split()) - 1)}  # fmt: skip
    program = "from gramlab.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=env, capture_output=True, text=True)
    assert completed <= set(done.stdout.split()), done.stderr
    assert all(word.startswith(words.split()[-1]) for word in done.stdout.split())


def test_listed_claims_are_those_of_the_report(capsys):
    claims = json.loads((ROOT / "reports/quick/claims.json").read_text())
    status, output, _ = call(capsys, "claims", "list", "--json")
    assert status == 0
    assert {claim["id"]: claim["verdict"] for claim in json.loads(output)} == {
        name: claim["verdict"] for name, claim in claims.items()
    }
    status, output, _ = call(capsys, "claims", "list", "--paper", "neural_collapse", "--verdict", "holds", "--json")
    assert {claim["id"] for claim in json.loads(output)} == {
        name for name, claim in claims.items() if claim["paper"] == "D" and claim["verdict"] == "holds"
    }
    status, output, _ = call(capsys, "claims", "list", "--paper", "D", "--verdict", "holds")
    assert all(name in output for name in claims if name.startswith("D.") and claims[name]["verdict"] == "holds")


@pytest.mark.parametrize("missing", [(), ("D.fig12", "A.eq1")])
def test_claims_that_the_report_lacks_are_listed_as_not_run(capsys, monkeypatch, tmp_path, missing):
    """The paper scale, and the same with fewer claims in its report."""
    reported = json.loads((ROOT / "reports/paper/claims.json").read_text())
    (tmp_path / "reports/paper").mkdir(parents=True)
    remaining = {name: claim for name, claim in reported.items() if name not in missing}
    (tmp_path / "reports/paper/claims.json").write_text(json.dumps(remaining))
    monkeypatch.setattr("tasks.commands.claims.ROOT", tmp_path)
    status, output, _ = call(capsys, "claims", "list", "--scale", "paper", "--json")
    quick = json.loads((ROOT / "reports/quick/claims.json").read_text())
    assert status == 0
    assert {claim["id"]: claim["verdict"] for claim in json.loads(output)} == {
        name: remaining[name]["verdict"] if name in remaining else "not run" for name in quick
    }
    for claim in json.loads(output):  # what both reports say of a claim, whether it was run or not
        assert [claim[name] for name in ("key", "paper", "title", "asserted")] == [
            quick[claim["id"]][name] for name in ("key", "paper", "title", "asserted")
        ]
    status, output, _ = call(capsys, "claims", "show", "D.fig12", "--scale", "paper")
    assert status == 0
    assert output.startswith(f"D.fig12: {quick['D.fig12']['title']}\n{quick['D.fig12']['statement']}\n")
    if "D.fig12" not in remaining:
        assert "verdict at the paper scale: not run (takes too long here)\n" in output


@pytest.mark.parametrize(("scale", "maker"), [("quick", "make repro"), ("paper", "make paper")])
def test_a_missing_report_is_one_line_with_the_command_of_its_scale(capsys, monkeypatch, tmp_path, scale, maker):
    monkeypatch.setattr("tasks.commands.claims.ROOT", tmp_path)
    status, output, errors = call(capsys, "claims", "list", "--scale", scale)
    assert (status, output, errors.count("\n")) == (2, "", 1)
    assert errors.startswith(f"gramlab claims list: reports/{scale}/claims.json cannot be read (")
    assert errors.endswith(f"; `{maker}` makes it anew\n")


@pytest.mark.parametrize("size", [0, 9, 11])
def test_a_report_that_was_written_half_is_named(capsys, monkeypatch, tmp_path, size):
    """Also where it ends within a letter of several bytes, as ᵀ is."""
    report = tmp_path / "reports/quick/claims.json"
    report.parent.mkdir(parents=True)
    report.write_bytes('{"A.x": "WᵀW"}'.encode()[:size])
    monkeypatch.setattr("tasks.commands.claims.ROOT", tmp_path)
    status, output, errors = call(capsys, "claims", "list")
    assert (status, output, errors.count("\n")) == (2, "", 1)
    assert errors.startswith("gramlab claims list: reports/quick/claims.json cannot be read (")
    assert errors.endswith("; `make repro` makes it anew\n")


def test_the_last_line_of_the_list_counts_the_verdicts(capsys):
    claims = json.loads((ROOT / "reports/quick/claims.json").read_text()).values()
    verdicts = [claim["verdict"] for claim in claims if claim["paper"] == "A"]
    assert "fails" in verdicts, "the names of such claims are no counts"
    _, output, _ = call(capsys, "claims", "list", "--paper", "A")
    total, shown = output.splitlines()[-1].split(": ", 1)
    assert total == f"{len(verdicts)} claims"
    assert set(shown.split(", ")) == {f"{verdicts.count(verdict)} {verdict}" for verdict in set(verdicts)}


@pytest.mark.parametrize("arguments", [("list",), ("list", "--json"), ("show", "A.fig7"), ("show", "A.fig7", "--json")])
def test_a_closed_pipe_ends_the_command_silently(arguments):
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "gramlab", "claims", *arguments]
    done = subprocess.run(command, cwd=ROOT, stdout=write, stderr=subprocess.PIPE, text=True)
    os.close(write)
    assert (done.returncode, done.stderr) == (1, "")


def test_a_shown_claim_has_its_statements_and_files(capsys):
    claim = json.loads((ROOT / "reports/quick/claims.json").read_text())["A.fig7"]
    status, output, _ = call(capsys, "claims", "show", "A.fig7", "--json")
    assert (status, json.loads(output)) == (0, claim)
    status, output, _ = call(capsys, "claims", "show", "a_fig7")
    assert status == 0
    assert f"verdict at the quick scale: {claim['verdict']}\n" in output
    first_column = " ".join(line.split("│")[1].strip() for line in output.splitlines() if line.startswith("│"))
    assert all(statement["name"] in first_column for statement in claim["statements"])  # a long name takes two lines
    assert "tasks/papers/weight_gram/experiments/a_fig7.py\n" in output


def copied_library(folder: Path):
    """The command ``gramlab`` of a copy of the library alone, in this folder."""
    shutil.copytree(ROOT / "gramlab", folder / "gramlab", ignore=shutil.ignore_patterns("__pycache__"))
    env = {**os.environ, "PYTHONPATH": str(folder)}

    def gramlab(*arguments: str) -> subprocess.CompletedProcess:
        command = [sys.executable, "-m", "gramlab", *arguments]
        return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)

    return gramlab


def test_outside_a_clone_the_library_knows_its_own_commands_alone(tmp_path):
    gramlab = copied_library(tmp_path)
    for name in clone.NAMES:
        done = gramlab(name, "anything")
        assert (done.returncode, done.stdout, done.stderr) == (2, "", f"gramlab: {name} {clone.MISSING}\n")
    listed = gramlab("--help").stdout
    assert "  figures " in listed
    assert not any(f"  {name} " in listed for name in clone.NAMES)


def test_a_command_whose_packages_are_missing_says_what_it_needs(tmp_path):
    gramlab = copied_library(tmp_path)
    (tmp_path / "pyproject.toml").write_text('[tool.gramlab.commands]\nclaims = "not_there.claims:app"\n')
    done = gramlab("claims", "list")
    line = f"gramlab: claims {clone.MISSING} (not_there is missing)\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", line)


def test_the_names_of_a_clones_commands_are_those_of_its_pyproject():
    table = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["gramlab"]["commands"]
    assert tuple(table) == clone.NAMES


def test_an_entry_comes_to_the_end_of_its_section_and_leaves_the_rest():
    text = "one:  # first\n  train: {}\n  claims:   # CLAIM: of\n    a: b\n    # last\n\n# two's\ntwo:\n  claims: {}\n"
    once = add_entry(text, "one", "claims", "c: d")
    assert once == text.replace("    # last\n", "    # last\n    c: d\n")
    assert yaml.safe_load(add_entry(once, "two", "claims", "e: f"))["two"] == {"claims": {"e": "f"}}
    assert add_entry(once, "one", "train", "e: {g: 1}") == once.replace("  train: {}\n", "  train:\n    e: {g: 1}\n")
    with pytest.raises(BadInput, match=r"one\.claims is laid out otherwise than expected; add there: c: d"):
        add_entry("one:\n  claims: {a: b}\n", "one", "claims", "c: d")
    with pytest.raises(BadInput, match="has no line 'simulate'"):
        add_entry(text, "one", "simulate", "c: d")


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_the_settings_keep_their_line_ends(line_end, monkeypatch, tmp_path):
    monkeypatch.setattr("tasks.commands.new.ROOT", tmp_path)
    text = f"one:{line_end}  claims:   # é{line_end}    a: b{line_end}".encode()
    (tmp_path / "params.yaml").write_bytes(text)
    _write({"new/file.py": "a = 1\nb = 2\n"}, add_entry(read(tmp_path), "one", "claims", "c: d"), as_json=True)
    assert (tmp_path / "params.yaml").read_bytes() == text + f"    c: d{line_end}".encode()
    assert (tmp_path / "new/file.py").read_bytes() == b"a = 1\nb = 2\n"


def read(folder: Path) -> str:
    return (folder / "params.yaml").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def example(copy_project, environment):
    """A project with a fifth paper and a claim of each kind, made by the command; the command in it."""
    project = copy_project("new")

    def gramlab(*arguments: str) -> subprocess.CompletedProcess:
        command = [sys.executable, "-m", "gramlab", *arguments]
        return subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True)

    for command in (EXAMPLE, *(("new", "claim", name, "--kind", kind) for name, kind in NEW.items())):
        done = gramlab(*command)
        assert done.returncode == 0, done.stderr
    return project, gramlab


def test_new_files_pass_lint_and_their_own_tests(example, environment):
    project, _ = example
    names = {line[3:] for line in status(project)}
    assert names == {"params.yaml", *(f"{folder}/example/" for folder in
                     ("pipeline/paper", "pipeline/quick", "tasks/papers", "tests/papers"))}  # fmt: skip
    for command in (["ruff", "check", "tasks", "tests/papers"], ["ruff", "format", "--check", "tasks", "tests/papers"],
                    [sys.executable, "-m", "pytest", "tests/papers/example", ONE_FILE]):  # fmt: skip
        done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


def status(project: Path) -> list[str]:
    return subprocess.run(
        ["git", "status", "--porcelain"], cwd=project, capture_output=True, text=True
    ).stdout.splitlines()


@pytest.mark.parametrize("name", NEW)
def test_the_rules_of_new_claims_see_their_experiments(example, environment, name):
    """As they are made, they hold and their controls are rejected."""
    project, key = example[0], name.lower().replace(".", "_")
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, key], cwd=project, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    blank = {"case": "", "layer": "", "seed": 0, "step": 0, "x": 0.0, "experiment": key, "scale": "quick"}
    rows = Rows([{**blank, **row} for row in json.loads(done.stdout)])
    claim = load_module(project / f"tasks/papers/example/claims/{key}.py")
    verdict = judge({key: find(claim, "E", rows, key, "quick", {20})})[key]
    assert (verdict["id"], verdict["verdict"]) == (name, "holds")
    assert [control["rejected"] for control in verdict["controls"].values()] == [True]


def load_module(path: Path):
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location(path.stem, path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_new_claim_runs_to_its_verdict(example):
    project, gramlab = example
    done = gramlab("claims", "run", "E.trace", "--json")
    assert done.returncode == 0, done.stderr
    entry = json.loads(done.stdout)
    assert (entry["verdict"], entry["controls"]) == (
        "holds",
        {"all entries": {"rejected": True, "by": ["trace and norm"]}},
    )
    assert "2 stages brought up to date" in done.stderr
    again = gramlab("claims", "run", "e_trace")
    assert "0 stages brought up to date, 2 already were" in again.stderr
    assert "verdict at the quick scale: holds\n" in again.stdout
    assert (project / "data/quick/figures/e_trace.svg").is_file()


def test_a_mistyped_quantity_is_named(example):
    project, gramlab = example
    claim = project / "tasks/papers/example/claims/e_top.py"
    printed = claim.read_text(encoding="utf-8")
    claim.write_text(printed.replace("e_top/eigenvalue", "e_top/eigenvalu"), encoding="utf-8")
    done = gramlab("claims", "run", "E.top")
    claim.write_text(printed, encoding="utf-8")
    line = "E.top, above the mean: the table has no quantity 'e_top/eigenvalu'; did you mean 'e_top/eigenvalue'?"
    assert (done.returncode, done.stderr.splitlines()[-1]) == (1, f"gramlab claims run: {line}")
    assert not done.stdout, "no verdict on a table that lacks a quantity"


@pytest.mark.parametrize(
    ("section", "line"),
    [("", "params.yaml has no line 'example'"),
     ("example:\n", "params.yaml has no line 'simulate'"),
     ("example:\n  train: {}\n  claims: {}\n", "params.yaml has no line 'simulate'")],
)  # fmt: skip
def test_a_paper_without_its_section_of_the_settings_is_one_line(example, section, line):
    project, gramlab = example
    before, params = status(project), project / "params.yaml"
    text = params.read_text(encoding="utf-8")
    params.write_text(text.partition("example:\n")[0] + section, encoding="utf-8")
    done = gramlab("new", "claim", "E.late")
    params.write_text(text, encoding="utf-8")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"gramlab new claim: {line}\n")
    assert status(project) == before


@pytest.mark.parametrize("key", ["a_fig7", "b_fig4", "c_tab2"])
def test_holms_correction_counts_the_papers_other_claims(key):
    """A claim judged anew on the finding that the report shows has the p-values of Holm's formula."""
    claims = report("quick")
    entry, settings = claims[key], load("quick")
    again = judged({**deepcopy(entry), "ran": True, "tests": entry["asserted"]}, key, "quick")
    assert again["verdict"] == entry["verdict"]
    of_paper = [claim for claim in claims.values() if claim["paper"] == entry["paper"]]
    asserted = [statement for claim in of_paper for statement in claim["statements"] if statement["kind"] == "asserted"]
    forms = [form for statement in asserted for form in statement["forms"].values()]
    p_values = sorted(form["p"] for form in forms if form["p"] is not None)
    waiting = len(settings.claims_of(settings.paper[key])) - len(of_paper)  # claims that the report does not have yet
    waiting += sum(not statement["forms"] for statement in asserted)
    corrected = 0
    for statement in (statement for statement in again["statements"] if statement["kind"] == "asserted"):
        for form in (form for form in statement["forms"].values() if form["p"] is not None):
            rank = bisect_right(p_values, form["p"])
            steps = [min(1.0, (len(p_values) + waiting - place) * p) for place, p in enumerate(p_values[:rank])]
            assert form["p, Holm"] == pytest.approx(max(steps), rel=1e-12)
            corrected += form["p, Holm"] > form["p"]
    assert corrected, "no p-value of the claim is corrected"


@pytest.mark.parametrize("program", ["site", "calibrate"])
def test_a_program_without_options_refuses_arguments(program):
    """Before it writes: its results are in git."""
    command = [sys.executable, "-m", f"tasks.{program}", "--scale", "quick"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 2
    assert f"python -m tasks.{program}: error: unrecognized arguments: --scale quick" in result.stderr
