"""Every statement of every claim: quoted from its paper, with a rule, quantities, and words that say what it is."""

import re
from pathlib import Path

import pytest

from tasks import papers
from tasks.judging.finding import CORRECTED_KINDS
from tasks.judging.statement import Statement
from tasks.settings import load

TEXTS = Path(__file__).resolve().parents[2] / "shared" / "papers"
CLAIMS = [(paper, key) for paper in papers.names() for key in load("quick").claims_of(paper)]
DESCRIBED = ("Drawing: ", "Table: ")  # what a statement says of a figure or a table, in our words


def statements(paper: str, key: str) -> tuple[Statement, ...]:
    return papers.claim(paper, key).STATEMENTS


@pytest.mark.parametrize(("paper", "key"), CLAIMS)
def test_a_claim_declares_what_it_says(paper, key):
    claim = papers.claim(paper, key)
    names = [statement.name for statement in claim.STATEMENTS]
    assert len(set(names)) == len(names)
    assert any(statement.kind == "asserted" for statement in claim.STATEMENTS), "nothing decides the claim"
    for statement in claim.STATEMENTS:
        assert statement.quote, statement.name
        assert statement.place, statement.name
        assert statement.reads, statement.name
        if statement.kind == "printed level":
            assert statement.scales == ("paper",), f"{statement.name}: printed levels are of the paper's data alone"
    for hypothesis in getattr(claim, "HYPOTHESES", ()):
        assert hypothesis.text.endswith("."), hypothesis.name
        assert set(hypothesis.statements) <= set(names), hypothesis.name
    assert hasattr(claim, "CORRECTION") == hasattr(claim, "CORRECTS")
    assert getattr(claim, "CORRECTS", "a formula") in CORRECTED_KINDS
    is_detail = getattr(claim, "CORRECTION", "").startswith("Only the ")
    assert is_detail == (getattr(claim, "CORRECTS", "") == "a detail")
    of_paper = [statement for statement in claim.STATEMENTS if statement.kind == "asserted"]
    is_ours = hasattr(claim, "CORRECTION") and not any("corrected" in statement.forms for statement in of_paper)
    assert is_ours == (getattr(claim, "CORRECTS", "") == "our statement")
    assert not hasattr(claim, "QUANTITIES")
    assert not hasattr(claim, "rule")


PROSE = re.compile(r"(?!.*\b[b-hj-z]\b)[a-z .,:;'\"()-]*")  # single letters are mathematics


def plain(text: str) -> str:
    """Small letters and single spaces; quotation marks, dashes and ties as a keyboard has them."""
    for pair in ("’'", "‘'", '“"', '”"', "–-", "—-", "˜ ", "\u00a0 ", "†t", "$ "):
        text = text.replace(pair[0], pair[1:])
    return re.sub(r"\s+", " ", text).strip().lower()


def words(text: str) -> list[str]:
    """The words of three letters or more of a text, without its mathematics: LaTeX, signs, digits, Greek letters."""
    text = re.sub(r"\$[^$\n]*\$", " ", text)
    tokens = [token.strip(".,:;\"'()*") for token in re.split(r"[\s˜-]+|\\[a-z]+|[{}]", text)]  # \text{and} is a word
    return [token for token in tokens if re.fullmatch(r"[a-z][a-z']{2,}", token)]


def in_order(quoted: list[str], printed: list[str]) -> bool:
    """Whether the quoted words stand in the print in this order, close together: formulas there have words too."""
    room = 2 * len(quoted) + 6
    for start in (place for place, word in enumerate(printed) if word == quoted[0]):
        window = iter(printed[start : start + room])
        if all(word in window for word in quoted):
            return True
    return False


@pytest.mark.parametrize(
    ("quoted", "answer"),
    [("let m denote the number of boundaries", True), ("let m denote the number of weights", False),
     ("denote the segment the number", False)],
)  # fmt: skip
def test_quoted_words_are_compared_in_their_order(quoted, answer):
    printed = words("let $M$ denote the number of linear-region boundaries crossed by the segment $[a, b]$.")
    assert in_order(words(quoted), printed) is answer


def test_words_within_formulas_are_words():
    assert words(r"then f=z,\quad\text{where}\quad z=\gamma of theorem˜1.") == ["then", "where", "theorem"]


def test_a_quotation_leaves_out_paragraphs_alone():
    """A formula or a clause is quoted in full; the figures of paper D are described in places far apart."""
    cut = {key for paper, key in CLAIMS for statement in statements(paper, key) if "…" in statement.quote}
    assert cut <= {"d_fig10", "d_fig11", "d_fig12"}


@pytest.mark.skipif(not TEXTS.is_dir(), reason="waits for the papers' texts in ../shared/papers")
@pytest.mark.parametrize("paper", papers.names())
def test_quotations_are_the_papers_words(paper):
    """Each fragment between ellipses stands in the paper's text; of one with mathematics its words do, in their order.

    The texts have formulas in LaTeX, and the quotations have them in Unicode.
    """
    letter = papers.paper(paper).LETTER
    (path,) = TEXTS.glob(f"{letter}_*.txt")
    text = plain(path.read_text(encoding="utf-8"))
    printed = words(path.read_text(encoding="utf-8").lower())
    missing = [
        f"{key}, {statement.name}: {fragment!r}"
        for key in load("quick").claims_of(paper)
        for statement in statements(paper, key)
        if not statement.quote.startswith(DESCRIBED)
        for fragment in map(plain, statement.quote.split("…"))
        if len(fragment) > 3 and fragment not in text
        if PROSE.fullmatch(fragment) or (words(fragment) and not in_order(words(fragment), printed))
    ]
    assert not missing, "\n".join(missing)
