"""The tables of B.fig3, B.fig6 and B.prop10, number by number, from sums over samples and networks."""

import numpy as np
import pytest
import torch
from centered_nfa_oracle import (
    appendix_e,
    assert_same_table,
    cosine,
    data_matrices,
    moments_of_the_weights,
    quadratic_derivatives,
    ratio,
)
from scipy.integrate import quad

from gramlab.data.alignment import alignment_reversing
from gramlab.data.polynomials import chain_monomial, high_rank_polynomial
from gramlab.streams import stream
from tasks.papers.centered_nfa.experiments import b_fig3, b_fig6, b_prop10


def drawn_network(*name: str | int, size: int) -> tuple[np.ndarray, np.ndarray]:
    draw = stream(*name)
    return draw.normal(size=size), draw.normal(size=(size, size)) / np.sqrt(size)


def mean_over_eigenvectors(A: np.ndarray, B: np.ndarray) -> float:
    """The mean cosine of A and Q B Qᵀ over all orthogonal Q.

    It is that over the cyclic permutations of B's eigenvalues in A's basis, in which each meets each of A's once.
    """
    a, b = np.linalg.eigvalsh(A), np.linalg.eigvalsh(B)
    products = [a @ np.roll(b, shift) for shift in range(len(b))]
    return float(np.mean(products) / np.sqrt((a @ a) * (b @ b)))


def rows_of_the_inputs(X: np.ndarray, y: np.ndarray, row: dict) -> list[dict]:
    """The cosine of Σ xxᵀ and Σ y xxᵀ, sums over the samples, and its mean over the eigenvectors."""
    B, M = (sum(weight * np.outer(x, x) for weight, x in zip(weights, X, strict=True)) for weights in (y * 0 + 1, y))
    values = {"fig3/alignment": cosine(B, M), "null/fig3/alignment": mean_over_eigenvectors(B, M)}
    return [{**row, "quantity": quantity, "value": value} for quantity, value in values.items()]


def rows_of_the_expectations(X: np.ndarray, y: np.ndarray, row: dict, of_form: str) -> list[dict]:
    """The cosine of MBM and I is its trace over √d norms; M² loses all that is off the diagonal in M's own basis."""
    M, B = data_matrices(X, y)
    squared, size = np.linalg.eigvalsh(M) ** 2, len(M)
    term = np.trace(M @ B @ M) / np.sqrt(size * np.trace(M @ B @ M @ M @ B @ M))
    nfm = squared.sum() / np.sqrt(size * (squared**2).sum())
    outside = sum((M @ M)[i, j] ** 2 for i in range(size) for j in range(size) if i != j) / (squared**2).sum()
    form = "corrected" if of_form else "claim"
    return [
        {**row, "arm": arm, "quantity": quantity, "value": value}
        for arm, quantity, value in (
            (form, "cosine/unique term", term),
            (f"control: the NFM for the term{of_form}", "cosine/unique term", nfm),
            (form, "off-diagonal/mass", outside),
            (f"control: basis of eigenvectors{of_form}", "off-diagonal/mass", 0.0),
        )
    ]


def test_figure_3():
    size, draws, balances = 6, 3, [0.2, 0.35, 0.5, 0.8, 1.0]
    a, W = drawn_network("b_fig3", "network", 0, size=size)
    others = [drawn_network("b_fig3", "network", number, size=size) for number in (1, 2, 3)]
    r = [sum(moments_of_the_weights(*other)[power] for other in others) / draws for power in range(4)]
    expected = []
    for seed in (0, 1):
        not_reversed = alignment_reversing(size, size, 1.0, scale=size**-0.8, seed=seed).x_train.numpy()
        for balance in balances:
            for arm, scale in (("claim", 1.0), ("corrected", size**-0.8)):
                if arm == "claim" and balance not in (0.2, 0.5, 1.0):
                    continue
                data = alignment_reversing(size, size, balance, scale=scale, seed=seed)
                X, y = data.x_train.numpy(), data.y_train.numpy()[:, 0]
                observed = cosine(*quadratic_derivatives(X, y, a, W))
                M, B = data_matrices(X, y)
                # Proposition 10, corrected, at width k = d
                mean_agop = 3 / size * np.trace(B) * M @ M + (1 + 5 / size) * M @ B @ M
                of_form = "" if arm == "claim" else ", corrected"
                predictions = {
                    arm: ratio(appendix_e(M @ M, B, r, last_term=True)),
                    f"control: first-order term alone{of_form}": cosine(M @ M, M @ B @ M),
                }
                row = {"case": "n = d = k = 6", "seed": seed, "x": balance}
                by_chance = mean_over_eigenvectors(*quadratic_derivatives(X, y, a, W))
                expected.append({**row, "arm": arm, "quantity": "null/fig3/observed", "value": by_chance})
                expected += rows_of_the_inputs(X, y, {**row, "arm": arm})
                expected += rows_of_the_expectations(X, y, row, of_form)
                if arm == "corrected":
                    mean_term = cosine(M @ M, mean_agop)
                    expected.append({**row, "arm": arm, "quantity": "fig3/mean term", "value": mean_term})
                    row["arm"] = "control: data that are not reversed"
                    observed_there = cosine(*quadratic_derivatives(not_reversed, y, a, W))
                    expected.append({**row, "quantity": "fig3/observed", "value": observed_there})
                    expected += rows_of_the_inputs(not_reversed, y, row)
                for arm_of_prediction, predicted in predictions.items():
                    row["arm"] = arm_of_prediction
                    expected.append({**row, "quantity": "fig3/predicted", "value": predicted})
                    expected.append({**row, "quantity": "fig3/observed", "value": observed})
    settings = b_fig3.Settings(instances=2, sizes=[size], draws=draws, balances=balances)
    assert_same_table(b_fig3.measure(settings), expected, rel=1e-7, abs=1e-20)


def linear_part_of_relu_s_slope() -> tuple[float, float]:
    """E[φ'(z)] and E[z φ'(z)] for a standard normal z, by quadrature: the terms of degree 0 and 1 of its series."""
    return tuple(quad(lambda z, m=m: z**m * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi), 0, 12)[0] for m in (0, 1))


def expected_kernel(X: np.ndarray, activation: str, linear: bool = False) -> np.ndarray:
    """E[𝒦] of two hidden layers, pair by pair: by Wick's theorem for squares, by angles for ReLU.

    With ``linear`` ReLU's φ' is its linear part.
    """
    constant, slope = linear_part_of_relu_s_slope()
    S = X @ X.T / X.shape[1]
    kernel = np.ones(S.shape)
    for _ in range(2):
        following = np.zeros(S.shape)
        for i, j in np.ndindex(S.shape):
            if activation == "quadratic":
                slopes, following[i, j] = 4 * S[i, j], S[i, i] * S[j, j] + 2 * S[i, j] ** 2
            else:
                length = np.sqrt(S[i, i] * S[j, j])
                angle = np.arccos(min(1.0, S[i, j] / length)) if i != j else 0.0
                all_terms = (np.pi - angle) / (2 * np.pi)
                slopes = constant**2 + slope**2 * S[i, j] / length if linear else all_terms
                following[i, j] = length * (np.sin(angle) + (np.pi - angle) * np.cos(angle)) / (2 * np.pi)
            kernel[i, j] *= slopes
        S = following
    return kernel


def matrices_of_a_kernel(X: np.ndarray, y: np.ndarray, kernel: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """XᵀY𝒦YX and XᵀY𝒦²YX, as sums over pairs of samples."""
    pairs = list(np.ndindex(kernel.shape))
    square = kernel @ kernel
    return tuple(sum(y[i] * y[j] * K[i, j] * np.outer(X[i], X[j]) for i, j in pairs) for K in (kernel, square))


def output_and_slope(x: np.ndarray, weights: list[np.ndarray], activation: str) -> tuple[float, np.ndarray]:
    """f(x) and ∂f/∂h at the first layer's pre-activations of one sample, by automatic differentiation."""
    first, second, last = (torch.from_numpy(weight) for weight in weights)
    phi = {"quadratic": lambda t: t * t, "relu": lambda t: t.clamp_min(0)}[activation]
    h = first @ torch.from_numpy(x)
    slope = torch.autograd.functional.jacobian(lambda h: last @ phi(second @ phi(h)), h)
    return float(last @ phi(second @ phi(h))), slope[0].numpy()


def observed_in_figure_6(X: np.ndarray, y: np.ndarray, weights: list[np.ndarray], activation: str) -> list[float]:
    """ρ(ẆᵀẆ, ẆᵀKẆ) where the residuals are the labels, and where they are y − f."""
    samples = [output_and_slope(x, weights, activation) for x in X]
    K = sum(np.outer(slope, slope) for _, slope in samples)
    correlations = []
    for residuals in (y, y - np.array([output for output, _ in samples])):
        W_dot = sum(
            residual * np.outer(slope, x) for residual, (_, slope), x in zip(residuals, samples, X, strict=True)
        )
        correlations.append(cosine(W_dot.T @ W_dot, W_dot.T @ K @ W_dot))
        if residuals is y:
            by_chance = mean_over_eigenvectors(W_dot.T @ W_dot, W_dot.T @ K @ W_dot)
    return [*correlations, by_chance]


def weights_of_figure_6(width: int, seed: int, inputs: int) -> list[np.ndarray]:
    draw = stream("b_fig6", "network", width, seed)
    shapes = ((width, inputs), (width, width), (1, width))
    return [draw.normal(size=shape) / np.sqrt(shape[1]) for shape in shapes]


def test_figure_6():
    n, widths, expected = 6, [5, 9], []
    all_terms = "control: prediction with all terms of φ′"
    targets = {
        "low rank": lambda **options: chain_monomial(n, n, rank=5, **options),
        "high rank": lambda **options: high_rank_polynomial(n, n, **options),
    }
    for seed in (0, 1):
        networks = {width: weights_of_figure_6(width, seed, n) for width in widths}
        for target, sample in targets.items():
            isotropic = sample(seed=seed).x_train.numpy()
            for decay in (0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0):
                data = sample(decay=decay, seed=seed)
                X, y = data.x_train.numpy(), data.y_train.numpy()[:, 0]
                for activation in ("quadratic", "relu"):
                    row = {"case": f"{activation}, {target}", "seed": seed, "x": decay}
                    inputs = {"claim": X, "control: prediction for isotropic inputs": isotropic}
                    for arm, x in inputs.items():
                        for name, linear in (("fig6/predicted", False), ("fig6/predicted, linear", True)):
                            kernel = expected_kernel(x, activation, linear)
                            predicted = cosine(*matrices_of_a_kernel(x, y, kernel))
                            expected.append({**row, "arm": arm, "layer": "0", "quantity": name, "value": predicted})
                            if arm == "claim" and not linear:
                                linear_part = {"layer": "0", "quantity": "fig6/predicted, linear", "value": predicted}
                                expected.append({**row, "arm": all_terms, **linear_part})
                    for width, weights in networks.items():
                        row["layer"] = str(width)
                        observed, of_residuals, by_chance = observed_in_figure_6(X, y, weights, activation)
                        name = "null/fig6/observed"
                        expected.append({**row, "arm": "claim", "quantity": name, "value": by_chance})
                        for arm in (*inputs, all_terms):
                            expected.append({**row, "arm": arm, "quantity": "fig6/observed", "value": observed})
                        name = "fig6/observed, residuals"
                        expected.append({**row, "arm": "claim", "quantity": name, "value": of_residuals})
    assert_same_table(b_fig6.measure(b_fig6.Settings(instances=2, sizes=[n], widths=widths)), expected, rel=1e-7)


def data_of_proposition_10(number: int) -> tuple[np.ndarray, np.ndarray]:
    noise = stream("b_prop10", "data", number).normal(size=(4, 4))
    lengths = [1, 1 / 2, 1 / 4, 1 / 8]
    X = np.array([length * (np.eye(4)[i] + noise[i] / 10) for i, length in enumerate(lengths)])
    return X, np.array([sign / length**2 for sign, length in zip((1, -1, 1, -1), lengths, strict=True)])


def mean_derivatives(
    X: np.ndarray, y: np.ndarray, width: int, networks: int, seed: int, columns: list[float]
) -> tuple[np.ndarray, np.ndarray]:
    """Means of ẆᵀẆ and ẆᵀKẆ, network by network; ``columns`` multiply the columns of W."""
    draw = stream("b_prop10", "networks", width, seed)
    a, W = draw.normal(size=(networks, width, 1)), draw.normal(size=(networks, width, 4))
    W = W * np.array(columns) / np.sqrt(width)
    pairs = [quadratic_derivatives(X, y, a[number, :, 0], W[number]) for number in range(networks)]
    return sum(nfm for nfm, _ in pairs) / networks, sum(agop for _, agop in pairs) / networks


def test_proposition_10():
    draws, expected = 120, []
    equal, unequal = [1.0, 1.0, 1.0, 1.0], [0.5, 1.0, 1.5, 2.0]
    for width in (1, 4):
        corrected = (3 / width, 1 + 5 / width)
        arms = {
            "claim": (equal, draws, (3, 6)),
            "corrected": (equal, draws, corrected),
            "control: W of unequal columns": (unequal, draws // 10, corrected),
        }
        for seed in (0, 1):
            for number in (0, 1):
                X, y = data_of_proposition_10(number)
                M, B = data_matrices(X, y)
                M2, unit = M @ M, M / np.linalg.norm(M)
                bases = (
                    (M2, np.linalg.norm(M2) * unit),
                    (np.trace(B) * M2, M @ B @ M, np.trace(B) * np.linalg.norm(M2) * unit),
                )
                for arm, (columns, networks, (of_trace, of_product)) in arms.items():
                    means = mean_derivatives(X, y, width, networks // int(width**0.5), seed, columns)
                    nfm, agop = (
                        np.linalg.lstsq(np.stack([matrix.flatten() for matrix in basis], 1), mean.flatten(), None)[0]
                        for mean, basis in zip(means, bases, strict=True)
                    )
                    values = {"nfm": nfm[0] - 1, "nfm, rest": nfm[1],
                              "agop, trace": agop[0] / of_trace - 1, "agop, product": agop[1] / of_product - 1,
                              "agop, rest": agop[2]}  # fmt: skip
                    for name, value in values.items():
                        expected.append({"arm": arm, "case": f"data set {number}", "seed": seed, "x": float(width),
                                         "quantity": f"prop10/{name}", "value": value})  # fmt: skip
    settings = b_prop10.Settings(instances=2, draws=draws, widths=[1, 4])
    assert_same_table(b_prop10.measure(settings), expected, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("width", [1, 2])
def test_the_coefficients_of_proposition_10_are_those_of_the_expectation(width):
    """By quadrature with three nodes a weight, on two inputs: exact, since no weight has a power above 5."""
    draw = stream("test_tables_at_initialization", width)
    X, y = draw.normal(size=(3, 2)), draw.normal(size=3)
    nodes, chances = np.sqrt(3) * np.array([-1.0, 0.0, 1.0]), np.array([1 / 6, 2 / 3, 1 / 6])
    expected = np.zeros((2, 2))
    for choice in np.ndindex((3,) * (width + 2 * width)):
        numbers = nodes[list(choice)]
        agop = quadratic_derivatives(X, y, numbers[:width], numbers[width:].reshape(width, 2) / np.sqrt(width))[1]
        expected += chances[list(choice)].prod() * agop
    M, B = data_matrices(X, y)
    trace, product = (b_prop10.formula(name, width) for name in ("agop, trace", "agop, product"))
    np.testing.assert_allclose(expected, trace * np.trace(B) * M @ M + product * M @ B @ M, rtol=1e-9)
