"""Statements on every layer and every run: a single exception refutes them."""

import pytest

from gramlab import tables
from tasks.judging.rows import Rows
from tasks.papers.neural_collapse.claims import d_fig3
from tasks.papers.neural_collapse.claims.shared.deep_rfm import interpolates
from tasks.papers.neural_collapse.claims.shared.standard_errors import within_standard_errors

CASE = "digits, gaussian, relu"


@pytest.mark.parametrize("rises_at", [None, 1, 4])
def test_nc1_must_fall_at_each_step_of_each_seed(rises_at):
    """It halves in each of six layers; in one seed of five it rises at one step."""
    records = [
        {"case": CASE, "seed": seed, "layer": str(layer), "x": float(layer), "quantity": "nc1/data",
         "value": 0.5 ** (layer - 2 * (seed == 3 and layer == rises_at))}
        for seed in range(5) for layer in range(6)
    ]  # fmt: skip
    (statement,) = (statement for statement in d_fig3.STATEMENTS if statement.name == "NC1 falls in every layer")
    assert statement.rule(Rows(tables.table(records))).holds is (rises_at is None)


@pytest.mark.parametrize(("accuracies", "met"), [((1.0, 1.0, 1.0), True), ((1.0, 1.0, 0.98), False)])
def test_every_run_must_interpolate(accuracies, met):
    records = [{"case": CASE, "seed": seed, "quantity": "train_accuracy", "value": value}
               for seed, value in enumerate(accuracies)]  # fmt: skip
    assert interpolates(Rows(tables.table(records))).holds is met


@pytest.mark.parametrize(("farthest", "holds"), [(3.9, True), (-3.9, True), (4.1, False), (-4.1, False)])
def test_a_mean_may_lie_on_either_side_of_its_expectation(farthest, holds):
    values = enumerate((0.3, farthest, -1.0))
    records = [{"case": str(index), "quantity": "away", "value": value} for index, value in values]
    assert within_standard_errors(Rows(tables.table(records))).holds is holds
