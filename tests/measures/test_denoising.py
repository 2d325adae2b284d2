"""NC1 through the parts of a layer, against the definitions written out with W = U S V^T multiplied by hand."""

import pytest
import torch
from torch import nn

import gramlab


def by_hand(H, labels):
    """tr(S_W) / tr(S_B) from the matrices themselves, classes of one size."""
    H = H.detach().double()
    means = torch.stack([H[labels == label].mean(0) for label in labels.unique()])
    within = sum((H[labels == c] - mean).T @ (H[labels == c] - mean) for c, mean in enumerate(means)) / len(H)
    centred = means - H.mean(0)
    return float(torch.trace(within) / torch.trace(centred.T @ centred / len(means)))


class Conv1D(nn.Module):
    """The linear layer of Hugging Face that has its weight transposed."""

    def __init__(self, outputs, inputs):
        super().__init__()
        self.nf, self.weight = outputs, nn.Parameter(torch.randn(inputs, outputs))
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x):
        return x @ self.weight + self.bias


@pytest.fixture
def case():
    torch.manual_seed(1)
    labels = torch.arange(3).repeat_interleave(20)
    x = torch.randn(3, 6)[labels] + torch.randn(60, 6)
    model = nn.Sequential(nn.Linear(6, 9), nn.ReLU(), nn.Linear(9, 4, bias=False), nn.ReLU(), nn.Linear(4, 3))
    return model, x, labels


def test_each_part_by_its_definition(case):
    model, x, labels = case
    parts = gramlab.denoising(model, x, labels)
    assert list(parts) == ["0", "2"]
    h = x
    for name, part in parts.items():
        layer = model.get_submodule(name)
        _, S, Vh = torch.linalg.svd(layer.weight.double())
        core = torch.zeros_like(layer.weight, dtype=torch.float64)
        core[: len(S), : len(S)] = torch.diag(S)
        after = torch.relu(layer(h))
        expected = by_hand(h, labels), by_hand(h.double() @ (core @ Vh).T, labels), by_hand(after, labels)
        assert (part.input.nc1, part.projected.nc1, part.output.nc1) == pytest.approx(expected, rel=1e-6)
        # the left singular vectors and the bias leave it alone: paper D, Section 5
        assert part.projected.nc1 == pytest.approx(by_hand(layer(h), labels), rel=1e-5)
        h = after.detach()


def test_batches_give_the_same_as_all_at_once(case):
    model, x, labels = case
    order = torch.randperm(60)
    at_once = gramlab.denoising(model, x, labels)
    batches = [(x[rows], labels[rows]) for rows in order.split([1, 22, 30, 7])]
    for in_batches in (gramlab.denoising(model, iter(batches)), gramlab.denoising(model, x, labels, batch_size=9)):
        for name, part in at_once.items():
            for place in ("input", "projected", "output"):
                pair = (getattr(in_batches[name], place), getattr(part, place))
                for quantity in ("nc1", "nc2", "total"):
                    assert getattr(pair[0], quantity) == pytest.approx(getattr(pair[1], quantity), rel=1e-6)


def test_layers_follow_on_one_another_as_the_model_calls_them(case):
    """Registered in another order, as a subclass does that first builds its head."""
    model, x, labels = case
    expected = gramlab.denoising(model, x, labels)
    first, act, second, _, head = model
    shuffled = nn.ModuleList([head, second, first])
    parts = gramlab.denoising(shuffled, x, labels, forward=lambda m, x: m[0](act(m[1](act(m[2](x))))))
    assert list(parts) == ["2", "1"]
    for part, expected_part in zip(parts.values(), expected.values(), strict=True):
        assert (part.input.nc1, part.projected.nc1, part.output.nc1) == pytest.approx(
            (expected_part.input.nc1, expected_part.projected.nc1, expected_part.output.nc1), rel=1e-12
        )


class OfTokens(nn.Module):
    """Layers of tokens (n, T, d), or (T, n, d) as torch's recurrent networks take them, and a readout of their mean."""

    def __init__(self, tokens_first):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second, self.head = nn.Linear(3, 4), nn.Linear(4, 4), nn.Linear(4, 2)
        self.tokens_first = tokens_first
        self.double()

    def forward(self, x):
        h = x.transpose(0, 1) if self.tokens_first else x
        h = torch.relu(self.second(torch.relu(self.first(h))))
        return self.head(h.mean(0 if self.tokens_first else 1))


@pytest.mark.parametrize("batch_size", [6, 4])
def test_as_many_tokens_as_samples(batch_size):
    """Samples on the first axis are those of the definition; on the second axis they are refused, not confused."""
    x, labels = torch.randn(12, batch_size, 3, dtype=torch.float64), torch.arange(12) % 2
    model = OfTokens(tokens_first=False)
    part = gramlab.denoising(model, x, labels, ["first", "second"], batch_size=batch_size)["first"]
    after = torch.relu(model.first(x))
    for place, H in (("input", x), ("projected", model.first(x)), ("output", after)):
        assert getattr(part, place).nc1 == pytest.approx(by_hand(H.flatten(1), labels), rel=1e-6)
    with pytest.raises(
        ValueError, match=r"layer 'first', batch 0: it sees .* the samples on the second .* samples first"
    ):
        gramlab.denoising(OfTokens(tokens_first=True), x, labels, ["first", "second"], batch_size=batch_size)


def test_bad_arguments_are_refused(case):
    model, x, labels = case
    with pytest.raises(ValueError, match="two linear layers"):
        gramlab.denoising(model, x, labels, ["2"])
    head = nn.Flatten(), nn.Linear(32, 8), nn.ReLU(), nn.Linear(8, 3)
    for other_layer, shape in (
        (nn.Conv2d(1, 2, 3), (1, 6, 6)), (nn.Conv1d(1, 2, 3), (1, 18)), (nn.ConvTranspose1d(1, 2, 3), (1, 14)),
        (nn.Embedding(10, 8), (4,)), (Conv1D(8, 6), (4, 6)),
    ):  # fmt: skip
        samples = torch.randn(60, *shape) if shape != (4,) else torch.zeros(60, 4, dtype=torch.long)
        network = nn.Sequential(other_layer, *head)
        with pytest.raises(ValueError, match="linear layers only, not 0;"):
            gramlab.denoising(network, samples, labels)
        assert list(gramlab.denoising(network, samples, labels, ["2", "4"])) == ["2"]
    with pytest.raises(ValueError, match="give labels"):
        gramlab.denoising(model, x)
    twice = nn.Sequential(nn.Linear(6, 6), nn.ReLU(), nn.Linear(6, 6))
    with pytest.raises(ValueError, match="calls once, in one order: 0, 2"):
        gramlab.denoising(twice, x, labels, forward=lambda model, x: model(model(x)))
