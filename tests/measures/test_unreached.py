"""Layers that no sample reaches: an unused head, and the experts that a router does not choose."""

import pytest
import torch
from small_networks import Routed, routed_samples
from torch import nn

import gramlab

EXPERTS = [f"experts.{index}" for index in range(3)]
UNUSED = {"experts.2.weight": "no sample reaches layer 'experts.2'"}


@pytest.fixture
def routed():
    """A model, and samples of which the first eight go to the first expert and the last twelve to the second."""
    torch.manual_seed(0)
    return Routed().double(), *routed_samples()


def expected(model, x, y):
    """Each layer's gradient of the loss by autograd, and its eNFA by autograd for single samples."""
    weights = {name: module.weight for name, module in model.named_modules() if isinstance(module, nn.Linear)}
    gradients = torch.autograd.grad(nn.functional.mse_loss(model(x), y), weights.values(), allow_unused=True)
    inputs = {}
    for name in weights:
        total = torch.zeros(4, 4, dtype=torch.float64)
        for i in range(len(x)):
            calls = []
            hook = model.get_submodule(name).register_forward_hook(lambda module, args, z, calls=calls: calls.append(z))
            loss = nn.functional.mse_loss(model(x[i : i + 1]), y[i : i + 1])
            hook.remove()
            if calls:
                (g,) = torch.autograd.grad(loss, calls[0])
                g = g @ weights[name]
                total += g.T @ g / len(x)
        inputs[name] = total
    return dict(zip(weights, gradients, strict=True)), inputs


def assert_measured(measured, model, x, y):
    gradients, enfas = expected(model, x, y)
    assert list(measured) == ["first", *EXPERTS[:2]]
    assert gradients["experts.2"] is None
    assert not enfas["experts.2"].any()
    for name, layer in measured.items():
        torch.testing.assert_close(layer.weight_gradient, gradients[name], rtol=1e-10, atol=1e-14)
        torch.testing.assert_close(layer.enfa, enfas[name], rtol=1e-10, atol=1e-14)
    assert measured.left_out == UNUSED


@pytest.mark.parametrize("batch_size", [3, 20])
def test_an_expert_without_samples_is_left_out(routed, batch_size):
    """An expert that only a later batch reaches is measured."""
    model, x, y = routed
    measured = gramlab.measure(model, x, y, loss="mse", batch_size=batch_size)
    assert_measured(measured, model, x, y)
    assert "experts.2.weight (no sample reaches layer 'experts.2')" in repr(measured)


@pytest.mark.parametrize("frozen", [False, True])
def test_rounds_leave_out_the_same(routed, frozen):
    """Each layer is a round of its own; that of the third expert has no layer."""
    model, x, y = routed
    largest = int(gramlab.plan(model, x, y, loss="mse").layers[["sums", "batch"]].sum(axis=1).max())
    assert len(gramlab.plan(model, x, y, loss="mse", max_memory=largest).rounds) == 4
    measured_model = Routed().double().requires_grad_(not frozen)
    measured_model.load_state_dict(model.state_dict())
    measured = gramlab.measure(measured_model, x, y, loss="mse", batch_size=3, max_memory=largest)
    assert_measured(measured, model, x, y)
    assert measured.loss == pytest.approx(float(nn.functional.mse_loss(model(x), y).detach()))


@pytest.mark.parametrize("max_memory", [None, 700])
def test_parts_may_reach_different_experts(routed, max_memory):
    model, x, y = routed
    parts = [gramlab.measure(model, x, y, loss="mse", shard=(i, 3), max_memory=max_memory) for i in range(3)]
    assert [part.settings["unreached"] for part in parts] == [EXPERTS[1:], ["experts.2"], [EXPERTS[0], EXPERTS[2]]]
    merged = gramlab.merge(parts)
    assert_measured(merged, model, x, y)
    assert "unreached" not in merged.settings
    with pytest.raises(ValueError, match="no sample of any part reaches layers"):
        gramlab.merge([gramlab.measure(model, x, shard=(0, 1), forward=lambda m, x: x * m.first.bias.sum())])


def test_layers_that_are_named_must_be_reached(routed):
    model, x, _ = routed
    assert list(gramlab.measure(model, x, layers=EXPERTS[:2], batch_size=3)) == EXPERTS[:2]
    for options in ({}, {"max_memory": 10**6}, {"shard": (0, 2)}):
        with pytest.raises(ValueError, match=r"no sample reaches layers \['experts.2'\]"):
            gramlab.measure(model, x, layers=["first", "experts.0", "experts.2"], **options)


def test_an_unused_head_that_shares_a_measured_weight_is_nothing_to_name():
    torch.manual_seed(0)
    model = nn.ModuleDict({"used": nn.Linear(4, 4), "tied": nn.Linear(4, 4), "head": nn.Linear(4, 3)}).double()
    model["tied"].weight = model["used"].weight
    x, y = torch.randn(9, 4, dtype=torch.float64), torch.randn(9, 3, dtype=torch.float64)
    measured = gramlab.measure(model, x, y, loss="mse", forward=lambda m, x: m["head"](m["used"](x)))
    assert list(measured) == ["used", "head"]
    assert measured.left_out == {}
    loss = nn.functional.mse_loss(model["head"](model["used"](x)), y)
    (gradient,) = torch.autograd.grad(loss, model["used"].weight)
    torch.testing.assert_close(measured["used"].weight_gradient, gradient, rtol=1e-10, atol=1e-14)


def test_a_recorder_follows_an_expert_that_loses_its_samples(routed, tmp_path):
    """The recorder's samples go to the second expert, then to the first alone, then to both again."""
    model, x, y = routed
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    recorder = gramlab.Recorder(model, x, y, tmp_path / "run.parquet", every=1, weight_decay=0.1)
    samples, steps = x.clone(), {}
    with recorder.attach(optimizer):
        for sign in (-1, 1):
            x[:, 0] = -x[:, 0].abs() if sign < 0 else samples[:, 0]
            optimizer.zero_grad()
            nn.functional.mse_loss(model(samples), y).backward()
            optimizer.step()
    for row in recorder.rows:
        steps.setdefault(row["layer"], set()).add(row["step"])
    assert steps["experts.0"] == {0, 1, 2}
    assert steps["experts.1"] == {0, 2}
    assert "experts.2" not in steps
    reason = "the layer sees 8 rows, and there are 20 samples"
    assert recorder.undefined["step 0 experts.0 target_linearity"] == reason
