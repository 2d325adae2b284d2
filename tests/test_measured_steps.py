"""A recorder measures steps in their order; its table has one row for a step, a layer and a quantity."""

import pytest
import torch
from recordings import data, network, recorder
from torch.nn import functional as F

import gramlab
from gramlab import tables

torch.set_num_threads(1)


def train(model, optimizer, steps):
    x, y = data()
    for _ in range(steps):
        optimizer.zero_grad()
        F.cross_entropy(model.eval()(x), y).backward()
        optimizer.step()


def loss(model) -> float:
    x, y = data()
    return float(F.cross_entropy(model.eval()(x), y).detach())


def losses(path) -> dict[int, float]:
    """The recorded losses by step; every row of the table is the only one of its step, layer and quantity."""
    rows = tables.read(path).to_pylist()
    values = {(row["step"], row["layer"], row["quantity"]): row["value"] for row in rows}
    assert len(values) == len(rows) > 0
    return {step: value for (step, _, quantity), value in values.items() if quantity == "loss"}


def test_a_step_that_is_measured_again_has_the_last_numbers(tmp_path):
    model = network()
    optimizer, before = torch.optim.SGD(model.parameters(), lr=0.5), loss(model)
    recording = recorder(model, tmp_path / "t", every=2).attach(optimizer)
    train(model, optimizer, 2)
    assert any(key.startswith("step 0 ") for key in recording.undefined)
    reasons = dict(recording.undefined)
    recording.measure_at(2)
    assert recording.undefined == reasons
    with torch.no_grad():
        model[0].weight.mul_(1.5)
    recording.measure_at(2)
    recording.write()
    assert losses(recording.path) == pytest.approx({0: before, 2: loss(model)}, rel=1e-5)


def test_the_caller_may_count_the_steps(tmp_path):
    """Without step() the last measured step is the last one, and step 0 keeps the numbers of the initial weights."""
    model = network()
    optimizer, expected = torch.optim.SGD(model.parameters(), lr=0.5), {0: loss(model)}
    recording = recorder(model, tmp_path / "t")
    recording.begin()
    for step in (20, 40):
        train(model, optimizer, 20)
        recording.measure_at(step)
        expected[step] = loss(model)
    recording.write()
    assert recording.steps == 40
    assert losses(recording.path) == pytest.approx(expected, rel=1e-5)
    recording.step()
    train(model, optimizer, 1)
    recording.write()
    assert losses(recording.path) == pytest.approx({**expected, 41: loss(model)}, rel=1e-5)


def test_steps_out_of_order_are_refused(tmp_path):
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    recording = recorder(model, tmp_path / "t", every=2).attach(optimizer)
    train(model, optimizer, 4)
    rows = list(recording.rows)
    with pytest.raises(ValueError, match="step 3 comes before step 4, which is measured"):
        recording.measure_at(3)
    for step in (-1, 5.5, "5"):
        with pytest.raises(ValueError, match=f"step must be a whole number of at least 0, not {step!r}"):
            recording.measure_at(step)
    assert recording.rows == rows


def test_the_sum_of_shifts_counts_a_step_once(tmp_path):
    """Compare with shifts that are measured and summed by hand."""
    model, (x, y) = network().double().eval(), data()
    x, rate, total = x.double(), 0.3, 0
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    recording = gramlab.Recorder(model, x, y, tmp_path / "t", every=1, loss="cross_entropy").attach(optimizer)
    for step in range(1, 5):
        total = total + gramlab.measure(model, x, y, loss="cross_entropy")["0"].virtual_shift(rate)
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        recording.measure_at(step)
    moved = model[0].weight.detach().T @ model[0].weight.detach() - network().double()[0].weight.detach().T @ (
        network().double()[0].weight.detach()
    )
    values = {row["quantity"]: row["value"] for row in recording.rows if (row["step"], row["layer"]) == (4, "0")}
    assert values["pearson_virtual_moved"] == pytest.approx(gramlab.pearson(moved, total), rel=1e-9)
