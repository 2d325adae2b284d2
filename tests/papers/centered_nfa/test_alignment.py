"""Figures 1 and 9 and the EGOP: the statements on planted tables."""

import pytest
from centered_nfa_planted import findings, refuted, supported
from helpers import rows

from gramlab import tables
from gramlab.streams import stream
from tasks.judging.contract import ContractError
from tasks.judging.finding import find
from tasks.judging.rows import Rows
from tasks.papers.centered_nfa.claims import b_egop, b_fig1, b_fig9

SEEDS = range(5)


def first_and_last(arm="claim", steps=(0, 800), **values) -> list[dict]:
    """Rows of each quantity at the first and at the last step, with a little noise."""
    return [
        {"experiment": "planted", "scale": "paper", "arm": arm, "seed": seed, "step": step, "quantity": quantity,
         "value": value + 0.002 * float(stream("test_checks_b", arm, quantity, seed, step).normal())}
        for quantity, pair in values.items() for seed in SEEDS for step, value in zip(steps, pair, strict=True)
    ]  # fmt: skip


def planted(**values) -> Rows:
    return Rows(tables.table(first_and_last(**values)))


@pytest.mark.parametrize(
    ("claim", "name", "printed"), [(b_fig1, "nfa", (0.93, 0.53)), (b_fig9, "pearson", (0.91, 0.04))]
)
def test_figures_1_and_9_need_a_higher_correlation_with_k(claim, name, printed):
    def judged(with_K, with_Q):
        return findings(claim, planted(**{f"{name}/K": (with_K, with_K), f"{name}/Q": (with_Q, with_Q)}))

    assert all(judged(*printed).values())
    for pair in ((0.8, 0.2), (0.9, 0.8), (0.3, 0.2)):
        assert judged(*pair)["K above Q"]
    assert judged(0.8, 0.2)["level with K"] is False
    assert judged(0.8, 0.2)["level with Q"] is False
    for pair in ((0.2, 0.8), (0.8, 0.9), (0.2, 0.3)):
        assert judged(*pair)["K above Q"] is False


def test_the_spread_of_eigenvalues_in_figure_1():
    spread = b_fig1.SPREAD_OF_K
    assert supported(b_fig1, planted(**{spread: (5.9, 5.9)})) == {
        "K is far from the identity",
        "spread of K's eigenvalues",
    }
    assert refuted(b_fig1, planted(**{spread: (0.0, 0.0)})) == {
        "K is far from the identity",
        "spread of K's eigenvalues",
    }
    assert supported(b_fig1, planted(**{spread: (3.0, 3.0)})) == {"K is far from the identity"}


EGOP = {
    "egop/agop": (0.2, 0.9),
    "null/egop_agop": (0.1, 0.1),
    "egop/agop, another target": (0.2, 0.7),
    "egop/gram": (0.3, 0.8),
    "null/egop_gram": (0.2, 0.2),
    "r2/train": (0.0, 0.99),
    "r2/test": (0.0, 0.7),
}


def test_each_statement_on_the_egop_can_fail():
    names = {statement.name for statement in b_egop.STATEMENTS} - {"rank of the EGOP"}
    assert supported(b_egop, planted(**EGOP)) == names
    for quantity, pair, broken in (
        ("egop/agop", (0.2, 0.05), {"AGOP resembles EGOP", "nearer to 1 than to chance", "this target and no other"}),
        ("null/egop_agop", (0.1, 0.85), {"nearer to 1 than to chance"}),
        # the null of the trained network, and not the one before training
        ("null/egop_agop", (0.1, 0.95), {"AGOP resembles EGOP", "nearer to 1 than to chance"}),
        ("egop/agop, another target", (0.2, 0.95), {"this target and no other"}),
        ("egop/gram", (0.3, 0.15), {"NFM resembles EGOP"}),
    ):
        assert refuted(b_egop, planted(**{**EGOP, quantity: pair})) == broken


@pytest.mark.parametrize(("wrong", "holds"), [((), True), ((4, 8, 12), False), ((12,), False), ((1,), False)])
def test_the_rank_of_the_egop_is_judged_on_every_chain(wrong, holds):
    table = rows(
        [
            {"seed": seed, "x": float(r), "quantity": "rank/egop", "value": -2.0 * (r in wrong)}
            for seed in SEEDS
            for r in range(1, 13)
        ]
    )
    assert findings(b_egop, table) == {"rank of the EGOP": holds}
    assert judged_chains(table).endswith("r = " + ", ".join(map(str, wrong)) if wrong else "r from 1 to 12")


def judged_chains(table: Rows) -> str:
    return b_egop.has_the_rank(table).measured


def test_the_condition_on_the_network_is_none_of_the_target_s_rank():
    (hypothesis,) = b_egop.HYPOTHESES
    assert set(hypothesis.statements) == {s.name for s in b_egop.STATEMENTS} - {"rank of the EGOP"}


def test_a_network_that_is_far_from_the_target_on_new_samples_misses_the_hypothesis_of_the_egop():
    (hypothesis,) = b_egop.HYPOTHESES
    assert hypothesis.rule(planted(**EGOP)).holds
    assert hypothesis.rule(planted(**{**EGOP, "r2/train": (0.0, 0.5)})).holds
    assert hypothesis.rule(planted(**{**EGOP, "r2/test": (0.0, 0.4)})).holds is False
    assert hypothesis.rule(planted(**{**EGOP, "r2/test": (0.9, 0.4)})).holds is False


def test_a_table_without_a_seed_is_refused():
    levels = {"nfa/K": (0.9, 0.9), "nfa/Q": (0.5, 0.5), b_fig1.SPREAD_OF_K: (5.9, 5.9)}
    ends = {name: pair[1:] for name, pair in levels.items()}
    table = first_and_last(steps=(800,), **ends)
    table += first_and_last("control: planted", (800,), **{**ends, "nfa/K": (0.5,)})

    def judged(rows: list[dict]) -> dict:
        return find(b_fig1, "B", Rows(tables.table(rows)), "planted", "paper", {5})

    assert judged(table)["ran"]
    with pytest.raises(ContractError):
        judged([row for row in table if row["seed"] != 3])
    with pytest.raises(ContractError):
        judged([row for row in table if (row["quantity"], row["arm"]) != ("nfa/Q", "claim")])
