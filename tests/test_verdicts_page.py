"""docs/rules/verdicts.md has the reports' verdicts, docs/history.md counts them, and the scales do not contradict."""

import copy
import json
import re
import sys
from collections import Counter
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
    rows = [line.split(" | ")[0].removeprefix("| ") for line in table.split("\n") if line.startswith("| ")]
    fragile = [name for name, claim in record["claims"].items() if claim["fragile"]]
    assert [row for row in rows if row in record["claims"]] == fragile


def test_the_page_counts_the_claims_by_their_roots():
    page, record = verdicts.PAGE.read_text("utf-8"), json.loads((ROOT / "reports/fresh.json").read_text("utf-8"))
    table = page.split("| roots in the record |")[1].split("\n\n")[0]
    shown = {roots: int(number) for roots, number in re.findall(r"^\| ([\d, ]+) \| (\d+) \|$", table, flags=re.M)}
    counts = Counter(", ".join(sorted(claim["verdicts"], key=int)) for claim in record["claims"].values())
    assert shown == counts
    alone = sum(number for roots, number in counts.items() if "," not in roots)
    assert f"{alone} of the {len(record['claims'])} claims are repeated at one root only" in page.replace("\n", " ")


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


def test_at_the_quick_scale_few_claims_stay_open_and_each_says_why():
    claims = verdicts.reports()["quick"].values()
    reasons = [claim["reason"] for claim in claims if claim["verdict"] == "inconclusive"]
    assert len(reasons) <= 6
    assert all(reasons)


def counted(history: str) -> dict[tuple[str, str], list[int]]:
    """The table of docs/history.md: the counts at both scales, by the verdict before and today's."""
    table = history.split("| at `0b6b189` |")[1].split("\n\n")[0]
    rows = [line.strip("| ").split(" | ") for line in table.split("\n")[2:]]
    return {(row[0], row[1]): [int(cell) for cell in row[2:]] for row in rows}


def test_the_history_counts_the_verdicts_before_and_today():
    page, history = verdicts.PAGE.read_text("utf-8"), verdicts.HISTORY.read_text("utf-8")
    reports = verdicts.reports()
    assert verdicts.updated_history(history, page, reports) == history, "python benchmarks/verdicts.py counts them"
    counts = counted(history)
    total = [len(reports["quick"]), len(reports["paper"])]
    assert counts.pop(("all", "")) == total
    assert [sum(column) for column in zip(*counts.values(), strict=True)] == total
    judged = ("holds", "holds corrected", "fails", "inconclusive")
    for scale in (0, 1):  # the quick scale and the papers'
        pairs = Counter((row[1 + 2 * scale], row[2 + 2 * scale].split(":")[0]) for row in claims_of(page))
        for (before, today), number in counts.items():
            if (before, today) == ("judged", "the same"):
                expected = sum(pairs[name, name] for name in judged)
            elif today == "judged":
                expected = sum(pairs["not run", name] for name in judged)
            elif today == "new":
                expected = sum(count for (was, _), count in pairs.items() if was == "–")
            else:
                expected = pairs[before, today]
            assert number[scale] == expected, (before, today)


def claims_of(page: str) -> list[list[str]]:
    """The cells of the table of all claims."""
    return [line.strip("| ").split(" | ") for line in page.split("## All claims")[1].split("\n") if "." in line[:4]]


def test_the_counts_before_are_those_of_the_column():
    page = verdicts.PAGE.read_text("utf-8")
    for scale, column in (("quick", 1), ("paper", 3)):
        (row,) = re.findall(rf"^\| before, {scale} .*?\| (.*) \|$", page, flags=re.M)
        before = Counter(cells[column] for cells in claims_of(page))
        assert [before[name] for name in verdicts.VERDICTS] == [int(number) for number in row.split(" | ")]
        assert before["–"] == 1  # A.fig11


def test_another_verdict_moves_its_claim_to_another_row_of_the_history():
    page, history, reports = verdicts.PAGE.read_text("utf-8"), verdicts.HISTORY.read_text("utf-8"), verdicts.reports()
    before = counted(verdicts.updated_history(history, page, reports))
    changed = copy.deepcopy(reports)
    assert [reports[scale]["A.eq1"]["verdict"] for scale in verdicts.SCALES] == ["holds", "holds"]
    changed["quick"]["A.eq1"] |= {"verdict": "fails", "reason": "refuted"}
    after = counted(verdicts.updated_history(history, page, changed))
    moved = {kind: after[kind][0] - number[0] for kind, number in before.items() if after[kind] != number}
    assert moved == {("judged", "the same"): -1, ("holds", "fails"): 1}
    assert [number[1] for number in after.values()] == [number[1] for number in before.values()]
