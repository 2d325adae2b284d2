"""The multiverse of the papers' claims, on a planted table."""

import numpy as np
import pandas as pd
import pytest

from tasks.atlas.judging.claims import COMPARISONS, multiverse_of_claims
from tasks.settings import load


def planted(change_diagonal):
    """A.fig7's table, in which the shift leads by 0.2, and under one choice by another number."""
    rows = []
    for seed, noise in enumerate((-0.01, 0.0, 0.01, 0.02, -0.02)):
        for target in ("gram", "change"):
            for entries in ("diagonal", "whole"):
                lead = change_diagonal if (target, entries) == ("change", "diagonal") else 0.2
                for law, value in (("vcs", 0.5 + lead + noise), ("agop", 0.5)):
                    rows.append({"quantity": f"pearson/{law}_{target}_{entries}", "value": value, "seed": seed})
    return pd.DataFrame(rows).assign(arm="claim", case="", layer="0", step=9, x=0.0)


@pytest.mark.parametrize(("lead", "verdict"), [(0.2, "ahead"), (-0.2, "behind"), (0.0, "tie")])
def test_a_planted_exception_is_found(lead, verdict):
    (contrast,) = multiverse_of_claims({"a_fig7": planted(lead)})
    assert (contrast["own"], contrast["choices"]) == ("ahead", 4)
    assert contrast["agree"] == 3 + (verdict == "ahead")
    if verdict != "ahead":
        (other,) = contrast["others"]
        assert (other["target"], other["entries"], other["verdict"]) == ("change", "diagonal", verdict)
        half = 2.7764451051977987 * np.std([-0.01, 0, 0.01, 0.02, -0.02], ddof=1) / 5**0.5
        assert other["lead"] == pytest.approx([lead, lead - half, lead + half])


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
    assert {each.claim for each in COMPARISONS} == {
        "a_fig7",
        "b_fig1",
        "b_fig2",
        "c_tab2",
        "c_fig3",
        "c_fig8",
        "d_fig10",
    }
    for each in COMPARISONS:
        assert settings.claims[each.claim] == each.table
