"""FACT accumulated along training: first order in the learning rate for every optimizer's own form, and no other."""

import copy
import warnings

import numpy as np
import pytest
import torch
from torch import nn

import gramlab
from gramlab import tables

torch.set_num_threads(1)
DECAY = 0.3
RATES = (0.02, 0.01, 0.005, 0.0025)

# Adam's moments look back a fixed number of steps: the step is a function of the weights, as for a slope of 1, where
# that is short beside the training
OPTIMIZERS = {
    "sgd": lambda p, lr: torch.optim.SGD(p, lr, weight_decay=DECAY),
    "momentum": lambda p, lr: torch.optim.SGD(p, lr, momentum=0.8, weight_decay=DECAY),
    "damped": lambda p, lr: torch.optim.SGD(p, lr, momentum=0.8, dampening=0.5, weight_decay=DECAY),
    "nesterov": lambda p, lr: torch.optim.SGD(p, lr, momentum=0.8, nesterov=True, weight_decay=DECAY),
    "adam": lambda p, lr: torch.optim.Adam(p, lr, eps=1e-2, betas=(0.5, 0.9), weight_decay=DECAY),
    "amsgrad": lambda p, lr: torch.optim.Adam(p, lr, eps=1e-2, betas=(0.5, 0.9), weight_decay=DECAY, amsgrad=True),
    "adamw": lambda p, lr: torch.optim.AdamW(p, lr, eps=1e-2, betas=(0.5, 0.9), weight_decay=DECAY),
    "no decay": lambda p, lr: torch.optim.SGD(p, lr),
}


def problem():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 10), nn.Tanh(), nn.Linear(10, 3)).double()
    return model, torch.randn(40, 6, dtype=torch.float64), torch.randn(40, 3, dtype=torch.float64)


def train(name, rate, form=None, time=1.0, batches=1):
    """Train for a fixed time, steps times rate, and return what was accumulated."""
    model, x, y = problem()
    optimizer = OPTIMIZERS[name](model.parameters(), rate)
    accumulated = gramlab.AccumulatedFact(model, optimizer, form=form)
    for step in range(round(time / rate)):
        rows = torch.arange(40)[step % batches :: batches]
        optimizer.zero_grad()
        (model(x[rows]) - y[rows]).square().mean().backward()
        optimizer.step()
    assert accumulated.steps == round(time / rate)
    return model, accumulated


def errors(name, form=None, **options):
    return np.array([max(accumulated.relative_error(layer) for layer in accumulated)
                     for rate in RATES for accumulated in [train(name, rate, form, **options)[1]]])  # fmt: skip


def slope(values):
    return np.polyfit(np.log(RATES), np.log(values), 1)[0]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_the_error_is_of_first_order_in_the_learning_rate(name):
    errors_by_rate = errors(name)
    assert 0.85 < slope(errors_by_rate) < 1.15


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_what_is_left_out_is_the_square_of_each_step(name):
    """E = WᵀW - P obeys E ← (1 - 2γκ) E + UᵀU exactly, with the steps U that the optimizer really made."""
    model, x, y = problem()
    rate = 0.05
    optimizer = OPTIMIZERS[name](model.parameters(), rate)
    accumulated = gramlab.AccumulatedFact(model, optimizer)
    decay = {"sgd": DECAY, "adamw": DECAY}.get(name, 0.0)
    expected = {"0": torch.zeros(6, 6).double(), "2": torch.zeros(10, 10).double()}
    for _ in range(15):
        before = {name: model[int(name)].weight.detach().clone() for name in expected}
        optimizer.zero_grad()
        (model(x) - y).square().mean().backward()
        optimizer.step()
        for layer, W in before.items():
            U = model[int(layer)].weight.detach() - W
            expected[layer] = (1 - 2 * rate * decay) * expected[layer] + U.T @ U
    for layer, E in expected.items():
        W = model[int(layer)].weight.detach()
        torch.testing.assert_close(W.T @ W - accumulated[layer], E, rtol=1e-9, atol=1e-12)


def test_minibatches_are_followed_too():
    errors_by_rate = errors("sgd", batches=4)
    assert 0.85 < slope(errors_by_rate) < 1.15


@pytest.mark.parametrize(
    ("name", "form"), [("adam", "sgd"), ("adamw", "sgd"), ("momentum", "sgd"), ("adamw", "adam"), ("sgd", "adamw")]
)
def test_another_optimizers_form_fails(name, form):
    """Its error does not vanish with the learning rate, and is far from the form's own."""
    wrong, right = errors(name, form), errors(name)
    assert slope(wrong) < 0.3
    assert wrong[-1] > 5 * right[-1]


def test_it_starts_from_the_initial_gram_and_follows_fact():
    """One step of gradient descent: the paper's formula with measure's FACT."""
    model, x, y = problem()
    rate = 0.1
    before = gramlab.measure(model, x, y, loss="mse", weight_decay=DECAY)
    optimizer = OPTIMIZERS["sgd"](model.parameters(), rate)
    accumulated = gramlab.AccumulatedFact(model, optimizer)
    for name, layer in before.items():
        torch.testing.assert_close(accumulated[name], layer.gram)
    (model(x) - y).square().mean().backward()
    optimizer.step()
    for name, layer in before.items():
        expected = (1 - 2 * rate * DECAY) * layer.gram + rate * DECAY * (layer.fact + layer.fact.T)
        torch.testing.assert_close(accumulated[name], expected)
    accumulated.detach()
    optimizer.step()
    assert accumulated.steps == 1


def test_without_decay_it_is_the_sum_of_virtual_shifts_to_first_order():
    model, x, y = problem()
    rate, initial = 1e-4, gramlab.measure(model, x, y, loss="mse")
    total = {name: layer.gram.clone() for name, layer in initial.items()}
    optimizer = OPTIMIZERS["no decay"](model.parameters(), rate)
    accumulated = gramlab.AccumulatedFact(model, optimizer)
    for _ in range(20):
        for name, layer in gramlab.measure(model, x, y, loss="mse").items():
            total[name] += layer.virtual_shift(rate)
        optimizer.zero_grad()
        (model(x) - y).square().mean().backward()
        optimizer.step()
    for name in total:
        moved = float((total[name] - initial[name].gram).norm())
        assert float((accumulated[name] - total[name]).norm()) < 1e-3 * moved


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_closure_gives_the_gradients_of_its_own_step(name):
    model, x, y = problem()
    optimizer = OPTIMIZERS[name](model.parameters(), 0.01)
    accumulated = gramlab.AccumulatedFact(model, optimizer)

    def closure():
        optimizer.zero_grad()
        loss = (model(x) - y).square().mean()
        loss.backward()
        return loss

    for step in range(100):
        loss = optimizer.step(closure) if step % 2 else optimizer.step(closure=closure)
        assert loss is not None
    expected_model, expected = train(name, 0.01)
    assert torch.equal(model[0].weight, expected_model[0].weight)
    assert accumulated.steps == expected.steps
    for layer in expected:
        assert torch.equal(accumulated[layer], expected[layer])


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_an_optimizer_with_a_past_is_followed_with_its_moments(name):
    """The change of P from step 20 on is that of a P that followed from the start, but for the decay of the past."""
    model, x, y = problem()
    rate = 0.01
    optimizer = OPTIMIZERS[name](model.parameters(), rate)
    followed, late = gramlab.AccumulatedFact(model, optimizer), None
    for step in range(40):
        if step == 20:
            late = gramlab.AccumulatedFact(model, optimizer)
            gaps = {layer: followed[layer] - late[layer] for layer in followed}
        optimizer.zero_grad()
        (model(x) - y).square().mean().backward()
        optimizer.step()
    decay = {"sgd": DECAY, "adamw": DECAY}.get(name, 0.0)
    for layer, gap in gaps.items():
        torch.testing.assert_close(followed[layer] - late[layer], (1 - 2 * rate * decay) ** 20 * gap)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_loaded_state_is_followed(name):
    """With the optimizer's own past loaded, and then a learning rate that falls: what is left out is still U² alone."""
    model, x, y = problem()
    optimizer = OPTIMIZERS[name](model.parameters(), 0.05)
    accumulated = gramlab.AccumulatedFact(model, optimizer)
    decay = {"sgd": DECAY, "adamw": DECAY}.get(name, 0.0)
    expected = torch.zeros(6, 6).double()
    for step in range(30):
        if step == 0:
            other = copy.deepcopy(optimizer.state_dict())
        if step in (5, 15):  # its own state, and one without a past
            optimizer.load_state_dict(optimizer.state_dict() if step == 5 else other)
        if step > 8:
            optimizer.param_groups[0]["lr"] *= 0.9
        rate, before = optimizer.param_groups[0]["lr"], model[0].weight.detach().clone()
        optimizer.zero_grad()
        (model(x) - y).square().mean().backward()
        optimizer.step()
        U = model[0].weight.detach() - before
        expected = (1 - 2 * rate * decay) * expected + U.T @ U
    torch.testing.assert_close(accumulated.gram("0")[0] - accumulated["0"], expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["sgd", "momentum", "adamw"])
def test_gradients_clipped_after_it_read_them_are_noticed(name):
    def follow(clipped_first):
        model, x, y = problem()
        optimizer = OPTIMIZERS[name](model.parameters(), 1e-2)

        def clip(*_):
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1e-3)

        if clipped_first:
            optimizer.register_step_pre_hook(clip)
        accumulated = gramlab.AccumulatedFact(model, optimizer)
        if not clipped_first:
            optimizer.register_step_pre_hook(clip)
        for _ in range(30):
            optimizer.zero_grad()
            (100 * (model(x) - y).square().mean()).backward()
            optimizer.step()
        return max(accumulated.relative_error(layer) for layer in accumulated)

    with pytest.warns(RuntimeWarning, match="register hooks that clip gradients") as warned:
        follow(clipped_first=False)
    assert len(warned) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert follow(clipped_first=True) < 0.05


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.Adam])
def test_round_off_is_no_other_step(kind, dtype):
    model, x, y = problem()
    model, x, y = model.to(dtype), x.to(dtype), y.to(dtype)
    optimizer = kind(model.parameters(), 1e-3, weight_decay=DECAY)
    gramlab.AccumulatedFact(model, optimizer)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(30):
            optimizer.zero_grad()
            (model(x) - y).square().mean().backward()
            optimizer.step()


@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.Adam])
def test_a_rate_of_fewer_digits_is_no_other_step(kind):
    """Weights in float64 and a rate in float32, whose steps are off by 1e-8 of their length."""
    model, x, y = problem()
    model, x, y = model.double(), x.double(), y.double()
    optimizer = kind(model.parameters(), torch.tensor(1e-3), weight_decay=DECAY)
    gramlab.AccumulatedFact(model, optimizer)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        for _ in range(5):
            optimizer.zero_grad()
            (model(x) - y).square().mean().backward()
            optimizer.step()


@pytest.mark.parametrize("fused", [False, True])
def test_scaled_gradients_are_followed_as_the_optimizer_uses_them(fused):
    model, x, y = problem()
    optimizer = torch.optim.SGD(model.parameters(), 1e-3, fused=fused)
    accumulated = gramlab.AccumulatedFact(model, optimizer)
    start = accumulated.gram("0")
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    for step in range(20):
        optimizer.zero_grad()
        overflow = float("inf") if step == 10 else 1.0
        (scaler.scale((model(x) - y).square().mean()) * overflow).backward()
        scaler.step(optimizer)
        scaler.update()
    moved = float((accumulated.gram("0") - start).norm())
    assert accumulated.steps == 19
    assert float((accumulated["0"] - accumulated.gram("0")[0]).norm()) < 1e-2 * moved


def test_a_group_without_momentum_is_not_dampened():
    model, x, y = problem()
    groups = [{"params": model[0].parameters(), "dampening": 0.5}, {"params": model[2].parameters(), "momentum": 0.8}]
    optimizer = torch.optim.SGD(groups, 1e-3)
    accumulated = gramlab.AccumulatedFact(model, optimizer)
    start = accumulated.gram("0")
    for _ in range(50):
        optimizer.zero_grad()
        (model(x) - y).square().mean().backward()
        optimizer.step()
    moved = float((accumulated.gram("0") - start).norm())
    assert float((accumulated["0"] - accumulated.gram("0")[0]).norm()) < 1e-2 * moved


@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.AdamW])
@pytest.mark.parametrize("fast", ["0", "2"])
def test_each_layer_is_followed_with_the_rate_and_decay_of_its_group(kind, fast):
    model, x, y = problem()
    slow = {"0": "2", "2": "0"}[fast]
    groups = [{"params": model[int(name)].parameters(), "lr": rate, "weight_decay": decay}
              for name, rate, decay in ((slow, 2e-4, 0.0), (fast, 1e-3, DECAY))]  # fmt: skip
    accumulated = gramlab.AccumulatedFact(model, optimizer := kind(groups))
    starts = {name: accumulated.gram(name) for name in accumulated}
    for _ in range(50):
        optimizer.zero_grad()
        (model(x) - y).square().mean().backward()
        optimizer.step()
    for name, start in starts.items():
        gram = accumulated.gram(name)
        assert float((accumulated[name] - gram[0]).norm()) < 3e-2 * float((gram - start).norm()), name


@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        (lambda: nn.Conv2d(4, 6, 3, groups=2), (4, 5, 5)),
        (lambda: nn.ConvTranspose1d(4, 3, 2), (4, 5)),
        (lambda: nn.Embedding(5, 4), (5,)),
        (lambda: nn.Embedding(5, 4, sparse=True), (5,)),
    ],
)
def test_layers_of_other_kinds(layer, shape):
    torch.manual_seed(0)
    body = layer()
    x = torch.randint(0, 5, (8, *shape)) if isinstance(body, nn.Embedding) else torch.randn(8, *shape)
    model = nn.Sequential(body, nn.Tanh(), nn.Flatten()).double()
    x = x if isinstance(body, nn.Embedding) else x.double()
    optimizer = torch.optim.SGD(model.parameters(), 1e-3, weight_decay=0.0 if getattr(body, "sparse", False) else DECAY)
    accumulated = gramlab.AccumulatedFact(model, optimizer)
    start = accumulated.gram("0")
    for _ in range(50):
        optimizer.zero_grad()
        (model(x) - 1).square().mean().backward()
        optimizer.step()
    moved = float((accumulated.gram("0") - start).norm())
    assert moved > 0
    assert float((accumulated["0"] - gramlab.measure(model, x)["0"].gram).norm()) < 1e-2 * moved


def test_attention_shares_a_parameter_among_projections():
    torch.manual_seed(0)
    model = nn.MultiheadAttention(6, 2, batch_first=True).double()
    x = torch.randn(4, 5, 6, dtype=torch.float64)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4, weight_decay=DECAY)
    accumulated = gramlab.AccumulatedFact(model, optimizer)
    assert list(accumulated) == ["q_proj", "k_proj", "v_proj", "out_proj"]
    for _ in range(50):
        optimizer.zero_grad()
        (model(x, x, x)[0] - 1).square().mean().backward()
        optimizer.step()
    assert max(accumulated.relative_error(name) for name in accumulated) < 1e-3


def test_the_recorder_writes_its_correlation(tmp_path):
    model, x, y = problem()
    optimizer = OPTIMIZERS["adamw"](model.parameters(), 1e-3)
    options = {"every": 10, "loss": "mse", "weight_decay": DECAY, "accumulate": True}
    with gramlab.Recorder(model, x, y, tmp_path / "run.parquet", **options).attach(optimizer) as recorder:
        for _ in range(20):
            optimizer.zero_grad()
            (model(x) - y).square().mean().backward()
            optimizer.step()
    rows = tables.read(tmp_path / "run.parquet").to_pylist()
    values = {(row["step"], row["layer"], row["quantity"]): row["value"] for row in rows}
    for name in ("0", "2"):
        assert values[0, name, "accumulated_fact_error"] < 1e-12
        gram = gramlab.measure(model, x)[name].gram
        expected = gramlab.pearson(recorder.accumulated[name], gram)
        assert values[20, name, "pearson_accumulated_fact"] == pytest.approx(expected)
        assert 0.999 < expected < 1


def test_what_cannot_be_followed_is_refused_or_named():
    model, x, y = problem()
    with pytest.raises(ValueError, match="not for RMSprop"):
        gramlab.AccumulatedFact(model, torch.optim.RMSprop(model.parameters()))
    with pytest.raises(ValueError, match="form must be one of"):
        gramlab.AccumulatedFact(model, OPTIMIZERS["sgd"](model.parameters(), 0.1), form="lion")
    head = OPTIMIZERS["sgd"](model[2].parameters(), 0.1)
    accumulated = gramlab.AccumulatedFact(model, head)
    assert list(accumulated) == ["2"]
    assert "no parameter of the optimizer" in accumulated.left_out["0"]
    with pytest.raises(ValueError, match="no layer can be followed"):
        gramlab.AccumulatedFact(model, head, layers="0")
    recorder = gramlab.Recorder(model, x, y, "run.parquet", accumulate=True)
    with pytest.raises(RuntimeError, match="attach the recorder"):
        recorder.begin()
