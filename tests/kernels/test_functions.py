"""Kernels, AGOP, FACT and the dual solve against their definitions by automatic differentiation."""

import numpy as np
import pytest
import torch
from helpers import relative

from gramlab.kernels.functions import INNER, RADIAL, Kernel, agop, fact, gradients, predict
from gramlab.kernels.solve import SingularKernel, dual, dual_left_out
from gramlab.streams import stream


def drawn(*name, size, dtype=torch.float64):
    return torch.from_numpy(stream("test_functions", *name).normal(size=size)).to(dtype)


def plain(kernel, x, z, M):
    """One number k(x, z), as its formula reads."""
    L = kernel.bandwidth
    r2, t = (x - z) @ M @ (x - z), x @ M @ z
    return {
        "laplace": lambda: torch.exp(-torch.sqrt(r2) / L),
        "gaussian": lambda: torch.exp(-r2 / (2 * L**2)),
        "exponential": lambda: torch.exp(t / L**2),
        "polynomial": lambda: (t / L**2 + kernel.offset) ** kernel.degree,
        "quadratic": lambda: (t / L**2) ** 2,
    }[kernel.name]()


def instance(name, features, c=3, n=12, d=4):
    kernel = Kernel(name, bandwidth=2.5)
    root = drawn(name, "M", size=(d, d))
    M = {"matrix": root @ root.T / d, "diagonal": root[0].square(), "identity": None}[features]
    identity = torch.eye(d, dtype=torch.float64)
    matrix = {"matrix": M, "diagonal": torch.diag(root[0].square()), "identity": identity}[features]
    x, alpha = drawn(name, "x", size=(n, d)) + 0.5, drawn(name, "alpha", size=(n, c))
    return kernel, x, alpha, M, matrix


def jacobians(kernel, x, z, alpha, M):
    """By autograd, one sample at a time; a Laplace kernel has no gradient at its center, which is left out."""
    results = []
    for point in x:
        others = [j for j in range(len(z)) if not torch.equal(z[j], point) or kernel.name != "laplace"]
        f = lambda p: sum(plain(kernel, p, z[j], M) * alpha[j] for j in others)  # noqa: B023, E731
        results.append(torch.autograd.functional.jacobian(f, point))
    return torch.stack(results)


@pytest.mark.parametrize("features", ["matrix", "diagonal", "identity"])
@pytest.mark.parametrize("name", RADIAL + INNER)
@pytest.mark.parametrize("c", [1, 5])  # with 5 outputs in 4 dimensions the AGOP goes over pairs
def test_against_autograd(name, features, c):
    kernel, x, alpha, M, matrix = instance(name, features, c)
    K = torch.stack([torch.stack([plain(kernel, a, b, matrix) for b in x]) for a in x])
    assert torch.allclose(kernel.matrix(x, None, M), K, rtol=1e-12, atol=1e-13)
    assert torch.allclose(predict(kernel, x[:3], x, alpha, M), K[:3] @ alpha, rtol=1e-10, atol=1e-12)
    J = jacobians(kernel, x, x, alpha, matrix)
    assert torch.allclose(gradients(kernel, x, x, alpha, M), J, rtol=1e-9, atol=1e-11)
    for centered in (False, True):
        G = J - J.mean(0) if centered else J
        expected = torch.einsum("ica,icb->ab", G, G) / len(x)
        assert relative(agop(kernel, x, x, alpha, M, centered=centered), expected) < 1e-12
    assert relative(fact(kernel, x, alpha, M), torch.einsum("ica,ic,ib->ab", J, alpha, x)) < 1e-12


@pytest.mark.parametrize(("dtype", "bound"), [(torch.float64, 1e-10), (torch.float32, 1e-2)])
@pytest.mark.parametrize("d", [3, 60])  # in 60 dimensions the AGOP goes over pairs
def test_the_centred_agop_of_a_nearly_linear_function(d, dtype, bound):
    """The mean of the gradients is 1e4 times as large as what varies, whose squares would be round-off beside it."""
    x = drawn("nearly linear", d, size=(50, d), dtype=dtype)
    kernel = Kernel("gaussian", bandwidth=100.0 * (d / 3) ** 0.5)
    K = kernel.matrix(x.double()) + 1e-4 * torch.eye(50)
    alpha = torch.linalg.solve(K, x[:, :1].double()).to(dtype)
    # from the formula of the gradient, in float64
    differences = x.double()[:, None] - x.double()
    slopes = torch.exp(-differences.square().sum(-1) / (2 * kernel.bandwidth**2)) / -(kernel.bandwidth**2)
    J = torch.einsum("ij,ijd,jc->icd", slopes, differences, alpha.double())
    G = J - J.mean(0)
    assert float(G.norm()) < 1e-3 * float(J.norm())
    expected = torch.einsum("ncd,nce->de", G, G) / 50
    assert relative(agop(kernel, x, x, alpha, centered=True).double(), expected) < bound


@pytest.mark.parametrize("name", RADIAL + INNER)
def test_blocks_and_precision_change_only_round_off(name, monkeypatch):
    kernel, x, alpha, M, _ = instance(name, "matrix", c=3, n=40)
    z, weights = x[:25], alpha[:25]
    at_once = agop(kernel, x, z, weights, M), fact(kernel, x, alpha, M), predict(kernel, x, z, weights, M)
    monkeypatch.setattr("gramlab.kernels.functions.BLOCK", 16)
    monkeypatch.setattr("gramlab.kernels.functions.ROWS", 16)
    parts = agop(kernel, x, z, weights, M), fact(kernel, x, alpha, M), predict(kernel, x, z, weights, M)
    single = [t.float() for t in (x, z, weights, M)]
    for actual, expected in zip(parts, at_once, strict=True):
        assert relative(actual, expected) < 1e-13
    assert relative(agop(kernel, *single), at_once[0]) < 1e-5


@pytest.mark.parametrize("features", [None, "diagonal", "matrix"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_one_far_row_leaves_the_others_their_distances(dtype, features):
    """Against differences of rows, pair by pair: by blocks and at once; equal rows stay at distance 0."""
    x = drawn("far", size=(60, 4), dtype=dtype)
    x[0] = 1e7 if dtype == torch.float64 else 1e3
    x[1] = x[2]
    root = drawn("far root", size=(4, 4), dtype=dtype)
    M = {None: None, "diagonal": root[0].square(), "matrix": root @ root.T}[features]
    gaps = (x[:, None] - x).double()
    matrix = torch.eye(4) if M is None else torch.diag(M) if M.ndim == 1 else M
    expected = torch.einsum("ija,ab,ijb->ij", gaps, matrix.double(), gaps).sqrt().mul(-1 / 3).exp()
    kernel = Kernel("laplace", 3.0)
    for K in (kernel.matrix(x, None, M), kernel.matrix(x, x, M)):
        assert float((K - expected).abs().max()) < (0.05 if dtype == torch.float64 else 0.03)
        assert K[1, 2] == K[2, 1] == 1
    assert torch.isfinite(kernel.slopes(x, x, M)).all()


@pytest.mark.parametrize("features", [None, "diagonal"])
def test_beside_a_far_row_a_short_distance_above_round_off_is_kept(features):
    """Its square is a 2e-13 part of the rows' squared lengths, ten times the bound on round-off."""
    x = drawn("short", size=(50, 400))
    x[1] = x[0]
    x[1, :2] += 6e-6
    x[-1] *= 30
    M = torch.linspace(0.5, 1, 400, dtype=torch.float64) if features else None
    squares = (x[1] - x[0]).square()
    distance = float((squares if M is None else M * squares).sum().sqrt())
    kernel = Kernel("laplace", 1e-5)
    for K in (kernel.matrix(x, None, M), kernel.matrix(x, x, M)):
        assert -1e-5 * float(K[0, 1].log()) == pytest.approx(distance, rel=0.05)


def test_a_far_origin_costs_no_digits():
    kernel, x, alpha, M, _ = instance("gaussian", "matrix", c=1)
    near, far = agop(kernel, x, x, alpha, M), agop(kernel, x + 1e4, x + 1e4, alpha, M)
    assert relative(far, near) < 1e-10


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_dual_weights_solve_their_system(dtype):
    x, y = drawn("dual", "x", size=(50, 4), dtype=dtype), drawn("dual", "y", size=(50, 2), dtype=dtype)
    K = Kernel("laplace").matrix(x)
    alpha, used = dual(lambda: Kernel("laplace").matrix(x), y, 0.1)
    assert used == 0.1
    assert relative(K @ alpha + 0.1 * alpha, y) < 50 * torch.finfo(dtype).eps


def test_left_out_samples_against_machines_fitted_without_them():
    x, y = drawn("left out", "x", size=(600, 4)), drawn("left out", "y", size=(600, 2))
    K = Kernel("gaussian").matrix(x)
    alpha, _, errors = dual_left_out(lambda: K.clone(), y, 0.01)
    assert torch.equal(alpha, dual(lambda: K.clone(), y, 0.01)[0])
    for i in (0, 299, 599):
        others = [j for j in range(600) if j != i]
        without = torch.linalg.solve(K[others][:, others] + 0.01 * torch.eye(599, dtype=K.dtype), y[others])
        assert torch.allclose(errors[i], y[i] - K[i, others] @ without, rtol=1e-9, atol=1e-11)
    some = dual_left_out(lambda: K.clone(), y, 0.01, samples=210)
    assert torch.equal(some[0], alpha)
    assert torch.allclose(some[2], errors[390:], rtol=1e-9, atol=1e-11)


def test_a_singular_kernel_warns_and_is_solved():
    x = drawn("singular", size=(20, 3))
    x = torch.cat([x, x])
    y = x[:, :1].sin()
    K = Kernel("laplace").matrix(x)
    with pytest.warns(SingularKernel, match="singular at ridge 0"):
        alpha, used = dual(lambda: K.clone(), y)
    assert 0 < used < 1e-7
    assert relative(alpha, torch.linalg.pinv(K) @ y) < 1e-6  # the least-squares solution of least norm
    with pytest.raises(ValueError, match="ridge"):
        dual(lambda: K.clone(), y, -1.0)


@pytest.mark.parametrize("bad", [{"bandwidth": 0}, {"bandwidth": -1.0}, {"bandwidth": float("nan")}, {"degree": 0},
                                 {"degree": 1.5}, {"offset": -1.0}, {"name": "cauchy"}])  # fmt: skip
def test_bad_kernel_parameters_are_refused(bad):
    with pytest.raises(ValueError, match=next(iter(bad)).replace("name", "kernel")):
        Kernel(**bad)


def test_a_kernel_matrix_that_is_not_finite_or_zero_is_refused():
    y = torch.ones(3, 1, dtype=torch.float64)
    for value, message in ((0.0, "zero"), (float("inf"), "not finite"), (float("nan"), "not finite")):
        with pytest.raises(ArithmeticError, match=message):
            dual(lambda: torch.full((3, 3), value, dtype=torch.float64), y)  # noqa: B023
    K = torch.eye(3, dtype=torch.float64)  # as if distances had overflowed: no ridge helps
    K[0, 2] = K[2, 0] = float("nan")
    with pytest.raises(ArithmeticError, match="not finite"):
        dual(lambda: K.clone(), y)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_agop_over_pairs_at_its_own_samples_in_many_dimensions(dtype):
    # a distance of a row to itself that is round-off instead of 0 would be a slope of 1e8
    for draw in range(20):
        x = torch.nn.functional.normalize(drawn("own", draw, size=(60, 256)).relu()).to(dtype)
        alpha = drawn("own alpha", draw, size=(60, 10)).to(dtype)
        J = gradients(Kernel("laplace", 2.0), x.double(), x.double(), alpha.double())
        expected = torch.einsum("ica,icb->ab", J, J) / len(x)
        assert relative(agop(Kernel("laplace", 2.0), x, x, alpha).double(), expected) < 1e4 * torch.finfo(dtype).eps


def test_agop_where_the_dual_weights_cancel():
    x, alpha = drawn("cancel", size=(40, 12)), drawn("cancel alpha", size=(40, 10))
    x[1] = x[0] + 1e-8 * x[1]
    alpha[0] += 1e9
    alpha[1] -= 1e9
    kernel = Kernel("gaussian", 3.0)
    J = gradients(kernel, x, x, alpha)
    assert relative(agop(kernel, x, x, alpha), torch.einsum("ica,icb->ab", J, J) / len(x)) < 1e-6  # by pairs: 7


@pytest.mark.parametrize("outputs", [3, 5])
def test_agop_of_few_outputs_keeps_the_digits_that_sums_over_pairs_lose(outputs):
    """A Jacobian has at most 40 entries, the number of samples. Its sums cancel to 1e-4, and squares would to 1e-8."""
    x, alpha = drawn("few", size=(40, 8)), drawn("few alpha", size=(40, outputs))
    x[1] = x[0] + 1e-4 * x[1]
    alpha[0] += 1e4
    alpha[1] -= 1e4
    X, A = (t.numpy().astype(np.longdouble) for t in (x, alpha))
    differences = X[:, None] - X
    slopes = np.exp(-(differences**2).sum(-1) / 18) / -9
    J = np.einsum("ij,ijd,jc->icd", slopes, differences, A)
    expected = torch.from_numpy((np.einsum("ica,icb->ab", J, J) / 40).astype(float))
    assert relative(agop(Kernel("gaussian", 3.0), x, x, alpha), expected) < 1e-11


@pytest.mark.parametrize("outputs", [1, 3])  # by Jacobians and over pairs
@pytest.mark.parametrize("name", ["laplace", "gaussian", "polynomial"])
def test_features_that_m_shrinks_leave_no_round_off_in_the_rest(name, outputs):
    """The second AGOP and FACT of a machine with two features out of 200, in float32 against float64."""
    kernel, x = Kernel(name, 10.0), drawn("shrunk", size=(400, 200)).float().double()
    y = torch.cat([x[:, :1] * x[:, 1:2], x[:, :2].sin()], 1)[:, :outputs]
    M = agop(kernel, x, x, dual(lambda: kernel.matrix(x), y, 1e-2)[0])
    M = (M / M.max()).float().double()
    alpha = dual(lambda: kernel.matrix(x, None, M), y, 1e-2)[0].float().double()
    single = x.float(), x.float(), alpha.float(), M.float()
    assert relative(agop(kernel, *single).double(), agop(kernel, x, x, alpha, M)) < 8e-5
    assert relative(fact(kernel, *single[1:]).double(), fact(kernel, x, alpha, M)) < 8e-5
