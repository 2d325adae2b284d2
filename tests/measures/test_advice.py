"""The message of a refusal says what to do, and what it advises works."""

import numpy as np
import pytest
import torch
from small_networks import X, Y, net
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset

import gramlab


class Pairs(nn.Module):
    """A model of two inputs."""

    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 3)

    def forward(self, a, b):
        return self.body(a * b)


class Named(nn.Module):
    """A model of one mapping."""

    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 3)

    def forward(self, batch):
        return self.body(batch["x"])


class Aliased(nn.Module):
    """A layer with two names."""

    def __init__(self):
        super().__init__()
        self.a = self.b = nn.Linear(4, 3)

    def forward(self, x):
        return self.b(x)


DATASET = TensorDataset(X, Y)
SIGNS = torch.tensor([1, -1, 1, 1, -1, 1])
ONE_HOT = torch.nn.functional.one_hot(Y, 3)
TOKENS = torch.tensor([[0, 1, 2], [2, 1, 0], [1, 1, 2], [0, 0, 1]])

# what a caller tries -> the words that say what to do
HINTS = {
    "a column of classes": (lambda: gramlab.measure(net(), X, Y.unsqueeze(1)), r"pass y.squeeze\(-1\)"),
    "two classes": (lambda: gramlab.measure(net(), X, Y > 0), r"pass y.long\(\), or name loss='bce_with_logits'"),
    "classes as floats": (
        lambda: gramlab.measure(net(), X, Y.float()),
        r"class numbers must be integers: pass y.long\(\)",
    ),
    "signs": (lambda: gramlab.measure(nn.Linear(4, 1), X, SIGNS, loss="signed_mse"), "for targets of ±1 use 'mse'"),
    "signs as floats": (
        lambda: gramlab.measure(net(), X, SIGNS.double(), loss="signed_mse"),
        "takes class indices and makes rows of ±1 itself",
    ),
    "two inputs": (lambda: gramlab.measure(Pairs(), (X, X), Y), r'mapping \{"a": u, "b": v\}.* or \[\(\(u, v\), y\)\]'),
    "a pair": (lambda: gramlab.measure(net(), (X, Y)), r"call measure\(model, x, y\)"),
    "a pair in a list": (lambda: gramlab.measure(net(), [X, Y.float()]), "in a list is read as two batches"),
    "a data set": (lambda: gramlab.measure(net(), DATASET), r"wrap it, DataLoader\(dataset, batch_size=...\)"),
    "a part of it": (lambda: gramlab.measure(net(), Subset(DATASET, [0, 1]), Y[:2]), "x is a Subset.*: wrap it"),
    "weights of samples": (
        lambda: gramlab.measure(net(), [(X, Y, torch.ones(6))]),
        r"the third part of a batch \(inputs, targets, mask\) is its mask",
    ),
    "the last batch dropped": (
        lambda: gramlab.measure(net(), DataLoader(DATASET, 40, drop_last=True)),
        "a loader whose drop_last drops its only batch",
    ),
    "one mapping": (lambda: gramlab.measure(Named(), {"x": X}), r"forward=lambda m, b: m\(b\)"),
    "a word for forward": (lambda: gramlab.measure(net(), X, forward="x"), "forward must be callable .* not 'x'"),
    "a number for a layer": (lambda: gramlab.measure(net(), X, layers=[0]), r"layers must be names, .* not \[0\]"),
    "a class for layers": (lambda: gramlab.measure(net(), X, layers=nn.Linear), "layers must be names, .* the class"),
    "a module in layers": (lambda: gramlab.measure(net(), X, layers=[net()[0]]), "layers must be names, a predicate"),
    "a module for layers": (lambda: gramlab.measure(net(), X, layers=net()[0]), "layers must be names, .* the module"),
    "a name alone": (lambda: gramlab.measure(net(), X, layers=lambda name: True), "that does not take both"),
    "the other name": (lambda: gramlab.measure(Aliased(), X, layers=["b"]), "'b' is the same module as 'a'"),
    "activations": (lambda: gramlab.measure(nn.Sequential(nn.ReLU()), X), "is measured; Linear, convolutions"),
    "classes of tokens": (
        lambda: gramlab.target_linearity(torch.randn(4, 3, 2), TOKENS),
        r"features.flatten\(0, 1\) and torch.nn.functional.one_hot\(Y.flatten\(\)\)",
    ),
    "labels of tokens": (
        lambda: gramlab.neural_collapse(torch.randn(4, 3, 2), TOKENS),
        r"pass features.flatten\(0, 1\) and labels.flatten\(\)",
    ),
}


@pytest.mark.parametrize("name", HINTS)
def test_a_message_says_what_to_do(name):
    act, message = HINTS[name]
    with pytest.raises(ValueError, match=message):
        act()


def test_what_the_messages_advise_works():
    u, v = torch.randn(6, 4), torch.randn(6, 4)
    pairs = Pairs()
    as_mapping, as_batch = (gramlab.measure(pairs, x, y) for x, y in (({"a": u, "b": v}, Y), ([((u, v), Y)], None)))
    assert torch.equal(as_mapping["body"].agop, as_batch["body"].agop)
    assert gramlab.measure(Named(), {"x": X}, forward=lambda m, b: m(b)).n == 6
    expected = gramlab.measure(net(), X, Y).loss
    for y in (Y.unsqueeze(1).squeeze(-1), ONE_HOT.argmax(-1)):
        assert gramlab.measure(net(), X, y).loss == expected
    assert gramlab.measure(net(), DataLoader(DATASET, batch_size=4)).loss == pytest.approx(expected)
    assert gramlab.measure(net(), [X, X[:2]]).n == 8  # a list of tensors is batches
    H, tokens = torch.randn(40, 3, 2), torch.randint(3, (40, 3))
    rows = torch.nn.functional.one_hot(tokens.flatten())
    residual = torch.linalg.lstsq(H.flatten(0, 1).double(), rows.double()).solution
    apart = rows - H.flatten(0, 1).double() @ residual
    linearity = 1 - float(apart.square().sum() / (rows - rows.double().mean(0)).square().sum())
    assert gramlab.target_linearity(H.flatten(0, 1), rows) == pytest.approx(linearity)
    assert gramlab.target_linearity(H.flatten(0, 1), 2 * rows - 1, center=True) < 1


@pytest.mark.parametrize("number", [torch.tensor(0.1), np.array([0.1]), np.float64(0.1), torch.tensor([[0.1]])])
def test_a_number_may_be_a_tensor_of_one(number):
    value = np.asarray(number).item()
    expected, found = (gramlab.measure(net(), X, Y, weight_decay=decay) for decay in (value, number))
    assert torch.equal(expected["0"].fact, found["0"].fact)
    assert found.settings["weight_decay"] == value
    assert gramlab.plan(net(), X, Y, weight_decay=number).n == 6
    values = torch.randn(6)
    assert gramlab.target_linearity(X, values, number) == gramlab.target_linearity(X, values, value)
