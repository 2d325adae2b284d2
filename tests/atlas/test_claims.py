"""The multiverse of the papers' claims, on a planted table."""

import numpy as np
import pandas as pd
import pytest

from tasks.atlas.judging.claims import BEFORE, COMPARISONS, END, multiverse_of_claims
from tasks.settings import load

NOISE = np.array([-0.01, 0.0, 0.01, 0.02, -0.02])
NULL = 0.2  # of the shift; the AGOP's is 0


def planted(change_diagonal):
    """A.fig7's table, in which the shift leads by 0.2, and under one target and its diagonal by another number."""
    rows = []
    for seed, noise in enumerate(NOISE):
        for target in ("gram", "change"):
            for entries in ("diagonal", "whole"):
                lead = change_diagonal if (target, entries) == ("change", "diagonal") else 0.2
                for law, value, null in (("vcs", 0.5 + lead + noise, NULL), ("agop", 0.5, 0.0)):
                    rows += [{"quantity": f"{kind}/{law}_{target}_{entries}", "value": number, "seed": seed}
                             for kind, number in (("pearson", value), ("null", null))]  # fmt: skip
    return pd.DataFrame(rows).assign(arm="claim", case="", layer="0", step=9, x=0.0)


@pytest.mark.parametrize(
    ("lead", "raw", "above"), [(0.2, "ahead", "ahead"), (-0.2, "behind", "behind"), (0.0, "tie", "behind")]
)
def test_a_planted_exception_is_found(lead, raw, above):
    """Above the null a lead of 0.2 is (0.7 − 0.2) / 0.8 − 0.5 = 0.125, and one of 0 is (0.5 − 0.2) / 0.8 − 0.5."""
    (contrast,) = multiverse_of_claims({"a_fig7": planted(lead)})
    assert (contrast["own"], contrast["choices"]) == ("ahead", 8)
    assert contrast["agree"] == 6 + 2 * (raw == "ahead")
    if raw != "ahead":
        others = {row["contrast"]: row for row in contrast["others"]}
        half = 2.7764451051977987 * np.std(NOISE, ddof=1) / 5**0.5
        skill = (0.5 + lead - NULL) / (1 - NULL) - 0.5
        for name, verdict, mean, width in (("raw", raw, lead, half), ("above null", above, skill, half / (1 - NULL))):
            row = others.pop(name)
            assert (row["target"], row["entries"], row["verdict"]) == ("change", "diagonal", verdict)
            assert row["lead"] == pytest.approx([mean, mean - width, mean + width])
        assert not others


def test_another_networks_eigenvectors_are_a_choice():
    """K is 0.1 above random directions and 0.05 below those of another network; the latter's arm has nfa/Q too."""
    other = "control: another network's eigenvectors"
    values = {("claim", "nfa/K"): 0.8, ("claim", "nfa/Q"): 0.7, (other, "nfa/K"): 0.85, (other, "nfa/Q"): 0.1}
    rows = [{"arm": arm, "quantity": name, "seed": seed, "value": value + (noise if arm == "claim" else 0.0)}
            for (arm, name), value in values.items() for seed, noise in enumerate(NOISE / 10)]  # fmt: skip
    (contrast,) = multiverse_of_claims({"b_fig1": pd.DataFrame(rows).assign(case="", layer="0", step=9, x=0.0)})
    assert [contrast[name] for name in ("own", "choices", "agree")] == ["ahead", 2, 1]
    (row,) = contrast["others"]
    assert (row["eigenvectors of the other matrix"], row["verdict"]) == ("another network's", "behind")
    assert row["lead"][0] == pytest.approx(-0.05)


def test_nulls_are_compared_with_where_they_were_measured():
    """C.fig3 has nulls at the end of training alone: 8 forms, sides and powers, 3 layers, and 1 + 2 ways."""
    comparison = next(comparison for comparison in COMPARISONS if comparison.claim == "c_fig3")
    ways = [(way["contrast"], way["snapshot"]) for way in comparison.combinations]
    assert len(ways) == 72
    assert set(ways) == {("raw", END), ("raw", BEFORE), ("above null", END)}
    assert ways[0] == ("raw", END)


def test_layers_snapshots_and_nulls_are_chosen():
    """B.fig2 of two hidden layers and six snapshots; by hand 4 of 6 raw choices lead, and 2 of 6 above the null."""
    rows = []
    for seed, noise in enumerate((-0.01, 0.01, -0.01, 0.01)):
        for layer in ("0", "2"):
            for step in range(6):
                centered = 0.7 if layer == "2" else 0.9 if step == 5 else 0.3
                values = {"nfa/centered": centered + noise, "nfa/uncentered": 0.5,
                          "null/centered": 0.5, "null/uncentered": 0.0}  # fmt: skip
                rows += [{"quantity": name, "seed": seed, "layer": layer, "step": step, "value": value}
                         for name, value in values.items()]  # fmt: skip
    table = pd.DataFrame(rows).assign(arm="claim", case="", x=0.0)
    (contrast,) = multiverse_of_claims({"b_centerings": table})
    assert [contrast[name] for name in ("own", "choices", "ahead", "tie", "behind")] == ["ahead", 12, 6, 1, 5]
    raw = {(row["layer"], row["snapshot"]): row["verdict"] for row in contrast["others"] if row["contrast"] == "raw"}
    before = "two thirds of the snapshots"
    assert raw == {("mean of layers", before): "tie", ("first layer", before): "behind"}


def test_every_comparison_names_a_claim_and_a_table():
    settings = load("quick")
    assert {comparison.claim for comparison in COMPARISONS} == {
        "a_fig7",
        "b_fig1",
        "b_fig2",
        "c_tab2",
        "c_fig3",
        "c_fig8",
        "d_fig10",
    }
    for comparison in COMPARISONS:
        assert settings.claims[comparison.claim] == comparison.table
