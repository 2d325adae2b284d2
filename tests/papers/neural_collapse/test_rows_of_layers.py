"""Statements on every layer and every run: a single exception refutes them."""

import pytest

from gramlab import tables
from tasks.judging.monte_carlo import within_standard_errors
from tasks.judging.rows import Rows
from tasks.papers.neural_collapse.claims import d_fig3
from tasks.papers.neural_collapse.claims.shared.deep_rfm import interpolates

CASE = "digits, gaussian, relu"


IMPROVING = {  # the statement on each NC1, and its kind
    "nc1/agop": ("NC1 improves in every layer", "asserted"),
    "nc1/data": ("NC1 of the layer's input improves in every layer", "ours"),
}


def halving(stays_at: int | None = None, rises: float = 0.0, quantity: str = "nc1/agop") -> Rows:
    """NC1 of five seeds, which about halves in each of six layers, but at one step changes by ``rises`` in the mean."""
    records = []
    for seed in range(5):
        nc1 = 1.0
        for layer in range(1, 7):
            row = {"case": CASE, "seed": seed, "layer": str(layer), "x": float(layer)}
            # the other NC1 halves whatever the step: each statement must read its own
            records += [{**row, "quantity": quantity, "value": nc1},
                        {**row, "quantity": ({*IMPROVING} - {quantity}).pop(), "value": 0.5**layer}]  # fmt: skip
            change = -rises if layer == stays_at else 1 / 3
            change += 0.01 * (seed - 2)
            nc1 *= (1 - change) / (1 + change)
    return Rows(tables.table(records))


def improves(rows: Rows, quantity: str = "nc1/agop"):
    name, kind = IMPROVING[quantity]
    (statement,) = (statement for statement in d_fig3.STATEMENTS if statement.name == name)
    assert (statement.kind, statement.reads) == (kind, (quantity,))
    return statement.rule(statement.rows_read(rows))


@pytest.mark.parametrize("quantity", ["nc1/agop", "nc1/data"])
@pytest.mark.parametrize(("rises", "holds"), [(-0.1, True), (0.002, None), (0.1, False)])
@pytest.mark.parametrize("step", [1, 4, 5])
def test_nc1_must_fall_at_each_step_in_the_mean_over_seeds(step, rises, holds, quantity):
    finding = improves(halving(step, rises, quantity), quantity)
    assert finding.holds is holds
    assert (f"does not fall after layer {step}" in finding.measured) is (rises > 0)


def test_a_rise_in_one_seed_is_no_refutation():
    """Its mean over seeds still falls; the share of steps shows it."""
    rows = halving(3, -0.01)
    finding = improves(rows)
    (part,) = finding.parts[CASE].parts["layer 3 to 4"].sample[:1]
    assert part == pytest.approx(-0.01)
    assert finding.holds is None
    assert finding.numbers[f"{CASE}, share of steps in which NC1 falls"] == pytest.approx(23 / 25)


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
