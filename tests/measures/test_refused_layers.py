"""Layers that cannot be measured raise a ValueError that names the layer and its class."""

import pytest
import torch
from small_networks import Complex, X, Y, nan_in, net, traced, weights_with_nan
from torch import nn

import gramlab


class Spare(nn.Module):
    def __init__(self):
        super().__init__()
        self.used, self.spare = nn.Linear(4, 3), nn.Linear(4, 3)

    def forward(self, x):
        return self.used(x)


class Frozen(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk, self.head = nn.Linear(4, 3), nn.Linear(3, 3)

    def forward(self, x):
        with torch.no_grad():
            h = self.trunk(x)
        return self.head(h)


class Overwrites(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4).requires_grad_(False)

    def forward(self, x):
        h = x * 2
        z = self.layer(h)
        h += z
        return h


class Masked(nn.Linear):
    def forward(self, x):
        return nn.functional.linear(x, self.weight * (self.weight > 0), self.bias)


class Recurrent(nn.Module):
    """A recurrent network whose first state is zero."""

    def __init__(self):
        super().__init__()
        self.enter, self.again, self.head = nn.Linear(4, 5), Masked(5, 5), nn.Linear(5, 3)

    def forward(self, x):
        h = torch.zeros(len(x), 5)
        for _ in range(3):
            h = torch.tanh(self.enter(x) + self.again(h))
        return self.head(h)


def with_a_large_bias():
    layer = Masked(4, 3)
    with torch.no_grad():
        layer.bias.fill_(1e5)
    return nn.Sequential(layer, nn.LayerNorm(3))


class Adapted(nn.Linear):
    def forward(self, x):
        return super().forward(x) + x @ torch.ones(self.in_features, self.out_features)


class Padded(nn.Conv2d):
    def forward(self, x):
        return super().forward(nn.functional.pad(x, (1, 1, 1, 1)))


class Standardised(nn.Conv2d):
    def _conv_forward(self, x, weight, bias):
        return super()._conv_forward(x, weight - weight.mean(), bias)


class Packed(nn.Linear):
    """A quantised layer, whose weight has another shape."""

    def __init__(self):
        super().__init__(4, 3)
        self.weight = nn.Parameter(torch.zeros(6, 1, dtype=torch.uint8), requires_grad=False)

    def forward(self, x):
        return x[:, :3]


def patched():
    model = net()
    model[2].forward = lambda x: 2 * x[:, :3]
    return model


def without_width():
    return nn.Sequential(nn.Linear(4, 0), nn.Linear(0, 3))


IMAGES = torch.randn(2, 3, 5, 5)


CASES = {
    "no layers": (lambda: gramlab.measure(nn.ReLU(), X), "the ReLU has no layer that is measured"),
    "no layers chosen": (lambda: gramlab.measure(net(), X, layers=[]), r"layers=\[\]"),
    "unknown layer": (lambda: gramlab.measure(net(), X, layers="22"), "no layer named '22'; did you mean '2'"),
    "wrong kind": (lambda: gramlab.measure(net(), X, layers=["1"]), "layer '1' is a ReLU"),
    "generator": (
        lambda: gramlab.measure(net(), X, layers=(name for name in ("0", "2"))),
        "layers is a generator, which can be read only once, .* give a list",
    ),
    "iterator of a plan": (lambda: gramlab.plan(net(), X, layers=iter(["0"])), "is a list_iterator, which .* a list"),
    "generator of features": (
        lambda: gramlab.features(net(), X, (name for name in ("0", "2"))),
        "layers is a generator",
    ),
    "recurrent": (lambda: gramlab.measure(nn.LSTM(4, 3), X), "no layer that is measured; those of the kind LSTM"),
    "traced": (lambda: gramlab.measure(traced(net()), X), "TorchScript hides the model's layers"),
    "lazy": (lambda: gramlab.measure(nn.LazyLinear(3), X), "lazy"),
    "unreached": (
        lambda: gramlab.measure(Spare(), X, layers=["used", "spare"]),
        r"no sample reaches layers \['spare'\]",
    ),
    "unreached in rounds": (
        lambda: gramlab.measure(Spare(), X, layers="spare", max_memory="1GB"),
        r"no sample reaches layers \['spare'\]",
    ),
    "nothing reached": (
        lambda: gramlab.measure(Spare(), X, forward=lambda m, x: x * m.used.bias.sum()),
        "no layer can be measured here: used.weight: no sample reaches layer 'used'; spare.weight: no sample",
    ),
    "unreached features": (lambda: gramlab.features(Spare(), X), r"no sample reaches layers \['spare'\]"),
    "no grad": (lambda: gramlab.measure(Frozen(), X), r"layers \['trunk'\] are called under torch.no_grad"),
    "overwritten": (lambda: gramlab.measure(Overwrites(), X, X), "input of layer 'layer' is changed in place"),
    "nan weight": (lambda: gramlab.measure(weights_with_nan(), X), "parameter '2.weight' holds a NaN"),
    "masked layer": (
        lambda: gramlab.measure(nn.Sequential(Masked(4, 3)), X),
        "layer '0' is a Masked whose forward",
    ),
    "masked layer, called with zeros": (
        lambda: gramlab.measure(Recurrent(), X),
        "layer 'again' is a Masked whose forward",
    ),
    "masked layer, large bias": (
        lambda: gramlab.measure(with_a_large_bias(), X),
        "layer '0' is a Masked whose forward",
    ),
    "complex layer": (lambda: gramlab.measure(Complex(), X), "layer 'layer' has weights of torch.complex64"),
    "complex layer by name": (
        lambda: gramlab.measure(Complex(), X, layers="layer"),
        "layer 'layer' has weights of torch.complex64",
    ),
    "nan in a complex weight": (
        lambda: gramlab.measure(nan_in(Complex()), X, layers="head"),
        "parameter 'layer.weight' holds a NaN",
    ),
    "adapted layer": (lambda: gramlab.measure(Adapted(4, 3), X), "is a Adapted whose forward does not compute"),
    "padded layer": (
        lambda: gramlab.measure(Padded(3, 2, 3), IMAGES),
        "is a Padded whose forward does not compute Conv2d's",
    ),
    "standardised layer": (lambda: gramlab.measure(Standardised(3, 2, 3), IMAGES), "is a Standardised whose forward"),
    "packed layer": (lambda: gramlab.measure(nn.Sequential(Packed(), nn.Linear(3, 2)), X), "layer '0' is a Packed"),
    "patched layer": (lambda: gramlab.measure(patched(), X), "layer '2' is a Linear whose forward"),
    "masked in denoising": (
        lambda: gramlab.denoising(nn.Sequential(Masked(4, 4), nn.Linear(4, 3)), X, Y),
        "layer '0' is a Masked",
    ),
    "no outputs": (lambda: gramlab.measure(without_width(), X), r"layer '0' has a weight of shape \(0, 4\)"),
    "no inputs": (
        lambda: gramlab.measure(without_width(), X, layers="1"),
        r"layer '1' has a weight of shape \(3, 0\), without entries",
    ),
    "no outputs, plan": (lambda: gramlab.plan(without_width(), X), r"layer '0' has a weight of shape \(0, 4\)"),
    "outputs without entries": (
        lambda: gramlab.measure(nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 0)), X, layers="0"),
        r"the model gives outputs of shape \(6, 0\), without entries",
    ),
    "no channels": (
        lambda: gramlab.measure(nn.Sequential(nn.Conv2d(3, 0, 3), nn.Flatten(), nn.Linear(0, 2)), IMAGES),
        r"layer '0' has a weight of shape \(0, 3, 3, 3\)",
    ),
    "batch statistics": (
        lambda: gramlab.measure(nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3, track_running_stats=False)), X),
        "layer '1' is a BatchNorm1d without running statistics",
    ),
}


@pytest.mark.filterwarnings("ignore:Initializing zero-element tensors:UserWarning")
@pytest.mark.parametrize("name", CASES)
def test_a_layer_that_cannot_be_measured_is_refused(name):
    act, message = CASES[name]
    with pytest.raises(ValueError, match=message):
        act()


def test_a_real_layer_beside_a_complex_one_is_measured():
    torch.manual_seed(0)
    model = Complex()
    measured = gramlab.measure(model, X, Y, layers="head")
    assert measured.left_out == {"layer.weight": "not named in layers="}
    (gradient,) = torch.autograd.grad(nn.functional.cross_entropy(model(X), Y), model.head.weight)
    torch.testing.assert_close(measured["head"].weight_gradient, gradient.double())


class Bypassed(nn.Module):
    """Adds a layer without outputs, and one without inputs, to a layer of a usual width."""

    def __init__(self):
        super().__init__()
        self.layer, self.head, self.empty, self.bias = (nn.Linear(*s) for s in ((4, 5), (5, 3), (4, 0), (0, 5)))

    def forward(self, x):
        return self.head(torch.tanh(self.layer(x) + self.bias(self.empty(x))))


@pytest.mark.filterwarnings("ignore:Initializing zero-element tensors:UserWarning")
def test_a_layer_beside_one_without_width_is_measured():
    torch.manual_seed(0)
    model = Bypassed()
    measured = gramlab.measure(model, X, Y, layers=["layer", "head"])
    (gradient,) = torch.autograd.grad(nn.functional.cross_entropy(model(X), Y), model.layer.weight)
    torch.testing.assert_close(measured["layer"].weight_gradient, gradient.double())


def test_a_traced_part_is_left_out():
    model = nn.Sequential(traced(nn.Linear(4, 4)), nn.Linear(4, 3))
    measured = gramlab.measure(model, X)
    assert list(measured) == ["1"]
    assert list(measured.left_out) == ["0.weight"]


@pytest.mark.filterwarnings("ignore:Initializing zero-element tensors:UserWarning")
@pytest.mark.parametrize("outputs", [None, "exact", 4])
def test_before_a_head_without_inputs_the_agop_is_zero(outputs):
    model = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 0), nn.Linear(0, 2))
    measured = gramlab.measure(model, X, layers="0", outputs=outputs)
    assert torch.equal(measured["0"].agop, torch.zeros(4, 4, dtype=torch.float64))


class OtherWeight(torch.nn.Module):
    """Calls its layer with twice the weight."""

    def __init__(self, how):
        super().__init__()
        self.how, self.layer, self.head = how, torch.nn.Linear(4, 5), torch.nn.Linear(5, 3)

    def forward(self, x):
        W = self.layer.weight
        if self.how == "functional":
            return self.head(torch.func.functional_call(self.layer, {"weight": 2 * W}, (x,)).tanh())
        own_weights = W.data
        W.data = 2 * own_weights
        try:
            return self.head(self.layer(x).tanh())
        finally:
            W.data = own_weights


@pytest.mark.parametrize("how", ["functional", "swapped"])
def test_a_layer_that_is_called_with_another_weight_is_refused(how):
    with pytest.raises(ValueError, match="'layer' is called with another weight than its own"):
        gramlab.measure(OtherWeight(how), torch.randn(6, 4))
    assert list(gramlab.measure(OtherWeight(how), torch.randn(6, 4), layers="head")) == ["head"]


class OtherOriginal(torch.nn.Module):
    """Calls a layer whose weight is computed from twice its parameters."""

    def __init__(self, layer, names):
        super().__init__()
        self.layer, self.head, self.names = layer, torch.nn.Linear(5, 3), names

    def forward(self, x):
        doubled = {name: 2 * self.layer.get_parameter(name) for name in self.names}
        return self.head(torch.func.functional_call(self.layer, doubled, (x,)).tanh())


COMPUTED = {
    "weight_norm": (nn.utils.parametrizations.weight_norm, "parametrizations.weight.original1"),
    "spectral_norm": (nn.utils.parametrizations.spectral_norm, "parametrizations.weight.original"),
    "old weight_norm": (nn.utils.weight_norm, "weight_g"),
}


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("kind", COMPUTED)
def test_a_layer_whose_weight_is_computed_from_others_than_its_own_is_refused(kind):
    normalise, name = COMPUTED[kind]
    with pytest.raises(ValueError, match="'layer' is called with another weight than its own"):
        gramlab.measure(OtherOriginal(normalise(nn.Linear(4, 5)), [name]), X)
    for names in ([], ["bias"]):  # W is the layer's own
        assert list(gramlab.measure(OtherOriginal(normalise(nn.Linear(4, 5)), names), X)) == ["layer", "head"]
