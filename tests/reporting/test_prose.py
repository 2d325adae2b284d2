"""Formulas within sentences: what is typeset, what stays, and that no claim's text keeps a raw formula."""

import re
from xml.etree import ElementTree

import pytest

from tasks import papers
from tasks.reporting.prose import GREEK, prose
from tasks.settings import load

SETTINGS = load("paper")
TEXTS = {
    f"{key}, {name}": " ".join(text.split())
    for key in SETTINGS.claims
    for name in ("__doc__", "PRINTED", "CORRECTION")
    if (text := getattr(papers.claim(SETTINGS.paper[key], key), name, ""))
}


@pytest.mark.parametrize(
    ("plain", "html"),
    [
        ("W_l^T W_l", "W<sub>l</sub>ᵀ W<sub>l</sub>"),
        ("lambda_max <= 2 lambda", "λ<sub>max</sub> ≤ 2 λ"),
        ("||grad_{h_i} L||_F^2", "‖∇<sub>h<sub>i</sub></sub> L‖<sub>F</sub><sup>2</sup>"),
        ("sum_ij tau_ij alpha_j^T", "Σ<sub>ij</sub> τ<sub>ij</sub> α<sub>j</sub>ᵀ"),
        ("e^-0.16 and M^{1/2}, (K + n lambda I)^-1", "e<sup>−0.16</sup> and M<sup>1/2</sup>, (K + n λ I)<sup>−1</sup>"),
        ("2nλ_k(1+λ_Φ⁻¹)", "2nλ<sub>k</sub>(1+λ<sub>Φ</sub>⁻¹)"),
        ("UΣ_WUᵀ, W_lH_l", "UΣ<sub>W</sub>Uᵀ, W<sub>l</sub>H<sub>l</sub>"),
        ("W ~ N(0, I), f ~ y", "W ∼ N(0, I), f ≈ y"),
        ("a < b & c", "a &lt; b &amp; c"),
        ('"near 1" means 0.9', "“near 1” means 0.9"),
        (
            "train_accuracy, the sum of all, a gradient, alphabet",
            "train_accuracy, the sum of all, a gradient, alphabet",
        ),
        ("weight decay 1e-3", "weight decay 1e-3"),
    ],
)
def test_a_formula_in_a_sentence(plain, html):
    assert prose(plain) == html


@pytest.mark.parametrize("name", TEXTS)
def test_a_claims_text_keeps_its_words_and_loses_its_raw_formulas(name):
    html = prose(TEXTS[name])
    shown = "".join(ElementTree.fromstring(f"<p>{html}</p>").itertext())  # raises where elements do not balance
    assert not re.search(r"\^|<=|>=|\|\||\b(lambda|gamma|alpha|sigma)\b", shown)
    words = set(re.findall(r"[a-z]{6,}", TEXTS[name])) - {*GREEK}
    assert [word for word in words if word not in shown] == []
