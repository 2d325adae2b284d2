"""Training against hand-written loops."""

import copy
import itertools
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from gramlab.data import prepare
from gramlab.losses import LOSSES
from gramlab.nets import Diverged, NetError, TrainingConfig, build, fit, initialize, mlp
from gramlab.nets.stacked import StackedParameters
from gramlab.streams import stream

CONFIG = TrainingConfig(lr=0.05, batch=32, epochs=3, snapshots=(0, 1, 3), name=("test",), dtype="float64")


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    return prepare("digits", tmp_path_factory.mktemp("raw"), train=150, test=40)


def weights(path, seed):
    return {key: value[seed] for key, value in load_file(path).items() if not key.startswith("observer:")}


@pytest.mark.parametrize(
    ("name", "options", "make_optimizer"),
    [
        ("sgd", {"momentum": 0.9, "weight_decay": 1e-3, "schedule": "cosine"}, torch.optim.SGD),
        ("adam", {}, torch.optim.Adam),
        ("adamw", {"weight_decay": 0.1}, torch.optim.AdamW),
    ],
)
def test_each_seed_trains_as_a_bare_loop_would(digits, tmp_path, name, options, make_optimizer):
    config = replace(CONFIG, optimizer=name, lr=0.01, **options)
    snapshots, history = fit(mlp(64, [16, 12], 10), digits, config, 2, tmp_path)
    x, y = digits.scaled(digits.x_train, torch.float64).flatten(1), digits.y_train
    for seed in range(2):
        model = mlp(64, [16, 12], 10).double()
        model.load_state_dict(initialize(model, ("test", seed)))
        torch_options = {key: value for key, value in options.items() if key != "schedule"}
        optimizer = make_optimizer(model.parameters(), lr=0.01, **torch_options)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 3 * 5) if "schedule" in options else None
        for epoch in range(3):
            order = torch.from_numpy(stream("test", seed, "order", epoch).permutation(150))
            for rows in order.split(32):
                optimizer.zero_grad()
                torch.nn.functional.cross_entropy(model(x[rows]), y[rows]).backward()
                optimizer.step()
                if schedule:
                    schedule.step()
        for key, value in weights(snapshots[3], seed).items():
            torch.testing.assert_close(value, model.state_dict()[key], rtol=1e-9, atol=1e-11)
        accuracy = float((model(x).argmax(1) == y).double().mean())
        last = [row["value"] for row in history if row["quantity"] == "train_accuracy" and row["seed"] == seed][-1]
        assert last == pytest.approx(accuracy)


@pytest.mark.parametrize("strategy", ["separate", "batched"])
@pytest.mark.parametrize("output_scale", [1.0, 0.5])
def test_a_linear_network_trains_as_its_layers_would(tmp_path, monkeypatch, strategy, output_scale):
    """With six inputs and batches of 20 the network is computed at unit vectors; autograd computes it layer by layer.

    Weights, the observers' gradients with respect to the samples, and the history agree.
    """
    monkeypatch.setattr(StackedParameters, "_strategy", lambda *_: strategy)
    data = prepare("linear_teacher", tmp_path, samples=50, test_samples=9, dimension=6, outputs=3)
    model = mlp(6, [8, 7], 3, "linear", bias=False, output_scale=output_scale)
    config = TrainingConfig(
        loss="mse", lr=0.1, grid={"weight_decay": [0.01, 0.0]}, batch=20, epochs=4, snapshots=(4,), name=("lin",),
        dtype="float64", observe=("virtual_shift",),
    )  # fmt: skip
    snapshots, history = fit(model, data, config, 2, tmp_path / "run")
    saved = load_file(snapshots[4])
    for index, decay in ((1, 0.01), (3, 0.0)):
        bare = mlp(6, [8, 7], 3, "linear", bias=False, output_scale=output_scale).double()
        bare.load_state_dict(initialize(bare, ("lin", 1)))
        optimizer = torch.optim.SGD(bare.parameters(), lr=0.1, weight_decay=decay)
        shift = torch.zeros(6, 6, dtype=torch.float64)
        for epoch in range(4):
            for rows in torch.from_numpy(stream("lin", 1, "order", epoch).permutation(50)).split(20):
                x = data.x_train[rows].double().requires_grad_()
                optimizer.zero_grad()
                torch.nn.functional.mse_loss(bare(x), data.y_train[rows].double()).backward()
                virtual = (x - 0.1 * x.grad).detach()
                shift += virtual.T @ virtual - (x.T @ x).detach()
                optimizer.step()
        for key, value in bare.state_dict().items():
            torch.testing.assert_close(saved[key][index], value, rtol=1e-10, atol=1e-13)
        half = saved["observer:virtual_shift"][index]
        torch.testing.assert_close(-(half + half.T), shift, rtol=1e-9, atol=1e-11)
        test = torch.nn.functional.mse_loss(bare(data.x_test.double()), data.y_test.double())
        last = [row["value"] for row in history if row["quantity"] == "test_loss" and row["seed"] == 1
                and row["case"] == f"weight_decay={decay:g}"][-1]  # fmt: skip
        assert last == pytest.approx(float(test.detach()), rel=1e-9)


def test_seeds_differ_and_history_counts_steps(digits, tmp_path):
    snapshots, history = fit(mlp(64, [8], 10), digits, CONFIG, 3, tmp_path)
    first = [weights(snapshots[0], seed)["0.weight"] for seed in range(3)]
    assert all(not torch.equal(a, b) for a, b in itertools.combinations(first, 2))
    assert {row["step"] for row in history} == {0, 5, 10, 15}


def test_observers_sum_over_all_steps(digits, tmp_path):
    """The Virtual Covariance Shift agrees with its definition, summed by plain autograd over the same steps."""
    config = replace(CONFIG, epochs=2, snapshots=(2,), observe=("virtual_shift",))
    snapshot = load_file(fit(mlp(64, [6], 10), digits, config, 1, tmp_path)[0][2])
    x, y = digits.scaled(digits.x_train, torch.float64).flatten(1), digits.y_train
    model = mlp(64, [6], 10).double()
    model.load_state_dict(initialize(model, ("test", 0)))
    shift = torch.zeros(64, 64, dtype=torch.float64)
    for epoch in range(2):
        for rows in torch.from_numpy(stream("test", 0, "order", epoch).permutation(150)).split(32):
            h = x[rows].clone().requires_grad_()
            loss = LOSSES["cross_entropy"](model(h), y[rows]).mean()
            at_h, *at_theta = torch.autograd.grad(loss, [h, *model.parameters()])
            virtual = (h - config.lr * at_h).detach()
            shift += virtual.T @ virtual - x[rows].T @ x[rows]
            with torch.no_grad():
                for part, step in zip(model.parameters(), at_theta, strict=True):
                    part -= config.lr * step
    half = snapshot["observer:virtual_shift"][0]
    torch.testing.assert_close(-(half + half.T), shift, rtol=1e-9, atol=1e-9)
    assert not torch.allclose(snapshot["observer:virtual_shift/shuffled"], snapshot["observer:virtual_shift"])


@pytest.mark.parametrize("optimizer", ["sgd", "whitened"])
def test_a_loss_that_is_not_finite_names_seed_and_step(digits, tmp_path, optimizer):
    config = replace(CONFIG, loss="mse", optimizer=optimizer, method="svd", lr=1e200, epochs=5)
    with pytest.raises(Diverged, match=r"seed 0 is not a finite number at step \d+"):
        fit(mlp(64, [8], 10), digits, config, 2, tmp_path)


def test_a_vae_trains_as_a_bare_loop_would(digits, tmp_path):
    """The bare loop takes the loss from torch.distributions, and noise and batches from the named streams."""
    config = replace(CONFIG, loss="vae", beta=3.0, optimizer="adam", lr=0.01)
    model = build("vae", (1, 8, 8), 10, hidden=[12], latent=4)
    snapshots, history = fit(model, digits, config, 2, tmp_path)
    x, test = (digits.scaled(part, torch.float64).flatten(1) for part in (digits.x_train, digits.x_test))
    for seed in range(2):
        bare = copy.deepcopy(model).double()
        bare.load_state_dict(initialize(model, ("test", seed)))
        optimizer = torch.optim.Adam(bare.parameters(), lr=0.01)

        def terms(x, noise, bare=bare):
            logits, mean, log_variance = bare(x, torch.from_numpy(noise))
            pixels = torch.distributions.Bernoulli(logits=logits, validate_args=False)
            q = torch.distributions.Normal(mean, (log_variance / 2).exp())
            prior = torch.distributions.Normal(0.0, 1.0)
            divergence = torch.distributions.kl_divergence(q, prior).sum(1)
            return -pixels.log_prob(x).sum(1).mean(), divergence.mean()

        for epoch in range(3):
            order = torch.from_numpy(stream("test", seed, "order", epoch).permutation(150))
            for step, rows in enumerate(order.split(32), 5 * epoch):
                noise = stream("test", seed, "latent noise", step).normal(size=(len(rows), 4))
                reconstruction, divergence = terms(x[rows], noise)
                optimizer.zero_grad()
                (reconstruction + 3 * divergence).backward()
                optimizer.step()
        for key, value in weights(snapshots[3], seed).items():
            torch.testing.assert_close(value, bare.state_dict()[key], rtol=1e-7, atol=1e-9)
        with torch.no_grad():
            expected = terms(test, stream("test", seed, "latent noise", "test").normal(size=(40, 4)))
        last = {row["quantity"]: row["value"] for row in history if (row["seed"], row["x"]) == (seed, 3.0)}
        assert last["test_reconstruction"] == pytest.approx(float(expected[0]), rel=1e-6)
        assert last["test_divergence"] == pytest.approx(float(expected[1]), rel=1e-6)
        assert last["test_loss"] == pytest.approx(float(expected[0] + 3 * expected[1]), rel=1e-6)


def test_batch_normalisation_keeps_each_members_statistics(digits, tmp_path):
    """Weights and running statistics of a convolutional network agree with a bare loop."""
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 10))
    snapshots, history = fit(model, digits, CONFIG, 2, tmp_path, checkpoint_seconds=0)
    x, y = digits.scaled(digits.x_train, torch.float64), digits.y_train
    test = digits.scaled(digits.x_test, torch.float64)
    for seed in range(2):
        bare = copy.deepcopy(model).double()
        bare.load_state_dict(initialize(model, ("test", seed)), strict=False)
        optimizer = torch.optim.SGD(bare.parameters(), lr=0.05)
        for epoch in range(3):
            for rows in torch.from_numpy(stream("test", seed, "order", epoch).permutation(150)).split(32):
                optimizer.zero_grad()
                nn.functional.cross_entropy(bare(x[rows]), y[rows]).backward()
                optimizer.step()
        trained = weights(snapshots[3], seed)
        assert trained.keys() == bare.state_dict().keys()
        for key, value in trained.items():
            torch.testing.assert_close(value, bare.state_dict()[key], rtol=1e-9, atol=1e-11)
        last = [row["value"] for row in history if row["quantity"] == "test_loss" and row["seed"] == seed][-1]
        assert last == pytest.approx(float(nn.functional.cross_entropy(bare.eval()(test), digits.y_test).detach()))
    assert not model[1].running_mean.any()  # the model that was passed did not change
    again, _ = fit(model, digits, CONFIG, 2, tmp_path, checkpoint_seconds=0)  # from the last checkpoint
    assert weights(again[3], 1)["1.running_var"].equal(trained["1.running_var"])


def test_resnet18_trains(digits, tmp_path):
    config = TrainingConfig(
        loss="signed_mse", batch=32, epochs=1, snapshots=(1,), name=("res",), init="torchvision", lr=0.05,
        init_scale={"fc": 0.2, "fc.10": 1.0},
    )  # fmt: skip
    small = replace(digits, x_train=digits.x_train[:64], y_train=digits.y_train[:64])
    snapshots, history = fit(build("resnet18", (1, 8, 8), 10, width=16), small, config, 1, tmp_path)
    assert load_file(snapshots[1])["layer4.1.bn2.num_batches_tracked"].tolist() == [2]
    losses = [row["value"] for row in history if row["quantity"] == "train_loss"]
    assert losses[0] == pytest.approx(1.0, abs=0.2)  # outputs near 0, targets of +-1
    assert losses[1] != losses[0]


def test_a_finite_population_has_weighted_samples(tmp_path):
    """The loss on paper C's D(p, tau) is sum_i w_i l_i; the test takes its steps by hand."""
    data = prepare("fact_population", tmp_path, p=0.3, tau=0.5)
    model = build("mlp", (4,), 1, hidden=[10], activation="quadratic", bias=False)
    config = TrainingConfig(
        loss="mse", optimizer="adam", weight_decay=1e-3, lr=0.01, batch=None, epochs=4, snapshots=(4,),
        history_every=2, name=("test",), dtype="float64",
    )  # fmt: skip
    snapshots, history = fit(model, data, config, 2, tmp_path / "run")
    bare = copy.deepcopy(model).double()
    bare.load_state_dict(initialize(model, ("test", 1)))
    optimizer = torch.optim.Adam(bare.parameters(), lr=0.01, weight_decay=1e-3)
    losses = []
    for _ in range(4):
        optimizer.zero_grad()
        loss = sum(w * (bare(x[None])[0, 0] - y[0]) ** 2
                   for w, x, y in zip(data.weight_train, data.x_train, data.y_train, strict=True))  # fmt: skip
        losses.append(float(loss.detach()))
        loss.backward()
        optimizer.step()
    for key, value in weights(snapshots[4], 1).items():
        torch.testing.assert_close(value, bare.state_dict()[key], rtol=1e-9, atol=1e-11)
    rows = [(row["step"], row["value"]) for row in history if row["seed"] == 1]
    assert [step for step, _ in rows] == [0, 2, 4]
    assert [value for _, value in rows[:2]] == pytest.approx([losses[0], losses[2]])
    with pytest.raises(NetError, match="fact_population have weights: it needs full batches"):
        fit(model, data, replace(config, batch=10), 1, tmp_path / "batches")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"loss": "vae"}, "the loss vae does not fit a Sequential"),
        ({"optimizer": "lion"}, "optimizer must be one of .*, not 'lion'"),
        ({"optimizer": "adam", "parametrization": "ntk"}, "ntk needs the optimizer sgd, not adam"),
        ({"grid": {"momentum": [0.1]}}, "settings of the grid must be among lr, .*, not 'momentum'"),
        ({"compile": "default", "optimizer": "whitened"}, "torch.compile cannot compile the optimizer whitened"),
        ({"init": "he"}, "init must be one of .*, not 'he'"),
        ({"loss": "x"}, "loss must be one of mse, .*, vae, not 'x'"),
        ({"schedule": "x"}, "schedule must be one of constant, cosine, not 'x'"),
        ({"method": "qr"}, "method must be one of newton-schulz, svd, ten-steps, not 'qr'"),
        ({"parametrization": "mup"}, "parametrization must be one of standard, ntk, not 'mup'"),
        ({"observe": ("x",)}, "observe must be among virtual_shift, .*, not 'x'"),
        ({"dtype": "int8"}, "dtype must be one of float64, float32, .*, not 'int8'"),
        ({"batch": 0}, "batch must be a whole number of at least 1, or None for all samples, not 0"),
        ({"batch": 2.5}, "batch must be"),
        ({"epochs": -1}, "epochs must be a whole number of at least 0, not -1"),
        ({"history_every": 0}, "history_every must be a whole number of at least 1, not 0"),
        ({"epochs": True, "snapshots": ()}, "epochs must be a whole number of at least 0, not True"),
        ({"batch": True}, "batch must be a whole number .*, not True"),
        ({"snapshots": (0, 4)}, "each of snapshots must be a whole number from 0 to 3, not 4"),
        ({"snapshots": (True,)}, "each of snapshots must be a whole number from 0 to 3, not True"),
        ({"lr": -1}, "^lr must be a positive number, not -1"),
        ({"lr": 0.0}, "^lr must be a positive number, not 0.0"),
        ({"lr": float("inf")}, "^lr must be a positive number, not inf"),
        ({"lr": "0.1"}, "^lr must be a positive number, not '0.1'"),
        ({"momentum": 5}, "momentum must be a number from 0 to below 1, not 5"),
        ({"momentum": True}, "momentum must be a number from 0 to below 1, not True"),
        ({"weight_decay": -1}, "weight_decay must be a number of at least 0, not -1"),
        ({"betas": (2, 3)}, "each of betas must be a number from 0 to below 1, not 2"),
        ({"betas": (0.9, 1.0)}, "each of betas must be a number from 0 to below 1, not 1.0"),
        ({"betas": 0.9}, "betas must be two numbers from 0 to below 1, not 0.9"),
        ({"betas": (0.9,)}, r"betas must be two numbers from 0 to below 1, not \(0.9,\)"),
        ({"label_noise": 1.5}, "label_noise must be a number from 0 to 1, not 1.5"),
        ({"label_noise": float("nan")}, "label_noise must be a number from 0 to 1, not nan"),
        ({"beta": -0.5}, "beta must be a number of at least 0, not -0.5"),
        ({"grid": {"lr": [0.1, -0.1]}}, "each of grid.lr must be a positive number, not -0.1"),
        ({"grid": {"label_noise": [2]}}, "each of grid.label_noise must be a number from 0 to 1, not 2"),
    ],
)
def test_wrong_settings_are_named(digits, tmp_path, change, says):
    with pytest.raises(NetError, match=says):
        fit(mlp(64, [8], 10), digits, replace(CONFIG, **change), 1, tmp_path)


@pytest.mark.parametrize("before", [(False, False), (True, True), (True, False)])
def test_the_determinism_of_torch_is_restored(digits, tmp_path, before):
    def current():
        return torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()

    original, during_training = current(), []
    config, model = replace(CONFIG, epochs=1, snapshots=()), mlp(64, [4], 10)
    try:
        torch.use_deterministic_algorithms(before[0], warn_only=before[1])
        fit(model, digits, config, 1, tmp_path / "trained", progress=lambda *_: during_training.append(current()))
        assert current() == before
        with pytest.raises(NetError):
            fit(model, digits, replace(config, optimizer="lion"), 1, tmp_path / "refused")
        assert current() == before
    finally:
        torch.use_deterministic_algorithms(original[0], warn_only=original[1])
    assert set(during_training) == {(True, False)}
