"""What the experiments on Theorem 4 measure."""

import math
from itertools import pairwise, product

import numpy as np
import pytest
from backpropagation import backward, states
from handmade import assert_same_rows
from sklearn.datasets import load_digits

from gramlab.streams import stream
from tasks.papers.weight_gram.experiments import a_features, a_thm4

UNTRAINED_ARM, ORTHOGONAL = "control: untrained net", "control: labels orthogonal to every layer"


THEOREM_4 = {  # data, activation, degree, hidden layers, optimizer, rate, decay
    "ReLU, digits": ("digits", "relu", 1, 3, "sgd", 0.01, 6e-3),
    "ReLU, staircase": ("staircase", "relu", 1, 3, "sgd", 0.005, 2e-3),
    "ReLU², digits": ("digits", "relu^2", 2, 2, "adam", 0.003, 2e-3),
    "ReLU², staircase": ("staircase", "relu^2", 2, 2, "adam", 0.003, 2e-3),
}


def theorem_4_samples(kind):
    """The samples, and their labels from scikit-learn's digits or the polynomial."""
    x = a_thm4.samples(kind).x_train.numpy()
    if kind == "staircase":
        y = x[:, 0] * (1 + x[:, 1] * (1 + x[:, 2] * (1 + x[:, 3])))
    else:
        images, digits = load_digits(return_X_y=True)
        rows = [int(np.flatnonzero((np.abs(images / 16 - image) < 1e-12).all(1))[0]) for image in x]
        assert len(set(rows)) == 128
        y = np.where(digits[rows] % 2 == 1, 1.0, -1.0)
    y = y - y.mean()
    return x, y / math.sqrt((y @ y) / (len(y) - 1))


def theorem_4_training(name, seed, steps):
    """Initial and last weights: full-batch SGD with momentum 0.9, or Adam, with the decay in the gradient."""
    data, activation, degree, hidden, optimizer, rate, decay = THEOREM_4[name]
    x, y = theorem_4_samples(data)
    widths = [x.shape[1], *[32] * hidden, 1]
    initial = ("a_thm4", name, seed, "init")
    weights = [math.sqrt(1 / degree / d) * stream(*initial, f"{2 * layer}.weight").normal(size=(k, d))
               for layer, (d, k) in enumerate(pairwise(widths))]  # fmt: skip
    initial = [W.copy() for W in weights]
    moments = [np.zeros((2, *W.shape)) for W in weights]
    for step in range(steps):
        inputs, products = states(weights, [0.0] * len(weights), x, activation)
        slope = 2 * (products[-1] - y[:, None]) / len(y)
        gradients, *_ = backward(weights, inputs, products, slope, activation)
        for W, gradient, moment in zip(weights, gradients, moments, strict=True):
            gradient = gradient + decay * W
            if optimizer == "sgd":
                moment[0] = 0.9 * moment[0] + gradient
                W -= rate * moment[0]
            else:
                moment[0] = 0.9 * moment[0] + 0.1 * gradient
                moment[1] = 0.999 * moment[1] + 0.001 * gradient**2
                root = np.sqrt(moment[1] / (1 - 0.999 ** (step + 1))) + 1e-8
                W -= rate * moment[0] / (1 - 0.9 ** (step + 1)) / root
    return x, y, initial, weights


def theorem_4_rows(weights, x, y, data, activation, degree, seed):
    """Every quantity of one network, by layer."""
    hidden, n, size = len(weights) - 1, len(y), y @ y
    inputs, products = states(weights, [0.0] * len(weights), x, activation)
    slopes = backward(weights, inputs, products, np.ones((n, 1)), activation)[2]
    energies = [np.trace(h @ W.T @ W @ h.T) for h, W in zip(inputs, weights, strict=True)]
    surrogates = [np.linalg.norm(W @ h.T @ y) ** 2 for h, W in zip(inputs, weights, strict=True)]
    surrogates = [max(S, (n * 2.0**-53) ** 2 * energy * size) for S, energy in zip(surrogates, energies, strict=True)]
    regions = [regions_on_segments(weights, inputs[layer], layer, seed, activation) for layer in range(hidden)]
    regions.append((0, 0.0))
    longest, jump = max(np.linalg.norm(h, axis=1).max() for h in inputs), max(part[1] for part in regions)
    yield {"quantity": "thm4/fit", "value": 1 - ((products[-1][:, 0] - y) ** 2).sum() / size}
    for layer, (h, W, slope, S) in enumerate(zip(inputs, weights, slopes, surrogates, strict=True)):
        where = {"layer": "readout" if layer == hidden else str(layer)}
        gram, agop = W.T @ W, sum(np.outer(gradient, gradient) for gradient in slope) / n
        if degree > 1:
            Phi = (degree ** (hidden - layer) - 1) ** 2 + 1
            bound, with_readout = (C * size / Phi for C in (min(energies[:-1]), min(energies)))
        else:
            Psi = n * (np.abs(y).sum() + 2 * n * regions[layer][0] * longest * jump) ** 2
            bound, with_readout = (C * size**2 / Psi for C in (min(energies[:-1]), min(energies)))
            before = min(energies[:-1]) * n * size**2 / ((h @ slope.T) ** 2).sum()
            yield {**where, "quantity": "thm4/before", "value": before / S}
        if layer < hidden:
            yield {**where, "quantity": "thm4/ratio", "value": bound / S}
        constant = (gram * agop).sum() / (agop**2).sum()
        yield from by_chance(h, W, y, gram, agop, where, stream("a_thm4", "null", data, activation, seed, layer))
        bound_of_layer = bound if layer < hidden else min(energies[:-1]) * (with_readout / min(energies))
        values = {"bound": bound_of_layer / size**2, "normalised": S / energies[layer] / size,
                  "with readout": with_readout / S, "surrogate": S / size**2, "step": S / constant / size**2,
                  "nfa": (gram * agop).sum() / np.linalg.norm(gram) / np.linalg.norm(agop)}  # fmt: skip
        yield from ({**where, "quantity": f"thm4/{name}", "value": value} for name, value in values.items())


def by_chance(h, W, y, gram, agop, where, draw):
    """97.5 % quantiles: of the normalised surrogate of permuted labels, and of the cosine with random eigenvectors."""
    shuffled = [y[draw.permutation(len(y))] for _ in range(40)]
    surrogates = [
        sum((W @ (h.T @ labels)) ** 2) / np.trace(W @ h.T @ h @ W.T) / (labels @ labels) for labels in shuffled
    ]
    yield {**where, "quantity": "null/normalised", "value": np.quantile(surrogates, 0.975)}
    spectrum = np.linalg.eigvalsh(gram)
    spectrum = spectrum[spectrum > len(gram) * 2.0**-52 * spectrum[-1]]
    cosines = []
    for _ in range(40):
        vectors = np.linalg.qr(draw.normal(size=(len(gram), len(spectrum))))[0]
        other = vectors @ np.diag(spectrum) @ vectors.T
        cosines.append((other * agop).sum() / np.linalg.norm(other) / np.linalg.norm(agop))
    yield {**where, "quantity": "null/nfa", "value": np.quantile(cosines, 0.975)}


def regions_on_segments(weights, h, layer, seed, activation):
    """Boundaries on the segment with the most of them, and the largest jump of the gradient, point by point."""
    draw = stream("a_thm4", "segments", seed, layer)
    starts, stops = (h[draw.choice(128, 40)] for _ in range(2))
    most, largest = 0, 0.0
    for start, stop in zip(starts, stops, strict=True):
        points = np.stack([start + place / 199 * (stop - start) for place in range(200)])
        inputs, products = states(weights[layer:], [0.0] * (len(weights) - layer), points, activation)
        gradients = backward(weights[layer:], inputs, products, np.ones((200, 1)), activation)[2][0]
        patterns = np.concatenate([z > 0 for z in inputs[1:]], 1)
        changed = [place for place in range(199) if (patterns[place] != patterns[place + 1]).any()]
        most = max(most, len(changed))
        jumps = [np.linalg.norm(gradients[place + 1] - gradients[place]) for place in changed]
        largest = max([largest, *jumps])
    return most, largest


@pytest.fixture(scope="module")
def theorem_4():
    return list(a_thm4.measure(a_thm4.Settings(instances=2, steps=3)))


@pytest.mark.parametrize("name", THEOREM_4)
def test_theorem_4_before_and_after_training(theorem_4, name):
    data, activation, degree = THEOREM_4[name][:3]
    expected = []
    for seed in (0, 1):
        x, y, initial, weights = theorem_4_training(name, seed, 3)
        for arm, step, measured in ((UNTRAINED_ARM, 0, initial), ("claim", 3, weights)):
            expected += [{"arm": arm, "case": name, "seed": seed, "step": step, **row}
                         for row in theorem_4_rows(measured, x, y, data, activation, degree, seed)]  # fmt: skip
    measured = [row for row in theorem_4 if row["case"] == name and row["arm"] != ORTHOGONAL]
    assert_same_rows(measured, expected, rel=1e-5, absolute=1e-12)


@pytest.mark.parametrize("name", THEOREM_4)
def test_theorem_4_with_labels_orthogonal_to_every_layer(theorem_4, name):
    """Labels from the stream's normal numbers in the space orthogonal to 1 and to all rows of W_l H_l."""
    activation, degree, hidden = THEOREM_4[name][1:4]
    for seed in (0, 1):
        x, _, _, weights = theorem_4_training(name, seed, 3)
        inputs, _ = states(weights, [0.0] * len(weights), x, activation)
        seen = np.concatenate([np.ones((1, 128)), *(weights[layer] @ inputs[layer].T for layer in range(hidden))])
        values = {row["layer"]: row["value"] for row in theorem_4 if row["quantity"] == "thm4/surrogate" and
                  (row["case"], row["seed"], row["arm"]) == (name, seed, ORTHOGONAL)}  # fmt: skip
        assert set(values) == {*map(str, range(hidden)), "readout"}
        assert all(value < 1e-20 for layer, value in values.items() if layer != "readout")
        # any labels of mean 0 and variance 1 in that space have the same norm, and so the bound for m > 1 too
        assert np.linalg.matrix_rank(seen / np.linalg.norm(seen, axis=1, keepdims=True), tol=1e-10) < 128
        energies = [np.linalg.norm(W @ h.T) ** 2 for h, W in zip(inputs, weights, strict=True)]
        for row in theorem_4:
            if (row["case"], row["seed"], row["arm"], row["quantity"]) == (name, seed, ORTHOGONAL, "thm4/ratio"):
                layer = int(row["layer"])
                if degree > 1:
                    S = values[row["layer"]] * 127**2
                    Phi = (degree ** (hidden - layer) - 1) ** 2 + 1
                    assert row["value"] == pytest.approx(min(energies[:-1]) * 127 / Phi / S, rel=1e-6)
                assert row["value"] > 1


def test_orthogonal_labels_differ_by_seed():
    x, _, _, weights = theorem_4_training("ReLU², digits", 0, 0)
    network = a_thm4.mlp(64, [32, 32], 1, "relu^2", bias=False).double()
    for module, W in zip(network[::2], weights, strict=True):
        module.weight.data = a_thm4.torch.from_numpy(W)
    inputs, _ = states(weights, [0.0] * 3, x, "relu^2")
    labels = [a_thm4.orthogonal(network, a_thm4.samples("digits"), seed).y_train[:, 0].numpy() for seed in (0, 1)]
    for drawn in labels:
        assert abs(drawn.mean()) < 1e-12
        assert drawn.std(ddof=1) == pytest.approx(1)
        for layer in (0, 1):
            size = np.linalg.norm(weights[layer] @ inputs[layer].T) * np.linalg.norm(drawn)
            assert np.linalg.norm(weights[layer] @ inputs[layer].T @ drawn) < 1e-12 * size
    assert abs(np.corrcoef(*labels)[0, 1]) < 0.9


def test_theorem_4_on_the_even_target(theorem_4):
    """f(x) = |x_1| - |x_2| on samples that are symmetric in both signs and, up to the sign of y, in both axes."""
    first, second, third = ([[1, 0], [-1, 0], [0, 1], [0, -1]], [[1, 1, -1, -1], [-1, -1, 1, 1]], [[1, -1]])
    weights, expected = [np.array(W, dtype=float) for W in (first, second, third)], []
    for seed in (0, 1):
        quadrant = stream("a_thm4", "even", seed).uniform(0.1, 2, (16, 2))
        both = np.concatenate([quadrant, quadrant[:, ::-1]])
        x = np.concatenate([both * signs for signs in ((1, 1), (1, -1), (-1, 1), (-1, -1))])
        y = np.abs(x[:, 0]) - np.abs(x[:, 1])
        expected += [{"arm": "claim", "case": "ReLU, even target", "seed": seed, **row,
                      "quantity": row["quantity"].replace("thm4", "even")}
                     for row in theorem_4_rows(weights, x, y, "even", "relu", 1, seed)]  # fmt: skip
    measured = [row for row in theorem_4 if row["case"] == "ReLU, even target" and row["arm"] == "claim"]
    # the surrogate of layer 0 is 0 up to round-off, so these are round-off, or are divided by it
    by_zero = {f"even/{name}" for name in ("ratio", "with readout", "surrogate", "normalised", "before", "step")}
    assert {row["quantity"] for row in measured} >= by_zero
    shown, finite = ([row for row in rows if row.get("layer") != "0" or row["quantity"] not in by_zero]
                     for rows in (measured, expected))  # fmt: skip
    assert_same_rows(shown, finite, rel=1e-9)
    nfa = [row["value"] for row in finite if row["quantity"] == "even/nfa"]
    assert nfa == pytest.approx([1.0] * len(nfa), abs=0.02)
    for quantity in ("even/surrogate", "even/normalised"):
        zero = [row["value"] for row in measured if (row.get("layer"), row["quantity"]) == ("0", quantity)]
        assert len(zero) == 2
        assert max(zero) < 1e-25


def collapse_rows(steps):
    """A.prop2 along training to collapse, by explicit sums."""
    draw = stream("a_features", "clusters")
    labels = np.repeat(np.arange(4), 30)
    centres = 2 * draw.normal(size=(4, 2, 6))
    x = centres[labels, draw.integers(0, 2, 120)] + 0.3 * draw.normal(size=(120, 6))
    Y = np.eye(4)[labels] - 0.25
    widths = [6, 32, 32, 12, 4]
    for seed in range(6):
        name = ("a_features", "collapse", seed, "init")
        weights, biases = [], []
        for layer, (d, k) in enumerate(pairwise(widths)):
            weights.append(stream(*name, f"{2 * layer}.weight").uniform(-1, 1, (k, d)) / math.sqrt(d))
            biases.append(stream(*name, f"{2 * layer}.bias").uniform(-1, 1, k) / math.sqrt(d))
        velocity = [np.zeros_like(parameter) for parameter in (*weights, *biases)]
        noise = stream("a_features", "within", seed).normal(size=(120, 12))
        shuffled = Y[stream("a_features", "other labels", seed).permutation(120)]
        for step in range(max(steps) + 1):
            inputs, products = states(weights, biases, x, "relu")
            H = inputs[-1]
            within, between = variability(H, labels)
            if step == 0:
                share = math.sqrt(within / between / 12)
            if step in steps:
                noisy = H + share * math.sqrt(between) * noise
                for arm, features, target in (("claim", H, Y), ("control: within-class noise", noisy, Y),
                                              ("control: shuffled labels", H, shuffled)):  # fmt: skip
                    centred = features - features.mean(0)
                    fitted = centred @ np.linalg.pinv(centred, rcond=1e-13) @ target
                    gram, outer = fitted @ fitted.T, target @ target.T
                    columns = {"arm": arm, "case": "trained", "seed": seed, "step": step, "x": float(step)}
                    cosine = (gram * outer).sum() / np.linalg.norm(gram) / np.linalg.norm(outer)
                    within_arm, between_arm = variability(features, labels)
                    values = {"gap": 1 - cosine, "distance": np.linalg.norm(gram - outer) / np.linalg.norm(outer),
                              "nc1": within_arm / between_arm,
                              "nc2": distance_to_simplex(features, labels)}  # fmt: skip
                    yield from ({**columns, "quantity": f"prop2/{key}", "value": value}
                                for key, value in values.items())  # fmt: skip
                if step == max(steps):
                    chance = stream("a_features", "chance", seed)
                    permuted = [labels[chance.permutation(120)] for _ in range(40)]
                    by_chance = {"nc1": [np.divide(*variability(H, order)) for order in permuted],
                                 "nc2": [distance_to_simplex(H, order) for order in permuted]}  # fmt: skip
                    yield from ({**columns, "arm": "claim", "quantity": f"null/prop2/{key}",
                                 "value": np.quantile(values, 0.025)} for key, values in by_chance.items())  # fmt: skip
            slope = 2 * (products[-1] - Y) / Y.size
            gradients = backward(weights, inputs, products, slope, "relu")
            for parameter, gradient, speed in zip((*weights, *biases), (*gradients[0], *gradients[1]), velocity,
                                                  strict=True):  # fmt: skip
                speed *= 0.9
                speed += gradient + 5e-4 * parameter
                parameter -= 0.1 * speed


def variability(H, labels):
    """Traces of the covariances within and between the classes."""
    means = np.stack([H[labels == label].mean(0) for label in np.unique(labels)])
    within = sum(((h - means[label]) ** 2).sum() for h, label in zip(H, labels, strict=True)) / len(H)
    return within, ((means - means.mean(0)) ** 2).sum() / len(means)


def distance_to_simplex(H, labels):
    means = np.stack([H[labels == label].mean(0) for label in np.unique(labels)])
    means = means - H.mean(0)
    cosines = (means @ means.T) / np.outer(*[np.linalg.norm(means, axis=1)] * 2)
    return math.sqrt(sum((cosines[i, j] - (1 if i == j else -1 / 3)) ** 2 for i in range(4) for j in range(4)))


def test_proposition_2_along_training():
    expected = list(collapse_rows({0, 10, 11, 12}))
    assert_same_rows(a_features.trained_networks(12), expected, rel=1e-6, absolute=1e-8)


def test_the_proofs_expansion_has_a_factor_that_the_paper_leaves_out():
    """docs/derivations.md: the sum over all triples of samples, term by term."""
    draw = stream("test", "expansion of theorem 4")
    y, C, degree = draw.normal(size=6), 0.7, 4
    N, s, norm = len(y), y.sum(), y @ y
    inner = y[:, None] + (degree - 1) * y  # h_i^T grad f(h_k)
    triples = product(range(N), repeat=3)
    surrogate = C / N * sum(y[i] * y[j] * inner[i, k] * inner[j, k] for i, j, k in triples)
    assert surrogate == pytest.approx(C * norm**2 + C / N * (degree**2 - 1) * s**2 * norm, rel=1e-12)
    printed = C * norm**2 + 2 * (degree - 1) * s**2 * norm + (degree - 1) ** 2 * s**2 * norm
    assert abs(printed / surrogate - 1) > 0.1
