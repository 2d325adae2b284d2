"""The sentences on what was found: they agree with the committed reports, and say so when they no longer do."""

import json
import re
import tomllib
from xml.etree import ElementTree

import pytest

from tasks import papers
from tasks.reporting.findings import KINDS, LINK, NUMBER, filled, findings
from tasks.settings import ROOT, load

SCALES = ("quick", "paper")
CLAIMS = {scale: json.loads((ROOT / "reports" / scale / "claims.json").read_text(encoding="utf-8")) for scale in SCALES}
ENTRIES = {
    f"{papers.paper(name).LETTER}{number}": entry
    for name in papers.names()
    for number, entry in enumerate(
        tomllib.loads((papers.FOLDER / name / "findings.toml").read_text(encoding="utf-8"))["finding"], start=1
    )
}
PLANTED = {
    "quick": {
        "X.one": {
            "verdict": "holds",
            "statements": [
                {
                    "name": "proof: κ & σ",
                    "verdict": "holds",
                    "statistic": -0.123456,
                    "measured": "a < b, 2.5e+07",
                    "numbers": {"CIFAR-10, layer 2": 1.25e-7, "instances": 12345.0},
                    "forms": {"claim": {"statistic": 7.0, "numbers": {"layer 1": 3.5}}},
                }
            ],
            "hypotheses": [{"name": "interpolation", "forms": {"corrected": {"statistic": 0.987}}}],
        }
    },
    "paper": {},
}


def words(html: str) -> str:
    return "".join(ElementTree.fromstring(f"<p>{html}</p>").itertext())


def test_every_sentence_agrees_with_the_committed_reports():
    """Where this fails, correct the sentence and its verdicts in findings.toml, or find out why they moved."""
    problems = [
        f"paper {letter}, sentence {number}: {finding.problem}"
        for letter, sentences in findings(CLAIMS).items()
        for number, finding in enumerate(sentences, start=1)
        if not finding.agrees
    ]
    assert not problems, "\n".join(problems)


def test_each_paper_has_three_to_six_findings_of_the_kinds_that_its_verdicts_have():
    for sentences in findings(CLAIMS).values():
        assert 3 <= len(sentences) <= 6
        assert {finding.kind for finding in sentences} <= set(KINDS)


def test_the_details_of_a_finding_are_paragraphs_of_a_readable_length():
    for sentences in findings(CLAIMS).values():
        for finding in sentences:
            lengths = [len(paragraph.striptags()) for paragraph in finding.more]
            assert lengths
            assert max(lengths) <= 1000, finding.text.striptags()


def mentioned(text: str) -> set[str]:
    """The ids of the claims that a text links to or takes a number from."""
    return {link[2] for link in LINK.finditer(text)} | {number[1].split(":")[1] for number in NUMBER.finditer(text)}


@pytest.mark.parametrize("name", ENTRIES)
def test_a_finding_expects_the_verdict_of_every_claim_that_it_mentions(name):
    entry = ENTRIES[name]
    assert mentioned(entry["text"]) | mentioned(" ".join(entry["more"])) == {
        claim.partition(":")[0] for claim in entry["expects"]
    }
    assert all(set(verdicts) <= set(SCALES) for verdicts in entry["expects"].values())


@pytest.mark.parametrize("name", ENTRIES)
def test_the_links_of_a_finding_are_those_of_its_claims(name):
    settings = load("paper")
    html, _ = filled(" ".join([ENTRIES[name]["text"], *ENTRIES[name]["more"]]), CLAIMS)
    keys = re.findall(r'href="claims/([a-z0-9_]+)\.html"', html)
    assert keys
    assert set(keys) <= set(settings.claims)


def test_a_sentence_knows_which_claims_it_leads_to_without_its_details():
    """A mark beside the sentence is of these alone: of Figure 8 of paper B, not of Figure 7 in the details."""
    by_claims = {finding.linked: finding.claims for finding in findings(CLAIMS)["B"]}
    assert by_claims["B.fig8",] == ("B.fig8", "B.fig7")


@pytest.mark.parametrize("name", ENTRIES)
def test_a_changed_verdict_is_told_with_both_verdicts(name, monkeypatch):
    entry = ENTRIES[name]
    letter, number = name[0], int(name[1:]) - 1
    for expected, verdicts in entry["expects"].items():
        claim, _, statement = expected.partition(":")
        for scale in verdicts:
            if claim not in CLAIMS[scale]:
                continue
            judged = CLAIMS[scale][claim]
            if statement:
                judged = next(entry for entry in judged["statements"] if entry["name"] == statement)
            with monkeypatch.context() as planting:  # a copy of all claims would take five times as long as the test
                planting.setitem(judged, "verdict", "planted")
                finding = findings(CLAIMS)[letter][number]
            assert not finding.agrees
            assert "planted" in finding.problem
            assert verdicts[scale] in finding.problem
            assert claim in finding.problem
            assert finding.text


def test_numbers_are_those_of_the_claims():
    statement = next(s for s in CLAIMS["paper"]["B.fig1"]["statements"] if s["name"] == "K above Q")
    text, problems = filled("{paper:B.fig1:K above Q:with K:.2f}", CLAIMS)
    assert text == f"{statement['numbers']['with K']:.2f}"
    assert not problems


@pytest.mark.parametrize(
    ("reference", "shown"),
    [
        ("{quick:X.one:proof: κ & σ:statistic:.3f}", "−0.123"),
        ("{quick:X.one:proof: κ & σ:statistic:+.1f}", "−0.1"),
        ("{quick:X.one:proof: κ & σ:CIFAR-10, layer 2:.1e}", "1.2·10⁻⁷"),
        ("{quick:X.one:proof: κ & σ:instances:,d}", "12,345"),
        ("{quick:X.one:proof: κ & σ:measured}", "a < b, 2.5·10⁷"),
        ("{quick:X.one:proof: κ & σ:printed statistic:.0%}", "700 %"),
        ("{quick:X.one:proof: κ & σ:printed layer 1:g}", "3.5"),
        ("{quick:X.one:verdict}", "holds"),
        ("{quick:X.one:proof: κ & σ:printed layer 1:exp.2f}", "33.12"),
        ("{quick:X.one:proof: κ & σ:printed layer 1:exp-.3f}", "0.030"),
        ("{quick:X.one:interpolation:corrected statistic:.1%}", "98.7 %"),
        ("{quick:X.one:proof: κ & σ:0.9 + statistic:.2f}", "0.78"),
        ("{quick:X.one:proof: κ & σ:0.1 - statistic:.2f}", "0.22"),
        ("{quick:X.one:interpolation:corrected 0.9 + statistic:.2f}", "1.89"),
    ],
)
def test_a_number_is_found_and_written(reference, shown):
    text, problems = filled(f"it is {reference}", PLANTED)
    assert not problems
    assert words(text) == f"it is {shown}"


@pytest.mark.parametrize(
    "reference",
    [
        "{paper:X.one:proof: κ & σ:statistic:.3f}",
        "{quick:X.two:any:statistic:.3f}",
        "{quick:X.one:another:statistic:.3f}",
        "{quick:X.one:proof: κ & σ:high:.3f}",
        "{quick:X.one:proof: κ & σ:corrected statistic:.3f}",
    ],
)
def test_a_missing_number_is_shown_as_missing_and_named(reference):
    text, problems = filled(f"it is {reference}", PLANTED)
    assert words(text) == "it is –"
    assert reference in problems[0]


def test_text_is_escaped_and_links_lead_to_the_claims_pages():
    text, _ = filled("a < b & [c < d](A.tab2.MNIST)", PLANTED, page="pages/{key}.md")
    assert text == 'a &lt; b &amp; <a href="pages/a_tab2_mnist.md">c &lt; d</a>'
