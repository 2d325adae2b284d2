"""docs/rules/verdicts.md: its verdicts of today are those of the reports, and the two scales do not contradict."""

import copy
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))

import verdicts  # noqa: E402


def test_the_page_has_the_reports_verdicts():
    page = verdicts.PAGE.read_text("utf-8")
    reports = verdicts.reports()
    assert verdicts.updated(page, reports) == page, "python benchmarks/verdicts.py brings the page up to date"
    rows = [line.split(" | ")[0] for line in page.split("\n") if line.count(" | ") == verdicts.COLUMNS - 1]
    assert [row for row in rows if row[2:] in reports["quick"]] == [f"| {name}" for name in reports["quick"]]


def test_every_fragile_claim_has_a_reason():
    page, record = verdicts.PAGE.read_text("utf-8"), json.loads((ROOT / "reports/fresh.json").read_text("utf-8"))
    table = page.split("## Fragile at the quick scale")[1].split("\n## ")[0]
    rows = [line.split(" | ")[0].removeprefix("| ") for line in table.split("\n") if line.startswith("| ")][2:]
    assert rows == [name for name, claim in record["claims"].items() if claim["fragile"]]


def test_another_verdict_changes_its_cell_and_the_count_alone():
    page, reports = verdicts.PAGE.read_text("utf-8"), verdicts.reports()
    before = verdicts.updated(page, reports).split("\n")
    changed = copy.deepcopy(reports)
    changed["quick"]["A.eq1"] |= {"verdict": "fails", "reason": "refuted"}
    changed["paper"]["A.eq2"] |= {"verdict": "not run", "reason": "takes too long here"}
    after = verdicts.updated(page, changed).split("\n")
    different = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
    assert [new.split(" | ")[0] for _, new in different] == ["| now, quick", "| now, paper", "| A.eq1", "| A.eq2"]
    assert different[2][1] == "| A.eq1 | holds | fails: refuted | holds | holds | — |"
    assert different[3][1] == "| A.eq2 | holds | holds | holds | not run: takes too long here | — |"


def test_no_claim_that_holds_at_the_papers_scale_fails_at_the_quick_scale():
    quick, paper = (verdicts.reports()[scale] for scale in verdicts.SCALES)
    failing = {name for name, claim in quick.items() if claim["verdict"] == "fails"}
    assert not [name for name in failing if paper.get(name, {"verdict": ""})["verdict"].startswith("holds")]
