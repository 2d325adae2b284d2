"""The page on how to read the report: its example is true, its numbers are there, its verdicts and reasons complete."""

import json
import re
import tomllib
from html.parser import HTMLParser

from tasks.judging.statement import REASONS
from tasks.judging.verdict import VERDICTS
from tasks.reporting.guide import how_to_read
from tasks.reporting.site.glossary import FILE
from tasks.settings import ROOT

CLAIMS = {
    scale: json.loads((ROOT / "reports" / scale / "claims.json").read_text(encoding="utf-8"))
    for scale in ("quick", "paper")
}


class Words(HTMLParser):
    """The words of a page, without its elements."""

    def __init__(self, html: str):
        super().__init__()
        self.words = ""
        self.feed(html)

    def handle_data(self, data: str) -> None:
        self.words += data


def read(html: str) -> str:
    return re.sub(r"\s+", " ", Words(html).words)


def test_every_number_of_the_page_is_there():
    html, problems = how_to_read(CLAIMS)
    assert not problems
    assert not re.search(r"[{}]", html)


def test_the_example_tells_what_the_verdicts_say():
    """The page argues from these verdicts. Where this fails, the argument must be written anew."""
    at_paper_scale = {statement["name"]: statement for statement in CLAIMS["paper"]["A.fig7"]["statements"]}
    assert {scale: CLAIMS[scale]["A.fig7"]["verdict"] for scale in CLAIMS} == {"quick": "holds", "paper": "fails"}
    above = at_paper_scale["VCS above AGOP"]
    assert above["low"] > 0
    assert above["forms"]["claim"]["controls"]["shuffled labels"]["statistic"] < 0
    assert above["forms"]["claim"]["p, Holm"] < 0.025
    verdicts = {scale: [statement["verdict"] for statement in CLAIMS[scale]["A.fig7"]["statements"]
                        if statement["kind"] == "asserted"] for scale in CLAIMS}  # fmt: skip
    assert verdicts == {"quick": ["holds"] * 4, "paper": ["holds"] * 3 + ["fails"]}
    assert at_paper_scale["a small remainder"]["reason"] == "refuted"
    levels = [at_paper_scale[name]["reason"] for name in ("VCS's level", "AGOP's level")]
    assert levels == ["print differs", "print differs"]


def test_the_example_shows_the_measured_numbers():
    statement = next(s for s in CLAIMS["paper"]["A.fig7"]["statements"] if s["name"] == "VCS above AGOP")
    text = read(how_to_read(CLAIMS)[0])
    assert f"[{statement['low']:.2f}, {statement['high']:.2f}]" in text
    assert statement["rule"] in text
    assert statement["measured"] in text


def test_a_missing_number_is_shown_as_missing():
    html, problems = how_to_read({"quick": {}, "paper": {}})
    assert len(problems) > 10
    assert "{" not in html


def test_every_verdict_and_reason_has_a_row():
    html, _ = how_to_read(CLAIMS)
    rows = re.findall(r"<tr>\s*<td>(.*?)</td>\s*<td>(.*?)</td>", html, re.S)
    assert [name for name, _ in rows] == [*VERDICTS, *[name for name, _ in rows if name in REASONS]]
    assert {name for name, _ in rows} == {*VERDICTS, *REASONS}
    assert all(len(meaning) > 40 for _, meaning in rows)


def test_the_glossarys_terms_have_all_their_fields():
    entries = tomllib.loads(FILE.read_text(encoding="utf-8"))["term"]
    assert all({"also", *term} - {"ordinary"} == {"name", "also", "text"} for term in entries)
