"""The glossary: complete, in order, and without a spelling that two terms share."""

import re
import tomllib

import pytest

from tasks.judging.statement import KINDS, REASONS
from tasks.judging.verdict import VERDICTS
from tasks.settings import ROOT

TERMS = tomllib.loads((ROOT / "tasks" / "reporting" / "glossary.toml").read_text(encoding="utf-8"))["term"]
SPELLINGS = [spelling for term in TERMS for spelling in (term["name"], *term.get("also", ()))]


def test_the_verdicts_reasons_kinds_and_scales_are_explained():
    assert {*VERDICTS, *REASONS, *KINDS, "quick scale", "paper scale"} <= {term["name"] for term in TERMS}


@pytest.mark.parametrize(
    "word", ["u", "normwise", "Holm", "Kendall", "PTK", "eNFA", "TOST", "AGOP", "FACT", "TL", "VAE"]
)
def test_a_word_that_strangers_stumble_over_is_explained(word):
    assert word in SPELLINGS


def test_no_spelling_has_two_meanings():
    folded = [spelling.casefold() for spelling in SPELLINGS]
    assert len(folded) == len(set(folded))


def test_the_terms_are_in_alphabetical_order():
    names = [term["name"].casefold() for term in TERMS]
    assert names == sorted(names)


@pytest.mark.parametrize("term", TERMS, ids=lambda term: term["name"])
def test_an_explanation_is_one_to_three_sentences(term):
    sentences = re.findall(r"[.!?](?= [A-ZΣ𝒮(fE−]|$)", term["text"])
    assert set(term) <= {"name", "also", "ordinary", "text"}
    assert term["text"].endswith(".")
    assert 1 <= len(sentences) <= 3, sentences
    assert len(term["text"]) <= 360
