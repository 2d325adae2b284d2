"""The checks of a running stage: silent on what was measured, an error on numbers that break the invariant."""

import numpy as np
import pytest
import torch
from torch import nn

import gramlab
from tasks.measuring.invariants import check_linearity, check_shared_spectrum, check_traces

NAN = float("nan")


def test_traces_that_add_up_pass_and_others_raise():
    H, labels = np.random.default_rng(0).normal(size=(30, 4)), np.arange(30) % 4
    traces, total = gramlab.neural_collapse(H, labels), float(((H - H.mean(0)) ** 2).sum() / 30)
    check_traces(traces.within, traces.between, total)
    for within, between in ((traces.within / 4, traces.between), (traces.within, NAN), (traces.within, 0.0)):
        with pytest.raises(ArithmeticError, match="do not add up"):
            check_traces(within, between, total)


def test_target_linearities_in_their_range_pass_and_others_raise():
    random = np.random.default_rng(1)
    Y = torch.from_numpy(random.normal(size=(40, 2)) + 5)
    for H in (random.normal(size=(40, 3)), np.zeros((40, 3)), Y, random.normal(size=(40, 60))):
        check_linearity(gramlab.target_linearity(H, Y), Y)
    least = 1 - float((Y**2).sum() / ((Y - Y.mean(0)) ** 2).sum())
    for value in (1.001, least - 0.1, NAN, float("inf")):
        with pytest.raises(ArithmeticError, match="is not in"):
            check_linearity(value, Y)


def test_fact_and_its_backward_form_pass_and_others_raise():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 3)).double()
    x, y = torch.randn(20, 5).double(), torch.randint(0, 3, (20,))
    layers = gramlab.measure(model, x, y, loss="cross_entropy", weight_decay=0.1)
    for layer in layers.values():
        check_shared_spectrum(layer.fact, layer.back_fact)
    for other in (2 * layers["0"].back_fact, -layers["0"].back_fact, layers["2"].back_fact, layers["0"].back_enfa):
        with pytest.raises(ArithmeticError, match="the trace"):
            check_shared_spectrum(layers["0"].fact, other)
    turned = torch.diag(torch.tensor([1.0, -1.0]).double())  # of the same trace as 0, another spectrum
    with pytest.raises(ArithmeticError, match=r"of the square is 2\.0 for FACT and 0\.0"):
        check_shared_spectrum(turned, torch.zeros(2, 2).double())
    with pytest.raises(ArithmeticError, match="the trace is nan"):
        check_shared_spectrum(NAN * turned, turned)
