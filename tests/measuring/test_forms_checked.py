"""The check of forward and backward forms is silent on measured layers, and an error on other numbers."""

from types import SimpleNamespace

import pytest
import torch
from torch import nn

import gramlab
from tasks.measuring.invariants import check_forms

FORMS = ("gram", "back_gram", "agop", "back_agop", "enfa", "back_enfa")


@pytest.fixture(scope="module")
def layers():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 3)).double()
    return gramlab.measure(model, torch.randn(20, 5).double(), torch.arange(20) % 3, loss="cross_entropy")


def test_measured_layers_pass(layers):
    for layer in layers.values():
        check_forms(layer)


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("factor", [1 + 1e-6, -1.0, float("nan")])
def test_another_form_is_an_error(layers, name, factor):
    forms = {form: getattr(layers["0"], form) for form in FORMS}
    forms[name] = factor * forms[name]
    with pytest.raises(ArithmeticError, match="by its backward form"):
        check_forms(SimpleNamespace(**forms))
