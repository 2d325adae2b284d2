"""The five sentences on the atlas: they agree with its committed results, and say so when they no longer do."""

import copy
import json

import pytest

from tasks.atlas.judging.contest import FAMILIES
from tasks.atlas.laws import LAWS
from tasks.reporting.atlas.findings import entries, finding, findings, laws, number
from tasks.settings import ROOT

RESULT = json.loads((ROOT / "reports" / "atlas.json").read_text(encoding="utf-8"))
CELLS = {
    "a": {"answer": "", "change": {"winner": "FACT"}, "gram": {"winner": "AGOP"}, "facts": {"stationarity": 0.1}},
    "b": {"answer": "", "change": {"winner": "tie"}, "gram": {"winner": "tie"}, "facts": {"stationarity": 0.4}},
    "c": {"answer": "FACT", "change": {"winner": "FACT"}, "gram": {"winner": "FACT"}, "facts": {}},
}


def test_every_sentence_agrees_with_the_committed_atlas():
    """Where this fails, correct the sentence in findings.toml, or find out why the atlas moved."""
    problems = {index: finding.problem for index, finding in enumerate(findings(RESULT), start=1) if not finding.agrees}
    assert problems == {}


def every_cell(change):
    """The results after a change of every cell."""
    result = copy.deepcopy(RESULT)
    for cell in result["cells"].values():
        change(cell, cell["sides"]["forward"])
    return result


def wins_everywhere(cell, forward):
    forward["change"]["winner"] = "FACT"


def far_from_fact(cell, forward):
    if "FACT" in forward["change"]["entrants"]:
        forward["change"]["entrants"]["FACT"]["score"][0] = 0.5


def agop_wins_with_decay(cell, forward):
    forward["change"]["winner"] = "AGOP"


def features_help(cell, forward):
    cell["facts"]["helped"] = True


def whatever_the_choice(cell, forward):
    cell["multiverse"]["agree"] = cell["multiverse"]["choices"]


def whatever_the_choice_wins(cell, forward):
    cell["multiverse"] |= {"agree": 216, "winners": {"FACT": 216}}


CONTRADICTIONS = (wins_everywhere, far_from_fact, agop_wins_with_decay, features_help, whatever_the_choice)


def at_a_critical_point(cell, forward):
    cell["facts"] |= {"stationarity": 0.05} if cell["weight_decay"] else {}


def learns(cell, forward):
    cell["facts"]["test_error"] = 0.5


def fits(cell, forward):
    cell["facts"] |= {"train_loss": 0.0} | ({"train_accuracy": 1.0} if "train_accuracy" in cell["facts"] else {})


@pytest.mark.parametrize(
    ("index", "change", "needed"),
    [
        (0, learns, "memorised > 0"),
        (0, fits, "unfitted > 0"),
        (1, at_a_critical_point, "critical < decayed"),
        (2, at_a_critical_point, "critical < decayed"),
    ],
)
def test_a_count_that_a_sentence_rests_on_is_tested(index, change, needed):
    assert f"“{needed}”" in findings(every_cell(change))[index].problem


def half_fitted(cell, forward):
    facts = cell["facts"]
    if "train_accuracy" in facts:
        facts["train_accuracy"] = 0.5
    elif "test_loss" in facts:
        facts |= {"test_loss": 2.0, "test_error": 1.0, "train_loss": 1.0}  # half of the variance


def test_networks_that_do_not_fit_have_neither_learned_nor_memorised():
    text = findings(every_cell(half_fitted))[0].text
    assert "In 88 of the 88 cells the networks do not fit their training set, and in 0 they only memorise it" in text
    assert "Without these 0 cells are left" in text


def test_cells_with_a_more_frequent_outcome_than_the_maps_are_counted():
    def rarest(cell, forward):
        cell["multiverse"] |= {"agree": 1, "winners": {"tie": 215, "FACT": 1}}

    assert "in 88 of 88 cells another outcome is more frequent" in findings(every_cell(rarest))[4].text
    assert "in 0 of 88 cells" in findings(every_cell(whatever_the_choice_wins))[4].text


def test_there_are_five_sentences_and_a_contradiction_of_each():
    assert len(entries()) == len(CONTRADICTIONS) == 5


@pytest.mark.parametrize("index", range(5))
def test_a_sentence_that_the_table_contradicts_does_not_agree(index):
    sentence = findings(every_cell(CONTRADICTIONS[index]))[index]
    assert not sentence.agrees
    assert "it needs" in sentence.problem


def test_a_sentence_without_its_cells_does_not_agree():
    empty = {**RESULT, "cells": {}, "known": []}
    assert all(not finding.agrees for finding in findings(empty))
    assert "–" in findings(empty)[1].text


@pytest.mark.parametrize(
    ("query", "value"),
    [
        ({}, 2),
        ({"known": True}, 3),
        ({"where": {"change.winner": "FACT"}}, 1),
        ({"known": True, "where": {"change.winner": {"not": ["tie"]}}}, 2),
        ({"where": {"change.winner": {"among": ["tie", "AGOP"]}}}, 1),
        ({"where": {"facts.stationarity": {"below": 0.2}}}, 1),
        ({"mean": "facts.stationarity"}, 0.25),
        ({"differ": ["gram.winner", "change.winner"]}, 1),
        ({"mean": "facts.no such fact"}, None),
    ],
)
def test_numbers_are_taken_from_the_cells(query, value):
    assert number(query, CELLS) == value


def test_ratios_are_of_each_cell():
    cells = {name: {"answer": "", "of": above, "to": below} for name, above, below in (("a", 1, 2), ("b", 3, 4))}
    assert number({"ratio": ["of", "to"]}, cells) == 0.625
    assert number({"ratio": ["of", "to"], "of": "least"}, cells) == 0.5


def test_a_comparison_that_cannot_be_read_is_refused():
    entry = {"text": "words", "numbers": {"one": {}}, "expects": ["one more or less 2"]}
    with pytest.raises(ValueError, match="one more or less 2"):
        finding(entry, RESULT)


def test_links_lead_to_cells_and_text_is_escaped():
    entry = {"text": "a < b in [this cell](known_linear_2), [that one](gone)", "numbers": {}, "expects": []}
    html = finding(entry, RESULT, "at/{cell}.html").text
    assert html == 'a &lt; b in <a href="at/known_linear_2.html">this cell</a>, that one'


def test_every_law_is_explained_with_its_formula():
    """Except a law that a reader has entered: it has no family, and need not be in laws.toml."""
    words = {law["name"]: law for law in laws()}
    for law in LAWS:
        if law.name.startswith("AGOP^"):
            assert "AGOP^s" in words
        elif law.name in FAMILIES or law.control or law.name == "accumulated steps" or law.name in words:
            assert words[law.name]["formula"].endswith(law.formula) or law.control
            assert (words[law.name]["source"] == "must lose") == law.control
