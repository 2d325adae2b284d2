"""The papers' claims under every choice: the pages show what reports/quick/multiverse.json says."""

import json
import re
from html import unescape

import pytest

from tasks.reporting.site import choices

BEHIND = {"claim": "a_fig7", "says": "the virtual covariance shift is ahead of the AGOP", "own": "behind", "choices": 8,
          "ahead": 0, "tie": 1, "behind": 7, "agree": 7,
          "others": [{"target": "change", "entries": "whole", "contrast": "raw", "verdict": "tie",
                      "lead": [0.0, -0.1, 0.1]}]}  # fmt: skip


@pytest.fixture(scope="module")
def rows(site):
    return json.loads((site / "quick/multiverse.json").read_text())


@pytest.fixture(scope="module")
def text(site):
    return unescape((site / "atlas/claims.html").read_text())


def test_the_page_of_a_claim_says_how_many_choices_agree_and_which_they_are(site, rows, text):
    for row in rows:
        for name in (f"{row['claim']}.html", f"{row['claim']}.md"):
            page = unescape((site / "claims" / name).read_text())
            assert f"{row['agree']} of {row['choices']} defensible choices" in page
            assert row["says"] in page
            for other in row["others"]:
                assert all(axis in page for axis in other.keys() - {"verdict", "lead"})
        page = (site / "claims" / f"{row['claim']}.html").read_text()
        for anchor in re.findall(r'href="../atlas/claims.html#([^"]+)"', page):
            assert f'id="{anchor}"' in text


def test_no_other_claim_has_such_a_line(site, rows):
    having = {path.stem for path in (site / "claims").glob("*.html") if "defensible choices" in path.read_text()}
    assert having == {row["claim"] for row in rows}
    assert len(having) == 7


def test_the_table_has_every_comparison_with_its_counts(site, rows, text):
    claims = {claim["key"]: claim["id"] for claim in json.loads((site / "quick/claims.json").read_text()).values()}
    table = text.split("<caption>How many choices agree")[1].split("</table>")[0]
    cell = "<td>([^<]+)</td>"
    line = f'<a href="../claims/(\\w+).html">([^<]+)</a></th><td><a href="#[^"]+">([^<]+)</a></td>{cell * 5}'
    shown = re.findall(line, table)
    names = ("ahead", "tie", "behind")
    counts = [[f"{row['agree']} of {row['choices']}", *(str(row[name]) for name in names)] for row in rows]
    verdicts = ["a tie" if row["own"] == "tie" else row["own"] for row in rows]
    expected = [(row["claim"], claims[row["claim"]], row["says"], verdict, *numbers)
                for row, verdict, numbers in zip(rows, verdicts, counts, strict=True)]  # fmt: skip
    assert shown == expected
    lines = [line for line in (site / "atlas/README.md").read_text().splitlines() if line.startswith("| [")]
    assert [f"{row['agree']} of {row['choices']}" in line for row, line in zip(rows, lines, strict=True)] == [True] * 8


def test_every_choice_that_disagrees_is_listed_with_its_lead(rows, text):
    sections = text.split("<h2 id=")[1:]
    assert len(sections) == len(rows)
    for row, section in zip(rows, sections, strict=True):
        assert section.count("<tr><td>") == len(row["others"]) == row["choices"] - row["agree"]
        for other, line in zip(row["others"], section.split("<tr><td>")[1:], strict=True):
            mean, low, high = (f"{value:.3f}".replace("-", "−") for value in other["lead"])
            assert f"<td>{mean} [{low}, {high}]</td>" in line
            assert f"<td>{'a tie' if other['verdict'] == 'tie' else other['verdict']}</td>" in line


def test_the_atlas_leads_to_what_depends_on_the_choice(site, rows):
    section = (site / "atlas/index.html").read_text().split('id="claims"')[1].split("</section>")[0]
    assert f"{sum(not row['others'] for row in rows)} of them come out the same" in section
    assert re.findall(r">([A-D]\.\w+)</a>", section) == ["C.tab2", "C.fig3", "C.fig8"]


def test_a_comparison_that_comes_out_against_its_claim_says_so(monkeypatch):
    monkeypatch.setattr(choices, "read", lambda path: [BEHIND])
    (universe,) = choices.universes()
    assert universe.sentence == (
        "“the virtual covariance shift is ahead of the AGOP”: at the quick scale 7 of 8 defensible choices "
        "find the opposite, among them the paper’s own; 0 find that it is so, and 1 find a tie."
    )
    assert universe.others == [(["the change of WᵀW", "all entries", "the score itself"], "a tie", [0.0, -0.1, 0.1])]
    assert choices.universes("b_fig1") == []


def test_a_list_of_other_choices_than_the_results_is_refused(monkeypatch):
    monkeypatch.setattr(choices, "read", lambda path: [{**BEHIND, "choices": 3}])
    with pytest.raises(ValueError, match="other choices for a_fig7"):
        choices.universes()
