"""The recorder's sums of virtual covariance shifts, against shifts that are measured or differentiated by hand."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from recordings import data, network
from torch import nn
from torch.nn import functional as F

import gramlab

torch.set_num_threads(1)


def test_the_sum_of_virtual_shifts_is_that_of_full_batch_training(tmp_path):
    """Paper A, Figure 7: recorded at every step, the sum is exactly Σ_t VCS_t, here by autograd on the input."""
    model, (x, y) = network().double(), data()
    model[1].p = 0.0
    x, optimizer, total = x.double(), torch.optim.SGD(model.parameters(), lr=0.3), 0
    first = model[0].weight.detach().clone()
    with gramlab.Recorder(model, x, y, tmp_path / "t", every=1, loss="cross_entropy").attach(optimizer) as recording:
        for _ in range(6):
            h = x.clone().requires_grad_()
            loss = F.cross_entropy(model(h), y)
            moved = x - 0.3 * torch.autograd.grad(loss, h, retain_graph=True)[0]
            total = total + moved.T @ moved - x.T @ x
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    rows = {(r["step"], r["layer"], r["quantity"]): r["value"] for r in recording.rows}
    W = model[0].weight.detach()
    moved = W.T @ W - first.T @ first
    assert rows[6, "0", "pearson_virtual"] == pytest.approx(gramlab.pearson(W.T @ W, total))
    assert rows[6, "0", "pearson_virtual_moved"] == pytest.approx(gramlab.pearson(moved, total))
    assert rows[6, "0", "diagonal_virtual_moved"] == pytest.approx(gramlab.pearson(moved, total, diagonal=True))
    assert rows[6, "0", "pearson_virtual_moved"] > 0.99


@pytest.mark.parametrize("every", [1, 3])
def test_shifts_of_a_wide_layer_are_summed_in_blocks_of_rows(every, tmp_path):
    """Against shifts that are measured, formed as matrices, and summed by hand; 1,200 inputs are wide."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(1200, 5), nn.GELU(), nn.Linear(5, 3)).double()
    x, y = torch.randn(20, 1200, dtype=torch.float64), torch.arange(20) % 3
    optimizer, total = torch.optim.SGD(model.parameters(), lr=0.02), 0
    first = model[0].weight.detach().clone()
    with gramlab.Recorder(model, x, y, tmp_path / "t", every=every, linearity=False).attach(optimizer) as recording:
        for step in range(6):
            if step % every == 0:
                total = total + every * gramlab.measure(model, x, y)["0"].virtual_shift(0.02)
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
    W = model[0].weight.detach()
    grams = {"": W.T @ W, "_moved": W.T @ W - first.T @ first}
    rows = {r["quantity"]: r["value"] for r in recording.rows if (r["step"], r["layer"]) == (6, "0")}
    for suffix, gram in grams.items():
        assert rows[f"pearson_virtual{suffix}"] == pytest.approx(gramlab.pearson(gram, total), abs=1e-12)
        diagonal = gramlab.pearson(gram, total, diagonal=True)
        assert rows[f"diagonal_virtual{suffix}"] == pytest.approx(diagonal, abs=1e-12)
    assert "0" not in recording._shifts.shifts


class Switched(nn.Module):
    """A network with an expert that sees samples only while it is on."""

    def __init__(self, inputs):
        super().__init__()
        torch.manual_seed(0)
        self.base, self.expert, self.head = nn.Linear(inputs, 3), nn.Linear(inputs, 4), nn.Linear(4, 3)
        self.on = True
        self.double()

    def forward(self, x):
        return self.base(x) + self.head(torch.tanh(self.expert(x))) if self.on else self.base(x)


@pytest.mark.parametrize("closed", [0, 2])
@pytest.mark.parametrize("inputs", [6, 1100])
def test_a_shift_stands_for_no_step_after_a_measurement_that_does_not_reach_its_layer(inputs, closed, tmp_path):
    """Its own shift is zero from there to the next measurement; 1,100 inputs are wide."""
    model, y = Switched(inputs), torch.arange(20) % 3
    x = torch.randn(20, inputs, dtype=torch.float64) / math.sqrt(inputs)
    optimizer, total, totals = torch.optim.SGD(model.parameters(), lr=0.5), 0, {}
    recording = gramlab.Recorder(model, x, y, tmp_path / "t", every=100, at=[2, 5, 6, 8], linearity=False)
    first, measured_at = model.expert.weight.detach().clone(), [0, 2, 5, 6, 8]
    model.on = closed != 0
    with recording.attach(optimizer):
        for step in range(8):
            if step in measured_at and model.on:
                steps = measured_at[measured_at.index(step) + 1] - step
                total = total + steps * gramlab.measure(model, x, y)["expert"].virtual_shift(0.5)
            model.on = True  # the training reaches the expert at each step
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            model.on = step + 1 != closed
            optimizer.step()
            W = model.expert.weight.detach()
            if step + 1 in (5, 6, 8):
                totals[step + 1] = gramlab.pearson(W.T @ W - first.T @ first, total)
    recorded = {row["step"]: row["value"] for row in recording.rows
                if (row["layer"], row["quantity"]) == ("expert", "pearson_virtual_moved")}  # fmt: skip
    assert recorded == {step: pytest.approx(value, abs=1e-12) for step, value in totals.items()}


def test_a_shift_has_the_learning_rate_of_its_layers_group(tmp_path):
    """The same rates in groups of another order, with biases apart; a layer in no group has the first group's rate."""
    model, (x, y) = network().double(), data()
    x, rates, totals = x.double(), {"0": 0.5, "3": 0.1, "5": 0.3}, dict.fromkeys(("0", "3", "5"), 0)
    biases = {"params": [model[0].bias, model[3].bias], "lr": 0.3}
    weights = [{"params": [model[int(name)].weight], "lr": rates[name]} for name in ("3", "0")]
    optimizer = torch.optim.SGD([biases, *weights], lr=9.0)
    recording = gramlab.Recorder(model, x, y, tmp_path / "t", every=1, loss="cross_entropy")
    with recording.attach(optimizer):
        for _ in range(3):
            for name, layer in gramlab.measure(model, x, y, loss="cross_entropy").items():
                totals[name] = totals[name] + layer.virtual_shift(rates[name])
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
    for name, total in totals.items():
        torch.testing.assert_close(recording._shifts.totals[name], total, rtol=1e-12, atol=1e-14)


def test_a_shift_counts_for_each_step_until_the_next_measurement(tmp_path):
    """Measured every third step of six: three times the shifts at steps 0 and 3, which are measured by hand."""
    model, (x, y) = network().double(), data()
    x, rate, total = x.double(), 0.2, 0
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    with gramlab.Recorder(model, x, y, tmp_path / "t", every=3, loss="cross_entropy").attach(optimizer) as recording:
        for step in range(6):
            if step in (0, 3):
                total = total + 3 * gramlab.measure(model, x, y, loss="cross_entropy")["3"].virtual_shift(rate)
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
    torch.testing.assert_close(recording._shifts.totals["3"], total, rtol=1e-12, atol=1e-14)


def test_a_second_training_has_the_learning_rates_of_its_own_optimizer(tmp_path):
    """Lightning's trainer makes an optimizer for each fit and counts its steps on; the shifts are by autograd."""
    model, (x, y) = network().double(), data()
    model[1].p = 0.0
    x, total = x.double(), 0
    recording = gramlab.Recorder(model, x, y, tmp_path / "t", every=1, loss="cross_entropy")
    callback, trainer = recording.callback(), SimpleNamespace(global_step=0)
    for first_rate in (0.5, 0.02):
        optimizer = torch.optim.SGD(model.parameters(), lr=first_rate)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.7)
        trainer.optimizers = [optimizer]
        callback.on_train_start(trainer, model)
        for step in range(3):
            h = x.clone().requires_grad_()
            loss = F.cross_entropy(model(h), y)
            moved = x - first_rate * 0.7**step * torch.autograd.grad(loss, h, retain_graph=True)[0]
            total = total + moved.T @ moved - x.T @ x
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            trainer.global_step += 1
            callback.on_train_batch_end(trainer, model, None, None, step)
        callback.on_train_end(trainer, model)
    W = model[0].weight.detach()
    expected = np.corrcoef((W.T @ W).flatten(), total.flatten())[0, 1]
    rows = {(r["step"], r["layer"], r["quantity"]): r["value"] for r in recording.rows}
    assert rows[6, "0", "pearson_virtual"] == pytest.approx(expected, rel=1e-9)
    torch.testing.assert_close(recording._shifts.totals["0"], total, rtol=1e-9, atol=1e-12)


def trained(model, x, y, path, rates, steps=3, **options):
    """A recording of training at rate 0.02, where the optimizer says another rate of layers that it does not move."""
    groups = [{"params": [p], "lr": rates.get(name, 0.02)} for name, p in model.named_parameters()]
    optimizer = torch.optim.SGD(groups)
    with gramlab.Recorder(model, x, y, path, linearity=False, **options).attach(optimizer) as recording:
        for _ in range(steps):
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            for name, parameter in model.named_parameters():
                if name in rates:
                    parameter.grad = None
            optimizer.step()
    return recording


@pytest.mark.parametrize(("inputs", "peak"), [(5, math.inf), (1200, math.inf), (5, 1.2e308)])
def test_an_undefined_shift_ends_the_sum_of_its_layer_alone(inputs, peak, tmp_path):
    """Training goes on; the other layers' sums are those of shifts that are measured and summed by hand."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(inputs, 8), nn.GELU(), nn.Linear(8, 3)).double()
    x, y = torch.randn(30, inputs, dtype=torch.float64), torch.arange(30) % 3
    rate = 1e300
    if peak < math.inf:  # of the shift, which is lr² ∇L ∇Lᵀ up to rounding: one is finite, and the sum of two is not
        rate = 1e154 * float((peak / 1e308 / (gramlab.measure(model, x, y)["0"].enfa / 30).abs().max()).sqrt())
    total, first = 0, model[2].weight.detach().clone()
    initial = {name: value.clone() for name, value in model.state_dict().items()}
    recording = trained(model, x, y, tmp_path / "t", {"0.weight": rate}, every=1)
    W = model[2].weight.detach()
    assert not W.equal(first)
    model.load_state_dict(initial)
    optimizer = torch.optim.SGD([model[2].weight, *(layer.bias for layer in (model[0], model[2]))], lr=0.02)
    for _ in range(3):
        total = total + gramlab.measure(model, x, y)["2"].virtual_shift(0.02)
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    assert W.equal(model[2].weight)
    rows = {(r["step"], r["layer"], r["quantity"]): r["value"] for r in recording.rows}
    assert rows[3, "2", "pearson_virtual"] == pytest.approx(gramlab.pearson(W.T @ W, total), rel=1e-12)
    moved = W.T @ W - first.T @ first
    assert rows[3, "2", "diagonal_virtual_moved"] == pytest.approx(gramlab.pearson(moved, total, diagonal=True))
    for quantity in ("pearson_virtual", "diagonal_virtual", "pearson_virtual_moved", "diagonal_virtual_moved"):
        assert (3, "0", quantity) not in rows
        reason = recording.undefined[f"step 3 0 {quantity}"]
        assert ("the sum of virtual shifts" if peak < math.inf else "at step 0: layer '0': virtual_shift") in reason
    assert (3, "0", "nfa") in rows
