"""Every quantity of every layer against per-sample Jacobians, on random architectures."""

import copy

import pytest
import torch
from architectures import cases
from helpers import quantity_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracle import quantities

import gramlab

WEIGHT_DECAY, LR = 0.37, 0.2
EXACT = settings(
    max_examples=60, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck)
)


def error(actual, expected):
    assert actual.shape == expected.shape
    gap, size = float((actual - expected).norm()), float(expected.norm())
    return gap / size if size else gap


def compare(measured, model, x, y, per_sample, bound, initial=None, agree=error):
    worst = {}
    for name, layer in measured.items():
        for quantity, expected in quantities(model, name, x, y, per_sample, WEIGHT_DECAY, LR, initial).items():
            worst[f"{name} {quantity}"] = agree(quantity_of(layer, quantity, LR), expected)
    assert max(worst.values()) < bound, sorted(worst.items(), key=lambda item: -item[1])[:5]


@EXACT
@given(cases(), st.integers(1, 5), st.booleans())
def test_in_double(case, batch_size, frozen):
    case.model.requires_grad_(not frozen)
    measured = gramlab.measure(
        case.model, case.x, case.y, loss=case.loss, weight_decay=WEIGHT_DECAY, batch_size=batch_size
    )
    assert measured.loss == pytest.approx(float(case.per_sample(case.model.eval()(case.x), case.y).mean()), rel=1e-12)
    compare(measured, case.model, case.x, case.y, case.per_sample, 1e-10)


@settings(EXACT, max_examples=25)
@given(cases())
def test_centred_by_the_initial_weights(case):
    initial = copy.deepcopy(case.model)
    with torch.no_grad():
        for parameter in case.model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    measured = gramlab.measure(
        case.model, case.x, case.y, loss=case.loss, weight_decay=WEIGHT_DECAY, initial=initial.state_dict()
    )
    compare(measured, case.model, case.x, case.y, case.per_sample, 1e-10, initial)
