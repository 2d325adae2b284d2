"""The claims' mathematics: every formula becomes complete, well-formed MathML."""

import re
import unicodedata
from xml.etree import ElementTree

import pytest

from tasks import papers
from tasks.reporting.mathematics import mathml
from tasks.settings import load

SETTINGS = load("paper")
FORMULAS = {
    f"{key}.{name}": getattr(papers.claim(SETTINGS.paper[key], key), name)
    for key in SETTINGS.claims
    for name in ("MATH", "MATH_CORRECTED")
    if hasattr(papers.claim(SETTINGS.paper[key], key), name)
}

# commands that show letters
LETTERS = {name: name for name in ("log", "cos", "arctan", "max", "min")} | {"bmod": "mod", "ell": "l"}


def lines_of(formula: str | tuple[str, ...]) -> tuple[str, ...]:
    return (formula,) if isinstance(formula, str) else formula


def visible(markup: str) -> str:
    """The characters of MathML, without elements and spaces; script letters as ordinary letters."""
    text = "".join(ElementTree.fromstring(f"<div>{markup}</div>").itertext())
    return re.sub(r"\s", "", unicodedata.normalize("NFKC", text))


def test_every_claim_has_mathematics_and_every_correction_a_corrected_form():
    for key in SETTINGS.claims:
        claim = papers.claim(SETTINGS.paper[key], key)
        assert f"{key}.MATH" in FORMULAS
        assert hasattr(claim, "CORRECTION") == (f"{key}.MATH_CORRECTED" in FORMULAS), key


@pytest.mark.parametrize("name", FORMULAS)
def test_a_claims_formula_is_one_to_three_lines_that_convert_whole(name):
    lines = lines_of(FORMULAS[name])
    markup = mathml(FORMULAS[name])
    assert 1 <= len(lines) <= 3
    assert "\\" not in markup
    assert len(ElementTree.fromstring(f"<div>{markup}</div>")) == len(lines)  # raises where elements do not balance


@pytest.mark.parametrize("name", FORMULAS)
def test_no_letter_of_a_formula_is_lost(name):
    """The letters and digits of the LaTeX, less its commands, stand in the MathML in the same number."""
    for line in lines_of(FORMULAS[name]):
        plain = re.sub(r"\\(begin|end)\{[a-z]+\}", "", unicodedata.normalize("NFKC", line))
        names = "".join(LETTERS.get(command, "") for command in re.findall(r"\\([a-zA-Z]+)", plain))
        plain = re.sub(r"\\[a-zA-Z]+|\\.", " ", plain)
        shown = re.sub(r"[^a-zA-Z0-9]", "", visible(mathml(line)))
        assert sorted(shown) == sorted(re.sub(r"[^a-zA-Z0-9]", "", plain + names)), line


def test_symbols_keep_their_order():
    assert visible(mathml(r"\lambda \le \frac{a}{b}, \quad \| W \|_F^2")) == "λ≤ab,‖W‖F2"


@pytest.mark.parametrize("latex", [r"\arg x", r"\begin{aligned} a &= b \end{aligned}", r"\unknowncommand{a}"])
def test_what_the_library_does_not_know_is_an_error_that_names_it(latex):
    with pytest.raises(ValueError, match="not converted"):
        mathml(latex)
