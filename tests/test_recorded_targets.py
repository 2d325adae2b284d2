"""The recorder's numbers of features and targets: masked tokens, and integers that are values."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import gramlab
from gramlab.measures import summary

torch.set_num_threads(1)
OF_TARGETS = ("target_linearity", "surrogate", "nc1", "nc2")


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.hidden, self.head = nn.Embedding(50, 8), nn.Linear(8, 8), nn.Linear(8, 3)

    def tokens(self, input_ids):
        return torch.tanh(self.hidden(self.embed(input_ids)))

    def forward(self, input_ids, attention_mask=None):
        return self.head(self.tokens(input_ids))


class Classifier(Tagger):
    """A class for each sentence, from the mean over its tokens without the padding."""

    def forward(self, input_ids, attention_mask=None):
        counted = attention_mask.unsqueeze(-1)
        return self.head((self.tokens(input_ids) * counted).sum(1) / counted.sum(1))


def sentences():
    torch.manual_seed(0)
    mask = (torch.arange(10) < torch.randint(3, 10, (60, 1))).long()
    return torch.randint(1, 50, (60, 10)) * mask, torch.randint(3, (60, 10)), mask


def recorded(model, x, y, path, **options):
    recording = gramlab.Recorder(model, x, y, path, **options)
    recording.begin()
    return {(row["layer"], row["quantity"]): row["value"] for row in recording.rows}, recording.undefined


@pytest.mark.parametrize("kind", ["mapping", "batches", "batches with a full one"])
def test_masked_tokens_count_nowhere(kind, tmp_path):
    """Whatever the tags of padding are; compare with the formulas over the tokens that count."""
    ids, tags, mask = sentences()
    torch.manual_seed(1)
    model, keep = Tagger(), mask.bool()
    if kind == "batches with a full one":
        keep[40:] = True
    x, y = {"input_ids": ids, "attention_mask": keep.long()}, tags
    if kind != "mapping":
        x, y = [(ids[i : i + 20], tags[i : i + 20], keep[i : i + 20]) for i in (0, 20, 40)], None
    if kind == "batches with a full one":
        x[2] = x[2][:2]
    values, _ = recorded(model, x, y, tmp_path / "t")
    Y = F.one_hot(tags[keep]).double()
    Y = Y - Y.mean(0)
    for name, layer_input in (("hidden", model.embed(ids)), ("head", model.tokens(ids))):
        H = layer_input.detach()[keep]
        collapse = gramlab.neural_collapse(H, tags[keep])
        W = getattr(model, name).weight.detach()
        expected = gramlab.target_linearity(H, Y), gramlab.surrogate(H, W, Y), collapse.nc1, collapse.nc2
        for quantity, value in zip(OF_TARGETS, expected, strict=True):
            assert values[name, quantity] == pytest.approx(value, rel=1e-5), (name, quantity)


def test_layers_of_masked_tokens_have_no_classes_of_sentences(tmp_path):
    """Padded by another token the numbers are the same; a mask of which every token counts hides nothing."""
    ids, _, mask = sentences()
    torch.manual_seed(1)
    model, y = Classifier(), torch.randint(3, (60,))
    x = {"input_ids": ids, "attention_mask": mask}
    values, undefined = recorded(model, x, y, tmp_path / "t")
    padded_otherwise = {"input_ids": ids.where(mask.bool(), 7), "attention_mask": mask}
    others, _ = recorded(model, padded_otherwise, y, tmp_path / "t")
    assert {key for key in values if key[1] in OF_TARGETS} == {("head", quantity) for quantity in OF_TARGETS}
    for key in values:
        assert values[key] == pytest.approx(others[key], rel=1e-4), key
    for quantity in OF_TARGETS:
        assert "masked tokens" in undefined[f"step 0 hidden {quantity}"]
    full, _ = recorded(model, x | {"attention_mask": torch.ones_like(mask)}, y, tmp_path / "t")
    H = model.embed(ids).detach()
    assert full["hidden", "nc1"] == pytest.approx(gramlab.neural_collapse(H, y).nc1, rel=1e-5)


def test_values_of_masked_tokens_count_nowhere(tmp_path):
    """Targets (n, T, c) of tokens have no linearity over samples if some tokens are masked."""
    ids, _, mask = sentences()
    torch.manual_seed(1)
    x = {"input_ids": ids, "attention_mask": mask}
    values, undefined = recorded(Tagger(), x, torch.randn(60, 10, 3), tmp_path / "t")
    assert not {key for key in values if key[1] in OF_TARGETS}
    assert "masked tokens" in undefined["step 0 head surrogate"]


def regression(outputs=1):
    torch.manual_seed(2)
    x = torch.randn(300, 6)
    return nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, outputs)), x


@pytest.mark.parametrize("loss", [None, "mse"])
@pytest.mark.parametrize("scale", [8, 20_000])
def test_integers_beside_one_output_are_values(loss, scale, tmp_path):
    """As the loss takes them: years, or prices, whose one-hot rows would be as long as their range."""
    model, x = regression()
    y = (1990 + scale * x[:, 0]).round().long()
    values, _ = recorded(model, x, y, tmp_path / "t", loss=loss)
    Y = y.double() - y.double().mean()
    H = torch.relu(model[0](x)).detach()
    assert values["0", "target_linearity"] == pytest.approx(gramlab.target_linearity(x, Y), rel=1e-6)
    assert values["2", "surrogate"] == pytest.approx(gramlab.surrogate(H, model[2].weight.detach(), Y), rel=1e-5)
    assert not {key for key in values if key[1] in ("nc1", "nc2")}
    expected, _ = recorded(model, x, y.double(), tmp_path / "f", loss=loss)
    assert values.keys() == expected.keys()
    for key in values:
        assert values[key] == pytest.approx(expected[key], rel=1e-6), key


def test_integers_of_every_token_are_values_for_a_squared_error(tmp_path):
    """A sample's values are those of all its tokens, and not a class for each of them."""
    torch.manual_seed(3)
    model = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 1), nn.Flatten())
    x = torch.randn(90, 5, 4)
    y = (10 * x[..., 0]).round().long()
    values, _ = recorded(model, x, y, tmp_path / "t", loss="mse")
    Y = (y - y.double().mean(0)).double()
    assert values["0", "target_linearity"] == pytest.approx(gramlab.target_linearity(x.flatten(1), Y), rel=1e-6)
    assert ("0", "nc1") not in values


@pytest.mark.parametrize("loss", ["mse", "signed_mse", "cross_entropy"])
def test_integers_beside_several_outputs_are_classes(loss, tmp_path):
    model, x = regression(outputs=3)
    y = (x[:, 0] > 0).long() + (x[:, 1] > 0).long()
    values, _ = recorded(model, x, y, tmp_path / "t", loss=loss)
    Y = torch.eye(3, dtype=torch.float64)[y]
    assert values["0", "target_linearity"] == pytest.approx(gramlab.target_linearity(x, Y - Y.mean(0)), rel=1e-6)
    assert values["0", "nc1"] == pytest.approx(gramlab.neural_collapse(x, y).nc1, rel=1e-6)


def test_one_hot_rows_are_of_the_classes_that_occur():
    """Two classes of a vocabulary; by hand, with the row of the mean taken off."""
    Y = summary.centred_targets(torch.tensor([7, 2_000_000_000, 7, 7]))
    assert Y.tolist() == [[0.25, -0.25], [-0.75, 0.75], [0.25, -0.25], [0.25, -0.25]]
