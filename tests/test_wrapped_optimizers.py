"""Optimizers within a wrapper: the recorder and accumulated FACT follow the one within."""

import pytest
import torch
from recordings import data, network, recorder
from torch.nn import functional as F

import gramlab

torch.set_num_threads(1)


class Accelerated(torch.optim.Optimizer):
    """As accelerate's: a torch optimizer by its class, that does not call torch's ``__init__``."""

    def __init__(self, optimizer):
        self.optimizer = optimizer

    @property
    def param_groups(self):
        return self.optimizer.param_groups

    def zero_grad(self):
        self.optimizer.zero_grad()

    def step(self):
        self.optimizer.step()


class Shared(torch.optim.Optimizer):
    """As Lightning's: it shares all attributes of the optimizer."""

    def __init__(self, optimizer):
        self.__dict__ = dict(vars(optimizer))
        self.optimizer = optimizer

    def step(self):
        self.optimizer.step()


class Halving(torch.optim.SGD):
    """An optimizer with hooks of its own, that does more than the one within."""

    def __init__(self, optimizer):
        super().__init__(optimizer.param_groups[0]["params"], lr=0.1)
        self.optimizer = optimizer

    @torch.no_grad()
    def step(self):
        self.optimizer.step()
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter *= 0.5


def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.1)


def train(model, optimizer, steps=4):
    x, y = data()
    for _ in range(steps):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()


@pytest.mark.parametrize("wrap", [Accelerated, Shared])
def test_a_wrapped_optimizer_is_followed(wrap, tmp_path):
    """The numbers are those without the wrapper."""
    rows = []
    for change, path in ((lambda optimizer: optimizer, tmp_path / "plain"), (wrap, tmp_path / "wrapped")):
        model = network().eval()
        optimizer = change(sgd(model))
        with recorder(model, path, every=2, accumulate=True).attach(optimizer) as recording:
            train(model, optimizer)
        assert recording.steps == 4
        rows.append(recording.rows)
        assert "pearson_accumulated_fact" in {row["quantity"] for row in recording.rows}
    assert rows[0] == rows[1]


@pytest.mark.parametrize("wrap", [Accelerated, Shared])
def test_accumulated_fact_of_a_wrapped_optimizer(wrap):
    """P after one step is W₀ᵀW₀ − γ (W₀ᵀg + gᵀW₀)."""
    model = network().eval()
    W, optimizer = model[0].weight.detach().double().clone(), wrap(sgd(model))
    accumulated = gramlab.AccumulatedFact(model, optimizer)
    train(model, optimizer, steps=1)
    D = model[0].weight.grad.double()
    torch.testing.assert_close(accumulated["0"], W.T @ W - 0.1 * (W.T @ D + D.T @ W))


def test_an_optimizer_with_hooks_of_its_own_is_followed_itself(tmp_path):
    """It is measured after its own step, not after that of the optimizer within."""
    model, (x, y) = network().eval(), data()
    optimizer = Halving(sgd(model))
    with recorder(model, tmp_path / "t", every=1).attach(optimizer) as recording:
        train(model, optimizer, steps=1)
    losses = {row["step"]: row["value"] for row in recording.rows if row["quantity"] == "loss"}
    assert losses[1] == pytest.approx(F.cross_entropy(model(x), y).item(), rel=1e-6)


def test_an_optimizer_without_a_form_is_told_of_form():
    model = network()
    with pytest.raises(ValueError, match=r"not for Rprop; .* takes form="):
        gramlab.AccumulatedFact(model, torch.optim.Rprop(model.parameters()))
