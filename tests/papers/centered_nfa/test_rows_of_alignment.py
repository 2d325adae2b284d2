"""Figures 1 and 9 are about networks after training: what was measured before it is not judged."""

import pytest
from centered_nfa_planted import findings

from gramlab import tables
from gramlab.streams import stream
from tasks.judging.rows import Rows
from tasks.papers.centered_nfa.claims import b_fig1, b_fig9


@pytest.mark.parametrize(("claim", "name"), [(b_fig1, "nfa"), (b_fig9, "pearson")])
def test_the_correlations_of_figures_1_and_9_are_those_after_training(claim, name):
    def judged(with_K: tuple[float, float], with_Q: tuple[float, float]) -> bool | None:
        """Correlations before and after training, with a little noise."""
        records = [
            {"arm": "claim", "seed": seed, "step": step, "quantity": f"{name}/{matrix}",
             "value": value + 0.002 * float(stream("test_rows_of_alignment", matrix, seed, step).normal())}
            for matrix, pair in (("K", with_K), ("Q", with_Q)) for seed in range(5)
            for step, value in zip((0, 800), pair, strict=True)
        ]  # fmt: skip
        return findings(claim, Rows(tables.table(records)))["K above Q"]

    assert judged((0.1, 0.9), (0.6, 0.6))
    assert judged((0.9, 0.1), (0.6, 0.6)) is False
