"""The recorder: its table, in every kind of training loop, and that it does not change training."""

import copy
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from recordings import DECAY, data, network, recorder
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

import gramlab
from gramlab import tables

torch.set_num_threads(1)


def batches():
    return DataLoader(TensorDataset(*data()), batch_size=20, shuffle=True)


def by_hand(model, optimizer, recording, before=lambda: None, after=lambda: None):
    before()
    for _ in range(4):
        for x, y in batches():
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
            after()


def plain(model, optimizer, recording):
    by_hand(model, optimizer, recording, recording.begin, recording.step)
    recording.write()


def context(model, optimizer, recording):
    with recording:
        by_hand(model, optimizer, recording, after=recording.step)


def attached(model, optimizer, recording):
    with recording.attach(optimizer):
        by_hand(model, optimizer, recording)


def lightning(model, optimizer, recording):
    """The calls that Lightning's Trainer makes, in its order."""
    callback = recording.callback()
    trainer = SimpleNamespace(optimizers=[optimizer], global_step=0)
    callback.setup(trainer, model, stage="fit")
    callback.on_train_start(trainer, model)

    def after():
        trainer.global_step += 1
        callback.on_before_zero_grad(trainer, model, optimizer)
        callback.on_train_batch_end(trainer, model, None, None, 0)

    by_hand(model, optimizer, recording, lambda: callback.on_train_epoch_start(trainer, model), after)
    callback.on_train_end(trainer, model)
    assert callback.state_dict() == {}


def hugging_face(model, optimizer, recording):
    """The calls that the Hugging Face Trainer makes, in its order."""
    callback = recording.callback()
    args, state, control = object(), SimpleNamespace(global_step=0), object()
    callback.on_init_end(args, state, control, model=model)
    callback.on_train_begin(args, state, control, model=model, optimizer=optimizer)

    def after():
        callback.on_step_begin(args, state, control, model=model)
        state.global_step += 1
        callback.on_step_end(args, state, control, model=model, optimizer=optimizer)

    by_hand(model, optimizer, recording, after=after)
    callback.on_train_end(args, state, control, model=model)


LOOPS = [plain, context, attached, lightning, hugging_face]


def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=DECAY)


@pytest.mark.parametrize("loop", LOOPS, ids=lambda loop: loop.__name__)
def test_every_loop_is_recorded_and_learns_the_same(loop, tmp_path):
    bare, model = network(), network()
    by_hand(bare, sgd(bare), None)
    torch.manual_seed(0)
    network()  # the same random state as before the first training
    recording = recorder(model, tmp_path / "run.parquet")
    loop(model, sgd(model), recording)
    assert all(torch.equal(a, b) for a, b in zip(bare.state_dict().values(), model.state_dict().values(), strict=True))
    rows = tables.read(tmp_path / "run.parquet").to_pylist()
    assert sorted({row["step"] for row in rows}) == [0, 5, 10, 12]
    assert {row["layer"] for row in rows} == {"", "0", "3", "5"}


def stationarity(model, name: str, x, y) -> float:
    """The norm of the decayed loss's gradient by the layer's weight, over that of the decay alone."""
    double = copy.deepcopy(model).double().eval()
    weight = dict(double.named_modules())[name].weight
    loss = F.cross_entropy(double(x.double()), y) + DECAY / 2 * weight.square().sum()
    (gradient,) = torch.autograd.grad(loss, weight)
    return float(gradient.norm() / (DECAY * weight.detach().norm()))


def test_the_numbers_are_those_of_measure(tmp_path):
    model, (x, y) = network(), data()
    initial = copy.deepcopy(model)
    with recorder(model, tmp_path / "other.parquet", every=3).attach(sgd(model)):
        optimizer = sgd(model)
        for _ in range(1):
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
    # the second optimizer was not the one attached: no step was counted
    assert {row["step"] for row in tables.read(tmp_path / "other.parquet").to_pylist()} == {0}

    model = network()
    optimizer = sgd(model)
    with recorder(model, tmp_path / "run.parquet", every=3, experiment="mine", seed=4).attach(optimizer):
        for _ in range(3):
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
    rows = [row for row in tables.read(tmp_path / "run.parquet").to_pylist() if row["step"] == 3]
    assert {(row["experiment"], row["seed"], row["scale"], row["dtype"]) for row in rows} == {
        ("mine", 4, "user", "float32")
    }
    values = {(row["layer"], row["quantity"]): row["value"] for row in rows}
    m = gramlab.measure(model, x, y, loss="cross_entropy", weight_decay=DECAY, initial=initial)
    Y = F.one_hot(y).double()
    Y = Y - Y.mean(0)
    for name, layer in m.items():
        H = gramlab.features(model, x)[name]
        for quantity, expected in {
            "nfa": gramlab.cosine(layer.gram, layer.agop),
            "centered_nfa": gramlab.cosine(layer.centered_gram, layer.centered_agop),
            "pearson_fact": gramlab.pearson(layer.gram, layer.fact),
            "pearson_enfa": gramlab.pearson(layer.gram, layer.enfa),
            "pearson_agop_root": gramlab.pearson(layer.gram, gramlab.psd_power(layer.agop, 0.5)),
            "diagonal_agop": gramlab.pearson(layer.gram, layer.agop, diagonal=True),
            "target_linearity": gramlab.target_linearity(H, Y),
            "surrogate": gramlab.surrogate(H, layer.weight, Y),
            "nc1": gramlab.neural_collapse(H, y).nc1,
            "pearson_back_agop": np.corrcoef(layer.back_gram.flatten(), layer.back_agop.flatten())[0, 1],
            "pearson_back_enfa": np.corrcoef(layer.back_gram.flatten(), layer.back_enfa.flatten())[0, 1],
            "pearson_back_fact": np.corrcoef(layer.back_gram.flatten(), layer.back_fact.flatten())[0, 1],
        }.items():
            assert values[name, quantity] == pytest.approx(expected, rel=1e-9), (name, quantity)
        assert values[name, "stationarity"] == pytest.approx(stationarity(model, name, x, y), rel=1e-6)  # in float32
    assert values["", "loss"] == pytest.approx(float(F.cross_entropy(model.eval()(x), y)), rel=1e-5)


@pytest.mark.parametrize("loop", [attached, lightning, hugging_face], ids=lambda loop: loop.__name__)
def test_a_shift_has_the_learning_rate_of_its_step(loop, tmp_path):
    """A scheduler changes it after every step; compare with shifts that are measured and summed by hand."""
    model, (x, y) = network().double(), data()
    x = x.double()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.7)
    options = {"loss": "cross_entropy"}
    recording = gramlab.Recorder(model, x, y, tmp_path / "t", every=1, **options)
    total, stepping = 0, optimizer.step

    def step():
        nonlocal total
        lr = optimizer.param_groups[0]["lr"]
        total = total + gramlab.measure(model, x, y, **options)["3"].virtual_shift(lr)
        stepping()
        scheduler.step()

    def training(model, optimizer, recording, before=lambda: None, after=lambda: None):
        before()
        for _ in range(5):
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            step()
            after()

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(globals(), "by_hand", training)
        loop(model, optimizer, recording)
    torch.testing.assert_close(recording._shifts.totals["3"], total, rtol=1e-12, atol=1e-14)
    assert recording._hook_handles == []


def test_a_network_that_diverges_leaves_its_table_and_the_callers_error(tmp_path):
    """The table has the earlier steps; the caller gets their own error, or one that says the network diverged."""
    x, y = data()

    def train(path, caller_fails):
        model = network()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with gramlab.Recorder(model, x, y, path, every=2, loss="cross_entropy").attach(optimizer):
            for step in range(8):
                if step == 5:
                    with torch.no_grad():
                        model[0].weight.fill_(float("nan"))
                    if caller_fails:
                        raise KeyError("the caller's")
                optimizer.zero_grad()
                F.cross_entropy(model(x), y).backward()
                optimizer.step()

    for caller_fails, error in ((True, KeyError), (False, ValueError)):
        path = tmp_path / str(caller_fails)
        with pytest.raises(error, match="the caller's" if caller_fails else "'0.weight' holds a NaN"):
            train(path, caller_fails)
        assert {row["step"] for row in tables.read(path).to_pylist()} == {0, 2, 4}

    model = network()
    recording = gramlab.Recorder(model, x, y, tmp_path / "plain", every=9, loss="cross_entropy")
    recording.begin()
    with torch.no_grad():
        model[0].weight.fill_(float("nan"))
    recording.step()
    with pytest.raises(ValueError, match="holds a NaN"):
        recording.write()
    assert {row["step"] for row in tables.read(tmp_path / "plain").to_pylist()} == {0}


def numbers(model, x, y, path):
    recording = gramlab.Recorder(model, x, y, path, loss="cross_entropy")
    recording.begin()
    return {(row["layer"], row["quantity"]): row["value"] for row in recording.rows}


@pytest.mark.parametrize("kind", ["array", "list"])
def test_arrays_are_recorded_like_tensors(kind, tmp_path):
    x, y = data()
    values = numbers(network(), x.numpy(), y.numpy() if kind == "array" else y.tolist(), tmp_path / "t")
    assert values == numbers(network(), x, y, tmp_path / "t")
    assert {"target_linearity", "surrogate", "nc1", "nc2"} <= {quantity for _, quantity in values}


OF_TARGETS = ("target_linearity", "surrogate", "nc1", "nc2")


def test_samples_of_an_ignored_class_are_left_out(tmp_path):
    x, y = data()
    ignored = torch.arange(60) % 7 == 3
    values = numbers(network(), x, y.masked_fill(ignored, -100), tmp_path / "t")
    expected = numbers(network(), x[~ignored], y[~ignored], tmp_path / "t")
    for layer in ("0", "3", "5"):
        for quantity in OF_TARGETS:
            assert values[layer, quantity] == pytest.approx(expected[layer, quantity], rel=1e-6), (layer, quantity)


def test_classes_of_tokens_are_classes(tmp_path):
    """A layer that sees tokens is measured on tokens; one that sees whole samples has no classes."""
    torch.manual_seed(0)
    x, y = torch.randn(30, 4, 5), torch.randint(0, 3, (30, 4))
    y[:, 3] = torch.where(torch.arange(30) < 9, -100, y[:, 3])
    model, labelled = network(), y != -100
    values, expected = numbers(model, x, y, tmp_path / "t"), numbers(model, x[labelled], y[labelled], tmp_path / "t")
    for layer in ("0", "3", "5"):
        for quantity in OF_TARGETS:
            assert values[layer, quantity] == pytest.approx(expected[layer, quantity], rel=1e-6), (layer, quantity)
    pooled = nn.Sequential(nn.Linear(5, 3), nn.Flatten(), nn.Linear(12, 12), nn.Unflatten(1, (4, 3)))
    values = numbers(pooled, x, y, tmp_path / "t")
    assert {layer for layer, quantity in values if quantity in OF_TARGETS} == {"0"}


def test_undefined_quantities_are_left_out_with_a_reason(tmp_path):
    x, y = data()
    with gramlab.Recorder(network(), x, y, tmp_path / "t", loss="cross_entropy") as recording:
        pass
    assert "zero" in recording.undefined["step 0 0 centered_nfa"]
    assert "weight" in recording.undefined["step 0 0 pearson_fact"]
    assert not {"centered_nfa", "pearson_fact"} & {row["quantity"] for row in recording.rows}


def test_rows_from_before_an_error_are_written(tmp_path):
    model = network()
    with pytest.raises(KeyboardInterrupt), recorder(model, tmp_path / "t"):
        raise KeyboardInterrupt
    assert tables.read(tmp_path / "t").num_rows


def test_rows_from_before_an_error_in_lightnings_trainer_are_written(tmp_path):
    recording = recorder(network(), tmp_path / "t")
    callback = recording.callback()
    callback.on_train_start(SimpleNamespace(optimizers=[], global_step=0), None)
    callback.on_exception(None, None, RuntimeError("diverged"))
    assert tables.read(tmp_path / "t").num_rows == len(recording.rows) > 0


def values_of(recording):
    return {(row["layer"], row["quantity"]): row["value"] for row in recording.rows}


def test_without_targets_the_quantities_of_the_loss_are_left_out(tmp_path):
    model, (x, _) = network(), data()
    recording = gramlab.Recorder(model, x, None, tmp_path / "t", weight_decay=DECAY)
    recording.begin()
    expected = gramlab.measure(model, x)
    assert values_of(recording)["0", "nfa"] == pytest.approx(expected["0"].cosine("gram", "agop"))
    assert not {"pearson_enfa", "pearson_fact", "target_linearity"} & {row["quantity"] for row in recording.rows}
    assert "no targets" in recording.undefined["step 0 target_linearity"]


def test_a_single_quantity_may_be_its_name(tmp_path):
    recording = recorder(network(), tmp_path / "t", quantities="agop", linearity=False)
    recording.begin()
    assert {"nfa", "pearson_agop"} <= {row["quantity"] for row in recording.rows}


@pytest.mark.parametrize("kind", ["loader", "list", "mapping"])
def test_targets_within_the_data_are_those_of_target_linearity(kind, tmp_path):
    """As with y; a shuffled loader gives both in one order."""
    model, (x, y) = network(), data()
    given = {"loader": batches(), "list": list(zip(x.split(25), y.split(25), strict=True))}
    mapping = {"forward": lambda model, batch: model(batch["x"])} if kind == "mapping" else {}
    found, expected = (
        gramlab.Recorder(model, samples, targets, tmp_path / "t", loss="cross_entropy", **options)
        for samples, targets, options in (
            (given.get(kind, {"x": x, "labels": y}), None, mapping),
            (x, y, {}),
        )
    )
    found.begin()
    expected.begin()
    for layer in ("0", "3", "5"):
        for quantity in ("target_linearity", "nc1", "pearson_enfa"):
            assert values_of(found)[layer, quantity] == pytest.approx(values_of(expected)[layer, quantity], rel=1e-4), (
                layer,
                quantity,
            )


def test_a_head_of_zeros_has_no_accumulated_correlation_yet(tmp_path):
    model, (x, y) = network(), data()
    nn.init.zeros_(model[5].weight)
    recording = gramlab.Recorder(model, x, y, tmp_path / "t", accumulate=True).attach(sgd(model))
    assert "WᵀW is zero" in recording.undefined["step 0 5 accumulated_fact_error"]
    assert "step 0 5 pearson_accumulated_fact" in recording.undefined
    assert values_of(recording)["0", "accumulated_fact_error"] < 1e-12


def test_a_step_counts_once(tmp_path):
    model = network()
    optimizer, recording = sgd(model), recorder(model, tmp_path / "t", every=1)
    with pytest.raises(RuntimeError, match=r"call begin\(\)"):
        recording.measure_at(0)
    with pytest.raises(TypeError, match="attach takes an optimizer, not a StepLR"):
        recording.attach(torch.optim.lr_scheduler.StepLR(optimizer, 1))
    recording.attach(optimizer)
    with pytest.raises(RuntimeError, match=r"whose steps it counts already: leave step\(\) out"):
        recording.step()
    with pytest.raises(RuntimeError, match=r"attached to another optimizer already: .* the one that steps last"):
        recording.attach(sgd(model))
    optimizer.step()
    assert recording.steps == 1
    recording.detach()
    recording.step()
    assert recording.steps == 2


def test_quantities_that_are_off_by_default_are_not_missed(tmp_path):
    model = network()
    recording = recorder(model, tmp_path / "t", every=1)
    recording.attach(sgd(model))
    assert not [key for key in recording.undefined if key.endswith(("double_centered_nfa", "ptk_centered_nfa"))]
    named = recorder(model, tmp_path / "t", quantities=["agop"])
    named.begin()
    assert "step 0 0 double_centered_nfa" in named.undefined


def test_wide_layers_lack_target_linearity_alone(tmp_path):
    torch.manual_seed(0)
    x, y = torch.randn(12, 20), torch.arange(12) % 3
    model = nn.Linear(20, 3)
    recording = gramlab.Recorder(model, x, y, tmp_path / "t")
    recording.begin()
    values = values_of(recording)
    assert ("", "target_linearity") not in values
    assert "as many inputs as there are samples, 20 of 12" in recording.undefined["step 0  target_linearity"]
    H, W = x.double(), model.weight.detach().double()
    means = torch.stack([H[y == c].mean(0) for c in range(3)])
    Y = F.one_hot(y).double() - 1 / 3
    assert values["", "surrogate"] == pytest.approx(float((W @ H.T @ Y).square().sum()))
    within, between = (H - means[y]).square().sum(), (means[y] - H.mean(0)).square().sum()
    assert values["", "nc1"] == pytest.approx(float(within / between))
    assert ("", "nc2") in values
