"""Every alignment, correlation and collapse that a statement reads has beside it what chance gives."""

import re
from pathlib import Path

import pytest

from gramlab import tables
from tasks import papers
from tasks.judging.rows import Rows
from tasks.judging.rules import Finding
from tasks.judging.statement import quantities
from tasks.papers.neural_collapse.claims import d_fig3, d_fig10
from tasks.papers.weight_gram.claims import a_fig7
from tasks.reporting import rows as report_rows
from tasks.settings import load

ROWS = Path(__file__).resolve().parents[2] / "reports" / "quick" / "rows"
ALIGNED = re.compile(
    r"pearson/|cosine/|nfa|egop/|correlation|alignment|observed$|minimiser/|target_linearity|thm4/normalised|circulancy"
    r"|mass$|lead$|modular/pair|nc1|nc2|^within$|^gram/"
)
# where chance is not measured as null/...: the quantity, or the control with independent labels or eigenvectors
INSTEAD = {
    ("A.fig1", "target_linearity"): "control: shuffled targets",
    ("A.fig1", "target_linearity, each sample's own loss"): "control: shuffled targets",
    ("A.fig10", "target_linearity"): "control: shuffled pairs",
    ("A.fig11", "target_linearity"): "control: shuffled labels",
    ("A.fig12", "target_linearity"): "control: other labels",
    ("A.fig13", "target_linearity"): "control: shuffled labels",
    ("A.fig14", "target_linearity"): "control: shuffled labels",
    ("A.lem3", "lem3/correlation"): "lem3/null",
    ("A.thm3", "thm3/alignment"): "control: shuffled y",
    ("B.egop", "egop/agop"): "null/egop_agop",
    ("B.egop", "egop/gram"): "null/egop_gram",
    ("B.egop", "egop/agop, another target"): "null/egop_agop",
    ("B.fig1", "nfa/K"): "nfa/Q",
    ("B.fig3", "cosine/unique term"): "control: the NFM for the term",
    ("B.fig3", "off-diagonal/mass"): "control: basis of eigenvectors",
    ("B.fig9", "pearson/K"): "pearson/Q",
    ("C.fig1", "transition/lead"): "control: random labels",
    ("C.fig1", "transition/mass"): "control: random labels",
    ("C.fig4", "fig4/minimiser/fact"): "fig4/null/fact",
    ("C.fig5", "parity/chosen mass"): "control: random labels",
    ("C.fig6", "modular/circulancy"): "control: numbers relabelled",
    ("C.fig7", "modular/pair"): "control: k' of relabelled M",
}
INSTEAD["D.fig4", "nc1/by samples"] = "null/nc1/agop"
# the points are random, and the control's classes differ from the claim's
for place in ("before", "after"):
    INSTEAD["D.propA.1", f"propA1/nc1 {place}"] = "control: classes on both sides of the origin"
for claim_id in ("D.fig1", "D.fig5", "D.fig6"):
    INSTEAD |= {
        (claim_id, f"gram/{name}"): "control: fitted to shuffled labels" for name in ("within", "across", "spread")
    }
for claim_id in ("D.fig10", "D.fig11", "D.fig12"):
    INSTEAD[claim_id, "nfa/mean"] = "nfa/null"
    INSTEAD[claim_id, "nc2/output"] = "control: labels shuffled at the measure, digits"
SETTINGS = load("quick")
CHANCE = {"nfa/Q", "pearson/Q", "nfa/null"}  # these are what chance gives


# a claim that is not run at the quick scale has no rows
RUN = [key for key in SETTINGS.claims if not hasattr(papers.claim(SETTINGS.paper[key], key), "NEEDS")]


@pytest.mark.parametrize("key", RUN)
def test_chance_stands_beside_every_alignment(key):
    """In the rows that the claim's page shows."""
    claim = papers.claim(SETTINGS.paper[key], key)
    aligned = [name for name in quantities(claim) if ALIGNED.search(name) and not name.startswith("null/")]
    shown = report_rows.read(ROWS / f"{key}.csv")
    beside = {*shown["quantity"], *shown["arm"]}
    for name in sorted({*aligned} - CHANCE):
        chance = {f"null/{name}", f"null/{name.partition('/')[2]}", INSTEAD.get((claim.ID, name))}
        assert chance & beside, f"{claim.ID}: nothing beside {name} says what chance gives"


def judged(claim, statement_name: str, **values) -> Finding:
    """What a rule finds on six seeds, whose values differ by 1 % of their size, and those of nulls by 2 %."""
    (statement,) = [statement for statement in claim.STATEMENTS if statement.name == statement_name]
    common = {"experiment": "e", "scale": "quick", "arm": "claim", "case": "digits, laplace, relu", "layer": "3"}
    rows = []
    for name, value in values.items():
        spread = 0.004 if name.startswith("null") else 0.002
        rows += [{**common, "seed": seed, "quantity": name.replace("__", "/"), "value": value * (1 + spread * seed)}
                 for seed in range(6)]  # fmt: skip
    return statement.rule(statement.rows_read(Rows(tables.table(rows))))


@pytest.mark.parametrize("measure", ["vcs", "agop"])
def test_figure_7s_update_above_its_null(measure):
    def planted(correlation, null):
        return judged(a_fig7, f"{measure.upper()} above its null, of the update",
                      **{f"pearson__{measure}_change_diagonal": correlation,
                         f"null__{measure}_change_diagonal": null})  # fmt: skip

    assert planted(0.8, 0.4).holds
    assert planted(0.3, 0.4).holds is False


def test_deep_rfms_collapse_needs_both_measures_below_chance():
    below = {"nc1__agop": 0.01, "nc2__agop": 0.2, "null__nc1__agop": 50.0, "null__nc2__agop": 0.9}
    assert judged(d_fig3, "collapse beyond chance", **below).holds
    assert judged(d_fig3, "collapse beyond chance", **{**below, "nc2__agop": 1.0}).holds is False
    assert judged(d_fig3, "collapse beyond chance", **{**below, "nc1__agop": 60.0}).holds is False


def test_the_last_features_collapse_beyond_chance():
    assert judged(d_fig10, "the collapse is beyond chance", within=0.2, null__within=0.97).holds
    assert judged(d_fig10, "the collapse is beyond chance", within=0.99, null__within=0.97).holds is False
