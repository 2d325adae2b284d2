"""Weights that the network also uses outside of their layers' calls are named, and all others are not.

The oracle is autograd's gradient with respect to the parameter, which has a part for each use.
"""

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import gramlab
from gramlab.measures.used_elsewhere import USED_ELSEWHERE

torch.set_num_threads(1)
linear = F.linear  # as `from torch.nn.functional import linear` gives it


class Uses(nn.Module):
    """A network of two layers and what it does with the first layer's weight W (4, 3) beside them."""

    def __init__(self, use):
        super().__init__()
        self.e, self.a, self.use = nn.Linear(3, 4, bias=False), nn.Linear(4, 4), use

    def forward(self, x):
        return self.use(torch.tanh(self.a(torch.tanh(self.e(x)))), self.e.weight)


class Convolved(nn.Module):
    def __init__(self):
        super().__init__()
        self.e, self.a = nn.Conv1d(2, 2, 3, padding=1), nn.Conv1d(2, 2, 1)

    def forward(self, x):
        return F.conv1d(torch.tanh(self.a(self.e(x))), self.e.weight).flatten(1)


class Forces(nn.Module):
    """The gradient of an energy."""

    def __init__(self):
        super().__init__()
        self.e, self.a = nn.Linear(3, 4), nn.Linear(4, 1)

    def forward(self, x):
        x = x.clone().requires_grad_()
        return torch.autograd.grad(self.a(torch.tanh(self.e(x))).sum(), x, create_graph=True)[0]


USES = {
    "at": (lambda: Uses(lambda h, W: h @ W), (3,)),
    "einsum": (lambda: Uses(lambda h, W: torch.einsum("nk,kd->nd", h, W)), (3,)),
    "norm": (lambda: Uses(lambda h, W: h / W.norm()), (3,)),
    "imported linear": (lambda: Uses(lambda h, W: linear(h, W.T)), (3,)),
    "convolution": (Convolved, (2, 5)),
    "forces": (Forces, (3,)),
}


def data(shape, model, n=9):
    torch.manual_seed(1)
    x = torch.randn(n, *shape, dtype=torch.float64)
    return x, torch.randn_like(model(x).detach())


def trained(model, x, y, decay):
    """The model at a critical point of the mean squared error with weight decay."""
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=3000, tolerance_grad=1e-13, tolerance_change=0.0,
                                  line_search_fn="strong_wolfe")  # fmt: skip

    def closure():
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y) + decay / 2 * sum(p.square().sum() for p in model.parameters())
        loss.backward()
        return loss

    optimizer.step(closure)
    return model


@pytest.mark.parametrize("batch_size", [4, 4096])
@pytest.mark.parametrize("use", USES)
def test_a_weight_that_is_used_elsewhere_is_named(use, batch_size):
    torch.manual_seed(0)
    build, shape = USES[use]
    model = build().double()
    x, y = data(shape, model)
    measured = gramlab.measure(model, x, y, weight_decay=0.01, batch_size=batch_size)
    gradients = torch.autograd.grad(F.mse_loss(model(x), y), [model.e.weight, model.a.weight])
    wrong = {name for name, gradient in zip("ea", gradients, strict=True)
             if not torch.allclose(measured[name].weight_gradient, gradient.reshape(len(gradient), -1))}  # fmt: skip
    assert "e" in wrong
    assert measured.left_out == {f"{name}.weight": USED_ELSEWHERE for name in sorted(wrong)}
    assert "e.weight (also used outside of its layer's calls" in repr(measured)
    # without the gradient of the weight nothing is wrong
    assert not gramlab.measure(model, x, y, quantities=["agop", "enfa"]).left_out


def test_at_a_critical_point_the_layers_own_part_is_no_zero():
    torch.manual_seed(0)
    model = Uses(lambda h, W: h @ W).double()
    x = data((3,), model, 20)[0]
    y = 0.8 * x
    measured = gramlab.measure(trained(model, x, y, 0.01), x, y, weight_decay=0.01)
    assert measured["a"].stationarity < 1e-5
    assert measured["e"].stationarity > 0.1
    assert measured.left_out == {"e.weight": USED_ELSEWHERE}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_at_a_critical_point_round_off_is_no_use(dtype):
    """There the gradient of the loss is far smaller than the terms of its sum."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 3)).double()
    x, y = data((3,), model, 2000)
    model = trained(model, x, y, 1e-6).to(dtype)
    measured = gramlab.measure(model, x, y, weight_decay=1e-6)
    assert not measured.left_out


class Tied(nn.Module):
    """A language model whose readout has the weight of its embedding."""

    def __init__(self, sparse=False):
        super().__init__()
        self.embed, self.up = nn.Embedding(7, 5, padding_idx=0, sparse=sparse), nn.Linear(5, 5)
        self.head = nn.Linear(5, 7, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, input_ids, attention_mask=None):
        return self.head(torch.tanh(self.up(self.embed(input_ids)).cumsum(1)))


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention, self.head = nn.MultiheadAttention(6, 2, batch_first=True), nn.Linear(6, 2)

    def forward(self, x):
        return self.head(self.attention(x, x, x)[0].mean(1))


def normalised():
    return nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(6, 4)), nn.Tanh(), nn.Linear(4, 2))


def old_normalised():
    with pytest.warns(FutureWarning, match="weight_norm"):
        layer = nn.utils.weight_norm(nn.Linear(6, 4))
    return nn.Sequential(layer, nn.Tanh(), nn.Linear(4, 2))


def hooked():
    model = nn.Sequential(nn.Linear(6, 4), nn.Tanh(), nn.Linear(4, 2))
    model[0].weight.register_hook(lambda g: 2 * g)
    return model


def channels_last():
    model = nn.Sequential(nn.Conv2d(3, 4, 3, groups=1), nn.Conv2d(4, 4, 3, 2, 1, groups=2), nn.ReLU(),
                          nn.ConvTranspose2d(4, 6, 3, 2, groups=2), nn.Flatten())  # fmt: skip
    return model.to(memory_format=torch.channels_last)


TOKENS = {"input_ids": torch.tensor([[1, 2, 3, 0], [4, 5, 0, 0], [6, 1, 1, 2]]),
          "attention_mask": torch.tensor([[1, 1, 1, 0], [1, 1, 0, 0], [1, 1, 1, 1]])}  # fmt: skip
LABELS = torch.tensor([[2, 3, 4, 1], [5, 6, 0, 0], [1, 1, 2, 3]])
VECTORS = torch.randn(8, 6, generator=torch.Generator().manual_seed(2))
SIGNALS = torch.randn(3, 4, 6, generator=torch.Generator().manual_seed(3))
IMAGES = torch.randn(3, 3, 8, 8, generator=torch.Generator().manual_seed(4))

# name -> the model, its inputs, the targets (None: zeros), and options
PLAIN = {
    "tied modules": (Tied, TOKENS, LABELS, {}),
    "tied modules, sparse": (lambda: Tied(True), TOKENS, LABELS, {}),
    "the embedding alone": (Tied, TOKENS, LABELS, {"layers": ["embed", "up"]}),
    "attention": (Attention, SIGNALS, None, {}),
    "a projection alone": (Attention, SIGNALS, None, {"layers": ["attention.k_proj"]}),
    "convolutions": (channels_last, IMAGES, None, {}),
    "computed": (normalised, VECTORS, None, {}),
    "computed by a hook": (old_normalised, VECTORS, None, {}),
    "with a hook on its gradient": (hooked, VECTORS, None, {}),
    "frozen": (lambda: hooked().requires_grad_(False), VECTORS, None, {}),
    "half precision": (lambda: channels_last().bfloat16(), IMAGES, None, {}),
}


@pytest.mark.parametrize("name", PLAIN)
def test_other_weights_are_not_named(name):
    torch.manual_seed(0)
    build, x, y, options = PLAIN[name]
    model = build()
    if y is None:
        y = torch.zeros(model(x.to(next(model.parameters()).dtype)).shape)
    measured = gramlab.measure(model, x, y, batch_size=2, **options)
    assert USED_ELSEWHERE not in measured.left_out.values()
    assert not options or measured.keys() <= set(options["layers"])


def test_autocast_and_a_mask_that_drops_used_tokens():
    torch.manual_seed(0)
    model = Attention()
    with torch.autocast("cpu", torch.bfloat16):
        assert not gramlab.measure(model, SIGNALS, torch.zeros(3, 2)).left_out
    mask = torch.ones(3, 4, dtype=torch.bool)
    mask[:, 2:] = False  # the mean takes these tokens too
    assert not gramlab.measure(model, SIGNALS, torch.zeros(3, 2), mask=mask).left_out


def test_rounds_name_the_same():
    torch.manual_seed(0)
    model = Uses(lambda h, W: h @ W)
    x, y = torch.randn(8, 3), torch.randn(8, 3)
    limit = int(gramlab.plan(model, x, y).layers[["sums", "batch"]].sum(axis=1).max())
    assert len(gramlab.plan(model, x, y, max_memory=limit).rounds) == 2
    assert gramlab.measure(model, x, y, max_memory=limit).left_out == {"e.weight": USED_ELSEWHERE}


def test_gradients_of_the_caller_stay_as_they_are():
    model = Uses(lambda h, W: h @ W)
    x, y = torch.randn(8, 3), torch.randn(8, 3)
    before = copy.deepcopy(model.state_dict())
    gramlab.measure(model, x, y)
    assert all(p.grad is None for p in model.parameters())
    assert all(torch.equal(model.state_dict()[name], value) for name, value in before.items())


def tied():
    model = nn.Sequential(nn.Linear(3, 3, bias=False), nn.Tanh(), nn.Linear(3, 3, bias=False)).double()
    model[2].weight = model[0].weight
    return model


class Twice(nn.Module):
    """One layer, under two names, that is called twice."""

    def __init__(self):
        super().__init__()
        self.a = self.b = nn.Linear(3, 3, bias=False)
        self.double()

    def forward(self, x):
        return self.b(torch.tanh(self.a(x)))


def test_at_a_critical_point_tied_layers_lack_each_others_part():
    torch.manual_seed(0)
    model = tied()
    x = data((3,), model, 20)[0]
    y = 0.8 * x.flip(1)
    trained(model, x, y, 0.01)
    measured = gramlab.measure(model, x, y, weight_decay=0.01)
    (gradient,) = torch.autograd.grad(F.mse_loss(model(x), y), [model[0].weight])
    torch.testing.assert_close(measured["0"].weight_gradient + measured["2"].weight_gradient, gradient)
    assert min(layer.stationarity for layer in measured.values()) > 0.1
    assert set(measured.left_out) == {"0.weight", "2.weight"}
    for name, other in (("0", "2"), ("2", "0")):
        reason = measured.left_out[f"{name}.weight"]
        assert reason == f"also the weight of layer '{other}', whose part weight_gradient, FACT and stationarity lack"
    twice = Twice()
    with torch.no_grad():
        twice.a.weight.copy_(model[0].weight)
    whole = gramlab.measure(twice, x, y, weight_decay=0.01)
    assert whole["a"].stationarity < 1e-5
    assert not whole.left_out


def test_ties_are_named_where_a_gradient_is_measured():
    model, x = tied(), torch.randn(8, 3)
    y = torch.randn(8, 3)
    both = {"0.weight", "2.weight"}
    assert gramlab.measure(model, x, y, layers="2").left_out.keys() == {"2.weight"}
    assert gramlab.measure(model, x, y, max_memory=400).left_out.keys() == both
    assert len(gramlab.plan(model, x, y, max_memory=400).rounds) == 2
    assert not gramlab.measure(model, x).left_out
    assert not gramlab.measure(model, x, y, quantities=["agop", "enfa"]).left_out
    language = gramlab.measure(Tied(), TOKENS, LABELS)
    assert language.left_out.keys() == {"embed.weight", "head.weight"}
