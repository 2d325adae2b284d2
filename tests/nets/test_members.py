"""Members of one run against their own solo runs; updates against torch.optim; a grid's names."""

import shutil

import pytest
import torch
from safetensors.torch import load_file

from gramlab.data import prepare
from gramlab.nets import Fit, NetError, build, fit, mlp, stacks
from gramlab.nets.members import cases, members
from gramlab.nets.stacks import Stack
from gramlab.nets.updates import Updates

MODELS = {
    "mlp": {"kind": "mlp", "hidden": [16, 12], "activation": "gelu"},
    "no bias": {"kind": "mlp", "hidden": [16], "activation": "relu^2", "bias": False},
    "cnn": {"kind": "cnn", "channels": 4},
    "vae": {"kind": "vae", "hidden": [16, 12], "latent": 3},
}
OPTIMIZERS = {
    "sgd": {"optimizer": "sgd", "momentum": 0.9, "schedule": "cosine"},
    "adam": {"optimizer": "adam"},
    "adamw": {"optimizer": "adamw"},
    "whitened": {"optimizer": "whitened", "momentum": 0.9},
    "complement": {"optimizer": "whitened_complement"},
}
GRID = {"lr": [0.01, 0.03], "weight_decay": [0.0, 0.1]}


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    return prepare("digits", tmp_path_factory.mktemp("raw"), train=110, test=20)


def built(spec, data):
    return build(**spec, shape=data.x_train.shape[1:], outputs=data.outputs)


# each way to compute members together that a model allows, whatever the machine and sizes would choose
WAYS = [(kind, way) for kind in MODELS for way in ("alone", "batched", "mapped") if (kind, way) != ("cnn", "batched")]


@pytest.mark.parametrize(
    ("kind", "way", "optimizer"),
    # one after the other they are solo runs anyway
    [(*which, optimizer) for which in WAYS for optimizer in OPTIMIZERS if which[1] != "alone" or optimizer == "adam"],
)
def test_every_member_is_its_own_solo_run(digits, tmp_path, monkeypatch, kind, way, optimizer):
    """Over 55 steps in float64, to round-off: weights, and every row of the history."""
    monkeypatch.setattr(Stack, "_way", lambda self, model, count, *_: way if count > 1 else "alone")
    loss = {"loss": "vae"} if kind == "vae" else {}
    how = {"batch": 10, "epochs": 5, "snapshots": (5,), "name": ("solo",), "dtype": "float64", **loss}
    how |= {**OPTIMIZERS[optimizer], "lr": 0.5}
    model = built(MODELS[kind], digits)
    together, history = fit(model, digits, Fit(**how, grid=GRID), 2, tmp_path / "together")
    stacked = load_file(together[5])
    for index, member in enumerate(members(2, GRID, lr=0.5)):
        if index not in (1, 6):  # of eight
            continue
        own = {**how, "lr": member.lr, "weight_decay": member.weight_decay}
        alone, rows = fit(model, digits, Fit(**own), member.seed + 1, tmp_path / str(index))
        for name, value in load_file(alone[5]).items():
            torch.testing.assert_close(stacked[name][index], value[member.seed], rtol=1e-9, atol=1e-11)
        mine = [row["value"] for row in history if (row["seed"], row["case"]) == (member.seed, member.case)]
        assert mine == pytest.approx([row["value"] for row in rows if row["seed"] == member.seed], rel=1e-9)


@pytest.mark.skipif(not shutil.which("c++"), reason="torch.compile needs a C++ compiler")
@pytest.mark.parametrize(("kind", "optimizer"), [("mlp", "sgd"), ("vae", "adam")])
def test_compiled_steps_are_the_steps(digits, tmp_path, kind, optimizer):
    """To round-off, also over a batch of another size and a schedule; and stopped half-way, to the same bytes."""
    model = built(MODELS[kind], digits)
    how = {"batch": 20, "epochs": 20, "snapshots": (2, 20), "name": ("compiled",), "dtype": "float64", "grid": GRID,
           "loss": "vae" if kind == "vae" else "cross_entropy", **OPTIMIZERS[optimizer]}  # fmt: skip
    plain, _ = fit(model, digits, Fit(**how), 2, tmp_path / "plain")
    compiled, _ = fit(model, digits, Fit(**how, compile="default"), 2, tmp_path / "compiled")
    for epoch in (2, 20):
        ours, theirs = load_file(compiled[epoch]), load_file(plain[epoch])
        for name, value in theirs.items():
            torch.testing.assert_close(ours[name], value, rtol=1e-9, atol=1e-11)
    assert any((ours[name] != value).any() for name, value in theirs.items())  # by other code, then
    assert not torch._dynamo.config.trace_autograd_ops  # which is off by default, and only on within a step

    stopped = tmp_path / "stopped"
    with pytest.raises(KeyboardInterrupt):
        fit(model, digits, Fit(**how, compile="default"), 2, stopped, keep_seconds=0, progress=_stop_after(100))
    resumed, _ = fit(model, digits, Fit(**how, compile="default"), 2, stopped)
    assert resumed[20].read_bytes() == compiled[20].read_bytes()


def _stop_after(last):
    def progress(step, *_):
        if step >= last:
            raise KeyboardInterrupt

    return progress


def test_label_noise_and_beta_are_each_members_own(digits, tmp_path):
    how = {"batch": 10, "epochs": 1, "snapshots": (1,), "name": ("own",), "dtype": "float64", "lr": 0.05}
    for kind, axis, values, loss in (("mlp", "label_noise", [0.0, 0.5, 1.0], "cross_entropy"),
                                     ("vae", "beta", [0.1, 4.0], "vae")):  # fmt: skip
        model = built(MODELS[kind], digits)
        together, history = fit(model, digits, Fit(**how, loss=loss, grid={axis: values}), 2, tmp_path / axis)
        stacked = load_file(together[1])
        for index, member in enumerate(members(2, {axis: values}, lr=0.05)):
            own = Fit(**how, loss=loss, **{axis: getattr(member, axis)})
            alone, rows = fit(model, digits, own, 2, tmp_path / f"{axis}{index}")
            for name, value in load_file(alone[1]).items():
                torch.testing.assert_close(stacked[name][index], value[member.seed], rtol=1e-9, atol=1e-11)
            mine = [row["value"] for row in history if (row["seed"], row["case"]) == (member.seed, member.case)]
            assert mine == pytest.approx([row["value"] for row in rows if row["seed"] == member.seed], rel=1e-9)
        weights = stacked["0.weight" if kind == "mlp" else "mean.weight"]
        assert not torch.allclose(weights[0], weights[2])


def test_observers_watch_every_member(digits, tmp_path):
    how = Fit(batch=10, epochs=1, snapshots=(1,), name=("seen",), observe=("virtual_shift",), dtype="float64", lr=0.1)
    model = built(MODELS["mlp"], digits)
    together = load_file(fit(model, digits, Fit(**{**vars(how), "grid": {"lr": [0.1, 0.2]}}), 2, tmp_path / "a")[0][1])
    alone = load_file(fit(model, digits, Fit(**{**vars(how), "lr": 0.2}), 2, tmp_path / "b")[0][1])
    for name, value in alone.items():
        torch.testing.assert_close(together[name][2:], value, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("apart", [True, False])
@pytest.mark.parametrize(
    ("ours", "theirs", "options"),
    [
        ("sgd", torch.optim.SGD, {}),
        ("sgd", torch.optim.SGD, {"momentum": 0.9}),
        ("adam", torch.optim.Adam, {"betas": (0.8, 0.99)}),
        ("adamw", torch.optim.AdamW, {"betas": (0.9, 0.98)}),
    ],
)
def test_updates_are_torchs(monkeypatch, ours, theirs, options, apart):
    """Three members with their own rates and decays, twenty steps of given gradients, one of torch's each."""
    rates, decays = [0.1, 0.03, 0.2], [0.0, 0.1, 0.5]
    team = members(1, {"lr": rates, "weight_decay": decays}, lr=1.0)[::4]
    assert [(one.lr, one.weight_decay) for one in team] == list(zip(rates, decays, strict=True))
    random = torch.Generator().manual_seed(0)
    model = mlp(5, [4], 3)
    drawn = [{k: torch.randn(p.shape, generator=random).double() for k, p in model.named_parameters()} for _ in team]
    monkeypatch.setattr(Stack, "_way", lambda *_: "alone" if apart else "batched")
    stack = Stack(model, drawn, 1, torch.float64, "cpu")
    updates = Updates(stack, team, ours, **options)
    parameters = [[torch.nn.Parameter(one[name].clone()) for name in stack.names] for one in drawn]
    steps = [theirs(own, lr=one.lr, weight_decay=one.weight_decay, **options)
             for own, one in zip(parameters, team, strict=True)]  # fmt: skip
    for step in range(20):
        gradients = {name: torch.randn(stack.values[name].shape, generator=random).double() for name in stack.names}
        for index, own in enumerate(parameters):
            for name, parameter in zip(stack.names, own, strict=True):
                parameter.grad = gradients[name][index]
            steps[index].step()
        for group in stack.groups:
            given = [gradients[name][group.members.start] if group.alone else gradients[name] for name in stack.names]
            updates.step(group, step, 1.0, given)
    for index, own in enumerate(parameters):
        for name, parameter in zip(stack.names, own, strict=True):
            torch.testing.assert_close(stack.values[name][index], parameter.detach(), rtol=1e-13, atol=1e-13)


def test_ntk_parametrization_is_gradient_descent_on_the_unscaled_weights(digits, tmp_path):
    """Against autograd on V with W = V / sqrt(fan-in), decay on V."""
    options = {"lr": 0.7, "momentum": 0.5, "weight_decay": 0.02, "parametrization": "ntk", "init": "normal"}
    how = Fit(**options, loss="mse", batch=None, epochs=6, snapshots=(0, 6), name=("ntk",), dtype="float64")
    files = fit(mlp(64, [9], 10), digits, how, 1, tmp_path)[0]
    first, last = ({name: value[0] for name, value in load_file(files[epoch]).items()} for epoch in (0, 6))
    roots = {"0": 8.0, "2": 3.0}
    V = {name: torch.nn.Parameter(value * roots[name[0]]) for name, value in first.items()}
    steps = torch.optim.SGD(V.values(), lr=0.7, momentum=0.5, weight_decay=0.02)
    x = digits.numbers(digits.x_train, torch.float64).flatten(1)
    y = torch.nn.functional.one_hot(digits.y_train).double()
    for _ in range(6):
        W = {name: value / roots[name[0]] for name, value in V.items()}
        h = torch.nn.functional.gelu(x @ W["0.weight"].T + W["0.bias"])
        steps.zero_grad()
        (h @ W["2.weight"].T + W["2.bias"] - y).square().mean().backward()
        steps.step()
    for name, value in last.items():
        torch.testing.assert_close(value, V[name].detach() / roots[name[0]], rtol=1e-9, atol=1e-12)


def test_the_way_to_compute_is_chosen_by_model_and_size():
    def ways(model, count, batch):
        drawn = [dict(model.named_parameters())] * count
        return [type(group.module) is not type(model) or not group.alone
                for group in Stack(model, drawn, batch, torch.float32, "cpu").groups]  # fmt: skip

    small, large = mlp(8, [8], 2), mlp(512, [512], 2)
    assert ways(small, 5, 16) == [True]
    assert ways(small, 1, 16) == [False]
    assert ways(large, 5, 64) == [False] * 5
    assert stacks.TOGETHER_BELOW < 64 * 512 * 512

    def units(model, batch):
        return Stack(model, [dict(model.named_parameters())], batch, torch.float32, "cpu").units

    linear = build("deep_linear", (10,), 5, hidden=[32, 32])
    assert units(linear, 128) == 10
    assert units(linear, 10) == 0  # as many inputs as samples
    assert units(build("deep_linear", (10,), 50, hidden=[2]), 11) == 0  # the product with the batch costs more
    assert units(mlp(10, [32], 5, "relu", bias=False), 128) == units(mlp(10, [32], 5, "linear"), 128) == 0


def test_a_grids_names_and_mistakes():
    assert cases({}) == [""]
    assert cases({"lr": [0.1, 0.01], "beta": [5]}) == ["lr=0.1,beta=5", "lr=0.01,beta=5"]
    assert [(one.seed, one.lr) for one in members(2, {"lr": [1, 2]}, lr=9.0)] == [(0, 1), (1, 1), (0, 2), (1, 2)]
    for grid, says in (({"momentum": [1]}, "cannot vary momentum"), ({"lr": []}, "grid.lr"), ({"lr": [1, 1]}, "lr")):
        with pytest.raises(NetError, match=says):
            members(1, grid, lr=1.0)
