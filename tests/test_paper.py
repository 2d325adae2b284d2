"""The paper scale as it is committed: today's rules give its verdicts again, and the same pages."""

import contextlib
import json
import math
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gramlab import tables
from tasks import papers
from tasks.judging.contract import ContractError, with_all_forms, without_retired
from tasks.judging.decay import with_total_decay
from tasks.judging.finding import find
from tasks.judging.rows import Rows
from tasks.judging.verdict import judge
from tasks.settings import load

PAPER = Path(__file__).resolve().parent.parent / "reports" / "paper"
CLAIMS = json.loads((PAPER / "claims.json").read_text())
SETTINGS = load("paper")


def same(first, second) -> bool:
    """Equal up to the round-off between machines."""
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(same(first[key], second[key]) for key in first)
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(same, first, second))
    if isinstance(first, float) and isinstance(second, float):
        return math.isclose(first, second, rel_tol=1e-8, abs_tol=1e-11) or (math.isnan(first) and math.isnan(second))
    return first == second


def judged(paper: str) -> dict[str, dict]:
    """Today's verdicts on the paper's claims whose table is in git and holds what the statements need, by key."""
    findings, keys = {}, SETTINGS.claims_of(paper)
    letter = papers.paper(paper).LETTER
    for key in keys:
        experiment = SETTINGS.claims[key]
        path = PAPER / "tables" / f"{experiment}.parquet"
        if path.is_file():
            table = tables.read(path)
            with contextlib.suppress(ContractError):  # a table from before its statements: the claim waits
                claim = papers.claim(paper, key)
                rows = with_all_forms(without_retired(Rows(table), claim, "paper"), claim)
                reduced = SETTINGS.reduced(experiment)
                finding = find(claim, letter, rows, experiment, "paper", tables.seeds(table), reduced)
                run = SETTINGS.train[experiment].by_variant() if experiment in SETTINGS.train else {}
                findings[key] = with_total_decay(finding, claim, rows, run) if run else finding
    statements = [statement for key in keys if key not in findings for statement in papers.claim(paper, key).STATEMENTS]
    waiting = sum(statement.kind == "asserted" for statement in statements)
    return judge(json.loads(json.dumps(findings)), waiting)


@pytest.mark.parametrize("paper", papers.names())
def test_todays_rules_give_the_committed_verdicts(paper):
    verdicts = judged(paper)
    letter = papers.paper(paper).LETTER
    others = {name for name in CLAIMS if name[0] == letter} - {verdict["id"] for verdict in verdicts.values()}
    assert {CLAIMS[name]["verdict"] for name in others} <= {"not run"}  # without a table, or with one that is too old
    for verdict in verdicts.values():
        committed = CLAIMS[verdict["id"]]
        assert [name for name in verdict.keys() & committed.keys() if not same(verdict[name], committed[name])] == []


def test_the_committed_tables_give_the_committed_results(copy_project, environment):
    """With the verdicts as they are committed, whose last digits depend on the machine."""
    clone = copy_project("paper")
    data = clone / "data" / "paper"
    for folder in ("tables", "altered", "figures"):
        shutil.copytree(PAPER / folder, data / folder)
    shown = {"key", "stage", "code", "figure", "table", "altered"}
    (data / "verdicts").mkdir()
    for paper in papers.names():
        verdicts = {}
        for key in SETTINGS.claims_of(paper):
            claim = papers.claim(paper, key)
            if claim.ID in CLAIMS:
                hidden = {"data sets": list(getattr(claim, "DATA_SETS", ())),
                          "settings": getattr(claim, "SETTINGS", None)}  # fmt: skip
                verdict = {name: value for name, value in CLAIMS[claim.ID].items() if name not in shown}
                verdicts[key] = {**verdict, **hidden}
        (data / "verdicts" / f"{paper}.json").write_text(json.dumps(verdicts))
    names = ("claims.json", "counts.json", "verdicts.json")
    for name in names:
        (clone / "reports" / "paper" / name).unlink()
    shutil.rmtree(clone / "reports" / "paper" / "rows")
    command = [sys.executable, "-m", "tasks.report", "--scale", "paper"]
    done = subprocess.run(command, cwd=clone, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for name in (*names, "provenance.json", "provenance.js"):
        assert (clone / "reports" / "paper" / name).read_bytes() == (PAPER / name).read_bytes(), name
    for path in (PAPER / "rows").glob("*.csv"):
        assert (clone / "reports" / "paper" / "rows" / path.name).read_bytes() == path.read_bytes(), path


def test_every_asserted_statement_of_a_claim_that_has_not_run_is_a_test(copy_project, environment):
    """Holm's factor of the smallest p-value counts them, whether the claims that have not run have tables or not."""
    clone = copy_project("family")
    (clone / "data" / "paper" / "tables").mkdir(parents=True)
    shutil.copy2(PAPER / "tables" / "c_tabular.parquet", clone / "data" / "paper" / "tables")
    for command in ("tasks.check c_tab3", "tasks.verdicts fact"):
        program = [sys.executable, "-m", *command.split(), "--scale", "paper"]
        done = subprocess.run(program, cwd=clone, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    judged = json.loads((clone / "data" / "paper" / "verdicts" / "fact.json").read_text())["c_tab3"]
    forms = [form for statement in judged["statements"] if statement["kind"] == "asserted"
             for form in statement["forms"].values()]  # fmt: skip
    smallest = min(forms, key=lambda form: form["p"])
    others = sum(claim["asserted"] for name, claim in CLAIMS.items() if name[0] == "C" and name != "C.tab3")
    assert smallest["p, Holm"] / smallest["p"] == pytest.approx(len(forms) + others)
