"""The table of c_dual, number by number, and its building functions on machines for which no identity holds.

All sides are sums over samples in numpy, from the kernels' formulas and their derivatives, written down here.
"""

from itertools import product

import numpy as np
import pytest
import torch
from numpy.linalg import norm

from gramlab.streams import stream
from tasks.papers.fact.experiments import c_dual

BANDWIDTH = 1.5
SHAPES = {"tall": (24, 4, 2), "wide": (7, 12, 1), "many outputs": (15, 6, 8), "two samples": (2, 3, 1)}  # n, d, outputs
NUMBERS = "positive numbers"


def laplace_slope(s):
    r = np.sqrt(s)
    return -np.exp(-r / BANDWIDTH) / (2 * BANDWIDTH * r) if s > 0 else 0.0


# name -> (radial, g, g')
LIBRARY = {
    "laplace": (True, lambda s: np.exp(-np.sqrt(s) / BANDWIDTH), laplace_slope),
    "gaussian": (True, lambda s: np.exp(-s / (2 * BANDWIDTH**2)),
                 lambda s: -np.exp(-s / (2 * BANDWIDTH**2)) / (2 * BANDWIDTH**2)),
    "exponential": (False, lambda t: np.exp(t / BANDWIDTH**2), lambda t: np.exp(t / BANDWIDTH**2) / BANDWIDTH**2),
    "polynomial": (False, lambda t: (t / BANDWIDTH**2 + 1) ** 3,
                   lambda t: 3 * (t / BANDWIDTH**2 + 1) ** 2 / BANDWIDTH**2),
    "quadratic": (False, lambda t: (t / BANDWIDTH**2) ** 2, lambda t: 2 * t / BANDWIDTH**4),
}  # fmt: skip
# name -> (arms of the identities, arm of the sign, radial, k, k')
SIGMOID = lambda t: 1 / (1 + np.exp(t))  # noqa: E731
BOTH, RISING = ("claim", "corrected"), ("control: k merely rising",)
PROPOSITION = {
    "exp(t)": (BOTH, "corrected", False, np.exp, np.exp),
    "t^2": (BOTH, "corrected", False, lambda t: t**2, lambda t: 2 * t),
    "(t + 1)^3": (BOTH, "corrected", False, lambda t: (t + 1) ** 3, lambda t: 3 * (t + 1) ** 2),
    "1 / (8 - t)": (BOTH, "corrected", False, lambda t: 1 / (8 - t), lambda t: (8 - t) ** -2.0),
    "exp(-t)": (("claim",), "claim", False, lambda t: np.exp(-t), lambda t: -np.exp(-t)),
    "1 / (1 + exp(t))": (("claim",), "claim", False, SIGMOID, lambda t: -SIGMOID(t) * (1 - SIGMOID(t))),
    "-t": (("claim",), "claim", False, lambda t: -t, lambda t: -1.0),
    "1 / t": (("claim",), "claim", False, lambda t: 1 / t, lambda t: -1 / t**2),
    "tanh(t)": (RISING, RISING[0], False, np.tanh, lambda t: 1 - np.tanh(t) ** 2),
    "arctan(3t)": (RISING, RISING[0], False, lambda t: np.arctan(3 * t), lambda t: 3 / (1 + (3 * t) ** 2)),
    "radial": (("control: radial kernel",), "control: radial kernel", True, lambda s: np.exp(-s / 2),
               lambda s: -np.exp(-s / 2) / 2),
}  # fmt: skip
EXACT = 1e-15  # of float64: a residual over (n + d), the condition number and the norms of the terms
SINGLE = 5e-7  # the same in float32, whose spacing at 1 is 1.2e-7


class Sums:
    """A kernel machine as explicit sums; M need not be symmetric."""

    def __init__(self, x, y, M, ridge, radial, g, slope):
        self.x, self.y, self.M, self.ridge, self.radial, self.g, self.slope = x, y, M, ridge, radial, g, slope
        self.n, self.d = x.shape
        self.K = np.array([[g(self.pair(a, b)) for b in x] for a in x])
        self.slopes = np.array([[slope(self.pair(a, b)) for b in x] for a in x])

    def pair(self, a, b):
        return float((a - b) @ self.M @ (a - b) if self.radial else a @ self.M @ b)

    def dual(self, diagonal):
        """The dual weights and the condition number."""
        C = self.K + diagonal * np.eye(self.n)
        singular = np.linalg.svd(C, compute_uv=False)
        return np.linalg.inv(C) @ self.y, singular[0] / singular[-1]

    def gradient(self, i, alpha):
        """The Jacobian of f at sample i, (outputs, d)."""
        J = np.zeros((self.y.shape[1], self.d))
        for j in range(self.n):
            direction = (self.M + self.M.T) @ (self.x[i] - self.x[j]) if self.radial else self.M @ self.x[j]
            J += self.slopes[i, j] * np.outer(alpha[j], direction)
        return J

    def fact(self, alpha):
        """From the definition: the mean over samples of the loss's gradient times the sample, over -lambda."""
        errors = self.K @ alpha - self.y
        terms = [np.outer(self.gradient(i, alpha).T @ errors[i], self.x[i]) for i in range(self.n)]
        return -np.mean(terms, 0) / self.ridge

    def dual_fact(self, alpha):
        """Lemma F.1: the double sum of dK(x_i, x_j) alpha_j^T alpha_i x_i^T."""
        return sum(np.outer(self.gradient(i, alpha).T @ alpha[i], self.x[i]) for i in range(self.n))

    def agop(self, alpha):
        return np.mean([self.gradient(i, alpha).T @ self.gradient(i, alpha) for i in range(self.n)], 0)

    def printed(self, similarity, alpha):
        """sum_ij similarity_ij M x_i alpha_i^T alpha_j x_j^T M^T."""
        total = np.zeros((self.d, self.d))
        for i, j in product(range(self.n), repeat=2):
            weight = similarity[i, j] * (alpha[i] @ alpha[j])
            total += weight * np.outer(self.M @ self.x[i], self.M @ self.x[j])
        return total

    def fact_scale(self, alpha):
        """The sum of the norms of FACT's terms, with ||a|| + ||b|| for ||a - b||."""
        largest = norm(self.M, 2)
        total = 0.0
        for i, j in product(range(self.n), repeat=2):
            reach = 2 * (norm(self.x[i]) + norm(self.x[j])) if self.radial else norm(self.x[j])
            total += abs(self.slopes[i, j]) * largest * reach * norm(alpha[i]) * norm(alpha[j]) * norm(self.x[i])
        return total


def drawn(name, shape, instance):
    """Samples, targets, features and ridge of a machine, from its stream."""
    draw = stream("c_dual", name, shape, instance)
    n, d, outputs = (4, 1, 1) if shape == NUMBERS else SHAPES[shape]
    factor = draw.normal(size=(1 if instance == 2 else d, d)) / np.sqrt(d)
    x, y = draw.normal(size=(n, d)), draw.normal(size=(n, outputs))
    x = np.exp(x) if shape == NUMBERS else x
    ridge = 10 ** draw.uniform(-1, 0) / n
    M = factor.T @ factor
    return x, y, M / (2 * np.linalg.eigvalsh(M)[-1]), ridge


def expected_lemmas(machine):
    """(arm, quantity) -> the residual, from both sides."""
    n, d = machine.n, machine.d
    residuals = {}
    for arm, diagonal in (("claim", n * machine.ridge), ("control: ridge lambda", machine.ridge)):
        alpha, condition = machine.dual(diagonal)
        scale = (n + d) * condition * machine.fact_scale(alpha)
        residuals[arm, "lemF1/residual"] = norm(machine.fact(alpha) - machine.dual_fact(alpha)) / scale
    diagonals = {
        "claim": machine.ridge,
        "corrected": n * machine.ridge,
        "control: ridge 2 n lambda": 2 * n * machine.ridge,
    }
    for arm, diagonal in diagonals.items():
        alpha, condition = machine.dual(diagonal)
        slopes = machine.K @ alpha - machine.y
        residual = norm(alpha + slopes / (n * machine.ridge)) / ((n + d) * condition * norm(alpha))
        residuals[arm, "lemF2/residual"] = residual
    return residuals


def expected_proposition(machine, name, slopes=None):
    """(arm, quantity) -> the residual; both sides of each identity by sums over samples or pairs.

    ``slopes`` takes the place of k'(x_i^T M x_j) in the printed sums.
    """
    arms, sign_arm = PROPOSITION[name][:2]
    n, d = machine.n, machine.d
    alpha, condition = machine.dual(n * machine.ridge)
    slopes = machine.slopes if slopes is None else slopes
    tau = np.array([[np.mean(slopes[:, i] * slopes[:, j]) for j in range(n)] for i in range(n)])
    fact_m = machine.fact(alpha) @ machine.M.T
    norms = norm(machine.M, 2) * norm(machine.x, axis=1) * norm(alpha, axis=1)
    fact_scale = condition * norms @ abs(slopes) @ norms
    sides = {
        "agop": (machine.agop(alpha), machine.printed(tau, alpha), np.mean((abs(slopes) @ norms) ** 2)),
        "fact": (fact_m, machine.printed(slopes, alpha), fact_scale),
        "update": (fact_m, absolute(fact_m), fact_scale),
    }
    residuals = {(arm, f"prop51/{side}"): norm(left - right) / ((n + d) * scale)
                 for arm in arms for side, (left, right, scale) in sides.items()}  # fmt: skip
    least = np.linalg.eigvalsh((fact_m + fact_m.T) / 2)[0]
    return residuals, {(sign_arm, "prop51/negative"): max(0.0, -least) / norm(fact_m)}


def absolute(A):
    """(A A^T)^(1/2)."""
    U, S, _ = np.linalg.svd(A)
    return U @ np.diag(S) @ U.T


def by_key(rows):
    """(case, dtype, arm, quantity) -> value, each once."""
    rows = list(rows)
    values = {tuple(row[name] for name in ("case", "dtype", "arm", "quantity")): row["value"] for row in rows}
    assert len(values) == len(rows)
    return values


def assert_residual(value, expected, dtype):
    """The same residual, or round-off where both sides are the same sum in exact arithmetic."""
    if expected < EXACT:
        assert 0 <= value < (EXACT if dtype == "float64" else SINGLE)
    else:
        assert value == pytest.approx(
            expected, rel=1e-8 if dtype == "float64" else 0.1, abs=EXACT if dtype == "float64" else SINGLE
        )


def test_the_table():
    values = by_key(c_dual.measure(c_dual.Settings(instances=3)))
    seen, sizes = set(), {}
    for instance, shape in product(range(3), [*SHAPES, NUMBERS]):
        for name, (radial, g, slope) in () if shape == NUMBERS else LIBRARY.items():
            residuals = expected_lemmas(Sums(*drawn(name, shape, instance), radial, g, slope))
            for ((arm, quantity), residual), dtype in product(residuals.items(), ("float64", "float32")):
                key = (f"{name}, {shape}, {instance}", dtype, arm, quantity)
                assert_residual(values[key], residual, dtype)
                sizes.setdefault((arm, quantity), []).append(residual)
                seen.add(key)
        for name, (_, _, radial, g, slope) in PROPOSITION.items():
            if (name == "1 / t") != (shape == NUMBERS):
                continue
            residuals, negative = expected_proposition(Sums(*drawn(name, shape, instance), radial, g, slope), name)
            case = f"{name}, {shape}, {instance}"
            for ((arm, quantity), residual), dtype in product(residuals.items(), ("float64", "float32")):
                assert_residual(values[case, dtype, arm, quantity], residual, dtype)
                seen.add((case, dtype, arm, quantity))
            ((arm, quantity), share), = negative.items()  # fmt: skip
            assert values[case, "float64", arm, quantity] == pytest.approx(share, rel=1e-7, abs=1e-12)
            seen.add((case, "float64", arm, quantity))
    assert seen == values.keys()
    # the controls are far from round-off, so that the comparison above is one of numbers
    for label in (("control: ridge lambda", "lemF1/residual"), ("claim", "lemF2/residual"),
                  ("control: ridge 2 n lambda", "lemF2/residual")):  # fmt: skip
        assert np.median(sizes[label]) > 1e-7


def planted(name, symmetric, distort):
    """Residuals of ``proposition`` and of the sums on a machine for which identities fail, by (arm, quantity)."""
    draw = np.random.default_rng(len(name))
    x, y, M = draw.normal(size=(6, 4)), draw.normal(size=(6, 3)), draw.normal(size=(4, 4)) / 4
    M = M @ M.T if symmetric else M
    _, _, radial, g, slope = PROPOSITION[name]
    function, derivative = {
        **c_dual.PSD, **c_dual.FALLING, **c_dual.FALLING_KERNELS, **c_dual.RISING, "radial": c_dual.GAUSSIAN,
    }[name]  # fmt: skip
    machine = c_dual.Machine("planted", *(torch.from_numpy(part) for part in (x, y, M)), 0.3, function, radial)
    rows = c_dual.proposition(machine, lambda s: derivative(s) + distort * s, name)
    values = {key[2:]: value for key, value in by_key(rows).items() if key[1] == "float64"}
    sums = Sums(x, y, M, 0.3, radial, g, slope)
    similarity = np.array([[slope(sums.pair(a, b)) + distort * sums.pair(a, b) for b in x] for a in x])
    residuals, negative = expected_proposition(sums, name, similarity)
    assert values.keys() == residuals.keys() | negative.keys()
    return values, residuals, negative


@pytest.mark.parametrize("name", PROPOSITION)
def test_the_printed_sums_with_another_similarity(name):
    """With another function for k' neither identity holds: their residuals are numbers of their own."""
    values, residuals, negative = planted(name, symmetric=True, distort=0.3)
    for (arm, quantity), residual in residuals.items():
        assert values[arm, quantity] == pytest.approx(residual, rel=1e-8, abs=1e-15)
        assert residual > 1e-6 or quantity == "prop51/update"
    for key, share in negative.items():
        assert values[key] == pytest.approx(share, rel=1e-8, abs=1e-12)


@pytest.mark.parametrize("name", PROPOSITION)
def test_both_updates_where_fact_m_is_not_symmetric(name):
    """With M neither symmetric nor psd the two updates differ, and FACT M^T has negative eigenvalues."""
    values, residuals, negative = planted(name, symmetric=False, distort=0.0)
    for (arm, quantity), residual in residuals.items():
        if quantity == "prop51/update" and name != "radial":
            assert residual > 1e-10 or name == "-t"  # whose k' is constant, so that FACT M^T is symmetric
            assert values[arm, quantity] == pytest.approx(residual, rel=1e-6, abs=1e-16)
    for key, share in negative.items():
        assert values[key] == pytest.approx(share, rel=1e-8)


@pytest.mark.parametrize("name", LIBRARY)
def test_fact_of_random_dual_weights(name):
    """Both sides of Lemma F.1 alone: dual weights that are not optimal keep them apart."""
    draw = np.random.default_rng(7)
    radial, g, slope = LIBRARY[name]
    x, y, factor, alpha = (draw.normal(size=size) for size in ((6, 4), (6, 3), (3, 4), (6, 3)))
    M = factor.T @ factor / 9
    sums = Sums(x, y, M, 0.3, radial, g, slope)
    kernel = c_dual.Kernel(name, BANDWIDTH)
    right = c_dual.fact(kernel, *(torch.from_numpy(part) for part in (x, alpha, M))).numpy()
    np.testing.assert_allclose(right, sums.dual_fact(alpha), rtol=1e-9, atol=1e-12)
    assert norm(sums.fact(alpha) - right) > 0.1 * norm(right)
