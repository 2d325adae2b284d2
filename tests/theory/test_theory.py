"""Paper B's predictions against brute force: large random matrices, automatic differentiation, sampled networks."""

import itertools
import math
from fractions import Fraction
from functools import reduce

import numpy as np
import pytest
import torch

import gramlab
from gramlab.streams import stream
from gramlab.theory import (
    Traces,
    centered_nfa,
    combined,
    data_moments,
    expected_derivatives,
    expected_kernel,
    first_order,
    gaussian_moments,
    mean_term,
    mixed_moment,
    moments,
    noncrossing,
    traces,
)


def draw(*name, shape, scale=1.0):
    return torch.from_numpy(stream("test_theory", *name).normal(size=shape)) * scale


def weights(name, k, d):
    """(a, W) of the quadratic network, and its R."""
    a, W = draw(name, "a", shape=k), draw(name, "W", shape=(k, d), scale=k**-0.5)
    scaled = a[:, None] * W
    return a, W, scaled.T @ scaled


def crosses(partition) -> bool:
    return any(
        a < b < c < d
        for left, right in itertools.permutations(partition, 2)
        for a, c in itertools.combinations(left, 2)
        for b, d in itertools.combinations(right, 2)
    )


@pytest.mark.parametrize("n", range(1, 7))
def test_noncrossing_partitions(n):
    partitions = {frozenset(partition) for partition in noncrossing(n)}
    assert len(partitions) == len(noncrossing(n)) == math.comb(2 * n, n) // (n + 1)
    for partition in partitions:
        assert sorted(itertools.chain(*partition)) == list(range(n))
        assert not crosses(partition)


def test_a_family_free_of_numbers_has_its_own_moments():
    powers = (0.5, 2.0, -1.0, 7.0)
    for n in range(1, 5):
        assert mixed_moment(n, lambda block: powers[len(block) - 1], lambda block: 1.0) == pytest.approx(powers[n - 1])


def test_mixed_moments_of_large_matrices():
    """Words of different letters on both sides, against the trace of one large random realization."""
    d = 400
    wishart = [g.T @ g / d for g in (draw("wishart", i, shape=(d, d)) for i in range(2))]
    spectrum = torch.linspace(-1, 2, d, dtype=torch.float64)
    right = [torch.diag(diagonal) for diagonal in (spectrum, spectrum.square(), spectrum.sin(), spectrum.exp())]
    left = [wishart[0], wishart[1], wishart[0] @ wishart[0], wishart[0] @ wishart[1] + wishart[1] @ wishart[0]]

    def moment(family):
        return lambda block: float(reduce(torch.matmul, [family[i] for i in block]).trace()) / d

    for n in (1, 2, 3, 4):
        word = torch.eye(d, dtype=torch.float64)
        for i in range(n):
            word = word @ left[i] @ right[i]
        assert float(word.trace()) / d == pytest.approx(mixed_moment(n, moment(left), moment(right)), rel=0.06)


def expanded(A, B, r):
    """(20), (22) and (28) as polynomials of centred moments, with (28)'s last term as it must be."""
    tr = lambda m: float(m.trace()) / len(m)  # noqa: E731
    a, b = tr(A), tr(B)
    I = torch.eye(len(A), dtype=torch.float64)  # noqa: E741
    P, Q = A - a * I, B - b * I
    r1, r2, r3, r4 = r
    numerator = a * a * b * r3 + 2 * a * r1 * r2 * tr(P @ Q) + b * r1 * r2 * tr(P @ P) + r1**3 * tr(P @ P @ Q)
    nfm = tr(A @ A) * r1**2 + a * a * r2 - a * a * r1**2
    agop = (
        r1**4 * tr(P @ Q @ P @ Q) + 2 * r1**2 * (r2 - r1**2) * tr(P @ Q) ** 2
        + 2 * r1**2 * r2 * (b * tr(P @ P @ Q) + a * tr(P @ Q @ Q))
        + 4 * a * b * r3 * r1 * tr(P @ Q) + a * a * b * b * r4 + (a * a * tr(Q @ Q) + b * b * tr(P @ P)) * r2**2
    )  # fmt: skip
    return [numerator, nfm, agop]


def test_the_papers_formulas_are_cases_of_the_general_routine():
    for instance in range(5):
        X, y = draw(instance, "X", shape=(9, 6)), draw(instance, "y", shape=9)
        r = moments(weights(instance, 7, 6)[2])
        M = X.T @ torch.diag(y) @ X
        assert list(traces(X, y, r)) == pytest.approx(expanded(M @ M, X.T @ X, r), rel=1e-10)


@pytest.mark.parametrize(("n", "d", "k"), [(500, 500, 500), (800, 400, 200), (300, 500, 800)])
def test_traces_of_one_network(n, d, k):
    """One sampled network of these sizes, whose Ẇ and K come from automatic differentiation."""
    X = draw(n, d, "X", shape=(n, d)) * torch.linspace(0.5, 1.5, d, dtype=torch.float64)
    y = draw(n, "y", shape=n).sign() + 0.5
    a, W, R = weights(f"{n}:{d}:{k}", k, d)
    h = (X @ W.T).requires_grad_()
    (J,) = torch.autograd.grad((0.5 * h.square() @ a).sum(), h)
    step = J.T @ (y[:, None] * X)  # Ẇ for L = ½ Σ (f − y)² at f = 0
    nfm, agop = step.T @ step, step.T @ (J.T @ J) @ step
    seen = Traces(float((nfm * agop).sum()) / d, float((nfm * nfm).sum()) / d, float((agop * agop).sum()) / d)
    assert list(traces(X, y, moments(R))) == pytest.approx(list(seen), rel=0.25)  # its spread over networks is 8 %
    assert centered_nfa(X, y, moments(R)) == pytest.approx(seen.correlation, abs=0.02)


def test_the_prediction_does_not_depend_on_units():
    X, y, r = draw("X", shape=(20, 12)), draw("y", shape=(20, 1)), gaussian_moments(12, 30)
    expected = centered_nfa(X, y, r)
    assert 0 < expected < 1
    assert centered_nfa(3 * X, -5 * y, [0.1**m * moment for m, moment in enumerate(r, 1)]) == pytest.approx(expected)
    assert gramlab.theory.centered_nfa is centered_nfa


@pytest.mark.parametrize(("d", "k"), [(60, 90), (1, 1), (1, 5), (5, 1)])
def test_moments_of_gaussian_weights_in_closed_form(d, k):
    c = d / k
    assert gaussian_moments(d, k) == pytest.approx((1, 1 + 3 * c, 1 + 9 * c + 15 * c**2,
                                                    1 + 18 * c + 78 * c**2 + 105 * c**3))  # fmt: skip


def test_moments_of_gaussian_weights():
    d, k, draws = 60, 90, 400
    means = np.mean([moments(weights(f"moments {i}", k, d)[2]) for i in range(draws)], axis=0)
    c = d / k
    assert means[:2] == pytest.approx([1, 1 + 3 * c + 5 / k], rel=0.03)  # the second is exact at finite sizes
    assert means[2:] == pytest.approx(gaussian_moments(d, k)[2:], rel=0.25)


@pytest.mark.parametrize(("k", "d", "n"), [(1, 2, 3), (2, 2, 3), (3, 2, 4), (2, 3, 4)])
def test_expected_derivatives_at_finite_width(k, d, n):
    """By quadrature over all weights with three nodes each, exact for polynomials of degree up to 5 in each weight."""
    X, y = draw(k, d, "data", shape=(n, d)), draw(k, d, "labels", shape=n)
    nodes = torch.tensor([-math.sqrt(3), 0, math.sqrt(3)], dtype=torch.float64)
    grid = torch.cartesian_prod(*[torch.arange(3)] * (k + k * d))
    chance = torch.tensor([1 / 6, 2 / 3, 1 / 6], dtype=torch.float64)[grid].prod(1)
    a, W = nodes[grid[:, :k]], nodes[grid[:, k:]].reshape(-1, k, d) / k**0.5
    step = torch.einsum("bk,bkd,nd,n,ne->bke", a, W, X, y, X)
    carried = torch.einsum("nd,bkd,bk,bke->bne", X, W, a, step)
    nfm, agop = expected_derivatives(X, y, k)
    assert torch.allclose(torch.einsum("b,bkd,bke->de", chance, step, step), nfm, rtol=1e-10, atol=0)
    assert torch.allclose(torch.einsum("b,bnd,bne->de", chance, carried, carried), agop, rtol=1e-10, atol=0)
    M, B = X.T @ (y[:, None] * X), X.T @ X
    printed = 3 * B.trace() * M @ M + 6 * M @ B @ M
    assert torch.allclose(agop, printed) == (k == 1)


def test_the_first_order_term_is_the_limit_of_wide_networks():
    X, y = draw("wide", shape=(12, 8)), draw("wide y", shape=12)
    nfm, agop = expected_derivatives(X, y, None)
    limit = float((nfm * agop).sum() / nfm.norm() / agop.norm())
    assert mean_term(X, y, 10**9) == pytest.approx(limit, rel=1e-6)
    kernel = expected_kernel(X, ["quadratic"])
    assert first_order(X, y, kernel) == pytest.approx(limit, rel=1e-9)
    assert first_order(X, y, kernel.float()) == pytest.approx(limit, rel=1e-6)
    assert centered_nfa(X, y, (1, 1, 1, 1)) == pytest.approx(limit, rel=1e-9)  # R = 1


def cosine_with_square(X, y, kernel) -> float:
    """ρ(XᵀY𝒦YX, XᵀY𝒦²YX) by numpy."""
    X, Y, kernel = np.asarray(X, np.float64), np.diag(y), np.asarray(kernel, np.float64)
    nfm, agop = (X.T @ Y @ matrix @ Y @ X for matrix in (kernel, kernel @ kernel))
    return float((nfm * agop).sum() / np.linalg.norm(nfm) / np.linalg.norm(agop))


def test_the_first_order_prediction_does_not_depend_on_units():
    X, y = draw("first order", shape=(12, 7)), draw("first order y", shape=12)
    kernel = expected_kernel(X, ["quadratic", "relu"])
    expected = cosine_with_square(X, y, kernel)
    assert 0.1 < expected < 0.999
    for size in (1e-290, 1e-150, 1e-80, 1e50, 1e80, 1e150, 1e290):
        for arguments in ((size * X, y, kernel), (X, size * y, kernel), (X, y, size * kernel)):
            assert first_order(*arguments) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("form", [torch.Tensor.float, torch.Tensor.numpy, torch.Tensor.tolist])
def test_a_kernel_may_be_any_array(form):
    X, y = draw("forms", shape=(6, 4)), draw("forms y", shape=6)
    kernel = form(expected_kernel(X, ["relu"]))
    assert first_order(X.float(), y, kernel) == pytest.approx(cosine_with_square(X.float(), y, kernel), rel=1e-12)


def test_a_kernel_with_a_nan_is_refused():
    X, y = draw("nan", shape=(6, 4)), draw("nan y", shape=6)
    for wrong in (float("nan"), float("inf")):
        kernel = torch.eye(6, dtype=torch.float64)
        kernel[2, 3] = wrong
        with pytest.raises(ValueError, match="the kernel holds a NaN or an infinity"):
            first_order(X, y, kernel)


def test_bad_input():
    X, y = draw("bad", shape=(5, 4)), draw("bad y", shape=4)
    with pytest.raises(ValueError, match=r"X must be \(n, d\) and y \(n,\), not \(5, 4\) and \(4,\)"):
        centered_nfa(X, y, (1, 1, 1, 1))
    with pytest.raises(ValueError, match="four moments"):
        centered_nfa(X, X[:, 0], (1, 1))
    with pytest.raises(ValueError, match="undefined"):
        centered_nfa(X, torch.zeros(5), (1, 1, 1, 1))
    with pytest.raises(ValueError, match="undefined"):
        first_order(X, torch.zeros(5), torch.eye(5).double())
    y = X[:, 0]
    eye = torch.eye(5, dtype=torch.float64)
    for predict in (lambda X: centered_nfa(X, y, (1, 1, 1, 1)), lambda X: mean_term(X, y, 3),
               lambda X: first_order(X, y, eye), lambda X: expected_kernel(X, ["relu"])):  # fmt: skip
        with pytest.raises(ValueError, match="X holds a NaN"):
            predict(X.index_fill(0, torch.tensor(1), torch.nan))
    with pytest.raises(ValueError, match="X must be"):
        first_order(X, y[:1], torch.eye(5).double())
    with pytest.raises(ValueError, match="kernel holds a NaN"):
        first_order(X, y, eye.index_fill(0, torch.tensor(1), torch.nan))
    with pytest.raises(ValueError, match=r"a kernel \(5, 5\)"):
        first_order(X, y, torch.eye(4).double())
    with pytest.raises(ValueError, match="undefined"):
        mean_term(X, 0 * y, 3)
    for width in (0, -3):
        with pytest.raises(ValueError, match="width must be at least 1"):
            mean_term(X, y, width)


@pytest.mark.parametrize("weight_moments", [(1, 0.5, 1, 1), (1, 0, 0, 0), (1, 2, 3, 20), (1, 2, 5, 12), (-1, 1, -1, 1),
                                   (1, 2, 6, float("nan")), (1, 1, 1, 0.5), (1, 1, 2, 1), (1, 2, 6, 19)])  # fmt: skip
def test_moments_that_no_positive_matrix_has_are_refused(weight_moments):
    with pytest.raises(ValueError, match="no matrix R ≥ 0 has the moments"):
        centered_nfa(draw("moments", shape=(5, 4)), draw("moments y", shape=5), weight_moments)


@pytest.mark.parametrize(
    ("minor", "offsets"), [(0, (-14, -20, -20)), (1, (10, 6, 12)), (2, (10, 12, 6)), (3, (10, 18, 12))]
)
def test_moments_may_miss_a_condition_by_a_billionth_of_it(minor, offsets):
    """At the moments of R = 1 Stieltjes' minors are 0. The offsets, in 1e-10, make a single minor -1.4e-9."""
    for unit, is_refused in ((Fraction(1, 10**10), True), (Fraction(1, 2 * 10**10), False)):
        m2, m3, m4 = (1 + offset * unit for offset in offsets)
        minors = [m2 - 1, m3 - m2**2, m4 - m2**2, m2 * m4 - m3**2, m2 * m4 + 2 * m2 * m3 - m2**3 - m3**2 - m4]
        missed = [index for index, value in enumerate(minors) if value < -Fraction(1, 10**9)]
        assert missed == ([minor] if is_refused else [])
        given = (1.0, float(m2), float(m3), float(m4))
        if is_refused:
            with pytest.raises(ValueError, match="no matrix R ≥ 0 has the moments"):
                centered_nfa(torch.eye(2), torch.ones(2), given)
        else:
            assert centered_nfa(torch.eye(2), torch.ones(2), given) == pytest.approx(1.0, abs=1e-8)


def test_moments_of_positive_matrices_are_accepted():
    """Also of few eigenvalues, where the inequalities are equalities."""
    X, y = draw("spectra", shape=(9, 6)), draw("spectra y", shape=9)
    for spectrum in ([1.0] * 6, [7.0, 0, 0, 0, 0, 0], [3.0, 3, 3, 0, 0, 0], [1e-6, 1, 2, 3, 4, 1e6]):
        assert 0 < centered_nfa(X, y, moments(torch.diag(torch.tensor(spectrum, dtype=torch.float64)))) <= 1 + 1e-12


def test_the_prediction_does_not_change_with_the_units_of_the_data():
    X, y = draw("units", shape=(20, 12)), draw("units y", shape=20)
    r = gaussian_moments(12, 30)
    expected = centered_nfa(X, y, r)
    for size in (1e-150, 1e-17, 1e15, 1e150):
        assert centered_nfa(size * X, y, r) == pytest.approx(expected, rel=1e-12)
        assert centered_nfa(X, size * y, r) == pytest.approx(expected, rel=1e-12)
        assert mean_term(size * X, y, 30) == pytest.approx(mean_term(X, y, 30), rel=1e-12)
    assert centered_nfa(X, y, [1e9**power * m for power, m in enumerate(r, 1)]) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("size", [1e-200, 1e-160, 1.0, 1e160, 1e300])
def test_the_correlation_of_traces_in_any_unit(size):
    """Their product leaves float64's range before they do: 3 / √(4 · 9)."""
    assert Traces(numerator=3 * size, nfm=4 * size, agop=9 * size).correlation == pytest.approx(0.5, rel=1e-14)


@pytest.mark.parametrize("size", [1e-15, 1e15])
def test_traces_of_data_in_large_and_small_units(size):
    X, y, r = draw("traces", shape=(9, 6)), draw("traces y", shape=9), gaussian_moments(6, 10)
    seen, expected = traces(size * X, y, r), traces(X, y, r)
    for name, power in (("numerator", 10), ("nfm", 8), ("agop", 12)):
        assert math.log10(getattr(seen, name) / getattr(expected, name)) == pytest.approx(power * math.log10(size))
    assert seen.correlation == pytest.approx(expected.correlation, rel=1e-12)


@pytest.mark.parametrize("size", [1e-170, 1e-40, 1e40, 1e150])
def test_traces_that_leave_the_range_of_numbers_are_refused(size):
    X, y, r = draw("range", shape=(9, 6)), draw("range y", shape=9), gaussian_moments(6, 10)
    for act in (lambda: data_moments(size * X, y), lambda: traces(size * X, y, r)):
        with pytest.raises(ValueError, match="leave float64's range: scale X or y"):
            act()
    if not 1e-100 < size < 1e100:
        with pytest.raises(ValueError, match="leave float64's range: scale X or y"):
            expected_derivatives(size * X, y, 3)
    many = [m * 1e70**power for power, m in enumerate(r, 1)]
    with pytest.raises(ValueError, match="the traces leave float64's range: scale X or y, or R"):
        combined(data_moments(1e10 * X, y), many)
    with pytest.raises(ValueError, match=r"powers of tr\[R\] = 1e-85 leave float64's range: scale R"):
        centered_nfa(X, y, (1e-85, 1e-170, 1e-255, 0.0))


def test_without_labels_all_traces_are_zero():
    X, y = draw("zero", shape=(5, 4)), torch.zeros(5)
    assert traces(X, y, (1, 1, 1, 1)) == (0.0, 0.0, 0.0)
    assert data_moments(X, y)["B"] == pytest.approx(float(X.square().sum()) / 4)
    assert not any(matrix.any() for matrix in expected_derivatives(X, y, 3))


def test_a_small_product_of_inputs_and_labels_is_not_zero():
    """The sample with the large label has no inputs, so that XᵀYX is small, and as of the other sample alone."""
    X = torch.tensor([[0.0, 0.0, 0.0], [1.0, 2.0, -1.0], [0.0, 3.0, 1.0]], dtype=torch.float64)
    r = gaussian_moments(3, 5)
    small, ordinary = (torch.tensor([large, 1.0, -2.0], dtype=torch.float64) for large in (1e100, 1.0))
    assert centered_nfa(X, small, r) == pytest.approx(centered_nfa(X, ordinary, r), rel=1e-12)
    assert mean_term(X, small, 5) == pytest.approx(mean_term(X, ordinary, 5), rel=1e-12)


def test_moments_are_computed_in_float64_for_every_array():
    R = weights("moments of arrays", 4, 3)[2].float()
    eigenvalues = np.linalg.eigvalsh(R.double().numpy())
    expected = [np.mean(eigenvalues**power) for power in (1, 2, 3, 4)]
    for form in (R, R.numpy(), R.tolist(), R.double()):
        assert moments(form) == pytest.approx(expected, rel=1e-14)
    R = weights("moments of lists", 4, 3)[2]
    assert moments(R.tolist()) == moments(R)
    X, y, r = R[:, :2], R[0], gaussian_moments(2, 4)
    assert centered_nfa(X.tolist(), y.tolist(), r) == centered_nfa(X, y, r)
    assert moments(torch.tensor([[2, 0], [0, 4]])) == (3.0, 10.0, 36.0, 136.0)


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: moments(np.ones((2, 3))), r"R must be a matrix \(d, d\) .* not \(2, 3\)"),
        (lambda: moments(np.ones((0, 0))), r"R must be a matrix .* not \(0, 0\)"),
        (lambda: moments([[float("nan")]]), "R holds a NaN"),
        (lambda: moments([[1.0, 2.0], [0.0, 1.0]]), "R must be symmetric: .* by up to 2, of at most 2"),
        (lambda: centered_nfa(torch.ones(0, 3), torch.ones(0), (1, 1, 1, 1)), r"at least one sample .* \(0, 3\)"),
        (lambda: traces(torch.ones(3, 0), torch.ones(3), (1, 1, 1, 1)), r"one input; its shape is \(3, 0\)"),
        (lambda: gaussian_moments(3, 0), "width must be at least 1, not 0"),
        (lambda: gaussian_moments(0, 3), "dimension must be at least 1, not 0"),
        (lambda: noncrossing(-1), "n must be a whole number of at least 0, not -1"),
        (lambda: noncrossing(1.5), "n must be a whole number of at least 0, not 1.5"),
        (lambda: mixed_moment(-1, len, len), "n must be a whole number"),
    ],
)
def test_what_has_no_moments_is_refused(act, message):
    with pytest.raises(ValueError, match=message):
        act()
