"""The counterexamples run and show what they say, and each correction has one, with its derivation."""

import ast
import re
import runpy
import sys
import time

import pytest
from threadpoolctl import threadpool_limits

from tasks import papers
from tasks.reporting.counterexamples import counterexample, derivation
from tasks.settings import ROOT, load

SETTINGS = load("paper")
PROGRAMS = {path.stem: path for path in sorted(papers.FOLDER.glob("*/counterexamples/*.py"))}
CORRECTED = [key for key in SETTINGS.claims if hasattr(papers.claim(SETTINGS.paper[key], key), "CORRECTION")]


@pytest.mark.parametrize("key", PROGRAMS)
def test_a_counterexample_shows_its_point_in_a_few_lines_and_seconds(key, capsys):
    """Each program holds assertions: of the print's error, and of the corrected form."""
    source = PROGRAMS[key].read_text(encoding="utf-8")
    before = time.process_time()
    with threadpool_limits(1):  # threads that wait for each other spend the seconds of a busy machine
        runpy.run_path(str(PROGRAMS[key]))
    seconds = time.process_time() - before
    printed = capsys.readouterr().out
    assert 1 <= len(printed.splitlines()) <= 4
    assert re.search(r"\d", printed)
    assert source.count("assert ") >= 1
    assert seconds < 5


@pytest.mark.parametrize("key", PROGRAMS)
def test_a_counterexample_has_at_most_ten_lines_besides_blank_ones_and_comments(key):
    source = PROGRAMS[key].read_text(encoding="utf-8")
    comments = {line for node in ast.walk(ast.parse(source))
                if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
                for line in range(node.lineno, node.end_lineno + 1)}  # fmt: skip
    code = [line for number, line in enumerate(source.splitlines(), 1)
            if number not in comments and line.split("#")[0].strip()]  # fmt: skip
    assert 3 <= len(code) <= 10


@pytest.mark.parametrize("key", PROGRAMS)
def test_a_counterexample_needs_numpy_or_torch_alone(key):
    imported = re.findall(r"^(?:import|from) (\w+)", PROGRAMS[key].read_text(encoding="utf-8"), re.M)
    assert set(imported) <= {"numpy", "torch"} | sys.stdlib_module_names


@pytest.mark.parametrize("key", PROGRAMS)
def test_a_counterexample_names_its_claims(key):
    """The program is of a claim, and its first line names every claim that it is shown for."""
    first = PROGRAMS[key].read_text(encoding="utf-8").split(":")[0].lstrip('"')
    shown_for = [other for other, paper in SETTINGS.paper.items()
                 if other in SETTINGS.claims and counterexample(paper, other) == PROGRAMS[key]]  # fmt: skip
    assert {name.lower().replace(".", "_") for name in first.split(", ")} == set(shown_for)


@pytest.mark.parametrize("key", CORRECTED)
def test_every_correction_has_a_counterexample_and_a_derivation(key):
    program = counterexample(SETTINGS.paper[key], key)
    assert program is not None
    page, _, anchor = derivation(key).partition("#")
    text = (ROOT / page).read_text(encoding="utf-8")
    section = text[text.index(f'<a id="{anchor}"></a>') :]
    heading, body = section.split("\n", 2)[1:]
    assert heading.startswith("### ")
    assert program.relative_to(ROOT).as_posix() in body.split("\n### ")[0]


def test_a_claim_without_a_correction_has_neither():
    assert counterexample("weight_gram", "a_eq1") is None
    assert derivation("a_eq1") == ""


def test_links_of_the_derivations_lead_to_files():
    text = (ROOT / "docs" / "derivations.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#]+)\)", text)
    assert len(links) >= len(PROGRAMS)
    assert not [link for link in links if not (ROOT / "docs" / link).is_file()]
