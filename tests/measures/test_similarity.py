"""Cosine, Pearson and psd powers against numpy and scipy, and what is undefined."""

import warnings
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import fractional_matrix_power
from scipy.stats import pearsonr

import gramlab
from gramlab.streams import stream

QUICK = settings(derandomize=True, deadline=None, database=None, max_examples=50)


def psd(d, rank, seed, scale=1.0):
    A = np.random.default_rng(seed).standard_normal((d, rank))
    return scale * A @ A.T


@QUICK
@given(st.integers(2, 6), st.integers(0, 99), st.sampled_from([1e-160, 1.0, 1e160]))
def test_cosine_and_pearson(d, seed, scale):
    A, B = psd(d, d, seed), psd(d, d, seed + 1000)
    assert gramlab.cosine(scale * A, B) == pytest.approx(np.trace(A.T @ B) / np.sqrt(np.sum(A * A) * np.sum(B * B)))
    assert gramlab.pearson(scale * A, B) == pytest.approx(pearsonr(A.ravel(), B.ravel()).statistic)
    diagonals = np.diag(A), np.diag(B)
    assert gramlab.pearson(A, B, diagonal=True) == pytest.approx(pearsonr(*diagonals).statistic, abs=1e-12)
    assert gramlab.cosine(A, A) == pytest.approx(1.0)
    assert gramlab.pearson(torch.tensor(A), A) == pytest.approx(1.0)
    assert gramlab.cosine(A, -A) == pytest.approx(-1.0)


@pytest.mark.parametrize("far", [1e3, 1e6, -1e9])
def test_pearson_far_from_zero(far):
    """Exact for integers: no digit of the spread is lost to the mean."""
    A, B = np.random.default_rng(0).integers(-9, 9, (2, 40, 40)).astype(float)
    assert gramlab.pearson(A + far, B) == pytest.approx(gramlab.pearson(A, B), rel=1e-13)
    assert gramlab.pearson(A, B - far) == pytest.approx(pearsonr(A.ravel(), B.ravel()).statistic, rel=1e-13)


@pytest.mark.parametrize(("of_zeros", "name"), [((0, 1), "first"), ((1, 0), "second"), ((0, 0), "first")])
def test_the_error_names_the_array_that_is_zero(of_zeros, name):
    u, v = (np.full(4, float(value)) for value in of_zeros)
    with pytest.raises(gramlab.Undefined, match=f"the {name} array is zero"):
        gramlab.cosine(u, v)


@pytest.mark.parametrize("size", [3, 400])
@pytest.mark.parametrize("level", [0.1, 1e150, 1e-150])
def test_one_entry_apart_from_a_constant_is_a_spread_and_none_is_not(size, level):
    """In exact fractions: a constant but for one entry correlates with B as that entry's indicator does."""
    B = np.random.default_rng(size).standard_normal(size)
    constant = np.full(size, level)
    with pytest.raises(gramlab.Undefined, match="constant"):
        gramlab.pearson(constant, B)
    with pytest.raises(gramlab.Undefined, match="constant"):
        gramlab.pearson(B, constant)
    for nudge in (1e-3, 1e-9):
        nearly = constant.copy()
        nearly[1] *= 1 + nudge
        exact = [Fraction(value) for value in B]
        mean = sum(exact) / size
        spread = sum((value - mean) ** 2 for value in exact)
        indicator = Fraction(1) - Fraction(1, size)  # its sum of squares around its mean
        expected = float((exact[1] - mean) / Fraction(float(spread * indicator) ** 0.5))
        assert gramlab.pearson(nearly, B) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(("d", "rank"), [(2, 2), (5, 1), (8, 8)])
def test_the_cosines_null_against_random_eigenvectors(d, rank):
    A, B = torch.tensor(psd(d, rank, 0)), torch.tensor(psd(d, d, 1, 1e3))
    mean, deviation = gramlab.cosine_null(A, B)
    random, draws = np.random.default_rng(2), 4000
    turned = [gramlab.random_eigenvectors(B, random) for _ in range(draws)]
    torch.testing.assert_close(torch.linalg.eigvalsh(turned[0]), torch.linalg.eigvalsh(B))
    cosines = np.array([gramlab.cosine(A, matrix) for matrix in turned])
    assert abs(cosines.mean() - mean) < 4 * deviation / np.sqrt(draws)
    assert cosines.std() == pytest.approx(deviation, rel=0.06)


def test_the_cosines_null_where_nothing_can_turn():
    assert gramlab.cosine_null([[2.0]], [[3.0]]) == (1.0, 0.0)
    assert gramlab.cosine_null(np.eye(4), psd(4, 2, 0))[1] == pytest.approx(0, abs=1e-15)
    with pytest.raises(ValueError, match="symmetric"):
        gramlab.cosine_null(np.triu(np.ones((3, 3))), np.eye(3))
    with pytest.raises(ValueError, match="symmetric"):
        gramlab.cosine_null(np.ones((2, 3)), np.ones((2, 3)))
    with pytest.raises(ValueError, match="one shape"):
        gramlab.cosine_null(np.eye(2), np.eye(3))


@QUICK
@given(st.integers(1, 6), st.integers(0, 99), st.sampled_from([0.25, 0.5, 1.0, 2.0, -0.5, -1.0]))
def test_powers(d, seed, s):
    A = psd(d, d + 2, seed)
    expected = np.real(fractional_matrix_power(A, s))
    np.testing.assert_allclose(gramlab.psd_power(A, s).numpy(), expected, rtol=0, atol=1e-8 * np.abs(expected).max())


def test_powers_of_a_singular_matrix():
    A = psd(5, 2, 0)
    root = gramlab.psd_power(A, 0.5)
    np.testing.assert_allclose(root @ root, A, atol=1e-12)
    np.testing.assert_allclose(gramlab.psd_power(A, -1.0), np.linalg.pinv(A, rcond=1e-10), atol=1e-10)
    projection = gramlab.psd_power(A, 0.0)
    np.testing.assert_allclose(projection.numpy() @ A, A, atol=1e-12)
    assert float(torch.trace(projection)) == pytest.approx(2.0)
    assert torch.equal(gramlab.psd_power(np.zeros((3, 3)), 0.5), torch.zeros(3, 3, dtype=torch.float64))


def test_powers_of_a_sum_of_products_in_float32():
    """Round-off over 8192 rows makes eigenvalues negative by about 1e-6 of the largest; more is an error."""
    factor = torch.from_numpy(stream("test_powers", "float32").normal(size=(8192, 4)))
    rows = (factor @ torch.ones(4, 6, dtype=torch.float64)).float()
    A = (rows.T @ rows).double()
    for size in (0.0, 5e-6):
        below = A - size * float(torch.linalg.eigvalsh(A)[-1]) * torch.eye(6, dtype=torch.float64)
        root = gramlab.psd_power(below, 0.5)
        assert float((root @ root - below).norm() / below.norm()) < 3 * (size + 1e-6)
    with pytest.raises(gramlab.Undefined, match="not positive semi-definite"):
        gramlab.psd_power(A - 2e-5 * float(torch.linalg.eigvalsh(A)[-1]) * torch.eye(6, dtype=torch.float64), 0.5)


def test_powers_of_a_stack():
    stack = torch.stack([torch.tensor(psd(4, 4, seed)) for seed in range(3)])
    for matrix, power in zip(stack, gramlab.psd_power(stack, 0.5), strict=True):
        torch.testing.assert_close(gramlab.psd_power(matrix, 0.5), power)


def test_inverse_powers_leave_the_round_off_of_float32_out():
    """Two outputs of a linear network span two directions: float32 products add small eigenvalues of both signs."""
    torch.manual_seed(0)
    model, x = torch.nn.Sequential(torch.nn.Linear(10, 30), torch.nn.Linear(30, 2)), torch.randn(500, 10)
    J = (model[1].weight.double() @ model[0].weight.double()).detach()  # the same of all samples
    agop = gramlab.measure(model, x)["0"].agop
    assert float(torch.linalg.eigvalsh(agop)[0]) < 0
    for s in (0.0, -0.5, -1.0):
        _, sigma, Vt = np.linalg.svd(J.numpy(), full_matrices=False)
        expected = (Vt.T * (sigma**2) ** s) @ Vt
        for matrix in (agop, agop.float(), agop.float().numpy()):
            np.testing.assert_allclose(gramlab.psd_power(matrix, s), expected, atol=1e-4 * np.abs(expected).max())


@pytest.mark.parametrize("s", [0.0, -0.5, -1.0])
def test_inverse_powers_of_exact_small_eigenvalues(s):
    """A matrix in float64 keeps them with a warning; ``rtol`` decides and silences it."""
    V = np.linalg.qr(stream("test_powers", "directions").normal(size=(3, 3)))[0]
    values = np.array([1.0, 0.1, 1e-7])
    A = (V * values) @ V.T
    with pytest.warns(UserWarning, match=r"keeps 1 eigenvalue below 1e-05 .* give rtol=1e-05"):
        kept = gramlab.psd_power(A, s)
    np.testing.assert_allclose(kept, (V * values**s) @ V.T, rtol=1e-6, atol=1e-6 * 1e-7**s)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.equal(gramlab.psd_power(A, s, rtol=1e-15), kept)
        without = gramlab.psd_power(A, s, rtol=1e-5).numpy()
        gramlab.psd_power(A, 0.5)
    np.testing.assert_allclose(without, (V[:, :2] * values[:2] ** s) @ V[:, :2].T, atol=1e-6)


def test_each_matrix_of_a_stack_has_its_own_cutoff():
    exact, coarse = np.diag([1.0, 1e-6, 0.0]), np.diag([1.0, 1e-6, -1e-7])
    with pytest.warns(UserWarning, match="keeps 1 eigenvalue"):
        powers = gramlab.psd_power(np.stack([exact, coarse]), -1.0)
    np.testing.assert_allclose(powers, [np.diag([1.0, 1e6, 0.0]), np.diag([1.0, 0.0, 0.0])], rtol=1e-12)


def test_powers_of_nothing():
    assert gramlab.psd_power(np.zeros((0, 0)), 0.5).shape == (0, 0)
    assert gramlab.psd_power(np.zeros((0, 3, 3)), -0.5).shape == (0, 3, 3)


def test_arrays_in_any_memory_order():
    A, B = (np.random.default_rng(seed).standard_normal((4, 6)) for seed in (0, 1))
    expected = (A * B).sum() / np.linalg.norm(A) / np.linalg.norm(B)
    turned = np.flip(np.flip(A).copy()), np.asfortranarray(A), A.astype(">f8"), np.repeat(A, 2, 0)[::2]
    for form in (*turned, np.flip(np.flip(A).astype(">f8"))):
        assert gramlab.cosine(form, B) == pytest.approx(expected, rel=1e-14)


UNDEFINED = {
    "cosine with zero": lambda: gramlab.cosine(np.eye(2), np.zeros((2, 2))),
    "cosine of zero": lambda: gramlab.cosine(np.zeros((2, 2)), np.eye(2)),
    "cosine of nothing": lambda: gramlab.cosine(np.zeros((0, 0)), np.zeros((0, 0))),
    "null of zero": lambda: gramlab.cosine_null(np.eye(2), np.zeros((2, 2))),
    "pearson of a constant": lambda: gramlab.pearson(np.ones((2, 2)), np.eye(2)),
    "pearson of the identity's diagonal": lambda: gramlab.pearson(np.eye(3), psd(3, 3, 0), diagonal=True),
    "pearson of a number": lambda: gramlab.pearson([3.0], [4.0]),
    "power of an indefinite matrix": lambda: gramlab.psd_power(np.diag([1.0, -0.1]), 0.5),
}


@pytest.mark.parametrize("name", UNDEFINED)
def test_undefined_values_raise(name):
    with pytest.raises(gramlab.Undefined):
        UNDEFINED[name]()


BAD = {
    "shapes": (lambda: gramlab.cosine(np.eye(2), np.eye(3)), r"\(2, 2\) and \(3, 3\)"),
    "nan": (lambda: gramlab.pearson([[1.0, np.nan]], [[1.0, 2.0]]), r"a holds a NaN .* \(0, 1\)"),
    "complex": (lambda: gramlab.cosine([1j], [1.0]), "a is complex"),
    "no diagonal": (lambda: gramlab.cosine([1.0], [1.0], diagonal=True), "no diagonal"),
    "not square": (lambda: gramlab.psd_power(np.ones((2, 3)), 1), r"shape \(2, 3\)"),
    "not symmetric": (lambda: gramlab.psd_power([[1.0, 1.0], [0.0, 1.0]], 1), "not symmetric"),
    "not symmetric beside a large matrix": (
        lambda: gramlab.psd_power([[[1e8, 0.0], [0.0, 1e8]], [[1.0, 0.5], [0.0, 1.0]]], 1), "not symmetric",
    ),
    "null of what is not symmetric": (
        lambda: gramlab.cosine_null(np.eye(2), [[1.0, 2.0], [0.0, 1.0]]), "b is not symmetric: b - b.T has 1.2 of",
    ),
    "null of no square": (lambda: gramlab.cosine_null(np.ones((2, 3)), np.eye(2)), r"a must be .* not .* \(2, 3\)"),
    "eigenvectors of what is not symmetric": (
        lambda: gramlab.random_eigenvectors([[1.0, 2.0], [0.0, 1.0]], np.random.default_rng(0)), "a is not symmetric",
    ),
    "no power": (lambda: gramlab.psd_power(np.eye(2), "a"), "power must be a finite number, not 'a'"),
    "complex power": (lambda: gramlab.psd_power(np.eye(2), 1j), "power must be a finite number, not 1j"),
    "tolerance": (lambda: gramlab.psd_power(np.eye(2), 1, rtol=1.0), "rtol must be .* below 1, not 1.0"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_arrays_are_refused(name):
    act, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        act()


def test_random_eigenvectors_are_uniform_on_the_sphere():
    """The mean of v v^T over eigenvectors v is I/3; without the signs of R, LAPACK's QR leans by 0.02."""
    random, draws = np.random.default_rng(5), 8000
    line = np.full((3, 3), 1 / 3)  # projects on (1, 1, 1)
    rotated = np.array([gramlab.random_eigenvectors(line, random).numpy() for _ in range(draws)])
    errors = rotated.std(0) / draws**0.5
    assert np.abs((rotated.mean(0) - np.eye(3) / 3) / errors).max() < 4
