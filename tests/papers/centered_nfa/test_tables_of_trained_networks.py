"""The tables of B.fig1, B.fig9 and of the centerings, number by number, from the chain rule in numpy."""

from itertools import product

import numpy as np
from centered_nfa_oracle import assert_same_table, cosine, pearson, random_eigenvectors
from handmade import classes_data, target_data

from gramlab.data.polynomials import chain_monomial
from gramlab.streams import stream
from tasks.papers.centered_nfa.experiments import b_centerings, b_fig1, b_fig9

PRECISION = {"rel": 2e-4, "abs": 2e-5}  # networks and data are in single precision


def forward(weights: list[np.ndarray], x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pre-activations of both hidden ReLU layers (n, units), and the outputs (n, outputs)."""
    first, second, last = weights
    h = x @ first.T
    g = np.maximum(h, 0) @ second.T
    return h, g, np.maximum(g, 0) @ last.T


def slopes(weights: list[np.ndarray], x: np.ndarray) -> list[np.ndarray]:
    """∂f/∂h of both hidden layers, an array (n, outputs, units) for each."""
    _, second, last = weights
    h, g, _ = forward(weights, x)
    at_second = last[None] * (g > 0)[:, None]
    return [(at_second @ second) * (h > 0)[:, None], at_second]


def mean_outer(slopes: np.ndarray) -> np.ndarray:
    """(1/n) Σ over samples and outputs of the outer products of an array (n, outputs, units)."""
    return np.einsum("nok,nol->kl", slopes, slopes) / len(slopes)


def normal_weights(shapes: list[tuple[int, int]], scales: list[float], *name: str | int) -> list[np.ndarray]:
    """N(0, s/fan-in), each layer from its own random stream."""
    return [stream(*name, "init", f"{2 * layer}.weight").normal(size=shape) * np.sqrt(scale / shape[1])
            for layer, (shape, scale) in enumerate(zip(shapes, scales, strict=True))]  # fmt: skip


def chain_egop(inputs: int, rank: int) -> np.ndarray:
    """E[∇y∇yᵀ] of the chain monomial for isotropic inputs: coordinate k has the slope x_{k−1} + x_{k+1}."""
    egop = np.zeros((inputs, inputs))
    for k, m in product(range(rank), repeat=2):
        egop[k, m] = sum((k + s) % rank == (m + t) % rank for s in (-1, 1) for t in (-1, 1))
    return egop


def with_spectrum_of(K: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Σ λ_i v_i v_iᵀ, with K's eigenvalues λ and the eigenvectors v of another matrix, both in rising order."""
    values, vectors = np.linalg.eigvalsh(K), np.linalg.eigh(other)[1]
    return sum(value * np.outer(vector, vector) for value, vector in zip(values, vectors.T, strict=True))


def shape_null(A: np.ndarray, B: np.ndarray) -> float:
    """The mean cosine of A and B if their eigenvectors are independent."""
    return float(np.trace(A) * np.trace(B) / len(A) / np.sqrt((A**2).sum() * (B**2).sum()))


FIGURE_1 = {
    "model": {"hidden": [4, 5], "activation": "relu", "bias": False}, "loss": "mse", "batch": None, "epochs": 5,
    "seeds": 3, "snapshots": 2, "init": "normal", "init_scale": [0.3, 1.5, 2.0],
}  # fmt: skip


def explained(weights: list[np.ndarray], x: np.ndarray, y: np.ndarray) -> float:
    """R² of a network with one output."""
    return float(1 - np.mean((forward(weights, x)[2] - y) ** 2) / np.mean((y - y.mean()) ** 2))


def rows_of_figure_1(data, network, last: int) -> list[dict]:
    """``network(epoch, seed)`` gives the weights."""
    x, y, x_test, y_test = (
        getattr(data, name).float().double().numpy() for name in ("x_train", "y_train", "x_test", "y_test")
    )
    egop, shapes, rows = chain_egop(7, 5), [(4, 7), (5, 4), (1, 5)], []
    for epoch, seed in product((0, 2, 4, 5), range(3)):
        untrained = normal_weights(shapes, [0.3, 1.5, 2.0], "b_fig1", "untrained", seed, epoch)
        for arm, weights in (("claim", network(epoch, seed)), ("control: untrained", untrained)):
            W = weights[0]
            agop = mean_outer(slopes(weights, x)[0] @ W)
            values = {
                "egop/agop": cosine(agop, egop),
                "egop/gram": cosine(W.T @ W, egop),
                "egop/agop, another target": max(cosine(agop, chain_egop(7, rank)) for rank in (4, 6)),
                "null/egop_agop": shape_null(agop, egop),
                "null/egop_gram": shape_null(W.T @ W, egop),
                "r2/train": explained(weights, x, y),
                "r2/test": explained(weights, x_test, y_test),
            }
            rows += [{"arm": arm, "seed": seed, "step": epoch, "quantity": quantity, "value": value}
                     for quantity, value in values.items()]  # fmt: skip
    kernels = [mean_outer(slopes(network(last, seed), x)[0]) for seed in range(3)]
    for seed, K in enumerate(kernels):
        W, eigenvalues = network(last, seed)[0], np.linalg.eigvalsh(K)
        F, row = W.T @ W, {"seed": seed, "step": last}
        spread = np.sqrt(np.mean((eigenvalues - eigenvalues.mean()) ** 2)) / eigenvalues.mean()
        rows.append({**row, "arm": "claim", "quantity": "spread of K's eigenvalues", "value": spread})
        rotated = [W.T @ random_eigenvectors(K, "b_fig1", "Q", seed, draw) @ W for draw in range(20)]
        others = with_spectrum_of(K, kernels[(1, 2, 0)[seed]])
        for arm, kernel in (("claim", K), ("control: another network's eigenvectors", others)):
            row["arm"] = arm
            rows.append({**row, "quantity": "nfa/K", "value": cosine(F, W.T @ kernel @ W)})
            rows.append({**row, "quantity": "nfa/Q", "value": sum(cosine(F, G) for G in rotated) / 20})
        if seed == 0:
            row["arm"] = "claim"
            for name, matrix in (("EGOP", egop), ("NFM", F), ("AGOP", W.T @ K @ W), ("Q", rotated[0])):
                rows += [{**row, "quantity": f"matrix/{name}", "x": 7 * i + j, "value": matrix[i, j]}
                         for i, j in np.ndindex(7, 7)]  # fmt: skip
    return [{**row, "layer": "0", "dtype": "float64"} for row in rows]


def rows_of_the_rank(seeds: int) -> list[dict]:
    """The exact ranks of A², with the adjacency matrix A of a cycle or a path of r coordinates.

    A Σ A has the rank of A for every positive definite Σ.
    """
    closed = [1, 2, 3, 2, 5, 6, 7, 6, 9, 10, 11, 10]
    path = [0, 2, 2, 4, 4, 6, 6, 8, 8, 10, 10, 12]
    ranks = [
        [
            np.linalg.matrix_rank([[neighbours(i, j, r, is_closed) for j in range(r)] for i in range(r)])
            for r in range(1, 13)
        ]
        for is_closed in (True, False)
    ]
    assert ranks == [closed, path]
    return [
        {"arm": arm, "seed": seed, "quantity": "rank/egop", "x": float(r), "value": ranks[r - 1] - formula}
        for seed in range(seeds)
        for r in range(1, 13)
        for form, suffix, formula in (("claim", "", r), ("corrected", ", corrected", closed[r - 1]))
        for arm, ranks in ((form, closed), (f"control: open chain{suffix}", path))
    ]


def neighbours(i: int, j: int, r: int, is_closed: bool) -> int:
    """The second derivative of the sum over k of x_k x_(k+1), closed or open, by x_i and x_j."""
    pairs = [(k, (k + 1) % r) for k in range(r if is_closed else r - 1)]
    return sum(((i, j) == pair) + ((j, i) == pair) for pair in pairs)


def test_figure_1(handmade):
    data = target_data(train=12, test=9, shape=(7,), outputs=1)
    by_hand = handmade("b_fig1", FIGURE_1, data, paper="centered_nfa")
    expected = rows_of_figure_1(data, lambda epoch, seed: list(by_hand.weights(epoch, seed).values()), last=5)
    assert_same_table(b_fig1.measure(by_hand.run), expected + rows_of_the_rank(3), **PRECISION)


FIGURE_9 = {
    "model": {"hidden": [4, 5], "activation": "relu", "bias": False}, "loss": "mse", "optimizer": "adam", "batch": 4,
    "epochs": 3, "seeds": 3, "snapshots": 2, "init": "normal", "init_scale": [0.02, 1, 1],
}  # fmt: skip


def test_figure_9(handmade):
    data = classes_data(train=11, shape=(1, 2, 4), classes=2, factor=0.4)
    by_hand = handmade("b_fig9", FIGURE_9, data, paper="centered_nfa")
    x = 0.4 * data.x_train.reshape(11, 8).numpy()
    networks = [list(by_hand.weights(3, seed).values()) for seed in range(3)]
    kernels = [mean_outer(slopes(weights, x)[0]) for weights in networks]
    expected = []
    for seed, (weights, K) in enumerate(zip(networks, kernels, strict=True)):
        W = weights[0]
        F, row = np.diag(W.T @ W), {"seed": seed, "step": 9, "layer": "0", "dtype": "float64"}  # 3 steps an epoch
        rotated = [np.diag(W.T @ random_eigenvectors(K, "b_fig9", "Q", seed, draw) @ W) for draw in range(20)]
        units = stream("b_fig9", "units", seed)
        P = np.eye(len(K))[units.permutation(len(K))]
        P *= units.choice([-1.0, 1.0], len(K))[:, None]
        for arm, kernel in (("claim", K), ("control: units exchanged, signs drawn", P @ K @ P.T)):
            row["arm"] = arm
            expected.append({**row, "quantity": "pearson/K", "value": pearson(F, np.diag(W.T @ kernel @ W))})
            expected.append({**row, "quantity": "pearson/Q", "value": sum(pearson(F, G) for G in rotated) / 20})
        if seed == 0:
            row["arm"] = "claim"
            for name, values in (("NFM", F), ("AGOP", np.diag(W.T @ K @ W)), ("Q", rotated[0])):
                expected += [{**row, "quantity": f"diagonal/{name}", "x": pixel, "value": value}
                             for pixel, value in enumerate(values)]  # fmt: skip
    expected += [row for row in by_hand.history if row["quantity"] in ("train_accuracy", "test_accuracy")]
    assert_same_table(b_fig9.measure(by_hand.run), expected, **PRECISION)


# ---------------------------------------------------------------------------------------------------------------
# B.fig2, 4, 5, 7 and 8: two steps more than the first measurement, on width 6
WIDTH, STEPS, STOPS = 6, 8, (0, 5, 8)
SHAPES = [(WIDTH, 32), (WIDTH, WIDTH), (1, WIDTH)]
SPECTRA = {"isotropic": None, "1/(1+k)": 1.0, "1/(1+k^2)": 2.0}
PARAMETERS = ("0.weight", "2.weight", "4.weight")


def start_of(arm: str, seed: int, scale: float) -> list[np.ndarray]:
    """N(0, s/fan-in) as printed; U(−1, 1) √(s/fan-in) in the corrected arm, whose variance is s/(3 fan-in)."""
    weights = []
    for name, shape, s in zip(PARAMETERS, SHAPES, (scale, 1, 1), strict=True):
        draw = stream("b_centerings", seed, "init", name)
        drawn = draw.normal(size=shape) if arm == "claim" else draw.uniform(-1, 1, shape)
        weights.append(drawn * np.sqrt(s / shape[1]))
    return weights


def mean_squared_error(weights: list[np.ndarray], x: np.ndarray, y: np.ndarray) -> float:
    return float(np.mean((forward(weights, x)[2] - y) ** 2))


def trained(weights: list[np.ndarray], x: np.ndarray, y: np.ndarray) -> dict[int, list[np.ndarray]]:
    """The weights at every stop of gradient descent at 0.05 on the mean squared error."""
    stops = {}
    for step in range(STEPS + 1):
        if step in STOPS:
            stops[step] = weights
        h, g, outputs = forward(weights, x)
        at_first, at_second = slopes(weights, x)
        residuals = 2 * (outputs - y) / len(x)
        gradients = [(residuals * at_first[:, 0]).T @ x, (residuals * at_second[:, 0]).T @ np.maximum(h, 0),
                     residuals.T @ np.maximum(g, 0)]  # fmt: skip
        weights = [weight - 0.05 * gradient for weight, gradient in zip(weights, gradients, strict=True)]
    return stops


def centered_kernel(now: list[np.ndarray], start: list[np.ndarray], x: np.ndarray, layer: int) -> np.ndarray:
    return mean_outer(slopes(now, x)[layer] - slopes(start, x)[layer])


def moved(start: list[np.ndarray], lengths: list[float], *name: str | int) -> list[np.ndarray]:
    """The start plus a step of each length in a random direction, each layer from its own random stream."""
    directions = [stream(*name, parameter).normal(size=shape) for parameter, shape in zip(PARAMETERS, SHAPES,
                                                                                          strict=True)]  # fmt: skip
    return [weight + length * direction / np.sqrt((direction**2).sum())
            for weight, length, direction in zip(start, lengths, directions, strict=True)]  # fmt: skip


def frobenius(A: np.ndarray) -> float:
    return float(np.sqrt((A**2).sum()))


def rows_of_a_layer(
    layer: int, now: list[np.ndarray], start: list[np.ndarray], x: np.ndarray, arm: str,
    other: list[np.ndarray], spectrum: str, seed: int, step: int, scale: float,
) -> list[dict]:  # fmt: skip
    W, W0 = now[layer], start[layer]
    V, K = W - W0, mean_outer(slopes(now, x)[layer])
    K_centered = centered_kernel(now, start, x, layer)
    pairs = {("", "uncentered"): (W, K)}
    ratios = {}
    if step:
        pairs[("", "centered")] = V, K
        pairs[("", "double_centered")] = V, K_centered
        pairs[("", "ptk_centered")] = W0, K_centered
        ratios[""] = K_centered
    of_form = ", corrected" if arm == "corrected" else ""
    name = ("b_centerings", spectrum, seed)
    Q, Q_centered = (random_eigenvectors(turned, *name, "K", PARAMETERS[layer].removesuffix(".weight"))
                     for turned in (K, K_centered))  # fmt: skip
    pairs[(f"control: random K{of_form}", "uncentered")] = W, Q
    if step:
        pairs[(f"control: random K{of_form}", "centered")] = V, Q
        pairs[(f"control: random K{of_form}", "ptk_centered")] = W0, Q_centered
        lengths = [frobenius(weight - initial) for weight, initial in zip(now, start, strict=True)]
        untrained = moved(start, lengths, *name, "untrained", str(scale).removesuffix(".0"))
        K_untrained = mean_outer(slopes(untrained, x)[layer])
        pairs[(f"control: no training{of_form}", "uncentered")] = untrained[layer], K_untrained
        pairs[(f"control: no training{of_form}", "centered")] = untrained[layer] - W0, K_untrained
        pairs[(f"control: no training{of_form}", "ptk_centered")] = W0, centered_kernel(untrained, start, x, layer)
        ratios[f"control: another start{of_form}"] = centered_kernel(now, other, x, layer)
    rows = []
    for (arm_of_pair, ansatz), (U, P) in pairs.items():
        matrices = U.T @ U, U.T @ P @ U
        rows.append({"arm": arm_of_pair, "quantity": f"nfa/{ansatz}", "value": cosine(*matrices)})
        rows.append({"arm": arm_of_pair, "quantity": f"null/{ansatz}", "value": shape_null(*matrices)})
    for arm_of_ratio, P in ratios.items():  # Figure 4, as printed
        value = np.trace(V.T @ V @ V.T @ P @ V) / np.trace(V.T @ V @ V.T @ K @ V)
        rows.append({"arm": arm_of_ratio, "quantity": "double_over_centered", "value": value})
    return [{**row, "layer": ("0", "2")[layer]} for row in rows]


def test_centerings_along_training():
    expected, settings = [], b_centerings.Settings(instances=2, steps=STEPS, every=8, width=WIDTH)
    for arm, spectrum, seed, scale in product(("claim", "corrected"), SPECTRA, (0, 1), (1.0, 0.1, 0.01)):
        data = chain_monomial(256, 32, 5, 1000, decay=SPECTRA[spectrum], seed=seed)
        x, y, x_test, y_test = (getattr(data, name).numpy() for name in ("x_train", "y_train", "x_test", "y_test"))
        start, other = start_of(arm, seed, scale), start_of(arm, 1 - seed, scale)
        for step, now in trained(start, x, y).items():
            losses = {"train_loss": mean_squared_error(now, x, y),
                      "test_loss": mean_squared_error(now, x_test, y_test)}  # fmt: skip
            labels = {"case": spectrum, "seed": seed, "x": scale, "step": step}
            for quantity, value in losses.items():
                expected.append({**labels, "arm": arm, "dtype": "float32", "quantity": quantity, "value": value})
            for layer in (0, 1):
                rows = rows_of_a_layer(layer, now, start, x, arm, other, spectrum, seed, step, scale)
                expected += [{**row, **labels, "arm": row["arm"] or arm, "dtype": "float64"} for row in rows]
    assert_same_table(b_centerings.measure(settings), expected, rel=2e-3, abs=2e-4)
