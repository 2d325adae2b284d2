"""The expected kernels of paper B's prediction against sampled networks and integrals."""

import math

import numpy as np
import pytest
import torch
from test_theory import draw

from gramlab.streams import stream
from gramlab.theory import expected_kernel
from gramlab.theory.kernels import SMOOTH, hermite

ACTIVATIONS = {
    "relu": torch.relu, "quadratic": torch.square, "tanh": torch.tanh, "gelu": torch.nn.functional.gelu,
    "softplus": torch.nn.functional.softplus, "linear": lambda t: t,
}  # fmt: skip


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_expected_kernel_of_two_hidden_layers(name):
    """Against wide sampled networks, differentiated automatically; the last layer's weights enter by their variance."""
    n, d, k, networks = 6, 5, 600, 32
    X = draw("kernel", shape=(n, d))
    total = torch.zeros(n, n, dtype=torch.float64)
    for network in range(networks):
        W = draw(network, "W1", shape=(k, d), scale=d**-0.5)
        V = draw(network, "W2", shape=(k, k), scale=k**-0.5)
        w = draw(network, "w", shape=k, scale=k**-0.5)
        h = (X @ W.T).requires_grad_()
        phi = ACTIVATIONS[name]
        (J,) = torch.autograd.grad((phi(phi(h) @ V.T) @ w).sum(), h)
        total += J @ J.T / networks
    kernel = expected_kernel(X, [name, name])
    assert float((total - kernel).norm() / kernel.norm()) < (0.15 if name == "quadratic" else 0.05)


def test_expected_kernel_of_a_sample_with_itself():
    """Half of the units of a layer are active for any sample."""
    X = draw("itself", shape=(20, 7))
    for depth in (1, 2, 3):
        np.testing.assert_allclose(expected_kernel(X, ["relu"] * depth).diagonal(), 0.5**depth, rtol=1e-14)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_expected_kernel_with_a_sample_of_zeros(name):
    """Against integrals over the other sample's pre-activation: the sample of zeros has a constant one."""
    X = draw("zeros", shape=(3, 5))
    others, X[1] = expected_kernel(X[[0, 2]], [name]), 0.0
    kernel = expected_kernel(X, [name])
    torch.testing.assert_close(kernel[[0, 2]][:, [0, 2]], others, rtol=1e-12, atol=0)
    t = torch.linspace(-12, 12, 200_001, dtype=torch.float64)
    for i in range(3):
        u = (t * float(X[i].norm()) / math.sqrt(5)).requires_grad_()
        (slope,) = torch.autograd.grad(ACTIVATIONS[name](u).sum(), u)
        at_zero = torch.zeros(1, dtype=torch.float64, requires_grad=True)
        (first,) = torch.autograd.grad(ACTIVATIONS[name](at_zero).sum(), at_zero)
        density = torch.exp(-t.square() / 2) / math.sqrt(2 * math.pi)
        expected = float(first) * float(torch.trapezoid(slope * density, t))
        assert float(kernel[1, i]) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("scale", [1e-200, 1e-160, 1e155, 1e200])
def test_expected_kernel_of_squares_out_of_range(scale):
    X = torch.from_numpy(stream("test_theory", "range").normal(size=(6, 4)))
    with pytest.raises(ValueError, match="float64's range"):
        expected_kernel(X * scale, ["relu", "relu"])
    if scale > 1:
        with pytest.raises(ValueError, match="float64's range"):
            expected_kernel(X * scale, ["gelu"])


def test_expected_kernel_of_variances_out_of_range():
    """After quadratic units the variances of X's pre-activations are squares of squares; those of zeros are 0."""
    X, names = draw("variances", shape=(4, 3)), ["quadratic", "relu"]
    for scale in (1e-81, 1e-100):
        with pytest.raises(ValueError, match="float64's range"):
            expected_kernel(scale * X, names)
    kernel = expected_kernel(X, names)
    torch.testing.assert_close(expected_kernel(2.0**-200 * X, names), 2.0**-400 * kernel, rtol=1e-12, atol=0)
    X[1] = 0.0
    others = [0, 2, 3]
    expected = torch.zeros(4, 4, dtype=torch.float64)
    expected[np.ix_(others, others)] = kernel[np.ix_(others, others)]
    torch.testing.assert_close(expected_kernel(X, names), expected, rtol=1e-12, atol=0)


def test_activations_may_come_from_an_iterator():
    X = draw("iterator", shape=(4, 3))
    assert torch.equal(expected_kernel(X, iter(["relu", "gelu"])), expected_kernel(X, ["relu", "gelu"]))


@pytest.mark.parametrize("variance", [0.1, 1.0, 4.0, 20.0, 100.0, 784.0])
@pytest.mark.parametrize("name", sorted(SMOOTH))
def test_a_series_converges_or_raises(name, variance):
    """Against a fine grid in the plane."""
    t = torch.linspace(-9, 9, 2001, dtype=torch.float64)
    mass = torch.exp(-t.square() / 2)
    mass = mass / mass.sum()
    for function in SMOOTH[name]:
        u, v = variance**0.5 * t[:, None], variance**0.5 * (0.95 * t[:, None] + (1 - 0.95**2) ** 0.5 * t)
        expected = float((function(u) * mass[:, None] * function(v) * mass).sum())
        size = float(function(variance**0.5 * t).square() @ mass)
        try:
            series = hermite(function, variance * torch.tensor([[1, 0.95], [0.95, 1]], dtype=torch.float64))
        except ValueError:
            assert variance > 1
            assert name not in ("linear", "quadratic")
        else:
            assert float(series[0, 1]) == pytest.approx(expected, abs=1e-4 * size)


@pytest.mark.parametrize("scale", [2.0**-265, 2.0**-266, 2.0**-267, 2.0**-330])
@pytest.mark.parametrize("activations", [["quadratic"], ["linear", "quadratic"], ["quadratic", "linear"]])
def test_the_kernel_of_small_samples_is_that_of_scaled_ones(activations, scale):
    """E[φ'(u)φ'(v)] = 4 S, while E[φ(u)²φ(v)²], which decides on convergence, underflows at variances of 1e-160."""
    X = torch.tensor([[1.0, 0.0], [0.5, 1.0]], dtype=torch.float64)
    kernel, scaled = expected_kernel(scale * X, activations), expected_kernel(X, activations)
    torch.testing.assert_close(kernel / scale**2, scaled, rtol=1e-12, atol=0)


@pytest.mark.parametrize("scale", [1e-75, 1e-81, 1e-100])
def test_a_kernel_below_float64s_range_is_refused(scale):
    """The kernel of two quadratic layers is proportional to the sixth power of X, and would be zero."""
    X = torch.tensor([[1.0, 0.0], [0.5, 1.0]], dtype=torch.float64)
    with pytest.raises(ValueError, match="the kernel of X leaves float64's range: scale X"):
        expected_kernel(scale * X, ["quadratic", "quadratic"])
