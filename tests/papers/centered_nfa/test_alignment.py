"""Figures 1 and 9 and the EGOP: the rules on planted tables."""

import pytest

from gramlab import tables
from gramlab.streams import stream
from tasks.judging.rows import Rows
from tasks.papers.centered_nfa.claims import b_egop, b_fig1, b_fig9

SEEDS = range(5)


def first_and_last(**values) -> Rows:
    """Rows of each quantity at the first and at the last step, with a little noise."""
    return Rows(
        tables.table(
            [
                {"seed": seed, "step": step, "quantity": quantity,
                 "value": value + 0.002 * float(stream("test_checks_b", quantity, seed, step).normal())}
                for quantity, pair in values.items() for seed in SEEDS
                for step, value in zip((0, 800), pair, strict=True)
            ]
        )
    )  # fmt: skip


@pytest.mark.parametrize(
    ("claim", "name", "printed"), [(b_fig1, "nfa", (0.93, 0.53)), (b_fig9, "pearson", (0.91, 0.04))]
)
def test_figures_1_and_9_need_a_higher_correlation_with_k(claim, name, printed):
    def judged(with_K, with_Q):
        return claim.rule(first_and_last(**{f"{name}/K": (with_K, with_K), f"{name}/Q": (with_Q, with_Q)}))

    assert judged(*printed).holds
    assert judged(*printed).evidence == "matches print"
    assert judged(0.8, 0.2).holds
    assert judged(0.8, 0.2).evidence == "direction"
    for pair in ((0.2, 0.8), (0.8, 0.9), (0.2, 0.3)):
        assert judged(*pair).holds is False
    for pair in ((0.9, 0.8), (0.3, 0.2)):
        assert judged(*pair).holds


def test_egop_needs_every_part():
    good = {
        "egop/agop": (0.2, 0.9),
        "null/egop_agop": (0.1, 0.1),
        "egop/agop, another target": (0.2, 0.7),
        "egop/gram": (0.3, 0.8),
        "r2/train": (0.0, 0.99),
        "r2/test": (0.0, 0.7),
    }
    assert b_egop.rule(first_and_last(**good)).holds
    broken = {"r2/train": (0.0, 0.5), "egop/agop": (0.95, 0.9), "null/egop_agop": (0.1, 0.85),
              "egop/agop, another target": (0.2, 0.95), "egop/gram": (0.8, 0.3)}  # fmt: skip
    for quantity, pair in broken.items():
        assert b_egop.rule(first_and_last(**{**good, quantity: pair})).holds is False
