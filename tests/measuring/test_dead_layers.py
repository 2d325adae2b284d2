"""The checks on a dead layer, whose features, weights or gradients are all 0, and on collapsed features."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

import gramlab
from tasks.measuring.invariants import (
    BrokenInvariant,
    check_forms,
    check_linearity,
    check_network,
    check_rotated_collapse,
    check_shared_spectrum,
    check_traces,
)

MATRICES = ("gram", "agop", "enfa", "fact", "ptk", "back_gram", "back_enfa", "back_fact")
ZERO, ONE = torch.zeros(3, 3).double(), torch.eye(3).double()


def random():
    return np.random.default_rng(0)


def dead_features(model):
    nn.init.constant_(model[2].bias, -1e3)


def zero_first_layer(model):
    nn.init.zeros_(model[0].weight)


def zero_last_layer(model):
    nn.init.zeros_(model[-1].weight)


def all_zero(model):
    for parameter in model.parameters():
        nn.init.zeros_(parameter)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("kill", [dead_features, zero_first_layer, zero_last_layer, all_zero])
def test_a_network_with_a_dead_layer_passes(kill, dtype):
    torch.manual_seed(3)
    model = nn.Sequential(nn.Linear(5, 6), nn.ReLU(), nn.Linear(6, 4), nn.ReLU(), nn.Linear(4, 3)).to(dtype)
    kill(model)
    x, y = torch.randn(20, 5, dtype=dtype), torch.arange(20) % 3
    layers = gramlab.measure(model, x, y, loss="cross_entropy", weight_decay=0.1)
    assert not float(layers["0"].agop.norm()), "the first layer is dead"
    for layer in layers.values():
        check_forms(layer)
        check_shared_spectrum(layer.fact, layer.back_fact)
    check_network(model, x, y, "cross_entropy", 0.1, random())


def test_a_dead_layer_whose_matrix_does_not_stay_zero_is_refused(monkeypatch):
    measure = gramlab.measure
    model = nn.Sequential(nn.Linear(5, 6), nn.ReLU(), nn.Linear(6, 3)).double()
    zero_last_layer(model)

    def shifted_for_copies(model, x, y, **options):
        layers = measure(model, x, y, **options)
        return {
            name: SimpleNamespace(**{quantity: getattr(layer, quantity) + float(len(x) == 40) for quantity in MATRICES})
            for name, layer in layers.items()
        }

    monkeypatch.setattr(gramlab, "measure", shifted_for_copies)
    with pytest.raises(BrokenInvariant, match="layer 0: copies of the samples change the agop by inf of its norm"):
        check_network(model, torch.randn(20, 5).double(), torch.arange(20) % 3, "cross_entropy", 0.1, random())


def test_forms_of_which_one_alone_is_zero_are_refused():
    forms = dict.fromkeys(("gram", "back_gram", "agop", "back_agop", "enfa", "back_enfa"), ZERO)
    check_forms(SimpleNamespace(**forms))
    with pytest.raises(BrokenInvariant, match=r"gram is 0\.0, and 3\.0 by its backward form; they differ by inf"):
        check_forms(SimpleNamespace(**{**forms, "back_gram": ONE}))


def test_traces_that_do_not_add_up_to_zero_are_refused():
    check_traces(0.0, 0.0, 0.0)
    with pytest.raises(BrokenInvariant, match=r"do not add up to tr\(S_T\) = 0\.0; they are off by inf of it"):
        check_traces(1.0, 0.0, 0.0)


@pytest.mark.parametrize("constant", [0.0, 1.0])
@pytest.mark.parametrize("value", [0.5, 7.0])
def test_a_linearity_of_targets_that_are_all_the_same_is_refused(constant, value):
    with pytest.raises(BrokenInvariant, match="of targets whose rows are all the same is not defined"):
        check_linearity(value, torch.full((9, 2), constant))


def test_collapsed_features_pass_and_dead_ones_are_named():
    """Their NC1 is 0 up to round-off, so that each rotation has another."""
    labels = torch.arange(30) % 3
    for means in (ONE, torch.from_numpy(random().normal(size=(3, 5)))):
        assert gramlab.neural_collapse(means[labels], labels).nc1 < 1e-30
        check_rotated_collapse(means[labels], labels, random())
    with pytest.raises(gramlab.Undefined, match="the class means coincide"):
        check_rotated_collapse(torch.zeros(30, 5), labels, random())
