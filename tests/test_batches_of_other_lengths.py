"""Batches of sequences of different lengths, and layers with time first: features and the recorder."""

import pytest
import torch
from torch import nn

import gramlab

torch.set_num_threads(1)
OF_TARGETS = ("target_linearity", "surrogate", "nc1", "nc2")


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.hidden, self.head = nn.Embedding(50, 8), nn.Linear(8, 8), nn.Linear(8, 3)

    def pooled(self, ids):
        return torch.tanh(self.hidden(self.embed(ids))).mean(1)

    def forward(self, ids):
        return self.head(self.pooled(ids))


def sentences():
    torch.manual_seed(0)
    return Classifier(), [(torch.randint(50, (8, T)), torch.randint(3, (8,))) for T in (5, 9, 7)]


def time_first(model, x):
    return model(x.transpose(0, 1)).transpose(0, 1)


def test_features_name_a_layer_of_other_lengths():
    model, batches = sentences()
    message = r"layer 'hidden': its batches of the shapes \(8, 5, 8\) and \(8, 9, 8\) cannot be joined; .*layers="
    with pytest.raises(ValueError, match=message):
        gramlab.features(model, batches, ["hidden", "head"])
    expected = torch.cat([model.pooled(ids) for ids, _ in batches])
    torch.testing.assert_close(gramlab.features(model, batches, "head")["head"], expected.detach())


def test_the_recorder_leaves_the_numbers_of_such_a_layer_out(tmp_path):
    model, batches = sentences()
    recording = gramlab.Recorder(model, batches, None, tmp_path / "t")
    recording.begin()
    values = {(row["layer"], row["quantity"]): row["value"] for row in recording.rows}
    assert {layer for layer, quantity in values if quantity in OF_TARGETS} == {"head"}
    assert ("hidden", "nfa") in values
    for quantity in OF_TARGETS:
        assert "cannot be joined" in recording.undefined[f"step 0 hidden {quantity}"]
    H, y = torch.cat([model.pooled(ids) for ids, _ in batches]).detach(), torch.cat([y for _, y in batches])
    assert values["head", "nc1"] == pytest.approx(gramlab.neural_collapse(H, y).nc1, rel=1e-5)


@pytest.mark.parametrize("batch_size", [25, 20])
def test_samples_on_the_second_axis_are_not_joined_along_the_first(batch_size, tmp_path):
    """Batches of equal size would be joined along time, without a word."""
    torch.manual_seed(0)
    model, x, y = (
        nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3)),
        torch.randn(50, 7, 4),
        torch.arange(50) % 3,
    )
    y = y[:, None].expand(50, 7)
    with pytest.raises(ValueError, match=rf"layer '0': it sees \(7, {batch_size}, 4\), with the {batch_size} samples"):
        gramlab.features(model, x, batch_size=batch_size, forward=time_first)
    whole = gramlab.features(model, x, forward=time_first)["0"]
    torch.testing.assert_close(whole, x.transpose(0, 1))
    recording = gramlab.Recorder(model, x, y, tmp_path / "t", batch_size=batch_size, forward=time_first)
    recording.begin()
    assert "second axis" in recording.undefined["step 0 0 nc1"]
    assert not {row["quantity"] for row in recording.rows} & {*OF_TARGETS}


@pytest.mark.parametrize("batch_size", [7, 5])
def test_samples_on_the_second_axis_are_found_if_there_are_as_many_tokens(batch_size, tmp_path):
    """The shape (7, 7, 4) does not show it; numbers of tokens would pass for numbers of samples, without a word."""
    torch.manual_seed(0)
    model, x = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3)), torch.randn(7, 7, 4)
    y = torch.arange(7) % 2

    def of_samples(model, x):
        return model(x).mean(1)

    def of_tokens(model, x):
        return model(x.transpose(0, 1)).mean(0)

    with pytest.raises(ValueError, match=rf"layer '0': it sees \(7, {batch_size}, 4\), with .* on the second"):
        gramlab.features(model, x, batch_size=batch_size, forward=of_tokens)
    torch.testing.assert_close(gramlab.features(model, x, batch_size=batch_size, forward=of_samples)["0"], x)
    recorded = {}
    for forward in (of_samples, of_tokens):
        path = tmp_path / forward.__name__
        recording = gramlab.Recorder(model, x, y, path, batch_size=batch_size, forward=forward)
        recording.begin()
        recorded[forward] = {(row["layer"], row["quantity"]): row["value"] for row in recording.rows}
    assert recorded[of_samples]["0", "nc1"] == pytest.approx(gramlab.neural_collapse(x, y).nc1, rel=1e-5)
    assert not {quantity for _, quantity in recorded[of_tokens]} & {*OF_TARGETS}
    assert "on the second" in recording.undefined["step 0 0 nc1"]
