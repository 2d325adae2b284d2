"""The papers' scale as it is committed: today's rules give its verdicts again, and the same pages."""

import json
import math
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gramlab import tables
from tasks import papers
from tasks.judging.finding import find
from tasks.judging.rows import Rows
from tasks.judging.verdict import judge
from tasks.settings import load

PAPER = Path(__file__).resolve().parent.parent / "reports" / "paper"
CLAIMS = json.loads((PAPER / "claims.json").read_text())
SETTINGS = load("paper")


def same(one, other) -> bool:
    """Equal up to the round-off between machines."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-8, abs_tol=1e-11) or (math.isnan(one) and math.isnan(other))
    return one == other


def judged(paper: str) -> dict[str, dict]:
    """Today's verdicts on the paper's claims whose table is in git, by key."""
    findings, keys = {}, SETTINGS.claims_of(paper)
    letter = papers.paper(paper).LETTER
    for key in keys:
        path = PAPER / "tables" / f"{SETTINGS.claims[key]}.parquet"
        if path.is_file():
            findings[key] = find(papers.claim(paper, key), letter, Rows(tables.read(path)))
    return judge(json.loads(json.dumps(findings)), waiting=len(keys) - len(findings))


@pytest.mark.parametrize("paper", papers.names())
def test_todays_rules_give_the_committed_verdicts(paper):
    verdicts = judged(paper)
    letter = papers.paper(paper).LETTER
    assert {verdict["id"] for verdict in verdicts.values()} == {name for name in CLAIMS if name[0] == letter}
    for verdict in verdicts.values():
        committed = CLAIMS[verdict["id"]]
        assert [name for name in verdict.keys() & committed.keys() if not same(verdict[name], committed[name])] == []


def test_the_committed_tables_give_the_committed_pages(copy_project, environment):
    """With the verdicts as they are committed, whose last digits depend on the machine."""
    there = copy_project("paper")
    data = there / "data" / "paper"
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
                own = {name: value for name, value in CLAIMS[claim.ID].items() if name not in shown}
                verdicts[key] = {**own, **hidden}
        (data / "verdicts" / f"{paper}.json").write_text(json.dumps(verdicts))
    pages = ("README.md", "index.html", "claims.json", "provenance.json", "provenance.js")
    for page in pages[:3]:
        (there / "reports" / "paper" / page).unlink()
    command = [sys.executable, "-m", "tasks.report", "--scale", "paper"]
    done = subprocess.run(command, cwd=there, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for page in pages:
        assert (there / "reports" / "paper" / page).read_bytes() == (PAPER / page).read_bytes(), page
