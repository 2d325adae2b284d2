"""Bad input raises a ValueError that names the argument, before anything long is done."""

import copy
import warnings

import numpy as np
import pytest
import torch
from small_networks import X, Y, nan_in, net, weights_with_nan
from torch import nn
from torch.utils.data import DataLoader

import gramlab


def nan_at(row, value=float("nan")):
    x = X.clone()
    x[row, 1] = value
    return x


def layer(x):
    return gramlab.measure(net(), x, Y)["0"]


class Log(nn.Module):
    def forward(self, x):
        return -torch.log(-x.abs())


def too_few_of_four(outputs, targets):
    return outputs.sum(1)[: 2 if len(outputs) == 4 else None]


def made_in_inference_mode():
    with torch.inference_mode():
        return net()


CASES = {
    "meta weights": (lambda: gramlab.measure(net().to("meta"), X), "'0.weight' is on the meta device.*to_empty"),
    "meta inputs": (lambda: gramlab.measure(net(), X.to("meta")), "x is on the meta device"),
    "meta targets": (lambda: gramlab.measure(net(), X, Y.to("meta")), "y is on the meta device"),
    "meta features": (lambda: gramlab.target_linearity(X.to("meta"), X[:, 0]), "H is on the meta device"),
    "sparse": (lambda: gramlab.measure(net(), X.to_sparse()), r"x is a sparse tensor: give x.to_dense\(\)"),
    "inference weights": (
        lambda: gramlab.measure(made_in_inference_mode(), X),
        "'0.weight' was made under torch.inference_mode",
    ),
    "empty batches": (lambda: gramlab.measure(net(), [(X[:0], Y[:0])]), "iterable gave no samples"),
    "decay missing": (lambda: gramlab.measure(net(), X, Y, quantities=["fact"]), "positive weight_decay .* None"),
    "decay zero": (
        lambda: gramlab.measure(net(), X, Y, quantities=["back_fact"], weight_decay=0.0),
        "positive weight_decay .* 0.0",
    ),
    "decay negative": (lambda: gramlab.measure(net(), X, weight_decay=-0.1), "-0.1"),
    "decay nan": (lambda: gramlab.measure(net(), X, weight_decay=float("nan")), "nan"),
    "unknown quantity": (
        lambda: gramlab.measure(net(), X, quantities=["agob"]),
        "quantities must be among .*, not 'agob'; did you mean 'agop'",
    ),
    "unknown loss": (lambda: gramlab.measure(net(), X, Y, loss="mae"), "not 'mae'"),
    "initial missing": (lambda: gramlab.measure(net(), X, quantities="centered_gram"), "pass initial="),
    "initial lacks": (lambda: gramlab.measure(net(), X, initial={}), "initial weights lack '0.weight'"),
    "initial shape": (
        lambda: gramlab.measure(net(), X, initial={k: v[:1] for k, v in net().state_dict().items()}),
        r"initial '0.weight' has shape \(1, 4\)",
    ),
    "targets missing": (lambda: gramlab.measure(net(), X, quantities=["enfa"]), "targets y are needed"),
    "targets fewer": (lambda: gramlab.measure(net(), X, Y[:4]), r"x has 6 rows and y has shape \(4,\)"),
    "targets too high": (lambda: gramlab.measure(net(), X, Y + 1, loss="cross_entropy"), "from 1 to 3 don't fit 3"),
    "targets negative": (lambda: gramlab.measure(net(), X, Y - 1), "from -1 to 1 don't fit 3"),
    "targets float": (lambda: gramlab.measure(net(), X, Y.float(), loss="cross_entropy"), "needs integer targets"),
    "targets wide": (lambda: gramlab.measure(net(), X, torch.randn(6, 2)), r"outputs \(6, 3\) do not fit .*\(6, 2\)"),
    "targets not 0-1": (
        lambda: gramlab.measure(net(), X, torch.randn(6, 3) - 9, loss="bce_with_logits"),
        r"targets in \[0, 1\]",
    ),
    "loss averages": (lambda: gramlab.measure(net(), X, Y, loss=lambda f, y: f.sum()), r"shape \(6,\), not \(\)"),
    "nan": (lambda: gramlab.measure(net(), nan_at(5), batch_size=2), r"input row 5 \(row 1 of batch 2\)"),
    "inf": (lambda: gramlab.measure(net(), nan_at(0, float("inf"))), r"input row 0 \(row 0 of batch 0\)"),
    "nan in loader": (
        lambda: gramlab.measure(net(), DataLoader(nan_at(3), batch_size=2)),
        r"input row 3 \(row 1 of batch 1\)",
    ),
    "nan target": (lambda: gramlab.measure(net(), X, nan_at(2)[:, :3]), "target row 2"),
    "overflow": (lambda: gramlab.measure(net().half(), X * 6e4), r"output for row \d of batch 0"),
    "empty": (lambda: gramlab.measure(net(), X[:0]), r"data set is empty: x has shape \(0, 4\)"),
    "empty loader": (lambda: gramlab.measure(net(), []), "iterable gave no samples"),
    "empty mapping": (lambda: gramlab.measure(net(), {}), "data set is empty"),
    "both": (lambda: gramlab.measure(net(), [(X, Y)], Y), "in its batches"),
    "batch of four": (lambda: gramlab.measure(net(), [(X, Y, Y, Y)]), "not 4 parts"),
    "no tensor": (lambda: gramlab.measure(net(), [["a", "b"]]), "x must be a tensor or array of numbers, not a str"),
    "words": (
        lambda: gramlab.measure(net(), X, np.array(list("abcabc")), loss="cross_entropy"),
        "y must be a tensor or array of numbers, not a ndarray of <U1",
    ),
    "ragged": (
        lambda: gramlab.measure(net(), [[1.0, 2.0], [3.0]]),
        "x must be a tensor or array of numbers, not a list",
    ),
    "not iterable": (lambda: gramlab.measure(net(), 3), "not a int"),
    "batch size": (lambda: gramlab.measure(net(), X, batch_size=0), "a whole number of at least 1, not 0"),
    "batch size broken": (lambda: gramlab.measure(net(), X, batch_size=2.5), "whole number of at least 1, not 2.5"),
    "batch size of collapse": (lambda: gramlab.neural_collapse(X, Y, batch_size=-1), "batch_size must be .* not -1"),
    "decay word": (lambda: gramlab.measure(net(), X, Y, weight_decay="a"), "weight_decay must be .* not 'a'"),
    "too wide": (lambda: gramlab.measure(net(), torch.randn(6, 5)), r"inputs of shape \(6, 5\) of torch.float32"),
    "integers": (lambda: gramlab.measure(net(), torch.ones(6, 4).long()), r"inputs of shape \(6, 4\) of torch.int64"),
    "words for a matrix": (lambda: gramlab.cosine("a", "b"), "a must be a tensor or array of numbers, not a str"),
    "nothing for a matrix": (lambda: gramlab.target_linearity(None, [1.0]), "H must be .* not a NoneType"),
    "ridge word": (lambda: gramlab.target_linearity(X, Y, "a"), "ridge must be a number of at least 0, not 'a'"),
    "not square": (lambda: gramlab.random_eigenvectors(X, np.random.default_rng(0)), "a must be a symmetric matrix"),
    "rate": (lambda: layer(X).virtual_shift(float("nan")), "lr must be a finite number, not nan"),
    "rate word": (lambda: layer(X).virtual_shift("a"), "lr must be a finite number, not 'a'"),
    "output kind": (lambda: gramlab.measure(net(), X, forward=lambda m, x: [m(x)]), "gave a list, not a tensor"),
    "output scalar": (lambda: gramlab.measure(net(), X, forward=lambda m, x: m(x).sum()), "one row a sample"),
    "output detached": (lambda: gramlab.measure(net(), X, forward=lambda m, x: m(x).detach()), "detached"),
    "later batch": (
        lambda: gramlab.measure(net(), [(X, Y), (X, None)], loss="cross_entropy"),
        "batch 1 has no targets",
    ),
    "complex outputs": (
        lambda: gramlab.measure(net(), X, forward=lambda m, x: torch.fft.fft(m(x))),
        "outputs must be real, .* not torch.complex64",
    ),
    "complex loss": (lambda: gramlab.measure(net(), X, Y, loss=lambda f, y: f.sum(1) * 1j), "loss must give real"),
    "complex targets": (lambda: gramlab.measure(net(), X, torch.randn(6, 3) * 1j), "mse needs real targets"),
    "nan in complex inputs": (
        lambda: gramlab.measure(net(), nan_at(5) * (1 + 1j), forward=lambda m, x: m(x.abs())),
        "input row 5",
    ),
    "no module": (lambda: gramlab.measure(lambda x: x, X), "must be a torch.nn.Module, not a function"),
    "a class": (lambda: gramlab.features(nn.Linear, X), "must be a torch.nn.Module, not a type"),
    "initial on meta": (
        lambda: gramlab.measure(net(), X, initial=net().to("meta")),
        "the initial '0.weight' is on the meta device, without numbers",
    ),
    "initial of numpy": (
        lambda: gramlab.measure(net(), X, initial={k: v.numpy() for k, v in net().state_dict().items()}),
        "the initial '0.weight' is no tensor of torch",
    ),
    "initial nan": (
        lambda: gramlab.measure(net(), X, initial=weights_with_nan(), quantities=["centered_gram"]),
        "the initial '2.weight' holds a NaN",
    ),
    "what": (lambda: gramlab.features(net(), X, what="gradient"), "not 'gradient'"),
    "too wide in a later batch": (
        lambda: gramlab.measure(net(), [(X, Y), (X[:, :3], Y)]),
        r"inputs of shape \(6, 3\) of torch.float32 \(batch 1\)",
    ),
    "targets fewer in a later batch": (
        lambda: gramlab.measure(net(), [(X, Y), (X, Y[:4])]),
        r"targets of shape \(4,\) \(batch 1\): they need a row for each of the 4 samples",
    ),
    "targets too high in a later batch": (
        lambda: gramlab.measure(net(), [(X, Y), (X, Y + 1)]),
        "batch 1: class targets from 1 to 3 don't fit 3",
    ),
    "loss of a later batch": (
        lambda: gramlab.measure(net(), [(X, Y), (X[:4], Y[:4])], loss=too_few_of_four),
        r"batch 1: the loss must give one number a sample, a tensor of shape \(4,\), not \(2,\)",
    ),
    "too wide for features": (
        lambda: gramlab.features(net(), [X, X[:, :3]]),
        r"the model fails on inputs of shape \(6, 3\) of torch.float32 \(batch 1\): RuntimeError",
    ),
    "too wide for denoising": (
        lambda: gramlab.denoising(net(), X[:, :3], Y),
        r"the model fails on inputs of shape \(6, 3\) of torch.float32 \(batch 0\): RuntimeError",
    ),
    "features by no function": (lambda: gramlab.features(net(), X, forward=3), "forward must be callable .* not 3"),
    "denoising by no function": (
        lambda: gramlab.denoising(net(), X, Y, forward=3),
        "forward must be callable .* not 3",
    ),
    "weights of denoising": (
        lambda: gramlab.denoising(nan_in(net()), X, Y),
        "the weight of layer '0' holds a NaN or an infinity",
    ),
    "inputs of denoising": (
        lambda: gramlab.denoising(nn.Sequential(nn.Linear(4, 5), Log(), nn.Linear(5, 3)), X.abs(), Y, batch_size=2),
        r"layer '2', batch 0: H holds a NaN or an infinity, first at index \(0, ",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_bad_input_is_refused(name):
    act, message = CASES[name]
    with pytest.raises(ValueError, match=message):
        act()


def test_empty_batches_count_for_nothing():
    exact, other = ([(X[:4], Y[:4]), (X[4:], Y[4:])], [(X[:0], Y[:0]), (X[:4], Y[:4]), (X[:0], Y[:0]), (X[4:], Y[4:])])
    for shard in (None, (1, 2)):
        expected, measured = (gramlab.measure(net(), batches, shard=shard) for batches in (exact, other))
        assert measured.n == expected.n
        assert torch.equal(measured["0"].agop, expected["0"].agop)


def test_inputs_of_inference_mode_are_measured():
    with torch.inference_mode():
        x, y = X * 1, Y * 1
    assert torch.equal(gramlab.measure(net(), x, y)["0"].enfa, gramlab.measure(net(), X, Y)["0"].enfa)


def test_all_inputs_are_checked_before_the_model_runs():
    def forward(model, inputs):
        raise AssertionError("the model ran")

    with pytest.raises(ValueError, match="input row 5"):
        gramlab.measure(net(), nan_at(5), batch_size=1, forward=forward)


def test_all_targets_are_checked_after_the_first_forward_pass():
    calls = []

    def forward(model, inputs):
        calls.append(len(inputs))
        return model(inputs)

    late = torch.tensor([0, 1, 2, 0, 1, 3])
    with pytest.raises(ValueError, match="from 0 to 3 don't fit 3 outputs"):
        gramlab.measure(net(), X, late, loss="cross_entropy", batch_size=1, forward=forward)
    assert calls == [1]


@pytest.mark.parametrize("quantity", ["fact", "back_fact"])
def test_fact_without_weight_decay_is_undefined_and_the_rest_is_not(quantity):
    layer = gramlab.measure(net(), X, Y, weight_decay=0.0)["0"]
    assert torch.isfinite(layer.agop).all()
    with pytest.raises(gramlab.Undefined, match=r"λ is 0\.0"):
        getattr(layer, quantity)


def test_quantities_that_were_not_measured_are_undefined():
    layer = gramlab.measure(net(), X)["0"]
    for quantity in ("enfa", "back_enfa", "fact", "weight_gradient", "centered_gram", "centered_ptk"):
        with pytest.raises(gramlab.Undefined, match="layer '0'"):
            getattr(layer, quantity)
    with pytest.raises(gramlab.Undefined, match="quantities="):
        layer.virtual_shift(0.1)
    with pytest.raises(gramlab.Undefined, match="agop was not measured"):
        _ = gramlab.measure(net(), X, Y, quantities=["enfa"])["0"].agop


def test_an_unknown_name_in_the_result():
    with pytest.raises(KeyError, match="measured layers are"):
        gramlab.measure(net(), X)["1"]


@pytest.mark.parametrize("labels", [[0, 1, 2, 1], [[0], [1], [2], [1]]])
def test_names_of_classes_are_no_values(labels):
    H = np.eye(4)
    for act in (gramlab.k_norm, gramlab.target_linearity, lambda H, Y: gramlab.surrogate(H, np.eye(4), Y)):
        with pytest.raises(ValueError, match="holds integers, one a sample"):
            act(H, np.array(labels))
    one_hot = np.eye(3, dtype=int)[np.ravel(labels)]
    assert gramlab.k_norm(H, one_hot) == pytest.approx(2.0)
    assert gramlab.surrogate(H, np.eye(4), one_hot) == pytest.approx(4.0)


class Translator(torch.nn.Module):
    """An encoder's tokens with a mask, and a decoder's."""

    def __init__(self):
        super().__init__()
        self.words, self.encode, self.head = torch.nn.Embedding(7, 4), torch.nn.Linear(4, 4), torch.nn.Linear(4, 7)

    def forward(self, input_ids, attention_mask, decoder_input_ids):
        encoding = (self.encode(self.words(input_ids)).tanh() * attention_mask.unsqueeze(-1)).sum(1, keepdim=True)
        return self.head(self.words(decoder_input_ids) + encoding)


def test_a_mask_of_the_encoder_or_of_the_decoder_is_refused():
    mask = torch.ones(6, 5, dtype=torch.long)
    x = {"input_ids": torch.randint(7, (6, 5)), "attention_mask": mask, "decoder_input_ids": torch.randint(7, (6, 5))}
    model = Translator()
    assert gramlab.measure(model, x, layers=["encode", "head"]).n == 6
    mask[:, 3:] = 0
    with pytest.raises(ValueError, match="that of 'decoder_input_ids', whose tokens are equally many"):
        gramlab.measure(model, x, layers=["encode", "head"])
    padded = {key: torch.nn.functional.pad(x[key], (0, 1)) for key in ("input_ids", "attention_mask")}
    measured = gramlab.measure(model, x | padded, layers=["encode", "head"])
    assert measured["head"].ptk.diagonal().tolist() == pytest.approx([5.0] * 7)  # all of the decoder's tokens count


@pytest.mark.parametrize("act", [gramlab.measure, gramlab.features])
@pytest.mark.parametrize("data", [list, lambda x: DataLoader(x, batch_size=None), lambda x: x[0]])
def test_single_samples_are_no_batches(act, data):
    with pytest.raises(ValueError, match="a single sample in place of a batch"):
        act(nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4)), data(torch.randn(9, 4)))
    batches = list(torch.randn(9, 4).split(3))
    assert len(gramlab.features(nn.Linear(4, 4), batches)[""]) == 9


def detached(outputs, targets):
    return outputs.detach().square().sum(1)


def constant(outputs, targets):
    return torch.ones(len(outputs))


@pytest.mark.parametrize("loss", [detached, constant])
def test_a_loss_without_a_gradient_is_refused(loss):
    with pytest.raises(ValueError, match="the loss has no gradient"):
        gramlab.measure(net(), X, Y, loss=loss)
    assert gramlab.measure(net(), X, Y, loss=loss, quantities="agop").loss is not None  # which needs no gradient


@pytest.mark.parametrize("act", [gramlab.measure, gramlab.plan])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": nn.CrossEntropyLoss}, r"loss is the class CrossEntropyLoss: give an instance"),
        ({"layers": 3}, "layers must be names"),
        ({"initial": 3}, "initial must be a module or its state dict, not 3"),
    ],
)
def test_options_of_another_kind_are_refused(act, options, message):
    with pytest.raises(ValueError, match=message):
        act(net(), X, Y, **options)


def test_initial_weights_that_are_the_models_own_are_noticed():
    model = net()
    before = copy.deepcopy(model.state_dict())
    alias = model.state_dict()
    with torch.no_grad():
        model[0].weight.add_(1.0)
    for initial in (alias, model):
        with pytest.warns(UserWarning, match="the model's own tensors"):
            measured = gramlab.measure(model, X, initial=initial, quantities="centered_gram")
        assert not measured["0"].centered_gram.any()
    frozen = before | {name: alias[name] for name in alias if name.startswith("2")}  # a part that never moves
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        moved = gramlab.measure(model, X, initial=frozen, quantities="centered_gram")["0"].centered_gram
    torch.testing.assert_close(moved, torch.full((4, 4), 5.0).double(), rtol=1e-5, atol=0)


def test_targets_that_begin_later_are_refused():
    with pytest.raises(ValueError, match="batch 1 has targets and the batches before it had none"):
        gramlab.measure(net(), [(X,), (X, Y)])


def test_a_matrix_of_zeros_has_no_relative_error():
    model = net()
    nn.init.zeros_(model[2].weight)
    layer = gramlab.measure(model, X, outputs=4)["0"]
    with pytest.raises(gramlab.Undefined, match="agop is zero"):
        layer.relative_error("agop")
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    accumulated = gramlab.AccumulatedFact(model, optimizer)
    with pytest.raises(gramlab.Undefined, match="layer '2'"):
        accumulated.relative_error("2")


def test_random_eigenvectors_need_a_generator():
    with pytest.raises(ValueError, match=r"random must be a numpy generator, np.random.default_rng\(seed\), not 0"):
        gramlab.random_eigenvectors(np.eye(3), 0)
