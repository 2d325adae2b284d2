"""What gramlab.RFM chooses itself: settings by leave-one-out errors, single precision, the end of the iteration."""

import warnings
from itertools import product

import numpy as np
import pytest
import torch

from gramlab import RFM
from gramlab.kernels.automatic import BANDWIDTHS, RIDGES, choose, rescale, suits_float32, typical_size
from gramlab.kernels.functions import Kernel
from gramlab.streams import stream


def noisy_sine(n, noise, seed=0):
    draw = stream("test_automatic", seed)
    x = draw.normal(size=(n, 3))
    return x, np.sin(2 * x[:, 0]) + noise * draw.normal(size=n)


def laplace(x, bandwidth):
    return np.exp(-np.linalg.norm(x[:, None] - x[None], axis=2) / bandwidth)


@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_the_choice_has_the_least_error_of_machines_fitted_without_each_sample(noise):
    """By numpy: one machine for each sample left out and each pair of settings."""
    x, y = noisy_sine(40, noise)
    unit = np.sqrt(((x[:, None] - x[None]) ** 2).sum(2).mean())
    errors = {}
    for times, ridge in product(BANDWIDTHS, RIDGES):
        K = laplace(x, times * unit)
        left_out = []
        for i in range(40):
            others = np.arange(40) != i
            alpha = np.linalg.solve(K[np.ix_(others, others)] + ridge * np.eye(39), y[others])
            left_out.append((y[i] - K[i, others] @ alpha) ** 2)
        errors[times * unit, ridge] = np.mean(left_out)
    kernel, ridge = choose(Kernel("laplace"), torch.from_numpy(x), torch.from_numpy(y)[:, None], "auto", "auto")
    assert (kernel.bandwidth, ridge) == pytest.approx(min(errors, key=errors.get))
    kernel, ridge = choose(Kernel("laplace"), torch.from_numpy(x), torch.from_numpy(y)[:, None], 2.5, "auto")
    assert kernel.bandwidth == 2.5


def test_noise_takes_a_larger_ridge():
    ridges = [RFM().fit(*noisy_sine(300, noise)).ridge_ for noise in (0.0, 2.0)]
    assert ridges[0] == min(RIDGES) < ridges[1]


@pytest.mark.parametrize("kernel", ["laplace", "polynomial"])
def test_the_unit_under_features_is_that_of_transformed_samples(kernel):
    x = torch.from_numpy(stream("test_automatic", "unit").normal(size=(30, 4)))
    root = torch.from_numpy(stream("test_automatic", "root").normal(size=(4, 4)))
    spec = Kernel(kernel, 2.0)
    assert typical_size(spec, x, root @ root.mT) == pytest.approx(typical_size(spec, x @ root), rel=1e-12)
    assert typical_size(spec, torch.zeros(3, 2)) == 1.0
    scaled = rescale(spec, x, torch.eye(4, dtype=x.dtype), 9 * torch.eye(4, dtype=x.dtype))
    assert scaled.bandwidth == pytest.approx(6.0)


def test_a_machine_with_its_own_settings_does_not_depend_on_the_units():
    """Of the targets and, for a radial kernel, of the inputs; with a fixed bandwidth it depends on both."""
    x, y = noisy_sine(200, 0.1)
    plain, scaled = RFM(dtype="float64").fit(x, y), RFM(dtype="float64").fit(1000 * x, 8 * y)
    assert plain.n_iter_ > 0
    np.testing.assert_allclose(scaled.predict(1000 * x) / 8, plain.predict(x), rtol=1e-6, atol=1e-8)


def test_leave_one_out_errors_of_many_samples_are_of_a_part_from_everywhere():
    """Sorted data: the errors of the last 500 samples alone would be of the largest x only."""
    x = np.sort(stream("test_automatic", "sorted").normal(size=(700, 1)), axis=0)
    y = np.where(x[:, 0] < 0, stream("test_automatic", "noise").normal(size=700), 0.0)
    machine = RFM(kernel="laplace", bandwidth=3.0, ridge=1.0, n_iters=1, dtype="float64").fit(x, y)
    inverse = np.linalg.inv(laplace(x, 3.0) + np.eye(700))
    alpha = inverse @ y
    everywhere = ((alpha / np.diag(inverse)) ** 2).mean()
    assert machine.history_[0]["error"] == pytest.approx(everywhere, rel=0.15)
    if machine.best_iter_ == 0:  # in the order of X
        np.testing.assert_allclose(machine.dual_coef_[:, 0], alpha, rtol=1e-6, atol=1e-9)
    else:
        K = laplace(x * float(machine.features_) ** 0.5, 3.0)
        np.testing.assert_allclose(K @ machine.dual_coef_[:, 0] + machine.dual_coef_[:, 0], y, atol=1e-8)


@pytest.mark.parametrize(
    ("change", "safe"),
    [({}, True), ({"kernel": "polynomial"}, False), ({"ridge": 1e-6}, False), ({"column": 1e-5}, False),
     ({"input": 1e-25}, False), ({"input": 1e20}, False), ({"target": 1e20}, False), ({"target": 0.0}, True),
     ({"column": 0.0}, True), ({"offset": 100.0}, True), ({"offset": 1e5}, False)],
)  # fmt: skip
def test_single_precision_is_taken_where_it_is_safe(change, safe):
    x, y = noisy_sine(100, 0.1)
    x[:, 1] *= change.get("column", 1.0)
    x *= change.get("input", 1.0)
    x += change.get("offset", 0.0)
    kernel, target = Kernel(change.get("kernel", "laplace"), 3.0), change.get("target", 1.0) * y[:, None]
    assert suits_float32(kernel, x, target, change.get("ridge", 1e-3)) is safe


def test_single_precision_predicts_as_double_does():
    x, y = noisy_sine(400, 0.1)
    single, double = (RFM(dtype=dtype).fit(x[:300], y[:300]) for dtype in ("auto", "float64"))
    assert single.best_iter_ == double.best_iter_
    assert single.features_.dtype == np.float64
    difference = np.abs(single.predict(x[300:]) - double.predict(x[300:])).max()
    assert 0 < difference < 2e-3  # more than none: it was fitted in float32


def test_updates_end_where_they_gain_little():
    """Of pure noise no update helps; patience=None makes them all."""
    x, y = stream("test_automatic", "x").normal(size=(200, 4)), stream("test_automatic", "y").normal(size=200)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert RFM().fit(x, y).n_iter_ < 5
        assert RFM(patience=None).fit(x, y).n_iter_ == 5
    eager = RFM(tol=0.9).fit(*noisy_sine(200, 0.1))
    assert eager.n_iter_ == 1


def test_inputs_far_from_zero_predict_as_others_do():
    """Rounding to float32 would change them by a part of their spread."""
    x, y = noisy_sine(300, 0.1)
    plain, far = (RFM().fit(x + offset, y).predict(x + offset) for offset in (0.0, 1e6))
    np.testing.assert_allclose(far, plain, atol=2e-3)


@pytest.mark.parametrize("distance", [1e-2, 1e-3, 1e-5])
def test_nearly_equal_samples_are_fitted_in_double_precision(distance):
    """Single precision does not tell the direction of the slope of Laplace's kernel between them."""
    draw = stream("test_automatic", "near")
    x = draw.normal(size=(100, 6))
    x = np.concatenate([x, x + distance * draw.normal(size=x.shape)])
    y, new = x[:, 0] * x[:, 1] + 0.3 * draw.normal(size=200), draw.normal(size=(50, 6))
    settings = {"ridge": 1e-3, "bandwidth": 10.0, "n_iters": 2, "early_stopping": False}
    chosen, double = (RFM(dtype=dtype, **settings).fit(x, y).predict(new) for dtype in ("auto", "float64"))
    np.testing.assert_array_equal(chosen, double)
    assert suits_float32(Kernel("gaussian", 10.0), x, y[:, None], 1e-3)  # its slope falls to 0 with the distance
    equal = np.repeat(x[:100], 2, axis=0)
    assert suits_float32(Kernel("laplace", 10.0), equal, y[:, None], 1e-3)


def test_tiny_inputs_predict_as_others_do():
    x, y = noisy_sine(300, 0.1)
    plain, tiny = (RFM().fit(unit * x, y).predict(unit * x) for unit in (1.0, 1e-25))
    np.testing.assert_allclose(tiny, plain, atol=0.05)
