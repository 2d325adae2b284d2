"""Layers of every kind against networks that do the same with plain Linear layers, by per-sample Jacobians."""

import copy
import itertools
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from helpers import quantity_of, squared
from oracle import quantities
from torch import nn
from torch.nn import functional as F

import gramlab
from gramlab import tables

LR, DECAY = 0.2, 0.3


class Flat(nn.Module):
    """Tokens or positions after a layer, flattened, through tanh and a readout."""

    def __init__(self, layer, width):
        super().__init__()
        self.layer, self.readout = layer, nn.Linear(width, 2)

    def forward(self, x):
        return self.readout(torch.tanh(self.layer(x)).flatten(1))


class SlicedConvolution(nn.Module):
    """A convolution of three axes, as a Linear layer on patches that loops cut out."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer
        self.linear = nn.Linear(layer.weight[0].numel(), layer.out_channels)
        self.linear.weight, self.linear.bias = nn.Parameter(layer.weight.detach().flatten(1)), layer.bias

    def forward(self, x):
        layer = self.layer
        x = F.pad(x, [side for p in reversed(layer.padding) for side in (p, p)])
        spans = [d * (k - 1) + 1 for d, k in zip(layer.dilation, layer.kernel_size, strict=True)]
        starts = [range(0, size - span + 1, s) for size, span, s in zip(x.shape[2:], spans, layer.stride, strict=True)]
        patches = [
            x[(slice(None), slice(None), *(slice(a, a + span, d) for a, span, d in zip(at, spans, layer.dilation,
                                                                                    strict=True)))].flatten(1)
            for at in itertools.product(*starts)
        ]  # fmt: skip
        z = self.linear(torch.stack(patches, 1))
        return z.mT.reshape(len(x), -1, *map(len, starts))


class ScatteredConvolution(nn.Module):
    """A transposed convolution of one axis, as a Linear layer on positions whose products loops add up."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer
        self.linear = nn.Linear(layer.in_channels, layer.weight[0].numel(), bias=False)
        self.linear.weight = nn.Parameter(layer.weight.detach().flatten(1).T.clone())

    def forward(self, x):
        layer = self.layer
        (stride,), (padding,), (dilation,), (kernel,) = layer.stride, layer.padding, layer.dilation, layer.kernel_size
        products = self.linear(x.mT).unflatten(-1, (layer.out_channels, kernel))  # (n, positions, channels, kernel)
        full = (x.shape[2] - 1) * stride + dilation * (kernel - 1) + 1 + layer.output_padding[0]
        columns = [[] for _ in range(full)]
        for i, j in itertools.product(range(x.shape[2]), range(kernel)):
            columns[i * stride + j * dilation].append(products[:, i, :, j])
        z = torch.stack([sum(c) if c else torch.zeros_like(products[:, 0, :, 0]) for c in columns], 2)
        return z[..., padding : full - padding] + layer.bias[:, None]


class OneHot(nn.Module):
    """An embedding as a Linear layer on one-hot rows."""

    def __init__(self, layer):
        super().__init__()
        self.words = layer.num_embeddings
        self.linear = nn.Linear(layer.num_embeddings, layer.embedding_dim, bias=False)
        self.linear.weight = nn.Parameter(layer.weight.detach().T.clone())

    def forward(self, x):
        return self.linear(F.one_hot(x, self.words).double())


class Conv1D(nn.Module):
    """The forward of Hugging Face's ``transformers.pytorch_utils.Conv1D``, and its attributes."""

    def __init__(self, nf, nx):
        super().__init__()
        self.nf = nf
        self.weight, self.bias = nn.Parameter(torch.randn(nx, nf)), nn.Parameter(torch.randn(nf))

    def forward(self, x):
        return torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight).view(*x.size()[:-1], self.nf)


class Adapter(nn.Module):
    """A Linear with a low-rank adapter, laid out as peft's."""

    def __init__(self, base, rank=2, scaling=0.7):
        super().__init__()
        self.base_layer, self.scaling = base, scaling
        self.lora_A = nn.ModuleDict({"default": nn.Linear(base.in_features, rank, bias=False)})
        self.lora_B = nn.ModuleDict({"default": nn.Linear(rank, base.out_features, bias=False)})

    def forward(self, x):
        return self.base_layer(x) + self.lora_B["default"](self.lora_A["default"](x)) * self.scaling


def effective(adapter):
    linear = copy.deepcopy(adapter.base_layer)
    linear.weight = nn.Parameter(
        linear.weight + adapter.scaling * adapter.lora_B["default"].weight @ adapter.lora_A["default"].weight
    )
    return linear


def transposed_linear(layer):
    linear = nn.Linear(*layer.weight.shape)
    linear.weight, linear.bias = nn.Parameter(layer.weight.detach().T.clone()), layer.bias
    return linear


class Unsqueezed(nn.Module):
    """A convolution of one axis, as one of two axes."""

    def __init__(self, layer):
        super().__init__()
        self.linear = nn.Conv2d(layer.in_channels, layer.out_channels, (1, *layer.kernel_size), (1, *layer.stride),
                                (0, *layer.padding), (1, *layer.dilation), layer.groups)  # fmt: skip
        self.linear.weight, self.linear.bias = nn.Parameter(layer.weight.detach().unsqueeze(2)), layer.bias

    def forward(self, x):
        return self.linear(x.unsqueeze(2)).squeeze(2)


def signals(*shape):
    return torch.randn(3, *shape, dtype=torch.float64)


# name -> the layer, what does the same with a Linear layer of this name, the inputs, and the flattened outputs
KINDS = {
    "Conv1d": (lambda: nn.Conv1d(2, 4, 3, 2, 1, 2, 2), Unsqueezed, ".linear", lambda: signals(2, 9), 16),
    "Conv3d": (lambda: nn.Conv3d(2, 3, (2, 1, 3), (1, 2, 1), (1, 0, 1), (2, 1, 1)), SlicedConvolution, ".linear",
               lambda: signals(2, 3, 3, 4), 72),
    "ConvTranspose1d": (lambda: nn.ConvTranspose1d(2, 3, 4, 2, 1, 1), ScatteredConvolution, ".linear",
                        lambda: signals(2, 5), 33),
    "ConvTranspose1d, dilated": (lambda: nn.ConvTranspose1d(3, 2, 2, 1, 0, 2, dilation=3), ScatteredConvolution,
                                 ".linear", lambda: signals(3, 4), 18),
    "Embedding": (lambda: nn.Embedding(7, 3), OneHot, ".linear", lambda: torch.randint(0, 7, (3, 4)), 12),
    "Conv1D": (lambda: Conv1D(4, 3), transposed_linear, "", lambda: signals(2, 3), 8),
    "LoRA": (lambda: Adapter(nn.Linear(3, 4)), effective, "", lambda: signals(2, 3), 8),
}  # fmt: skip


def assert_equal(layer, expected):
    for quantity, matrix in expected.items():
        torch.testing.assert_close(quantity_of(layer, quantity, LR), matrix, rtol=1e-9, atol=1e-11, msg=quantity)


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_a_layer_is_measured_as_a_linear_one(kind, frozen):
    torch.manual_seed(0)
    build, equivalent, place, inputs, width = KINDS[kind]
    model, x, y = Flat(build(), width).double(), inputs(), torch.randn(3, 2, dtype=torch.float64)
    plain = copy.deepcopy(model)
    plain.layer = equivalent(plain.layer)
    torch.testing.assert_close(model(x), plain(x))
    model.requires_grad_(not frozen)
    measured = gramlab.measure(model, x, y, loss=squared, weight_decay=DECAY, batch_size=2)
    assert not measured.left_out
    assert list(measured) == ["layer", "readout"]
    assert_equal(measured["layer"], quantities(plain, f"layer{place}", x, y, squared, DECAY, LR))


def test_transposed_convolutions_of_two_axes_and_groups_are_autograds():
    """The weight gradient is autograd's, and the AGOP that of the Jacobian at the input."""
    torch.manual_seed(0)
    for layer in (nn.ConvTranspose2d(4, 6, (3, 2), (2, 3), (1, 0), (1, 2), groups=2, dilation=(1, 2)),
                  nn.ConvTranspose3d(2, 2, 2, 2)):  # fmt: skip
        x = torch.randn(3, layer.in_channels, *[3] * len(layer.kernel_size), dtype=torch.float64)
        model = nn.Sequential(layer, nn.Tanh(), nn.Flatten()).double()
        y = torch.randn_like(model(x))
        measured = gramlab.measure(model, x, y, loss=squared, weight_decay=DECAY)["0"]
        squared(model(x), y).mean().backward()
        gradient = layer.weight.grad.unflatten(0, (layer.groups, -1)).flatten(2).mT
        torch.testing.assert_close(measured.weight_gradient, gradient.squeeze(0))
        J = torch.func.vmap(torch.func.jacrev(lambda h, model=model: model(h[None])[0]))(x)
        J = J.unflatten(2, (layer.groups, -1)).flatten(4)  # (n, outputs, groups, channels, positions)
        agop = torch.einsum("nogcp,nogdp->gcd", J, J) / 3
        torch.testing.assert_close(measured.agop, agop.squeeze(0))


def test_padding_of_an_embedding_is_left_out_as_training_leaves_it():
    torch.manual_seed(0)
    model = Flat(nn.Embedding(7, 3, padding_idx=2), 12).double()
    x, y = torch.tensor([[0, 2, 2, 1], [3, 2, 5, 6]]), torch.randn(2, 2, dtype=torch.float64)
    measured = gramlab.measure(model, x, y, loss=squared)["layer"]
    squared(model(x), y).mean().backward()
    torch.testing.assert_close(measured.weight_gradient, model.layer.weight.grad.T)
    assert not measured.weight_gradient[:, 2].any()


def test_what_is_left_out_stands_in_the_result():
    torch.manual_seed(0)
    model = nn.ModuleDict({"rnn": nn.GRU(4, 3, batch_first=True), "head": nn.Linear(3, 2), "spare": nn.Linear(3, 2)})
    model.position = nn.Parameter(torch.randn(1, 4))
    x = torch.randn(5, 3, 4)
    measured = gramlab.measure(
        model, x, layers="head", forward=lambda m, x: m["head"](m["rnn"](x + m.position)[0][:, -1])
    )
    assert measured.left_out == {
        "position": "ModuleDict is not a measured kind of layer",
        "rnn.weight_ih_l0": "GRU is not a measured kind of layer",
        "rnn.weight_hh_l0": "GRU is not a measured kind of layer",
        "spare.weight": "not named in layers=",
    }  # fmt: skip
    assert "rnn.weight_ih_l0 (GRU is not a measured kind of layer)" in repr(measured)
    assert measured.summary().attrs["left_out"] == measured.left_out


def test_layers_that_cannot_be_measured_are_refused_by_name():
    class Scaled(nn.MultiheadAttention):
        def forward(self, query, key, value):
            return super().forward(2 * query, key, value)

    for module, message in (
        (nn.Embedding(4, 3, max_norm=1.0), "is a Embedding, which is not measured"),
        (Scaled(4, 2), "is a Scaled, which is not measured"),
        (nn.EmbeddingBag(4, 3), "is a EmbeddingBag"),
    ):
        model = nn.ModuleDict({"odd": module, "head": nn.Linear(3, 2)})
        with pytest.raises(ValueError, match=message):
            gramlab.measure(model, torch.randn(2, 3), layers=["odd"])
        names = list(gramlab.measure(model, torch.randn(2, 3), forward=lambda m, x: m["head"](x)).left_out)
        assert all(name.startswith("odd.") for name in names)
        assert names


def test_a_gated_adapter_is_refused():
    class Gated(Adapter):
        def forward(self, x):
            return self.base_layer(x) + x.mean(-1, keepdim=True).sigmoid() * super().forward(x)

    with pytest.raises(ValueError, match="is a Gated whose forward does not compute"):
        gramlab.measure(nn.Sequential(Gated(nn.Linear(3, 4))), torch.randn(5, 3))


def test_the_parts_of_an_adapter_are_measured_by_name():
    model = nn.Sequential(Adapter(nn.Linear(3, 4)), nn.Tanh(), nn.Linear(4, 2))
    assert list(gramlab.measure(model, torch.randn(5, 3))) == ["0", "2"]
    names = ["0.lora_A.default", "0.lora_B.default"]
    assert list(gramlab.measure(model, torch.randn(5, 3), layers=names)) == names


def test_the_example_measures_every_projection_of_a_transformer(tmp_path):
    example = Path(__file__).parents[2] / "examples/transformer.py"
    code = f"import runpy; runpy.run_path({str(example)!r})['main'](__import__('pathlib').Path({str(tmp_path)!r}), 4)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    rows = tables.read(tmp_path / "run.parquet").to_pylist()
    for name in ("embed", "block.self_attn.q_proj", "block.self_attn.out_proj", "block.linear2", "head"):
        measured = {row["quantity"] for row in rows if row["layer"] == name and row["step"] == 4}
        assert {"nfa", "pearson_fact", "pearson_accumulated_fact"} <= measured
        assert ("target_linearity" in measured) == (name != "embed")


@pytest.mark.parametrize("frozen", [["0"], ["2"], ["0", "2"]])
@pytest.mark.parametrize("outputs", [None, "exact", "readout"])
def test_weights_that_are_buffers_are_measured_as_parameters_are(frozen, outputs):
    """A layer that is frozen in this way may have no parameter at all."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 3, bias=False), nn.Tanh(), nn.Linear(3, 5, bias=False)).double()
    x, y = torch.randn(6, 4), torch.randint(5, (6,))  # in float32, which takes the precision of the weights
    expected = gramlab.measure(model, x, y, weight_decay=0.1, outputs=outputs)
    for name in frozen:
        layer = model.get_submodule(name)
        weight = layer.weight.detach()
        del layer.weight
        layer.register_buffer("weight", weight)
    measured = gramlab.measure(model, x, y, weight_decay=0.1, outputs=outputs)
    assert measured.settings["outputs"] == expected.settings["outputs"]
    for name, layer in expected.items():
        for quantity in ("agop", "enfa", "fact"):
            torch.testing.assert_close(getattr(measured[name], quantity), getattr(layer, quantity))


class KeywordsFirst(nn.Module):
    """A transposed convolution whose input is not the first keyword."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.grow = nn.ConvTranspose1d(2, 3, 3, stride=2).double()

    def forward(self, x):
        return self.grow(output_size=[2 * x.shape[-1] + 2], input=x)


def test_the_input_of_a_layer_is_found_among_keywords():
    model, x = KeywordsFirst(), torch.randn(4, 2, 5).double()
    measured = gramlab.measure(model, x)["grow"]
    J = torch.func.vmap(torch.func.jacrev(lambda h: model(h[None])[0].flatten()))(
        x
    )  # (n, outputs, channels, positions)
    torch.testing.assert_close(measured.agop, torch.einsum("ncdt,ncet->de", J, J) / 4)
