"""Masked tokens have no effect, in every form of a mask."""

from types import SimpleNamespace

import pytest
import torch
from helpers import squared
from same_measures import QUANTITIES, assert_same
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

import gramlab


class Encoder(nn.Module):
    """A small BERT: embeddings, self-attention under a mask, a feed-forward layer, as Hugging Face calls it."""

    def __init__(self, d=8, reenter=None):
        super().__init__()
        self.embed = nn.Embedding(20, d)
        self.query, self.key, self.value, self.out = (nn.Linear(d, d) for _ in range(4))
        self.up, self.down = nn.Linear(d, 2 * d), nn.Linear(2 * d, d)
        self.reenter = reenter

    def block(self, h, bias):
        q, k, v = ((f(h).unflatten(-1, (2, -1)).transpose(1, 2)) for f in (self.query, self.key, self.value))
        scores = (q @ k.mT / q.shape[-1] ** 0.5 + bias).softmax(-1)
        h = h + self.out((scores @ v).transpose(1, 2).flatten(-2))
        return h + self.down(F.gelu(self.up(h)))

    def forward(self, input_ids, attention_mask):
        bias = torch.where(attention_mask.bool(), 0.0, -torch.inf).to(self.embed.weight.dtype)[:, None, None, :]
        h = self.embed(input_ids)
        h = self.block(h, bias) if self.reenter is None else checkpoint(self.block, h, bias, use_reentrant=self.reenter)
        return SimpleNamespace(last_hidden_state=h)


def tokens():
    torch.manual_seed(4)
    ids, lengths = torch.randint(0, 20, (6, 5)), torch.tensor([5, 3, 1, 4, 2, 5])
    return ids, (torch.arange(5) < lengths[:, None]).long(), lengths, torch.randn(6, 5, 8, dtype=torch.float64)


def test_masked_tokens_are_left_out():
    """As if each sentence had been measured alone, without its padding."""
    torch.manual_seed(5)
    model = Encoder().double()
    ids, mask, lengths, targets = tokens()
    targets = targets * mask.unsqueeze(-1)
    options = {"loss": squared, "weight_decay": 0.1}
    padded = gramlab.measure(model, {"input_ids": ids, "attention_mask": mask}, targets, batch_size=4, **options)
    alone = []
    for i, length in enumerate(lengths):
        batch = {"input_ids": ids[i : i + 1, :length], "attention_mask": mask[i : i + 1, :length]}
        alone.append(gramlab.measure(model, batch, targets[i : i + 1, :length], **options))
    for name, layer in padded.items():
        for quantity in QUANTITIES:
            expected = sum(getattr(single[name], quantity) for single in alone) / len(alone)
            torch.testing.assert_close(getattr(layer, quantity), expected)


def test_a_mask_beside_a_tensor_of_tokens():
    torch.manual_seed(6)
    model = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2)).double()
    x, mask = torch.randn(5, 3, 4, dtype=torch.float64), torch.rand(5, 3) < 0.6
    masked = gramlab.measure(model, x, mask=mask)
    unmasked = gramlab.measure(model, x[mask])
    for name in masked:
        torch.testing.assert_close(masked[name].agop * 5, unmasked[name].agop * int(mask.sum()))


@pytest.mark.parametrize("loss", ["mse", "bce_with_logits", squared])
def test_outputs_of_a_number_a_token_are_masked(loss):
    """A head with an output a token, squeezed to (n, T), as if each sentence had been measured alone."""
    torch.manual_seed(8)
    model = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 1), nn.Flatten(1)).double()
    x, lengths = torch.randn(4, 5, 4, dtype=torch.float64), [5, 2, 1, 3]
    mask = torch.arange(5) < torch.tensor(lengths)[:, None]
    y = torch.rand(4, 5, dtype=torch.float64) * mask
    options = {"loss": loss, "weight_decay": 0.1}
    masked = gramlab.measure(model, x, y, mask=mask, batch_size=3, **options)
    alone = [
        gramlab.measure(model, x[i : i + 1, :length], y[i : i + 1, :length], **options)
        for i, length in enumerate(lengths)
    ]
    assert masked.loss == pytest.approx(sum(single.loss for single in alone) / 4)
    for name, layer in masked.items():
        for quantity in QUANTITIES:
            expected = sum(getattr(single[name], quantity) for single in alone) / 4
            torch.testing.assert_close(getattr(layer, quantity), expected)
    changed = x.clone()
    changed[~mask] = 100.0
    again = gramlab.measure(model, changed, y, mask=mask, **options)
    torch.testing.assert_close(again["0"].agop, masked["0"].agop)


def test_as_many_outputs_of_a_sample_as_tokens_are_not_masked():
    torch.manual_seed(9)
    model = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), Pool(), nn.Linear(3, 5)).double()
    x, mask = torch.randn(6, 5, 4, dtype=torch.float64), torch.rand(6, 5) < 0.5
    measurement = gramlab.measure(model, x, mask=mask)
    expected = gramlab.measure(model, x)
    torch.testing.assert_close(measurement["3"].ptk, torch.eye(5, dtype=torch.float64))
    J = torch.func.vmap(torch.func.jacrev(lambda h: model[3](torch.tanh(model[0](h)).mean(0))))(x)  # (n, c, T, d)
    J = J * mask[:, None, :, None]
    torch.testing.assert_close(measurement["0"].agop, torch.einsum("nctd,ncte->de", J, J) / 6)
    assert float(expected["0"].agop.norm()) > float(measurement["0"].agop.norm())


def test_all_rows_of_a_masked_token_are_left_out():
    """A layer that sees tokens by heads, (n, T, heads, d), before outputs that depend on all tokens."""
    torch.manual_seed(10)
    first, last = nn.Linear(2, 6).double(), nn.Linear(12, 4).double()
    model = nn.Sequential(nn.Unflatten(2, (2, 2)), first, nn.Tanh(), nn.Flatten(2), Pool(), last)
    x, mask = torch.randn(5, 3, 4, dtype=torch.float64), torch.rand(5, 3) < 0.6
    rows = x.unflatten(2, (2, 2))
    J = torch.func.vmap(torch.func.jacrev(lambda h: last(torch.tanh(first(h)).flatten(1).mean(0))))(rows)
    J = J * mask[:, None, :, None, None]  # (n, c, T, heads, d)
    measurement = gramlab.measure(model, x, mask=mask)
    torch.testing.assert_close(measurement["1"].agop, torch.einsum("ncthd,ncthe->de", J, J) / 5)


def test_masked_tokens_of_a_layer_whose_outputs_are_pooled():
    """The outputs depend on the masked tokens here, and the layer's sums still leave these tokens out."""
    torch.manual_seed(7)
    first, last = nn.Linear(4, 3).double(), nn.Linear(3, 2).double()
    model = nn.Sequential(first, nn.Tanh(), nn.Flatten(), nn.Unflatten(1, (5, 3)), Pool(), last)
    x, mask = torch.randn(6, 5, 4, dtype=torch.float64), torch.rand(6, 5) < 0.5
    J = torch.func.vmap(torch.func.jacrev(lambda h: last(torch.tanh(first(h)).mean(0))))(x)  # (n, c, T, d)
    unmasked = J * mask[:, None, :, None]
    measurement = gramlab.measure(model, x, mask=mask)
    torch.testing.assert_close(measurement["0"].agop, torch.einsum("nctd,ncte->de", unmasked, unmasked) / 6)


class Pool(nn.Module):
    def forward(self, x):
        return x.mean(1)


class TokensFirst(nn.Module):
    """A layer that sees the tokens as (T, n, d)."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.embed, self.head = nn.Linear(3, 4), nn.Linear(4, 2)
        self.double()

    def forward(self, x):
        return self.head(self.embed(x.transpose(0, 1)).tanh().transpose(0, 1))


@pytest.mark.parametrize(("n", "T"), [(6, 5), (5, 5), (2, 2)])
@pytest.mark.parametrize("quantities", [None, ["weight_gradient"]])
def test_tokens_on_the_first_axis_are_refused_whatever_their_number(n, T, quantities):
    """With as many tokens as samples the mask fits either axis, and would leave out other tokens than its own."""
    x, y = torch.randn(n, T, 3).double(), torch.randn(n, T, 2).double()
    mask = torch.ones(n, T, dtype=torch.bool)
    mask[-1, 1:] = False
    for data in ((x, y), ([(x, y, mask)], None)):
        with pytest.raises(ValueError, match=r"layer 'embed' sees rows of the shape .*, which the mask .* not reach"):
            gramlab.measure(TokensFirst(), *data, mask=None if data[1] is None else mask, quantities=quantities)
    assert list(gramlab.measure(TokensFirst(), x, y, mask=mask, layers="head", quantities=quantities)) == ["head"]


def test_as_many_tokens_as_samples_are_masked():
    """On the usual axes they are left out, as if each sample came alone without its masked tokens."""
    model, x = TokensFirst(), torch.randn(5, 5, 3).double()
    mask = torch.ones(5, 5, dtype=torch.bool).tril()
    measured = gramlab.measure(model, x, mask=mask, forward=lambda m, x: m.head(m.embed(x).tanh()))
    J = torch.func.vmap(torch.func.jacrev(lambda h: model.head(model.embed(h).tanh())))(x[mask])
    torch.testing.assert_close(measured["embed"].agop, torch.einsum("ncd,nce->de", J, J) / 5)


@pytest.mark.parametrize("frozen", [False, True])
def test_checkpointed_blocks(frozen):
    ids, mask, _, targets = tokens()
    batch = {"input_ids": ids, "attention_mask": mask}
    torch.manual_seed(5)
    plain = Encoder().double()
    model = Encoder(reenter=False).double()
    model.load_state_dict(plain.state_dict())
    model.embed.requires_grad_(not frozen)
    assert_same(
        gramlab.measure(model, batch, targets, loss=squared, weight_decay=1.0, batch_size=4),
        gramlab.measure(plain, batch, targets, loss=squared, weight_decay=1.0),
    )
