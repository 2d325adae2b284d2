"""Every form of the data, batch size and order gives the same numbers."""

import numpy as np
import pandas as pd
import pytest
import torch
from same_measures import QUANTITIES, assert_same
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import prune
from torch.utils.data import DataLoader, TensorDataset

import gramlab
from gramlab.losses import LOSSES


def net():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3)).double()


def data(n=23):
    torch.manual_seed(2)
    return torch.randn(n, 4, dtype=torch.float64), torch.randint(0, 3, (n,))


def measured(x, y=None, model=None, **options):
    return gramlab.measure(model or net(), x, y, loss="cross_entropy", weight_decay=0.1, **options)


FORMS = {
    "arrays": lambda x, y: (x.numpy(), y.numpy()),
    "arrays that are read backwards": lambda x, y: (x.numpy()[::-1].copy()[::-1], y.numpy()[::-1].copy()[::-1]),
    "big-endian arrays": lambda x, y: (x.numpy().astype(">f8"), y.numpy().astype(">i8")),
    "lists": lambda x, y: (x.tolist(), y.tolist()),
    "data frame": lambda x, y: (
        pd.DataFrame(x.numpy(), index=range(5, 28)),
        pd.Series(y.numpy(), index=range(23, 0, -1)),
    ),
    "loader": lambda x, y: (DataLoader(TensorDataset(x, y), batch_size=5), None),
    "generator": lambda x, y: (((x[i : i + 4], y[i : i + 4]) for i in range(0, len(x), 4)), None),
    "ragged list": lambda x, y: ([(x[:1], y[:1]), (x[1:20], y[1:20]), (x[20:], y[20:])], None),
    "list of lists": lambda x, y: ([[x, y]], None),
    "float inputs": lambda x, y: (x, y.to(torch.int32)),
    "mappings": lambda x, y: ([{"input": x[:9], "labels": y[:9]}, {"input": x[9:], "labels": y[9:]}], None),
    "mapping": lambda x, y: ({"input": x}, y),
    "pairs of a mapping": lambda x, y: ([({"input": x}, y)], None),
    "tuple inputs": lambda x, y: ([((x,), y)], None),
    "one-hot": lambda x, y: (x, F.one_hot(y, 3).double()),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_data(form):
    assert_same(measured(*FORMS[form](*data())), measured(*data()))


class Tempered(nn.Module):
    """A network whose second input is one number for all samples."""

    def __init__(self):
        super().__init__()
        self.net = net()

    def forward(self, input, temperature):
        return self.net(input) / temperature


NUMBERED = {
    "tuple": lambda x, t: (x, t),
    "Python's number": lambda x, t: (x, float(t)),
    "mapping": lambda x, t: {"input": x, "temperature": t},
    "number first": lambda x, t: {"temperature": t, "input": x},
}


@pytest.mark.parametrize("form", NUMBERED)
def test_an_input_may_be_one_number_for_all_samples(form):
    (x, y), temperature = data(), torch.tensor(0.5, dtype=torch.float64)
    batches = [(NUMBERED[form](x[rows], temperature), y[rows]) for rows in (slice(9), slice(9, 23))]
    scaled = measured(x, y, forward=lambda model, x: model(x) / 0.5)
    result = measured(batches, model=Tempered(), outputs="exact")
    for name, layer in scaled.items():
        for quantity in QUANTITIES:
            torch.testing.assert_close(getattr(result[f"net.{name}"], quantity), getattr(layer, quantity))
    random, whole = (measured(b, model=Tempered(), outputs=4) for b in (batches, [(NUMBERED[form](x, temperature), y)]))
    torch.testing.assert_close(random["net.0"].agop, whole["net.0"].agop)  # signs go by the sample's place
    assert gramlab.plan(Tempered(), batches).passes == {"loss": 1, "outputs": 3}


def test_an_input_of_one_number_may_not_be_nan():
    with pytest.raises(ValueError, match="holds a NaN or an infinity"):
        measured([((data()[0], float("nan")), data()[1])], model=Tempered())


@pytest.mark.parametrize("batch_size", [1, 2, 7, 22, 23, 4096])
def test_any_batch_size(batch_size):
    assert_same(measured(*data(), batch_size=batch_size), measured(*data()))


def test_order_and_copies_of_samples_change_nothing():
    x, y = data()
    order = torch.randperm(len(x))
    assert_same(measured(x[order], y[order], batch_size=5), measured(x, y))
    doubled = measured(torch.cat([x, x]), torch.cat([y, y]))
    assert doubled.n == 2 * len(x)
    for quantity in QUANTITIES:
        torch.testing.assert_close(getattr(doubled["0"], quantity), getattr(measured(x, y)["0"], quantity))
    # the virtual shift is a sum over rows of steps of size 1/n, not a mean: only its square shrinks
    layer, doubled_layer = measured(x, y)["0"], doubled["0"]
    change = doubled_layer.virtual_shift(0.1) - layer.virtual_shift(0.1)
    torch.testing.assert_close(change, -(0.1**2) * layer.enfa / layer.n / 2)


def test_inputs_without_targets_in_every_form():
    x, _ = data()
    expected = gramlab.measure(net(), x)
    for form in (x.tolist(), tuple(map(tuple, x.tolist())), pd.DataFrame(x.numpy()), [list(row) for row in x.numpy()]):
        assert_same(gramlab.measure(net(), form), expected, quantities=["agop"])
    assert_same(gramlab.measure(net(), list(x.unsqueeze(1))), expected, quantities=["agop"])  # batches of 1


def test_rotating_the_input_rotates_the_agop():
    x, y = data()
    Q = torch.linalg.qr(torch.randn(4, 4, dtype=torch.float64)).Q
    model = net()
    before = measured(x, y, model)["0"]
    with torch.no_grad():
        model[0].weight.copy_(model[0].weight @ Q.T)
    after = measured(x @ Q.T, y, model)["0"]
    for quantity in ("gram", "agop", "enfa", "fact"):
        torch.testing.assert_close(getattr(after, quantity), Q @ getattr(before, quantity) @ Q.T)
    torch.testing.assert_close(after.ptk, before.ptk)


def test_dead_units_change_nothing():
    x, y = data()
    small, model = net(), net()
    large = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3)).double()
    with torch.no_grad():
        for parameter in large.parameters():
            parameter.zero_()
        large[0].weight[:6], large[0].bias[:6] = small[0].weight, small[0].bias
        large[2].weight[:, :6], large[2].bias[:] = small[2].weight, small[2].bias
    wide, narrow = measured(x, y, large), measured(x, y, model)
    for quantity in ("gram", "agop", "enfa", "fact"):
        torch.testing.assert_close(getattr(wide["0"], quantity), getattr(narrow["0"], quantity))
        torch.testing.assert_close(getattr(wide["2"], quantity)[:6, :6], getattr(narrow["2"], quantity))


def test_without_targets_the_rest_is_the_same():
    x, y = data()
    assert_same(measured(x), measured(x, y), quantities=("agop", "ptk", "gram", "back_gram", "back_agop"))
    assert measured(x).loss is None
    assert measured(x, y).loss == pytest.approx(float(F.cross_entropy(net()(x), y)))


def test_asking_for_less_gives_the_same():
    x, y = data()
    for quantity in QUANTITIES:
        assert_same(measured(x, y, quantities=[quantity]), measured(x, y), quantities=(quantity,))


def test_names_predicates_and_order_of_layers():
    assert list(gramlab.measure(net(), data()[0], layers=["2", "0"])) == ["0", "2"]
    assert list(gramlab.measure(net(), data()[0], layers=lambda name, module: module.out_features == 3)) == ["2"]


def test_integer_targets_of_mse_are_one_hot_rows():
    x, y = data()
    expected = gramlab.measure(net(), x, F.one_hot(y, 3).double(), weight_decay=0.1)
    assert_same(gramlab.measure(net(), x, y, loss="mse", weight_decay=0.1), expected)
    assert expected.loss == pytest.approx(float(F.mse_loss(net()(x), F.one_hot(y, 3).double())))


def test_another_named_loss_is_called_directly(monkeypatch):
    monkeypatch.setitem(LOSSES, "margin", lambda f, y: (1 - f.gather(1, y[:, None])[:, 0]).square())
    x, y = data()
    measurement = gramlab.measure(net(), x, y, loss="margin", batch_size=5)
    assert measurement.loss == pytest.approx(float((1 - net()(x)[torch.arange(23), y]).square().mean()))


def test_two_layers_that_share_a_weight():
    """Each layer is measured through its own calls, and their gradients sum to the parameter's."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4, bias=False), nn.Tanh(), nn.Linear(4, 4, bias=False)).double()
    model[2].weight = model[0].weight
    x, y = data()[0], torch.randn(23, 4, dtype=torch.float64)
    measurement = gramlab.measure(model, x, y)
    F.mse_loss(model(x), y).backward()
    total = measurement["0"].weight_gradient + measurement["2"].weight_gradient
    torch.testing.assert_close(total, model[0].weight.grad)


def test_cross_entropy_over_positions_is_each_samples_mean():
    model = nn.Sequential(nn.Linear(4, 3)).double()
    x, y = torch.randn(5, 6, 4, dtype=torch.float64), torch.randint(0, 3, (5, 6))
    y[2, 3:] = -100
    measurement = gramlab.measure(model, x, y, loss="cross_entropy")
    expected = sum(F.cross_entropy(model(x[i]), y[i]) for i in range(5)) / 5
    assert measurement.loss == pytest.approx(float(expected))
    expected.backward()
    torch.testing.assert_close(measurement["0"].weight_gradient, model[0].weight.grad)


def test_layers_of_torchs_transformer_are_measured():
    """Frozen and in evaluation, torch's own encoder layer would take a fused path without calling its layers."""
    torch.manual_seed(0)
    model = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).double().requires_grad_(False)
    measurement = gramlab.measure(model, torch.randn(3, 4, 8, dtype=torch.float64))
    attention = [f"self_attn.{part}" for part in ("q_proj", "k_proj", "v_proj", "out_proj")]
    assert list(measurement) == [*attention, "linear1", "linear2"]
    assert float(measurement["linear1"].agop.norm()) > 0


def test_features_of_layers_and_of_calls():
    model = net()
    x, _ = data()
    inputs = gramlab.features(model, x, batch_size=10)
    torch.testing.assert_close(inputs["0"], x)
    torch.testing.assert_close(inputs["2"], torch.tanh(model[0](x)))
    outputs = gramlab.features(model, DataLoader(x, batch_size=6), what="output")
    torch.testing.assert_close(outputs["2"], model(x))
    shared = nn.Sequential(nn.Linear(4, 4), nn.ReLU(inplace=True)).double()
    body = nn.Sequential(shared, shared, nn.Linear(4, 1).double())
    calls = gramlab.features(body, x)
    assert list(calls) == ["0.0", "2", "0.0:2"]
    torch.testing.assert_close(calls["0.0:2"], shared(x))
    torch.testing.assert_close(gramlab.features(body, x, "0.0", what="output")["0.0"], shared[0](x))


class Scales(nn.Module):
    """A network that scales its inputs in place."""

    def __init__(self):
        super().__init__()
        self.layers = net()

    def forward(self, x):
        x /= 10
        return self.layers(x)


@pytest.mark.parametrize("batch_size", [3, 4096])
@pytest.mark.parametrize("how", ["scaled", "rectified", "batches"])
def test_a_model_that_changes_its_inputs_in_place(how, batch_size):
    x, y = data()
    if how == "rectified":
        model, plain, seen = nn.Sequential(nn.ReLU(inplace=True), net()), net(), x.relu()
        names = {"1.0": "0", "1.2": "2"}
    else:
        model, plain, seen = Scales().double(), net(), x / 10
        names = {"layers.0": "0", "layers.2": "2"}
    initial = {name: 0.7 * value for name, value in model.state_dict().items()}
    first = {name: 0.7 * value for name, value in plain.state_dict().items()}
    given = x.clone()
    batches = (list(zip(given.split(5), y.split(5), strict=True)), None) if how == "batches" else (given, y)
    actual = gramlab.measure(model, *batches, weight_decay=0.1, batch_size=batch_size, initial=initial)
    assert torch.equal(given, x)
    expected = gramlab.measure(plain, seen, y, weight_decay=0.1, initial=first)
    for name, same in names.items():
        for quantity in (*QUANTITIES, "centered_ptk"):
            torch.testing.assert_close(getattr(actual[name], quantity), getattr(expected[same], quantity))
    inputs = gramlab.features(model, given, batch_size=batch_size)
    torch.testing.assert_close(inputs[next(iter(names))], seen)
    gramlab.denoising(model, given, y, batch_size=batch_size)
    assert torch.equal(given, x)


def test_numpy_in_single_precision_meets_a_model_in_double():
    x, y = data()
    assert_same(measured(x.numpy().astype(np.float32), y), measured(x.float().double(), y))


class Plain(nn.Linear):
    """A layer that overrides forward and still gives W h + b, as some of Hugging Face's models do."""

    def forward(self, x):
        return x @ self.weight.mT + self.bias


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_an_overridden_forward_may_compute_the_same(dtype):
    torch.manual_seed(0)
    overriding, model = Plain(20, 8).to(dtype), nn.Linear(20, 8).to(dtype)
    overriding.load_state_dict(model.state_dict())
    overriding, model = (nn.Sequential(layer, nn.Tanh(), nn.Linear(8, 1, dtype=dtype)) for layer in (overriding, model))
    overriding[2].load_state_dict(model[2].state_dict())
    x = torch.randn(9, 20)
    torch.testing.assert_close(
        gramlab.measure(overriding, x)["0"].agop,
        gramlab.measure(model, x)["0"].agop,
        rtol=1e-6 if dtype != torch.bfloat16 else 0.1,
        atol=1e-9 if dtype != torch.bfloat16 else 1e-3,
    )


class Storing(nn.Linear):
    """A layer that overrides forward, keeps what it computed, counts its calls, and takes another argument."""

    calls, drawn = 0, 0.0

    def forward(self, x, *, scale):
        self.calls += 1
        self.drawn = float(torch.rand(()))
        self.kept = x @ self.weight.mT + self.bias
        return self.kept * scale


class Reader(nn.Module):
    """A network that reads what its layer kept, and tells ``see`` of each call."""

    def __init__(self, see):
        super().__init__()
        self.layer, self.head, self.see = Storing(4, 3), nn.Linear(3, 2), see

    def forward(self, x):
        z = self.layer(x, scale=1.0)
        self.see((self.layer.calls, self.layer.drawn))
        return self.head(self.layer.kept.detach().tanh() * z)


def test_the_check_of_an_overridden_forward_leaves_no_trace():
    torch.manual_seed(0)
    seen: list[tuple[int, float]] = []  # outside of the model, whose lists are set back
    model, x = Reader(seen.append).double(), torch.randn(9, 4, dtype=torch.float64)
    measured = gramlab.measure(model, x, quantities=["ptk"])["layer"]
    state = torch.get_rng_state()
    assert [calls for calls, _ in seen] == list(range(1, len(seen) + 1))
    assert seen[0][1] == float(torch.rand(()))
    torch.set_rng_state(state)

    J = model.head.weight * torch.nn.functional.linear(x, model.layer.weight, model.layer.bias).tanh().unsqueeze(1)
    torch.testing.assert_close(measured.ptk, torch.einsum("noi,noj->ij", J, J) / 9)


def test_hooks_that_compute_the_weight_and_the_initial_weights():
    """Old-style weight_norm and pruning: the same numbers as with weights that are parameters."""
    torch.manual_seed(0)
    x = torch.randn(9, 5, dtype=torch.float64)
    for wrap in (nn.utils.weight_norm, lambda layer: prune.l1_unstructured(layer, "weight", 0.5)):
        model = nn.Sequential(wrap(nn.Linear(5, 4)), nn.Tanh(), nn.Linear(4, 2)).double()
        plain = nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 2)).double()
        initial, first = {key: value.clone() for key, value in model.state_dict().items()}, None
        for scale in (1.0, 1.3):
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter.mul_(scale)
            model(x)
            weights = [t.detach().clone() for layer in (model[0], model[2]) for t in (layer.weight, layer.bias)]
            plain.load_state_dict(dict(zip(plain.state_dict(), weights, strict=True)))
            first = first or {key: value.clone() for key, value in plain.state_dict().items()}
        for quantities in (["centered_gram", "centered_agop"], ["double_centered_agop", "initial_gram"]):
            measurement = gramlab.measure(model, x, initial=initial, quantities=quantities)
            expected = gramlab.measure(plain, x, initial=first, quantities=quantities)
            for name in measurement:
                for quantity in quantities:
                    torch.testing.assert_close(getattr(measurement[name], quantity), getattr(expected[name], quantity))


@pytest.mark.parametrize("initial", [False, True])
def test_the_callers_autocast_rounds_only_the_models_passes(initial):
    """As by a forward with autocast inside: the passes are rounded and the products are not."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(50, 80), nn.GELU(), nn.Linear(80, 3))
    x, y = torch.randn(60, 50), torch.randint(0, 3, (60,))
    options = {"loss": "cross_entropy", "weight_decay": 0.1}
    if initial:
        options["initial"] = {key: value + 0.1 for key, value in model.state_dict().items()}

    def within(model, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return model(x)

    expected = gramlab.measure(model, x, y, forward=within, **options)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        measurement = gramlab.measure(model, x, y, **options)
    assert_same(measurement, expected, 0.0)
    if initial:
        assert_same(measurement, expected, 0.0, ["centered_ptk", "double_centered_agop"])


class OwnForwards(nn.Module):
    """Layers whose forwards are checked, and positions whose rows serve all samples."""

    class Product(nn.Linear):
        def forward(self, x):
            return x @ self.weight.T + self.bias

    class Lookup(nn.Embedding):
        def forward(self, x):
            return self.weight[x]

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.words, self.positions = self.Lookup(9, 4), nn.Embedding(5, 4)
        self.layer, self.head = self.Product(4, 5), nn.Linear(5, 9)
        self.register_buffer("places", torch.arange(5))

    def forward(self, x):
        return self.head(torch.tanh(self.layer(self.words(x) + self.positions(self.places))))


@pytest.mark.parametrize("outputs", ["exact", None])
def test_torchs_default_device_does_not_matter(outputs):
    """torch.set_default_device("cuda") refuses the CPU's generators; "meta" fails in the same places."""
    model, x = OwnForwards(), torch.randint(0, 9, (6, 5))
    expected = gramlab.measure(model, x, x, weight_decay=0.1, outputs=outputs)
    with torch.device("meta"):
        result = gramlab.measure(model, x, x, weight_decay=0.1, outputs=outputs)
    assert expected.settings["outputs"] == (outputs or "readout")
    assert_same(result, expected)


def test_features_of_a_layer_whose_name_has_a_colon():
    model = nn.ModuleDict({"a:b": nn.Linear(4, 4), "c": nn.Linear(4, 4)})
    x = torch.randn(5, 4)
    inputs = gramlab.features(model, x, forward=lambda m, x: m["c"](m["a:b"](m["a:b"](x))))
    assert list(inputs) == ["a:b", "c", "a:b:2"]
    torch.testing.assert_close(inputs["a:b:2"], model["a:b"](x))
