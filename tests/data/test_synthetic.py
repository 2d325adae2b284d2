"""Synthetic data against plain Python and against their theoretical moments."""

from fractions import Fraction
from itertools import product
from math import prod, sqrt

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gramlab.data import DataError, prepare
from gramlab.data.inputs import covariance_eigenvectors
from gramlab.data.modular import OPERATIONS
from gramlab.data.polynomials import chain_monomial_egop, chain_monomial_of, high_rank_matrix, staircase_of


def dataset(source, **options):
    return prepare(source, ".", **options)


def cosine(A, B):
    return float((A * B).sum() / (np.linalg.norm(A) * np.linalg.norm(B)))


# ----------------------------------------------------------------------------------------- Gaussian inputs


def test_normal_labels_have_nothing_to_do_with_the_inputs():
    data = dataset("gaussian", samples=400, dimension=3, labels="normal")
    samples = torch.cat([data.x_train.flatten(1), data.y_train.reshape(-1, 1)], 1)
    assert torch.corrcoef(samples.T)[-1, :-1].abs().max() < 5 / sqrt(400)
    assert not torch.isin(data.y_train.flatten(), data.x_train.flatten()).any()


@pytest.mark.parametrize("decay", [0, 1, 2])
def test_inputs_have_the_prescribed_covariance(decay):
    n, d = 40_000, 12
    x = dataset("gaussian", samples=n, dimension=d, decay=decay).x_train.numpy()
    Q, eigenvalues = covariance_eigenvectors("gaussian", 0, d), [1 / (1 + k**decay) for k in range(1, d + 1)]
    assert np.abs(Q.T @ Q - np.eye(d)).max() < 1e-14
    covariance = Q @ np.diag(eigenvalues) @ Q.T
    # E ||S - C||² = (tr(C)² + tr(C²))/n for Gaussian samples; the bound is three times its root
    error = np.linalg.norm(x.T @ x / n - covariance)
    assert error < 3 * sqrt((np.trace(covariance) ** 2 + (covariance**2).sum()) / n)
    # each eigenvalue's relative standard error is sqrt(2/n)
    variances = ((x @ Q) ** 2).mean(0)
    assert np.abs(variances / eigenvalues - 1).max() < 5 * sqrt(2 / n)
    if decay:
        assert np.abs(covariance - np.diag(np.diag(covariance))).max() > 0.01


def test_the_spectrum_can_be_listed_and_is_1_by_default():
    x = dataset("gaussian", samples=20_000, dimension=3, spectrum=[4.0, 1.0, 0.0]).x_train.numpy()
    assert np.linalg.eigvalsh(x.T @ x / 20_000) == pytest.approx([0, 1, 4], abs=0.15)
    x = dataset("gaussian", samples=20_000, dimension=3).x_train.numpy()
    assert x.T @ x / 20_000 == pytest.approx(np.eye(3), abs=0.05)


def test_the_eigenvectors_are_uniform_on_the_orthogonal_group():
    """Each entry has mean 0 and variance 1/d. Without the correction of signs, QR gives a first row of one sign."""
    entries = np.array([covariance_eigenvectors("gaussian", seed, 3) for seed in range(2000)])
    assert np.abs(entries.mean(0)).max() < 5 * sqrt(1 / 3 / 2000)
    assert np.abs((entries**2).mean(0) - 1 / 3).max() < 0.05


def test_gaussian_labels_do_not_depend_on_the_inputs():
    for labels, allowed in (("signs", {-1.0, 1.0}), ("ones", {1.0})):
        assert set(dataset("gaussian", samples=50, dimension=2, labels=labels).y_train.unique().tolist()) == allowed
    data = dataset("gaussian", samples=20_000, dimension=4)
    assert float((data.x_train * data.y_train).mean(0).abs().max()) < 5 / sqrt(20_000)


# ----------------------------------------------------------------------------------------- polynomials


def test_the_chain_monomial_is_equation_1():
    r = 5
    data = dataset("chain_monomial", samples=64, dimension=8, rank=r, test_samples=20)
    for x, y in ((data.x_train, data.y_train), (data.x_test, data.y_test)):
        for row, label in zip(x.tolist(), y[:, 0].tolist(), strict=True):
            by_hand = sum(row[k % r] * row[(k + 1) % r] for k in range(1, r + 1))
            assert label == pytest.approx(by_hand * data.metadata["label_scale"], rel=1e-12)
    assert float(data.y_train.std(correction=0)) == pytest.approx(1)
    plain = dataset("chain_monomial", samples=64, dimension=8, rank=r, unit_labels=False)
    assert torch.allclose(plain.y_train * data.metadata["label_scale"], data.y_train)


@pytest.mark.parametrize("rank", [2, 3, 4, 5])
def test_the_chain_monomials_egop(rank):
    """Gradients by central differences, exact for a quadratic, at 2d points that have the covariance exactly."""
    factor = np.random.default_rng(rank).normal(size=(6, 6))
    points = np.concatenate([factor.T, -factor.T]) * sqrt(6)
    steps = np.eye(6) / 2
    gradients = np.stack([chain_monomial_of(points + h, rank) - chain_monomial_of(points - h, rank) for h in steps])
    assert chain_monomial_egop(factor @ factor.T, rank) == pytest.approx(gradients @ gradients.T / len(points))


def test_the_high_rank_polynomial_is_a_sum_of_squares():
    data = dataset("high_rank_polynomial", samples=10, dimension=6, unit_labels=False)
    Q = high_rank_matrix(0, 6)
    for row, label in zip(data.x_train.tolist(), data.y_train[:, 0].tolist(), strict=True):
        by_hand = sum(sum(Q[i][j] * row[j] for j in range(6)) ** 2 for i in range(6))
        assert label == pytest.approx(by_hand, rel=1e-12)


def test_the_staircase_is_a_sum_of_products():
    assert staircase_of(np.array([[2.0, 3.0, 5.0, 7.0, 11.0]]), 4).tolist() == [2 + 6 + 30 + 210]
    data = dataset("staircase", samples=10, dimension=10)
    a, b, c, d = data.x_train.T[:4]
    assert torch.allclose(data.y_train[:, 0], a * b * c * d + a * b * c + a * b + a)


# ----------------------------------------------------------------------------------------- parity


@pytest.mark.parametrize("inputs", ["unit_signs", "signs", "bits"])
def test_parities_equal_products_of_signs(inputs):
    d, support = 9, [7, 0, 3]
    data = dataset("sparse_parity", samples=300, dimension=d, support=support, inputs=inputs, test_samples=50)
    x = data.scaled(data.x_train, torch.float64)
    size = {"unit_signs": 1 / sqrt(d), "signs": 1.0, "bits": 1.0}[inputs]
    low = 0.0 if inputs == "bits" else -size
    assert sorted(x.unique().tolist()) == pytest.approx([low, size])
    for row, label in zip(x.tolist(), data.y_train[:, 0].tolist(), strict=True):
        if inputs == "bits":
            assert label == int(row[7]) ^ int(row[0]) ^ int(row[3])
        else:
            assert label == (1.0 if prod(row[index] for index in support) > 0 else 0.0)
    assert len(data.x_test) == 50


def test_parity_labels_have_three_forms_and_the_support_is_random():
    forms = {form: dataset("sparse_parity", samples=2000, dimension=20, degree=4, labels=form)
             for form in ("zero_one", "signs", "classes")}  # fmt: skip
    y = forms["classes"].y_train
    assert torch.equal(forms["zero_one"].y_train[:, 0], y.double())
    assert torch.equal(forms["signs"].y_train[:, 0], 2 * y.double() - 1)
    assert forms["classes"].classes == 2
    support = forms["signs"].metadata["support"]
    assert len(set(support)) == 4
    assert support != dataset("sparse_parity", samples=1, dimension=20, degree=4, seed=1).metadata["support"]
    # bits and labels are uniform within five binomial standard errors
    assert abs(float(y.double().mean()) - 0.5) < 5 * 0.5 / sqrt(2000)
    assert float(forms["signs"].x_train.double().mean(0).abs().max()) < 5 / sqrt(2000)


# ----------------------------------------------------------------------------------------- modular arithmetic


def value(operation: str, x: int, y: int, p: int) -> int:
    """The operation's value by Python's exact integers."""
    inverse = next((z for z in range(p) if y * z % p == 1), 0)
    if operation == "x/y if y is odd else x-y":
        return x * inverse % p if y % 2 else (x - y) % p
    if operation == "x/y":
        return x * inverse % p
    return eval(operation.replace("xy", "x*y").replace("^", "**"), {"x": x, "y": y}) % p


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize(("p", "constant"), [(7, 0), (13, 5)])
def test_modular_operations_equal_exact_integer_arithmetic(operation, p, constant):
    data = dataset("modular", modulus=p, operation=operation, constant=constant, fraction=0.3)
    x = torch.cat([data.x_train, data.x_test])
    pairs = list(zip(x[:, :p].argmax(1).tolist(), x[:, p:].argmax(1).tolist(), strict=True))
    assert (x[:, :p].sum(1) == 1).all()
    assert (x[:, p:].sum(1) == 1).all()
    assert sorted(pairs) == [(a, b) for a in range(p) for b in range(p) if b or operation != "x/y"]
    labels = torch.cat([data.y_train, data.y_test]).tolist()
    assert labels == [(value(operation, a, b, p) + constant) % p for a, b in pairs]
    assert len(data.x_train) == round(0.3 * len(pairs))
    assert (data.classes, data.inputs) == (p, 2 * p)


def test_the_split_does_not_depend_on_the_operation():
    a, b = (dataset("modular", modulus=11, operation=name) for name in ("x+y", "x*y"))
    assert torch.equal(a.x_train, b.x_train)
    assert not torch.equal(a.x_train, dataset("modular", modulus=11, seed=1).x_train)


# ----------------------------------------------------------------------------------------- FACT's population


@given(p=st.fractions(0, 1, max_denominator=1000), tau=st.fractions(0, 1, max_denominator=1000))
def test_population_expectations_equal_those_of_the_mixture(p, tau):
    data = dataset("fact_population", p=float(p), tau=float(tau))
    assert data.weight_train is not None
    assert float(data.weight_train.sum()) == pytest.approx(1, abs=1e-15)

    def expectation(f):
        uniform = sum((f(*x) for x in product(range(3), repeat=4)), Fraction(0)) / 81
        return p * uniform + (1 - p) * f(1, 1, 0, 0)

    def measured(f):
        return sum(w * float(f(*x)) for w, x in zip(data.weight_train.tolist(), data.x_train.tolist(), strict=True))

    def target(a, b, c, d):
        return tau * a * b + c * d

    assert float((data.weight_train * data.y_train[:, 0]).sum()) == pytest.approx(float(expectation(target)), rel=1e-12)
    for f in (lambda a, b, c, d: a * c, lambda a, b, c, d: a * b * c * d, lambda a, b, c, d: d**2):
        assert measured(f) == pytest.approx(float(expectation(f)), rel=1e-12, abs=1e-15)


# ----------------------------------------------------------------------------------------- alignment-reversing


def test_alignment_reversing_follows_the_printed_recipe():
    n = d = 60
    data = dataset("alignment_reversing", samples=n, dimension=d, balance=0.4, noise=0.0)
    assert data.y_train[:, 0].tolist() == pytest.approx([1 + 1e-5] * 24 + [1e-5] * 36, abs=1e-12)
    first, second = data.x_train[:24].numpy(), data.x_train[24:].numpy()
    inverse = np.linalg.pinv(first.T @ first, rcond=1e-10)
    assert np.linalg.norm(second.T @ second - inverse @ inverse) < 1e-8 * np.linalg.norm(inverse @ inverse)
    noisy = dataset("alignment_reversing", samples=n, dimension=d, balance=0.4)
    noise = (noisy.x_train - data.x_train).numpy()
    assert noise.std() == pytest.approx(1e-2, rel=5 / sqrt(2 * n * d))


def test_alignment_reversing_has_the_printed_covariance():
    n, d = 40_000, 4
    x = dataset("alignment_reversing", samples=n, dimension=d, balance=1.0, noise=0.0).x_train.numpy()
    covariance = np.ones((d, d)) + 0.5 * np.eye(d)
    deviation = sqrt((np.trace(covariance) ** 2 + (covariance**2).sum()) / n)
    assert np.linalg.norm(x.T @ x / n - covariance) < 3 * deviation
    assert np.linalg.norm(x.mean(0)) < 5 * sqrt(np.trace(covariance) / n)


@pytest.mark.parametrize("balance", [0.1, 0.25, 0.5])
def test_alignment_reverses_at_a_small_scale_and_not_at_the_papers(balance):
    """The cosine of (XᵀYX)² and XᵀYX XᵀX XᵀYX, the part of the expected AGOP that the paper makes near identity."""
    d = 192

    def reversal(scale):
        data = dataset("alignment_reversing", samples=d, dimension=d, balance=balance, scale=scale)
        X, y = data.x_train.numpy(), data.y_train.numpy()
        G = X.T @ (y * X)
        return cosine(G @ G, G @ X.T @ X @ G)

    assert reversal(1.0) > 0.99
    assert reversal(d**-0.75) < 0.35


def test_linear_teacher_is_one_linear_map():
    data = dataset("linear_teacher", samples=50, dimension=6, outputs=3, test_samples=9)
    W = torch.linalg.lstsq(data.x_train, data.y_train).solution
    assert torch.allclose(data.x_test @ W, data.y_test, rtol=1e-10)
    assert 0.3 < float(W.std()) < 2


# ----------------------------------------------------------------------------------------- streams and seeds

SYNTHETIC = {
    "gaussian": {"samples": 40, "dimension": 6, "test_samples": 40},
    "chain_monomial": {"samples": 40, "dimension": 6, "rank": 3, "test_samples": 40},
    "high_rank_polynomial": {"samples": 40, "dimension": 6, "test_samples": 40},
    "staircase": {"samples": 40, "dimension": 6, "test_samples": 40},
    "alignment_reversing": {"samples": 40, "dimension": 6, "balance": 0.5},
    "linear_teacher": {"samples": 40, "dimension": 6, "outputs": 3, "test_samples": 40},
    "swiss_roll": {"samples": 40},
}


def test_no_two_sets_share_their_numbers():
    """Equally seeded generators would repeat numbers; here no number occurs twice."""
    arrays = [
        part.numpy().round(12).ravel()
        for source, options in SYNTHETIC.items() if source != "swiss_roll"
        for seed in (0, 1)
        for data in [dataset(source, **options, seed=seed)]
        for part in (data.x_train, data.x_test)
    ]  # fmt: skip
    arrays += [high_rank_matrix(seed, 6).round(12).ravel() for seed in (0, 1)]
    numbers = np.concatenate(arrays)
    assert len(np.unique(numbers)) == len(numbers)


@pytest.mark.parametrize("source", SYNTHETIC)
def test_equal_options_give_equal_sets_and_another_seed_gives_another(source):
    a, b, c = (dataset(source, **SYNTHETIC[source], seed=seed) for seed in (0, 0, 1))
    assert torch.equal(a.x_train, b.x_train)
    assert torch.equal(a.y_train, b.y_train)
    assert not torch.equal(a.x_train, c.x_train)


def test_a_larger_set_begins_with_the_smaller_one():
    a, b = (dataset("staircase", samples=n, dimension=5, decay=1).x_train for n in (10, 30))
    assert torch.allclose(a, b[:10], rtol=1e-14)


# ----------------------------------------------------------------------------------------- bad options


@pytest.mark.parametrize(
    ("source", "options", "says"),
    [
        ("gaussian", {"samples": 0, "dimension": 2}, "samples must be a whole number of at least 1, not 0"),
        ("gaussian", {"samples": 2, "dimension": 2.5}, "dimension must be a whole number"),
        ("gaussian", {"samples": 2, "dimension": 2, "decay": -1}, "decay must be a number of at least 0, not -1"),
        ("gaussian", {"samples": 2, "dimension": 2, "decay": 1, "spectrum": [1, 1]}, "leave one of them out"),
        ("gaussian", {"samples": 2, "dimension": 2, "spectrum": [1, -1]}, "2 eigenvalues, none of them negative"),
        ("gaussian", {"samples": 2, "dimension": 2, "labels": "zeros"}, "one of normal, signs, ones, not 'zeros'"),
        ("chain_monomial", {"samples": 2, "dimension": 4, "rank": 5}, "rank must be a whole number from 2 to 4, not 5"),
        ("chain_monomial", {"samples": 1, "dimension": 4, "rank": 3}, "no standard deviation"),
        ("staircase", {"samples": 2, "dimension": 3}, "degree must be a whole number from 1 to 3"),
        ("alignment_reversing", {"samples": 9, "dimension": 3, "balance": 0}, "number above 0, at most 1, not 0"),
        ("alignment_reversing", {"samples": 9, "dimension": 3, "balance": 0.01}, "leaves none of 9 samples"),
        ("alignment_reversing", {"samples": 9, "dimension": 3, "balance": 1, "scale": 0}, "scale must be a positive"),
        ("sparse_parity", {"samples": 9, "dimension": 3, "support": [1, 3]}, "number from 0 to 2, not 3"),
        ("sparse_parity", {"samples": 9, "dimension": 3, "support": [1, 1]}, "must name different coordinates"),
        ("sparse_parity", {"samples": 9, "dimension": 3, "support": [-1]}, "from 0 to 2, not -1"),
        ("sparse_parity", {"samples": 9, "dimension": 3}, "give either support"),
        ("sparse_parity", {"samples": 9, "dimension": 3, "degree": 4}, "degree must be a whole number from 1 to 3"),
        ("modular", {"modulus": 9, "operation": "x/y"}, "x/y needs a prime modulus, and 9 is 3 times 3"),
        ("modular", {"modulus": 7, "operation": "x%y"}, r"operation must be one of x\+y, .*, not 'x%y'"),
        ("modular", {"modulus": 7, "constant": 7}, "constant must be a whole number from 0 to 6, not 7"),
        ("modular", {"modulus": 7, "fraction": 1.5}, "fraction must be a number above 0, at most 1, not 1.5"),
        ("modular", {"modulus": 2, "fraction": 0.01}, "leaves none of 4 pairs"),
        ("fact_population", {"p": 2}, "p must be a number from 0 to 1, not 2"),
        ("swiss_roll", {"samples": 1}, "samples must be a whole number of at least 2"),
        ("swiss_roll", {}, "swiss_roll: samples must be given"),
        ("swiss_roll", {"sample": 3}, "options must be among samples, not 'sample'; did you mean 'samples'"),
        ("mnist", {"size": 3}, "mnist: options must be among none, not 'size'"),
        ("imagenet", {}, "the data source must be one of digits, .*, not 'imagenet'"),
    ],
)
def test_a_wrong_option_is_one_line_that_names_it(source, options, says):
    with pytest.raises(DataError, match=says) as error:
        dataset(source, **options)
    assert "\n" not in str(error.value)
