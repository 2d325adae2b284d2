"""The papers' scale as it is committed: today's rules give its verdicts again, and its records its report."""

import json
import math
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from gramlab import tables
from tasks.judging.rules import Rows
from tasks.judging.verdict import judge
from tasks.settings import load

PAPER = Path(__file__).resolve().parent.parent / "reports" / "paper"


def same(one, other) -> bool:
    """Equal up to the round-off between machines."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-8, abs_tol=1e-11) or (math.isnan(one) and math.isnan(other))
    return one == other


def judged_here() -> dict[str, Path]:
    """The tables of the claims whose verdict is in git."""
    claims = load("paper").claims.items()
    found = {key: PAPER / "tables" / f"{claim.experiment}.parquet" for key, claim in claims}
    return {
        key: path for key, path in found.items() if path.is_file() and (PAPER / "verdicts" / f"{key}.json").is_file()
    }


@pytest.mark.parametrize(("key", "table"), judged_here().items(), ids=judged_here())
def test_todays_rule_gives_the_committed_verdict(key, table):
    committed = json.loads((PAPER / "verdicts" / f"{key}.json").read_text())
    judged = json.loads(json.dumps(judge(import_module(f"tasks.checks.{key}"), Rows(tables.read(table)))))
    assert [name for name in judged if not same(judged[name], committed[name])] == []


def test_the_committed_records_give_the_committed_report(copy_project, environment):
    there = copy_project("paper")
    for folder in ("tables", "made"):
        shutil.copytree(PAPER / folder, there / "data" / "paper" / folder)
    pages = ("README.md", "index.html", "claims.json")
    for page in pages:
        (there / "reports" / "paper" / page).unlink()
    command = [sys.executable, "-m", "tasks.report", "--scale", "paper"]
    done = subprocess.run(command, cwd=there, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for page in pages:
        assert (there / "reports" / "paper" / page).read_bytes() == (PAPER / page).read_bytes(), page
