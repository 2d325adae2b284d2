"""The checks that measure again what a stage has measured: silent where nothing may change, an error where it does."""

import numpy as np
import pytest
import torch
from torch import nn

import gramlab
from tasks.measuring import invariants
from tasks.measuring.invariants import (
    BrokenInvariant,
    check_invertible_maps,
    check_linearity,
    check_network,
    check_rotated_collapse,
    error_context,
)


def random(seed=0):
    return np.random.default_rng(seed)


def network(dtype=torch.float64):
    torch.manual_seed(3)
    model = nn.Sequential(nn.Linear(5, 6), nn.GELU(), nn.Linear(6, 4, bias=False), nn.ReLU(), nn.Linear(4, 3))
    x, y = torch.randn(20, 5, dtype=dtype), torch.arange(20) % 3
    return model.to(dtype), x, y


def test_the_place_of_a_broken_invariant_is_named():
    words = r"epoch 4, seed 2: layer 1: the target linearity 1\.5 .* off by 5\.0e-01"
    with pytest.raises(BrokenInvariant, match=words), error_context(epoch=4, seed=2), error_context(layer=1):
        check_linearity(1.5, torch.randn(9, 2))
    with pytest.raises(ValueError, match=r"^another$"), error_context(seed=2):
        raise ValueError("another")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_right_measure_passes(dtype):
    model, x, y = network(dtype)
    check_network(model, x, y, "cross_entropy", 0.1, random())
    H = model[:2](x).detach()
    check_invertible_maps(torch.hstack([H, H[:, :2]]), nn.functional.one_hot(y).double(), random())
    check_rotated_collapse(H, y, random())


def test_features_of_doubtful_rank_pass():
    """As those of dying units do: some singular values are as small as what counts as zero."""
    draw = random(2)
    H = torch.from_numpy(draw.normal(size=(200, 40)) * np.geomspace(1, 1e-16, 40)).float()
    H = torch.hstack([H, H[:, :3] + H[:, -3:], torch.zeros(200, 1)])
    Y = torch.from_numpy(draw.normal(size=(200, 3)))
    for number in range(5):
        check_invertible_maps(H, Y, random(number))


class Broken:
    """A layer's measures with a matrix that is not what it should be."""

    def __init__(self, layer, **matrices):
        self.layer, self.matrices = layer, matrices

    def __getattr__(self, name):
        return self.matrices.get(name, getattr(self.layer, name))


def test_sums_in_place_of_averages_are_refused(monkeypatch):
    measure, (model, x, y) = gramlab.measure, network()

    def summed(model, x, y, **options):
        return {
            name: Broken(layer, fact=len(x) * layer.fact) for name, layer in measure(model, x, y, **options).items()
        }

    monkeypatch.setattr(gramlab, "measure", summed)
    with pytest.raises(BrokenInvariant, match=r"layer 0: copies of the samples change the fact by 1\.0e"):
        check_network(model, x, y, "cross_entropy", 0.1, random())


@pytest.mark.parametrize(("layer", "quantity"), [("0", "agop"), ("0", "gram"), ("4", "back_fact"), ("4", "ptk")])
def test_means_over_units_are_refused(monkeypatch, layer, quantity):
    measure, (model, x, y) = gramlab.measure, network()

    def mean(model, x, y, **options):
        layers = dict(measure(model, x, y, **options).items())
        layers[layer] = Broken(layers[layer], **{quantity: getattr(layers[layer], quantity) / model[0].out_features})
        return layers

    monkeypatch.setattr(gramlab, "measure", mean)
    with pytest.raises(BrokenInvariant, match=f"layer {layer}: permuted and added units change the {quantity} by"):
        check_network(model, x, y, "cross_entropy", 0.1, random())


def test_other_units_do_not_change_the_function():
    model, x, _ = network()
    other = invariants._with_other_units(model, random())
    torch.testing.assert_close(other(x), model(x))
    assert [tuple(part.weight.shape) for part in other if isinstance(part, nn.Linear)] == [(7, 5), (5, 7), (3, 5)]
    assert not torch.equal(other[0].weight[:6], model[0].weight)


def test_a_linearity_with_a_ridge_is_refused(monkeypatch):
    fit = gramlab.target_linearity
    monkeypatch.setattr(gramlab, "target_linearity", lambda H, Y: fit(H, Y, 5.0))
    draw = random(1)
    H, Y = (torch.from_numpy(draw.normal(size=(30, size))) for size in (6, 2))
    with pytest.raises(BrokenInvariant, match="an invertible map changes the target linearity by"):
        check_invertible_maps(H, Y + H[:, :2], random())


SEES = {
    "axes": lambda H: float(H[:, 0].square().sum() / H.square().sum()),
    "scale": lambda H: float(H.square().mean()),
}


@pytest.mark.parametrize("sees", SEES)
@pytest.mark.parametrize("name", ["nc1", "nc2"])
def test_a_collapse_that_sees_the_axes_or_the_scale_is_refused(monkeypatch, name, sees):
    measured = gramlab.neural_collapse

    def wrong(H, labels):
        collapse = measured(H, labels)
        return Broken(collapse, **{name: getattr(collapse, name) + SEES[sees](H)})

    monkeypatch.setattr(gramlab, "neural_collapse", wrong)
    H, labels = torch.from_numpy(random().normal(size=(30, 5))), torch.arange(30) % 3
    with pytest.raises(BrokenInvariant, match=f"a rotation and a scale change {name} by"):
        check_rotated_collapse(H, labels, random())
