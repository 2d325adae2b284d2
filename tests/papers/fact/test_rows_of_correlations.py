"""Which rows the rules on FACT's correlations read: every layer, after training."""

import numpy as np
import pytest

from gramlab import tables
from gramlab.streams import stream
from tasks.judging.rows import Rows
from tasks.papers.fact.claims import c_fig3
from tasks.papers.fact.claims.shared.correlations import HIDDEN, NAMES


def outcome(name: str, pearson, null: float = 0.3) -> bool | None:
    """What a statement's rule finds where ``pearson(matrix, layer, epoch)`` are the correlations before and after."""

    def noisy(value: float, *place: object) -> float:
        return float(np.tanh(np.arctanh(value) + 0.02 * stream("test_rows", *map(str, place)).normal()))

    records = []
    for seed in range(5):
        for layer in sorted(HIDDEN):
            place = {"case": "MNIST", "seed": seed, "layer": layer}
            records += [
                {**place, "x": float(epoch), "step": epoch, "quantity": f"pearson/{matrix}",
                 "value": noisy(pearson(matrix, layer, epoch), seed, layer, epoch, matrix)}
                for matrix in NAMES for epoch in (0, 9)
            ]  # fmt: skip
            records.append({**place, "x": 9.0, "step": 9, "quantity": "null/fact", "value": null})
    statement = next(statement for statement in c_fig3.STATEMENTS if statement.name == name)
    return statement.rule(statement.rows_read(Rows(tables.table(records)))).holds


@pytest.mark.parametrize("layer", sorted(HIDDEN))
def test_fact_must_be_above_its_null_on_every_layer(layer):
    assert outcome("FACT above its null", lambda matrix, at, epoch: 0.9)
    assert outcome("FACT above its null", lambda matrix, at, epoch: 0.1 if at == layer else 0.9) is False


def test_fact_is_compared_with_its_null_after_training():
    assert outcome("FACT above its null", lambda matrix, at, epoch: 0.9 if epoch else 0.1)
    assert outcome("FACT above its null", lambda matrix, at, epoch: 0.1 if epoch else 0.9) is False


@pytest.mark.parametrize("other", ["agop", "enfa"])
def test_fact_is_ahead_after_training(other):
    name = f"ahead of {'AGOP' if other == 'agop' else 'eNFA'}"

    def ahead(matrix: str, epoch: int) -> float:
        return 0.95 if ("fact" in matrix) == bool(epoch) else 0.6

    assert outcome(name, lambda matrix, at, epoch: ahead(matrix, epoch))
    assert outcome(name, lambda matrix, at, epoch: ahead(matrix, 9 - epoch)) is False
