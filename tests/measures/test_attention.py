"""Attention against networks that do the same with plain Linear layers, by per-sample Jacobians."""

import pytest
import torch
from helpers import squared
from oracle import quantities
from test_layers import DECAY, LR, assert_equal
from torch import nn
from torch.nn import functional as F

import gramlab


class Attention(nn.Module):
    """``nn.MultiheadAttention`` on batches first, with four Linear layers, by its published formula."""

    def __init__(self, layer):
        super().__init__()
        self.heads = layer.num_heads
        if layer._qkv_same_embed_dim:
            weights = layer.in_proj_weight.detach().chunk(3)
        else:
            weights = layer.q_proj_weight.detach(), layer.k_proj_weight.detach(), layer.v_proj_weight.detach()
        biases = layer.in_proj_bias.detach().chunk(3)
        for name, weight, bias in zip(("q_proj", "k_proj", "v_proj"), weights, biases, strict=True):
            linear = nn.Linear(weight.shape[1], weight.shape[0])
            linear.weight, linear.bias = nn.Parameter(weight.clone()), nn.Parameter(bias.clone())
            setattr(self, name, linear)
        self.out_proj = nn.Linear(layer.embed_dim, layer.embed_dim)
        self.out_proj.weight, self.out_proj.bias = layer.out_proj.weight, layer.out_proj.bias

    def forward(self, query, key, value, key_padding_mask=None):
        q, k, v = (
            project(h).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for project, h in ((self.q_proj, query), (self.k_proj, key), (self.v_proj, value))
        )
        scores = q @ k.mT / q.shape[-1] ** 0.5
        if key_padding_mask is not None:
            scores = scores.masked_fill(key_padding_mask[:, None, None, :], -torch.inf)
        return self.out_proj((scores.softmax(-1) @ v).transpose(1, 2).flatten(-2))


class Block(nn.Module):
    """Attention of tokens to themselves, or to other tokens that are computed from them."""

    def __init__(self, attention, how):
        super().__init__()
        self.attention, self.how, self.readout = attention, how, nn.Linear(6, 2)

    def forward(self, x):
        others = {"self": x, "cross": 2 * x.tanh(), "separate": x[..., :4].tanh()}[self.how]
        z = self.attention(x, others, others)
        return self.readout((z[0] if isinstance(z, tuple) else z).tanh().mean(1))


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("how", ["self", "cross", "separate"])
def test_the_projections_of_attention(how, frozen):
    torch.manual_seed(0)
    sizes = {"kdim": 4, "vdim": 4} if how == "separate" else {}
    attention = nn.MultiheadAttention(6, 2, batch_first=True, **sizes)
    nn.init.normal_(attention.in_proj_bias)
    model = Block(attention, how).double()
    plain = Block(Attention(attention), how).double()
    plain.readout.load_state_dict(model.readout.state_dict())
    x, y = torch.randn(3, 5, 6, dtype=torch.float64), torch.randn(3, 2, dtype=torch.float64)
    torch.testing.assert_close(model(x), plain(x))
    model.requires_grad_(not frozen)
    linear, fast = F.linear, torch.backends.mha.get_fastpath_enabled()
    measured = gramlab.measure(model, x, y, loss=squared, weight_decay=DECAY, batch_size=2)
    assert F.linear is linear
    assert torch.backends.mha.get_fastpath_enabled() == fast
    assert not measured.left_out
    for part in ("q_proj", "k_proj", "v_proj", "out_proj"):
        name = f"attention.{part}"
        assert measured[name].kind == "MultiheadAttention"
        assert_equal(measured[name], quantities(plain, name, x, y, squared, DECAY, LR))
    inputs, outputs = gramlab.features(model, x), gramlab.features(model, x, what="output")
    torch.testing.assert_close(inputs["attention.q_proj"], x)
    torch.testing.assert_close(
        outputs["attention.out_proj"], attention.double()(*[x] * 3)[0]
    ) if how == "self" else None


class TiedBlock(nn.Module):
    """Attention with a query, a key and a value of any widths."""

    def __init__(self, attention, kdim, vdim):
        super().__init__()
        self.attention, self.readout, self.widths = attention, nn.Linear(6, 2), (kdim, vdim)

    def forward(self, x):
        key = x.cumsum(1)[..., : self.widths[0]]
        value = x.tanh()[..., : self.widths[1]]
        z = self.attention(x, key, value)
        return self.readout((z[0] if isinstance(z, tuple) else z).tanh().mean(1))


@pytest.mark.parametrize(("first", "second", "kdim", "vdim"), [("q", "k", 6, 4), ("q", "v", 4, 6), ("k", "v", 4, 4)])
def test_projections_of_attention_that_share_a_weight(first, second, kdim, vdim):
    """Each projection has its own products alone, as a Linear that shares its weight with another one has."""
    torch.manual_seed(0)
    attention = nn.MultiheadAttention(6, 2, kdim=kdim, vdim=vdim, batch_first=True)
    setattr(attention, f"{second}_proj_weight", getattr(attention, f"{first}_proj_weight"))
    nn.init.normal_(attention.in_proj_bias)
    plain, model = (TiedBlock(module, kdim, vdim).double() for module in (Attention(attention), attention))
    plain.readout.load_state_dict(model.readout.state_dict())
    x, y = torch.randn(3, 5, 6, dtype=torch.float64), torch.randn(3, 2, dtype=torch.float64)
    torch.testing.assert_close(model(x), plain(x))
    measured = gramlab.measure(model, x, y, loss=squared, weight_decay=DECAY, batch_size=2)
    alone = gramlab.measure(model, x, y, loss=squared, weight_decay=DECAY, layers=f"attention.{second}_proj")
    for part in ("q_proj", "k_proj", "v_proj", "out_proj"):
        name = f"attention.{part}"
        expected = quantities(plain, name, x, y, squared, DECAY, LR)
        for measurement in (measured, alone):
            if name in measurement:
                assert_equal(measurement[name], expected)
    assert {name: reason.partition(",")[0] for name, reason in measured.left_out.items()} == {
        f"attention.{one}_proj_weight": f"also the weight of layer 'attention.{other}_proj'"
        for one, other in ((first, second), (second, first))
    }


class Doubled(nn.Module):
    def forward(self, weight):
        return 2 * weight


@pytest.mark.parametrize(
    ("sizes", "weight", "parts"),
    [({}, "in_proj_weight", ["q_proj", "k_proj", "v_proj"]), ({"vdim": 4}, "k_proj_weight", ["k_proj"]),
     ({}, "out_proj.weight", ["out_proj"])],
)  # fmt: skip
@pytest.mark.parametrize("parametrization", [Doubled, nn.Identity])
def test_a_parametrized_projection_is_refused_and_the_others_are_measured(sizes, weight, parts, parametrization):
    """Also if the product has the original tensor, by which the projection could be recognised."""
    torch.manual_seed(0)
    attention = nn.MultiheadAttention(6, 2, batch_first=True, **sizes).double()
    owner, _, name = weight.rpartition(".")
    nn.utils.parametrize.register_parametrization(attention.get_submodule(owner), name, parametrization())
    model, x = nn.ModuleDict({"attention": attention}), torch.randn(3, 5, 6, dtype=torch.float64)

    def forward(model, x):
        return model["attention"](x, x, x[..., : sizes.get("vdim", 6)])[0]

    for part in parts:
        message = f"layer 'attention.{part}' is not measured: .* computes the {weight} of .*'attention'.*remove_"
        for named in (f"attention.{part}", "attention"):
            with pytest.raises(ValueError, match=message if named != "attention" else f"computes the {weight}"):
                gramlab.measure(model, x, layers=named, forward=forward)
    measured = gramlab.measure(model, x, forward=forward)
    (reason,) = measured.left_out.values()
    assert reason.startswith("Parametrized")
    assert reason.endswith("is not a measured kind of layer")
    nn.utils.parametrize.remove_parametrizations(attention.get_submodule(owner), name)
    without = gramlab.measure(model, x, forward=forward)
    assert [name for name in without if name not in measured] == [f"attention.{part}" for part in parts]
    for name, layer in measured.items():
        torch.testing.assert_close(layer.agop, without[name].agop)


def test_torchs_transformer_with_padding_is_measured_with_its_attention():
    """As if each sentence had been measured alone, without its padding; and nothing is left out."""
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(6, 2, 8, batch_first=True)
    model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).double()
    x, lengths = torch.randn(4, 5, 6, dtype=torch.float64), (5, 2, 3, 1)
    mask = torch.arange(5) < torch.tensor(lengths)[:, None]

    def forward(model, inputs):
        return model(inputs["x"], src_key_padding_mask=~inputs["attention_mask"])

    padded = gramlab.measure(model, {"x": x, "attention_mask": mask}, forward=forward, batch_size=3)
    alone = [gramlab.measure(model, x[i : i + 1, :length]) for i, length in enumerate(lengths)]
    assert not padded.left_out
    assert len(padded) == 12
    for name in padded:
        torch.testing.assert_close(padded[name].agop, sum(single[name].agop for single in alone) / 4)


class Attends(nn.Module):
    """Attention, and a readout of all tokens."""

    def __init__(self, seed):
        super().__init__()
        torch.manual_seed(seed)
        self.attention, self.head = nn.MultiheadAttention(4, 2, batch_first=True), nn.Linear(4, 3)
        self.double()

    def attend(self, x):
        return self.attention(x, x, x, need_weights=False)[0]

    def read(self, z):
        return self.head(torch.tanh(z)).sum(-2)

    def forward(self, x):
        return self.read(self.attend(x))


@pytest.mark.parametrize("as_state", [False, True])
def test_the_centred_kernel_of_attention(as_state):
    """Of its outputs, from the Jacobian of the readout alone, with the trained and with the initial weights."""
    model, first, x = Attends(1), Attends(0), torch.randn(5, 3, 4, dtype=torch.float64)
    measured = gramlab.measure(model, x, initial=first.state_dict() if as_state else first)
    J, J0 = (torch.func.vmap(torch.func.jacrev(m.read))(m.attend(x).detach()) for m in (model, first))  # (n, c, T, d)
    change = J - J0
    kernel = torch.einsum("nctd,ncte->de", change, change) / 5
    torch.testing.assert_close(measured["attention.out_proj"].centered_ptk, kernel)
    gram = (model.attention.in_proj_weight - first.attention.in_proj_weight)[4:8]
    torch.testing.assert_close(measured["attention.k_proj"].centered_gram, gram.mT @ gram)
    same = gramlab.measure(model, x, initial=first, batch_size=2)
    torch.testing.assert_close(same["attention.q_proj"].centered_ptk, measured["attention.q_proj"].centered_ptk)
