"""Numbers near the ends of float64's range give the same as in the middle of it, or Undefined: never NaN."""

import copy
from fractions import Fraction

import numpy as np
import pytest
import torch

import gramlab

RANDOM = np.random.default_rng(0)
H = RANDOM.normal(size=(200, 5))
Y = 2 * H[:, :1] + RANDOM.normal(size=(200, 1))
LABELS = np.arange(200) % 3
SCALES = [1e-300, 1e-160, 1e-158, 1e-155, 1e-150, 1e-100, 1e100, 1e150, 1e155, 1e200, 1e300]


@pytest.mark.parametrize("scale", SCALES)
def test_target_linearity_in_any_unit(scale):
    for center in (False, True):
        expected = gramlab.target_linearity(H, Y, center=center)
        assert gramlab.target_linearity(H * scale, Y, center=center) == pytest.approx(expected, rel=1e-9)
        assert gramlab.target_linearity(H, Y * scale, center=center) == pytest.approx(expected, rel=1e-9)
    assert gramlab.target_linearity(H, Y * scale, 0.5) == pytest.approx(gramlab.target_linearity(H, Y, 0.5), rel=1e-9)
    # beside features of another size a ridge is nothing, or all
    limit = gramlab.target_linearity(H, Y) if scale > 1 else 1 - float((Y**2).sum() / ((Y - Y.mean(0)) ** 2).sum())
    assert gramlab.target_linearity(H * scale, Y, 0.5) == pytest.approx(limit, rel=1e-6)
    with pytest.raises(gramlab.Undefined, match="every row of Y is the same"):
        gramlab.target_linearity(H, np.full((200, 1), 0.1 * scale))


def test_features_of_very_different_sizes():
    columns = H * np.array([1, 1e-30, 1e30, 1e-150, 1])
    assert gramlab.target_linearity(columns, Y) == pytest.approx(gramlab.target_linearity(H, Y), rel=1e-9)


def test_a_feature_of_many_entries_whose_squares_underflow():
    """Their squares round to 0. Together they are a 2e-11 part of the squared length, which a Gram matrix misses."""
    n, large, small = 100_000, 1e-154, 1.5e-162
    features, target = np.full((n, 1), small), np.zeros(n)
    features[0], target[0] = large, 1.0
    square, rest = Fraction(large) ** 2, (n - 1) * Fraction(small) ** 2
    expected = 1 - (rest / (square + rest)) / (1 - Fraction(1, n))  # the residual over the spread of the target
    assert gramlab.target_linearity(features, target) == pytest.approx(float(expected), abs=1e-13)


@pytest.mark.parametrize("scale", SCALES)
def test_neural_collapse_in_any_unit(scale):
    expected = gramlab.neural_collapse(H, LABELS)
    if 1e-150 <= scale <= 1e150:
        collapse = gramlab.neural_collapse(H * scale, LABELS)
        assert (collapse.nc1, collapse.nc2) == pytest.approx((expected.nc1, expected.nc2), rel=1e-9)
    else:
        with pytest.raises(gramlab.Undefined, match="overflow" if scale > 1 else "underflow|coincide"):
            _ = gramlab.neural_collapse(H * scale, LABELS).nc1
        with pytest.raises(gramlab.Undefined, match="overflow" if scale > 1 else "underflow|coincide"):
            _ = gramlab.neural_collapse(H * scale, LABELS).nc2


@pytest.mark.parametrize("offset", [0.0, 3.0, 1e6])
def test_class_means_that_differ_by_rounding_alone(offset):
    doubled = np.concatenate([H[:100], H[:100][RANDOM.permutation(100)]]) + offset
    collapse = gramlab.neural_collapse(doubled, np.arange(2).repeat(100))
    with pytest.raises(gramlab.Undefined, match="class means coincide"):
        _ = collapse.nc1
    with pytest.raises(gramlab.Undefined, match="coincides with the mean"):
        _ = collapse.nc2
    around_zero = doubled - doubled.mean(0)
    with pytest.raises(gramlab.Undefined, match="coincides with the mean"):
        _ = gramlab.neural_collapse(around_zero, np.arange(2).repeat(100)).nc2
    near = np.concatenate([H[:100], H[:100] + 1e-6])
    assert gramlab.neural_collapse(near, np.arange(2).repeat(100)).nc1 == pytest.approx(
        float(H[:100].var(0).sum()) / (5 * 0.25e-12), rel=1e-6
    )


def test_bad_and_unsigned_labels():
    with pytest.raises(ValueError, match="labels holds a NaN"):
        gramlab.neural_collapse(H, np.where(LABELS == 0, np.nan, LABELS))
    unsigned = gramlab.neural_collapse(H, LABELS.astype(np.uint16))
    assert unsigned.nc1 == gramlab.neural_collapse(H, LABELS).nc1


def test_powers_out_of_range():
    A = torch.diag(torch.tensor([4.0, 1.0, 0.0], dtype=torch.float64))
    assert torch.equal(gramlab.psd_power(A * 2.0**-1060, 0.5), A.sqrt() * 2.0**-530)
    torch.testing.assert_close(
        gramlab.psd_power(A * 2.0**1000, -0.5)[:2, :2],
        torch.diag(A[:2, :2].diagonal() ** -0.5) * 2.0**-500,
        rtol=1e-13,
        atol=0,
    )
    for scale, power in ((2.0**-1060, -1), (1e300, 2), (1e-300, 2)):
        with pytest.raises(gramlab.Undefined, match="out of float64's range"):
            gramlab.psd_power(A * scale, power)
    for power in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="must be a finite number"):
            gramlab.psd_power(A, power)
    assert torch.equal(gramlab.psd_power(0 * A, 0.5), 0 * A)
    for large in (1e308 * torch.eye(3, dtype=torch.float64), 8e307 * torch.ones(5, 5, dtype=torch.float64)):
        with pytest.raises(gramlab.Undefined, match="out of float64's range"):
            gramlab.psd_power(large, 0.5)


@pytest.mark.parametrize("scale", SCALES)
def test_k_norm_in_any_unit(scale):
    expected = np.linalg.norm(H.T @ Y)
    assert gramlab.k_norm(H * scale, Y) / scale == pytest.approx(expected, rel=1e-12)
    assert gramlab.k_norm(H * scale, 0 * Y) == 0.0


def test_a_spread_that_is_small_beside_the_mean_in_any_unit():
    """Rounding in another unit would change what is left of such numbers."""
    u, v = (1 + 2.0**-30 * RANDOM.integers(-50, 50, 40) for _ in range(2))
    expected = np.corrcoef(u - 1, v - 1)[0, 1]
    for scale in (1.0, 2.0**-500, 2.0**-1000, 2.0**900):
        assert gramlab.pearson(u * scale, v * scale) == pytest.approx(expected, rel=1e-12)


def heavy():
    """Weights whose squares leave float64's range."""
    model = torch.nn.Sequential(torch.nn.Linear(5, 3)).double()
    with torch.no_grad():
        model[0].weight.mul_(1e200)
    return model


FEATURES, WEIGHT, TARGETS = (
    torch.from_numpy(np.random.default_rng(1).normal(size=shape)) for shape in ((50, 5), (3, 5), (50, 2))
)
LIGHT = torch.nn.Sequential(torch.nn.Linear(5, 2)).double()
OUT_OF_RANGE = {
    "surrogate of large features": lambda: gramlab.surrogate(FEATURES * 1e200, WEIGHT, TARGETS),
    "surrogate of large weights too": lambda: gramlab.surrogate(FEATURES * 1e200, WEIGHT * 1e200, TARGETS),
    "K-norm": lambda: gramlab.k_norm(FEATURES * 1e300, TARGETS * 1e300),
    "linearity": lambda: gramlab.target_linearity(FEATURES.abs() * 5e307, TARGETS, center=True),
    "gram": lambda: gramlab.measure(heavy(), FEATURES * 1e-200, quantities=["gram"])["0"].gram,
    "fact": lambda: gramlab.measure(LIGHT, FEATURES, TARGETS, weight_decay=1e-320)["0"].fact,
    "shift": lambda: gramlab.measure(LIGHT, FEATURES, TARGETS)["0"].virtual_shift(1e200),
}


@pytest.mark.parametrize("name", OUT_OF_RANGE)
def test_results_beyond_the_range_are_undefined_and_not_infinite(name):
    with pytest.raises(gramlab.Undefined, match="range"):
        OUT_OF_RANGE[name]()


def test_vanishing_gradients_in_float32():
    """Their squares leave float32's range, though the gradients do not."""
    torch.manual_seed(0)
    parts = [torch.nn.Linear(8, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3)]
    x, y = torch.randn(30, 8), torch.randn(30, 3)
    for scale in (1.0, 1e-10, 1e-21, 1e-27):  # of the outputs, and of the loss's gradients with respect to them
        model = torch.nn.Sequential(*copy.deepcopy(parts))
        with torch.no_grad():
            for parameter in model[2].parameters():
                parameter.mul_(scale)
        layer = gramlab.measure(model, x, y, loss=lambda f, y: (f - y).square().sum(1))["0"]
        # by hand: J = W₂ diag(tanh′) and the loss's gradient 2 (f − y) J, in float64
        W, V = model[0].weight.double(), model[2].weight.double()
        h = torch.tanh(x.double() @ W.T + model[0].bias)
        J = V * (1 - h**2)[:, None]
        g = torch.einsum("nc,nck->nk", 2 * (h @ V.T + model[2].bias - y), J)
        ptk, outer = (t.detach() / scale**2 for t in (torch.einsum("nck,ncl->kl", J, J) / 30, g.T @ g / 30))
        torch.testing.assert_close(layer.ptk / scale**2, ptk, rtol=1e-5, atol=1e-5 * float(ptk.norm()))
        torch.testing.assert_close(layer.back_enfa / scale**2, outer, rtol=1e-5, atol=1e-5 * float(outer.norm()))


def test_images_with_many_positions_in_float32():
    """A batch has more rows than float32 sums with a small round-off; the network has the same gradient at each."""
    pool, flat = torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten()
    model = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 1, bias=False), pool, flat, torch.nn.Linear(2, 1, bias=False))
    v = model[3].weight.detach().double()
    ptk = gramlab.measure(model, torch.randn(4, 1, 300, 300))["0"].ptk
    torch.testing.assert_close(ptk, v.T @ v / 300**2, rtol=2e-5, atol=0)


def test_outputs_of_very_different_sizes_in_float32():
    """The gradients of the first outputs are tiny, and those of the last one are not."""
    torch.manual_seed(0)
    x, scales = torch.randn(30, 8), torch.tensor([1e-22, 1e-23, 1.0, 1e-21])
    model = torch.nn.Sequential(torch.nn.Linear(8, 8, bias=False), torch.nn.Linear(8, 4, bias=False))
    with torch.no_grad():
        model[1].weight.mul_(scales[:, None])
    V = model[1].weight.detach().double()
    for outputs in ("exact", "readout"):
        torch.testing.assert_close(gramlab.measure(model, x, outputs=outputs)["0"].ptk, V.T @ V, rtol=1e-6, atol=1e-7)
