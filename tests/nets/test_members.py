"""Members of an ensemble against networks that train alone; optimizers against torch.optim; the names of grid cases."""

import copy
import itertools
import shutil
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from gramlab.data import prepare
from gramlab.nets import NetError, TrainingConfig, build, fit, mlp, stacked
from gramlab.nets.ensemble import Ensemble
from gramlab.nets.graphs import repeats_its_operations
from gramlab.nets.members import members
from gramlab.nets.optimizers import StackedOptimizer
from gramlab.nets.stacked import StackedParameters

MODELS = {
    "mlp": {"kind": "mlp", "hidden": [16, 12], "activation": "gelu"},
    "no bias": {"kind": "mlp", "hidden": [16], "activation": "relu^2", "bias": False},
    "cnn": {"kind": "cnn", "channels": 4},
    "vae": {"kind": "vae", "hidden": [16, 12], "latent": 3},
    "batch normalisation": {"kind": "resnet18", "width": 8, "depth": 1, "channels": 4},
}
OPTIMIZERS = {
    "sgd": {"optimizer": "sgd", "momentum": 0.9, "schedule": "cosine"},
    "adam": {"optimizer": "adam"},
    "adamw": {"optimizer": "adamw"},
    "whitened": {"optimizer": "whitened", "momentum": 0.9},
    "complement": {"optimizer": "whitened_complement"},
}
GRID = {"lr": [0.01, 0.03], "weight_decay": [0.0, 0.1]}
# one hidden layer each: every operation of a step costs the C++ compiler seconds
COMPILED = {
    "mlp": {"kind": "mlp", "hidden": [8], "activation": "gelu"},
    "vae": {"kind": "vae", "hidden": [8], "latent": 2},
}


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    return prepare("digits", tmp_path_factory.mktemp("raw"), train=110, test=20)


def network(architecture, data):
    return build(**architecture, shape=data.x_train.shape[1:], outputs=data.outputs)


# every strategy, although the code chooses only one of them
STRATEGIES = list(itertools.product(MODELS, ("separate", "batched", "vmapped")))


@pytest.mark.parametrize(
    ("kind", "strategy", "optimizer"),
    # one optimizer is enough for the separate strategy, which trains each member alone
    [(kind, strategy, optimizer) for kind, strategy in STRATEGIES for optimizer in OPTIMIZERS
     if strategy != "separate" or optimizer == "adam"
     if kind != "batch normalisation" or optimizer == "sgd"],
)  # fmt: skip
def test_every_member_trains_as_it_would_alone(digits, tmp_path, monkeypatch, kind, strategy, optimizer):
    """Over 55 steps in float64, weights and every row of the history agree up to round-off."""
    monkeypatch.setattr(
        StackedParameters, "_strategy", lambda self, model, count, *_: strategy if count > 1 else "separate"
    )
    loss = {"loss": "vae"} if kind == "vae" else {}
    settings = {"batch": 10, "epochs": 5, "snapshots": (5,), "name": ("solo",), "dtype": "float64", **loss}
    settings |= {**OPTIMIZERS[optimizer], "lr": 0.5}
    model = network(MODELS[kind], digits)
    together, history = fit(model, digits, TrainingConfig(**settings, grid=GRID), 2, tmp_path / "together")
    weights = load_file(together[5])
    for index in (1, 6):  # of eight members
        member = members(2, GRID, lr=0.5)[index]
        config = TrainingConfig(**{**settings, "lr": member.lr, "weight_decay": member.weight_decay})
        alone, rows = fit(model, digits, config, member.seed + 1, tmp_path / str(index))
        # batch normalisation amplifies round-off
        tolerance = {"rtol": 1e-7, "atol": 1e-9} if "normalisation" in kind else {"rtol": 1e-9, "atol": 1e-11}
        for name, value in load_file(alone[5]).items():
            torch.testing.assert_close(weights[name][index], value[member.seed], **tolerance)
        values = [row["value"] for row in history if (row["seed"], row["case"]) == (member.seed, member.case)]
        expected = [row["value"] for row in rows if row["seed"] == member.seed]
        assert values == pytest.approx(expected, rel=tolerance["rtol"])


@pytest.mark.skipif(not shutil.which("c++"), reason="torch.compile needs a C++ compiler")
@pytest.mark.parametrize(("kind", "optimizer", "batch"), [("mlp", "sgd", 20), ("vae", "adam", 22)])
def test_compiled_steps_agree_with_plain_steps(digits, tmp_path, kind, optimizer, batch):
    """Up to round-off, with SGD also at a smaller last batch and with a schedule; Adam's also if interrupted, in bytes.

    Each run compiles its steps anew, for each size of a batch. Adam's are interrupted, since they have all that a
    resumed run must restore.
    """
    model = network(COMPILED[kind], digits)
    config = TrainingConfig(
        batch=batch, epochs=20, snapshots=(2, 20), name=("compiled",), dtype="float64", grid=GRID,
        loss="vae" if kind == "vae" else "cross_entropy", **OPTIMIZERS[optimizer],
    )  # fmt: skip
    plain, _ = fit(model, digits, config, 2, tmp_path / "plain")
    config = replace(config, compile="default")
    compiled, _ = fit(model, digits, config, 2, tmp_path / "compiled")
    for epoch in (2, 20):
        weights, expected = load_file(compiled[epoch]), load_file(plain[epoch])
        for name, value in expected.items():
            torch.testing.assert_close(weights[name], value, rtol=1e-9, atol=1e-11)
    assert any((weights[name] != value).any() for name, value in expected.items())  # so other code computed them
    assert not torch._dynamo.config.trace_autograd_ops  # on within a step only
    if optimizer != "adam":
        return

    stopped = tmp_path / "stopped"
    with pytest.raises(KeyboardInterrupt):
        fit(model, digits, config, 2, stopped, checkpoint_seconds=0, progress=_stop_after(50))
    resumed, _ = fit(model, digits, config, 2, stopped)
    assert resumed[20].read_bytes() == compiled[20].read_bytes()


def _stop_after(last):
    def progress(step, *_):
        if step >= last:
            raise KeyboardInterrupt

    return progress


def test_each_member_has_its_own_label_noise_and_beta(digits, tmp_path):
    settings = {"batch": 10, "epochs": 1, "snapshots": (1,), "name": ("own",), "dtype": "float64", "lr": 0.05}
    for kind, axis, values, loss in (("mlp", "label_noise", [0.0, 0.5, 1.0], "cross_entropy"),
                                     ("vae", "beta", [0.1, 4.0], "vae")):  # fmt: skip
        model, config = network(MODELS[kind], digits), TrainingConfig(**settings, loss=loss)
        together, history = fit(model, digits, replace(config, grid={axis: values}), 2, tmp_path / axis)
        weights = load_file(together[1])
        for index, member in enumerate(members(2, {axis: values}, lr=0.05)):
            own_config = replace(config, **{axis: getattr(member, axis)})
            alone, rows = fit(model, digits, own_config, 2, tmp_path / f"{axis}{index}")
            for name, value in load_file(alone[1]).items():
                torch.testing.assert_close(weights[name][index], value[member.seed], rtol=1e-9, atol=1e-11)
            values_of_member = [
                row["value"] for row in history if (row["seed"], row["case"]) == (member.seed, member.case)
            ]
            expected = [row["value"] for row in rows if row["seed"] == member.seed]
            assert values_of_member == pytest.approx(expected, rel=1e-9)
        layer = weights["0.weight" if kind == "mlp" else "mean.weight"]
        assert not torch.allclose(layer[0], layer[2])


def test_observers_sum_over_every_member(digits, tmp_path):
    config = TrainingConfig(
        batch=10, epochs=1, snapshots=(1,), name=("seen",), observe=("virtual_shift",), dtype="float64", lr=0.1
    )
    model = network(MODELS["mlp"], digits)
    together = load_file(fit(model, digits, replace(config, grid={"lr": [0.1, 0.2]}), 2, tmp_path / "a")[0][1])
    alone = load_file(fit(model, digits, replace(config, lr=0.2), 2, tmp_path / "b")[0][1])
    for name, value in alone.items():
        torch.testing.assert_close(together[name][2:], value, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("strategy", ["separate", "batched"])
@pytest.mark.parametrize(
    ("name", "torch_optimizer", "options"),
    [
        ("sgd", torch.optim.SGD, {}),
        ("sgd", torch.optim.SGD, {"momentum": 0.9}),
        ("adam", torch.optim.Adam, {}),  # both with their default betas
        ("adam", torch.optim.Adam, {"betas": (0.8, 0.99)}),
        ("adamw", torch.optim.AdamW, {}),
        ("adamw", torch.optim.AdamW, {"betas": (0.9, 0.98)}),
    ],
)
def test_stacked_optimizers_agree_with_torch(monkeypatch, name, torch_optimizer, options, strategy):
    """Three members with their own rates and decays take twenty steps; each agrees with an optimizer of torch."""
    rates, decays = [0.1, 0.03, 0.2], [0.0, 0.1, 0.5]
    three = members(1, {"lr": rates, "weight_decay": decays}, lr=1.0)[::4]
    assert [(member.lr, member.weight_decay) for member in three] == list(zip(rates, decays, strict=True))
    random = torch.Generator().manual_seed(0)
    model = mlp(5, [4], 3)
    initial = [{key: torch.randn(p.shape, generator=random).double() for key, p in model.named_parameters()}
               for _ in three]  # fmt: skip
    monkeypatch.setattr(StackedParameters, "_strategy", lambda *_: strategy)
    stack = StackedParameters(model, initial, 1, torch.float64, "cpu")
    optimizer = StackedOptimizer(stack, three, name, **options)
    parameters = [[torch.nn.Parameter(weights[key].clone()) for key in stack.names] for weights in initial]
    expected = [torch_optimizer(member_parameters, lr=member.lr, weight_decay=member.weight_decay, **options)
                for member_parameters, member in zip(parameters, three, strict=True)]  # fmt: skip
    for step in range(20):
        gradients = [torch.randn(stack.values[key].shape, generator=random).double() for key in stack.names]
        for index, member_parameters in enumerate(parameters):
            for parameter, gradient in zip(member_parameters, gradients, strict=True):
                parameter.grad = gradient[index]
            expected[index].step()
        for group in stack.groups:
            group_gradients = [gradient[group.members.start] if group.is_single else gradient for gradient in gradients]
            optimizer.step(group, step, 1.0, group_gradients)
    for index, member_parameters in enumerate(parameters):
        for key, parameter in zip(stack.names, member_parameters, strict=True):
            torch.testing.assert_close(stack.values[key][index], parameter.detach(), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("strategy", ["separate", "batched"])
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_the_fused_step_of_a_gpu_agrees_with_torch(monkeypatch, strategy, momentum):
    """The step that a GPU takes, on the CPU, with a rate that changes and is a tensor; in single precision."""
    options = {"momentum": momentum, "weight_decay": 0.1}
    random, factors = torch.Generator().manual_seed(0), torch.linspace(1, 0.1, 20, dtype=torch.float64)
    model = mlp(5, [4], 3)
    initial = [{key: torch.randn(p.shape, generator=random) for key, p in model.named_parameters()} for _ in range(3)]
    monkeypatch.setattr(StackedParameters, "_strategy", lambda *_: strategy)
    stack = StackedParameters(model, initial, 1, torch.float32, "cpu")
    optimizer = StackedOptimizer(stack, members(3, {}, lr=0.2, weight_decay=0.1), "sgd", momentum=momentum)
    assert not optimizer.is_fused
    optimizer.is_fused = True
    parameters = {key: torch.nn.Parameter(value.double()) for key, value in stack.values.items()}
    expected = torch.optim.SGD(parameters.values(), lr=1.0, **options)
    for step, factor in enumerate(factors):
        gradients = [torch.randn(stack.values[key].shape, generator=random) for key in stack.names]
        for parameter, gradient in zip(parameters.values(), gradients, strict=True):
            parameter.grad = gradient.double()
        expected.param_groups[0]["lr"] = 0.2 * float(factor)
        expected.step()
        for group in stack.groups:
            own = [gradient[group.members.start] if group.is_single else gradient for gradient in gradients]
            optimizer.step(group, torch.tensor(step), factor, own)
    for key, parameter in parameters.items():
        torch.testing.assert_close(stack.values[key], parameter.detach().float(), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("kind", ["mlp", "vae", "batch normalisation"])
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_a_step_from_tensors_alone_is_the_plain_step(digits, kind, optimizer):
    """A GPU records the step whose number and factor are tensors; in double precision both agree to round-off."""
    loss = {"loss": "vae"} if kind == "vae" else {}
    config = TrainingConfig(batch=10, dtype="float64", grid=GRID, **{**OPTIMIZERS[optimizer], **loss})
    weights = []
    for is_from_tensors in (False, True):
        trained = Ensemble(network(MODELS[kind], digits), digits, config, 2, "cpu")
        trained.stacked.train(True)
        for step, rows in enumerate(trained.batches.epoch(0)):
            factor = 1 / (1 + step)
            for index, group in enumerate(trained.stacked.groups):
                noise = trained.batches.noise(group.members, step, rows.shape[1])
                if is_from_tensors:
                    trained.pick_and_update(index, torch.tensor([step, factor], dtype=torch.float64), rows, *noise)
                else:
                    trained.step(index, step, factor, rows)
        weights.append(trained.weights())
    for name, value in weights[0].items():
        torch.testing.assert_close(weights[1][name], value, rtol=1e-9, atol=1e-11)


class Doubled(nn.Module):
    def forward(self, x):
        return 2 * x


@pytest.mark.parametrize(
    ("kind", "settings", "repeats"),
    [
        ("mlp", {}, True),
        ("vae", {"optimizer": "adam"}, True),
        ("batch normalisation", {}, True),
        ("mlp", {"optimizer": "whitened"}, False),
        ("mlp", {"compile": "default"}, False),
    ],
)
def test_only_steps_of_the_same_operations_are_recorded(digits, kind, settings, repeats):
    model, config = network(MODELS[kind], digits), TrainingConfig(**settings)
    assert repeats_its_operations(model, config) == repeats
    assert not repeats_its_operations(nn.Sequential(model, Doubled()), config)


def test_ntk_parametrization_is_gradient_descent_on_the_unscaled_weights(digits, tmp_path):
    """Compared with autograd on V, where W = V / sqrt(fan-in) and V decays."""
    options = {"lr": 0.7, "momentum": 0.5, "weight_decay": 0.02, "parametrization": "ntk", "init": "normal"}
    config = TrainingConfig(
        **options, loss="mse", batch=None, epochs=6, snapshots=(0, 6), name=("ntk",), dtype="float64"
    )
    files = fit(mlp(64, [9], 10), digits, config, 1, tmp_path)[0]
    first, last = ({name: value[0] for name, value in load_file(files[epoch]).items()} for epoch in (0, 6))
    roots = {"0": 8.0, "2": 3.0}
    V = {name: torch.nn.Parameter(value * roots[name[0]]) for name, value in first.items()}
    optimizer = torch.optim.SGD(V.values(), lr=0.7, momentum=0.5, weight_decay=0.02)
    x = digits.scaled(digits.x_train, torch.float64).flatten(1)
    y = torch.nn.functional.one_hot(digits.y_train).double()
    for _ in range(6):
        W = {name: value / roots[name[0]] for name, value in V.items()}
        h = torch.nn.functional.gelu(x @ W["0.weight"].T + W["0.bias"])
        optimizer.zero_grad()
        (h @ W["2.weight"].T + W["2.bias"] - y).square().mean().backward()
        optimizer.step()
    for name, value in last.items():
        torch.testing.assert_close(value, V[name].detach() / roots[name[0]], rtol=1e-9, atol=1e-12)


def test_the_strategy_depends_on_model_and_size():
    def stack(model, count, batch, sample=None):
        return StackedParameters(model, [dict(model.named_parameters())] * count, batch, torch.float32, "cpu", sample)

    def single(model, count, batch, sample=None):
        return [group.is_single for group in stack(model, count, batch, sample).groups]

    small, large = mlp(8, [8], 2), mlp(512, [512], 2)
    assert single(small, 5, 16) == [False]
    assert single(small, 1, 16) == [True]
    assert single(large, 5, 64) == [True] * 5
    assert stacked.MAX_BATCHED_WORK < 64 * 512 * 512

    # 81, 25 and 36 positions of kernels with 4, 64 and 64 weights for each of 16 channels, and a linear layer
    work = (81 * 4 * 16 + 25 * 64 * 16 + 36 * 64 * 16 + 144 * 10) / 4
    cnn, few = build("cnn", (1, 8, 8), 10), int(stacked.MAX_GROUPED_WORK / work)
    image = torch.zeros(1, 1, 8, 8)
    for network, sample in ((cnn, image), (copy.deepcopy(cnn).double(), image), (cnn, image.double())):
        assert single(network, 3, few, sample) == [False]
        assert single(network, 3, few + 1, sample) == [True] * 3
    assert single(cnn, 1, few, image) == [True]
    assert single(cnn, 3, few) == [True] * 3  # without a sample
    tokens = nn.Sequential(nn.Embedding(5, 3), nn.LayerNorm(3), nn.Flatten(), nn.Linear(6, 2))
    assert single(tokens, 3, few, torch.zeros(1, 2, dtype=torch.int64)) == [False]

    linear = build("deep_linear", (10,), 5, hidden=[32, 32])
    assert stack(linear, 1, 128).unit_vectors == 10
    assert stack(linear, 1, 10).unit_vectors == 0  # as many inputs as samples
    narrow = build("deep_linear", (10,), 50, hidden=[2])
    assert stack(narrow, 1, 11).unit_vectors == 0  # the product with the batch costs more
    for not_linear in (mlp(10, [32], 5, "relu", bias=False), mlp(10, [32], 5, "linear")):
        assert stack(not_linear, 1, 128).unit_vectors == 0


def test_names_and_mistakes_of_a_grid():
    assert [member.case for member in members(1, {}, lr=1.0)] == [""]
    cases = [member.case for member in members(1, {"lr": [0.1, 0.01], "beta": [5]}, lr=1.0)]
    assert cases == ["lr=0.1,beta=5", "lr=0.01,beta=5"]
    order = [(member.seed, member.lr) for member in members(2, {"lr": [1, 2]}, lr=9.0)]
    assert order == [(0, 1), (1, 1), (0, 2), (1, 2)]
    for grid, says in (({"momentum": [1]}, "not 'momentum'"), ({"lr": []}, "grid.lr"), ({"lr": [1, 1]}, "lr")):
        with pytest.raises(NetError, match=says):
            members(1, grid, lr=1.0)
