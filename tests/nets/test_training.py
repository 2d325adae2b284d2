"""Training against hand-written loops."""

import itertools

import pytest
import torch
from safetensors.torch import load_file

from gramlab.data import prepare
from gramlab.losses import LOSSES
from gramlab.nets import Diverged, Fit, fit, initialize, mlp
from gramlab.streams import stream

HOW = Fit(lr=0.05, batch=32, epochs=3, snapshots=(0, 1, 3), name=("test",), dtype="float64")


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    return prepare("digits", tmp_path_factory.mktemp("raw"), train=150, test=40)


def weights(path, seed):
    return {key: value[seed] for key, value in load_file(path).items() if not key.startswith("observer:")}


@pytest.mark.parametrize(
    ("optimizer", "options", "make"),
    [
        ("sgd", {"momentum": 0.9, "weight_decay": 1e-3, "schedule": "cosine"}, torch.optim.SGD),
        ("adam", {}, torch.optim.Adam),
        ("adamw", {"weight_decay": 0.1}, torch.optim.AdamW),
    ],
)
def test_each_seed_trains_as_a_bare_loop_would(digits, tmp_path, optimizer, options, make):
    how = Fit(**{**vars(HOW), "optimizer": optimizer, **options, "lr": 0.01})
    snapshots, history = fit(mlp(64, [16, 12], 10), digits, how, 2, tmp_path)
    x, y = digits.numbers(digits.x_train, torch.float64).flatten(1), digits.y_train
    for seed in range(2):
        model = mlp(64, [16, 12], 10).double()
        model.load_state_dict(initialize(model, ("test", seed)))
        given = {key: value for key, value in options.items() if key != "schedule"}
        steps = make(model.parameters(), lr=0.01, **given)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(steps, 3 * 5) if "schedule" in options else None
        for epoch in range(3):
            order = torch.from_numpy(stream("test", seed, "order", epoch).permutation(150))
            for rows in order.split(32):
                steps.zero_grad()
                torch.nn.functional.cross_entropy(model(x[rows]), y[rows]).backward()
                steps.step()
                if schedule:
                    schedule.step()
        for key, value in weights(snapshots[3], seed).items():
            torch.testing.assert_close(value, model.state_dict()[key], rtol=1e-9, atol=1e-11)
        right = float((model(x).argmax(1) == y).double().mean())
        last = [row["value"] for row in history if row["quantity"] == "train_accuracy" and row["seed"] == seed][-1]
        assert last == pytest.approx(right)


def test_seeds_differ_and_history_counts_steps(digits, tmp_path):
    snapshots, history = fit(mlp(64, [8], 10), digits, HOW, 3, tmp_path)
    first = [weights(snapshots[0], seed)["0.weight"] for seed in range(3)]
    assert all(not torch.equal(a, b) for a, b in itertools.combinations(first, 2))
    assert {row["step"] for row in history} == {0, 5, 10, 15}


def test_observers_sum_their_definitions(digits, tmp_path):
    """Virtual Covariance Shift and virtual update against sums of plain autograd over the same steps."""
    how = Fit(**{**vars(HOW), "epochs": 2, "snapshots": (2,), "observe": ("virtual_shift",)})
    got = load_file(fit(mlp(64, [6], 10), digits, how, 1, tmp_path / "a")[0][2])
    x, y = digits.numbers(digits.x_train, torch.float64).flatten(1), digits.y_train
    model = mlp(64, [6], 10).double()
    model.load_state_dict(initialize(model, ("test", 0)))
    shift = torch.zeros(64, 64, dtype=torch.float64)
    for epoch in range(2):
        for rows in torch.from_numpy(stream("test", 0, "order", epoch).permutation(150)).split(32):
            h = x[rows].clone().requires_grad_()
            loss = LOSSES["cross_entropy"](model(h), y[rows]).mean()
            at_h, *at_theta = torch.autograd.grad(loss, [h, *model.parameters()])
            virtual = (h - how.lr * at_h).detach()
            shift += virtual.T @ virtual - x[rows].T @ x[rows]
            with torch.no_grad():
                for part, step in zip(model.parameters(), at_theta, strict=True):
                    part -= how.lr * step
    half = got["observer:virtual_shift"][0]
    torch.testing.assert_close(-(half + half.T), shift, rtol=1e-9, atol=1e-9)
    assert not torch.allclose(got["observer:virtual_shift/shuffled"], got["observer:virtual_shift"])


def test_a_loss_that_is_not_finite_names_seed_and_step(digits, tmp_path):
    how = Fit(**{**vars(HOW), "loss": "mse", "lr": 1e200, "epochs": 5})
    with pytest.raises(Diverged, match=r"seed 0 is not a finite number at step \d+"):
        fit(mlp(64, [8], 10), digits, how, 2, tmp_path)
