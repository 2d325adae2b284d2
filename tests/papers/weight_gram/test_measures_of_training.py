"""Paper A's experiments that train small networks themselves, against training and formulas written out in numpy."""

import math
from itertools import pairwise

import numpy as np
import pytest
from backpropagation import FUNCTIONS, backward, relu, states
from handmade import assert_same_rows
from sklearn.datasets import load_digits

from gramlab.streams import stream
from tasks.papers.weight_gram.experiments import a_thm3
from tasks.papers.weight_gram.experiments.shared.trained_layers import trained_layers


def test_the_layer_of_a_small_network_along_its_training():
    """Gradient descent on the mean squared error, by backpropagation in numpy."""
    for instance in (0, 3):
        draw = stream("a_linear", "trained", instance)
        x = draw.normal(size=(40, 5))
        y = x[:, 0] * x[:, 1] + x[:, 2]
        weights = [draw.normal(size=(k, d)) * math.sqrt(2 / d) for k, d in ((12, 5), (10, 12), (1, 10))]
        ridge, expected = 10 ** draw.uniform(-1, 1), {}
        for step in range(301):
            inputs, products = states(weights, [0.0] * 3, x, "relu")
            if step in (0, 3, 10, 30, 100, 300):
                expected[step] = (weights[1].copy(), inputs[1].T)
            slope = 2 * (products[-1] - y[:, None]) / 40
            for W, gradient in zip(weights, backward(weights, inputs, products, slope, "relu")[0], strict=True):
                W -= 0.02 * gradient
        layers = list(trained_layers(instance))
        assert [layer.step for layer in layers] == list(expected)
        for layer in layers:
            W, H = expected[layer.step]
            np.testing.assert_allclose(layer.W, W, rtol=1e-8, atol=1e-10)
            np.testing.assert_allclose(layer.H, H, rtol=1e-8, atol=1e-10)
            np.testing.assert_array_equal(layer.Y, y)
            assert (layer.kind, layer.ridge) == (f"after {layer.step} steps", ridge)


THEOREM_3 = {  # arm, prefix, data, loss, activation, degree, hidden layers, rate, Adam, biases
    "ReLU, squared": ("claim", "thm3", "digits", "squared", "relu", 1, 3, 0.05, False, False),
    "ReLU, logistic": ("claim", "thm3", "digits", "logistic", "relu", 1, 3, 0.2, False, False),
    "ReLU, squared hinge": ("claim", "thm3", "digits", "squared hinge", "relu", 1, 3, 0.05, False, False),
    "ReLU, staircase": ("claim", "thm3", "staircase", "squared", "relu", 1, 3, 0.02, False, False),
    "ReLU², squared": ("claim", "thm3", "digits", "squared", "relu^2", 2, 2, 0.02, False, False),
    "ReLU², logistic": ("claim", "thm3", "digits", "logistic", "relu^2", 2, 2, 0.05, False, False),
    "GELU": ("claim", "beyond", "digits", "squared", "gelu", 1, 3, 0.05, False, False),
    "tanh": ("claim", "beyond", "digits", "squared", "tanh", 1, 3, 0.05, False, False),
    "ReLU, biases": ("claim", "beyond", "digits", "squared", "relu", 1, 3, 0.05, False, True),
    "ReLU, Adam": ("claim", "beyond", "digits", "squared", "relu", 1, 3, 0.003, True, False),
    "cos 3z": ("control: strongly non-homogeneous f", "thm3", "digits", "squared", "cos 3z", 1, 3, 0.05, False, False),
}  # fmt: skip


def losses(kind, f, y):
    """The loss of each sample and its derivative."""
    if kind == "squared":
        return (f - y) ** 2 / 2, f - y
    if kind == "logistic":
        return np.log1p(np.exp(-y * f)), -y / (1 + np.exp(y * f))
    gap = relu(1 - y * f)
    return gap**2 / 2, -y * gap


def drawn_samples(data, seed):
    draw = stream("a_thm3", data, seed)
    if data == "digits":
        images, digits = load_digits(return_X_y=True)
        even, odd = (draw.choice(np.flatnonzero(digits % 2 == part), 64, replace=False) for part in (0, 1))
        return images[[*even, *odd]] / 16, np.array([-1.0] * 64 + [1.0] * 64)
    x = draw.normal(size=(128, 10))
    y = x[:, 0] * (1 + x[:, 1] * (1 + x[:, 2] * (1 + x[:, 3])))
    return x, (y - y.mean()) / y.std()


def theorem_3_rows(name, seed, steps):
    """The rows of one network, with full matrices K = H Hᵀ."""
    arm, prefix, data, loss, activation, degree, hidden, rate, adam, bias = THEOREM_3[name]
    x, y = drawn_samples(data, seed)
    n, widths = len(y), [x.shape[1], *[32] * hidden, 1]
    weights = [math.sqrt(2 / degree / d) * stream("a_thm3", seed, name, "weight", layer).normal(size=(k, d))
               for layer, (d, k) in enumerate(pairwise(widths))]  # fmt: skip
    biases = [0.3 * stream("a_thm3", seed, name, "bias", layer).normal(size=(1, k))[0] if bias else np.zeros(k)
              for layer, k in enumerate(widths[1:])]  # fmt: skip
    shuffled = y[stream("a_thm3", "order", "labels", seed).permutation(n)]
    moments = [np.zeros((2, *W.shape)) for W in weights]
    for step in range(steps):
        inputs, products = states(weights, biases, x, activation)
        f = products[-1][:, 0]
        value, derivative = losses(loss, f, y)
        columns = {"case": name, "seed": seed, "step": step}
        yield {**columns, "arm": arm, "quantity": "loss", "value": value.mean()}
        g = -derivative / n
        gradients, of_biases, _ = backward(weights, inputs, products, -g[:, None], activation)
        for layer, (h, W) in enumerate(zip(inputs, weights, strict=True)):
            direction = gradients[layer]
            if adam:
                moments[layer][0] = 0.9 * moments[layer][0] + 0.1 * direction
                moments[layer][1] = 0.999 * moments[layer][1] + 0.001 * direction**2
                first, second = (
                    moments[layer][0] / (1 - 0.9 ** (step + 1)),
                    moments[layer][1] / (1 - 0.999 ** (step + 1)),
                )
                direction = first / (np.sqrt(second) + 1e-8)
            updated, K = W - rate * direction, h @ h.T
            change = y @ (h @ (updated.T @ updated - W.T @ W) @ h.T) @ y
            for labels_arm, labels in ((arm, y), ("control: shuffled y", shuffled)):
                if labels_arm != arm and (arm, prefix) != ("claim", "thm3"):
                    continue
                where = {**columns, "arm": labels_arm, "layer": "readout" if layer == hidden else str(layer)}
                yield {**where, "quantity": f"{prefix}/measured", "value": change}
                yield {**where, "quantity": f"{prefix}/predicted", "value": 2 * rate * (f @ labels) * (labels @ K @ g)}
            weights[layer] = updated
        for labels_arm, labels in ((arm, y), ("control: shuffled y", shuffled)):
            if labels_arm == arm or (arm, prefix) == ("claim", "thm3"):
                yield {**columns, "arm": labels_arm, "quantity": f"{prefix}/alignment",
                       "value": sum(f * labels) / sum(labels**2)}  # fmt: skip
        if bias:
            biases = [b - rate * gradient for b, gradient in zip(biases, of_biases, strict=True)]
    if prefix != "thm3":
        return
    inputs, products = states(weights, biases, x, activation)
    f = products[-1][:, 0]
    slopes = backward(weights, inputs, products, np.ones((n, 1)), activation)[2]
    pairs = [(i, k) for i in range(n) for k in range(n) if i != k]
    i, k = np.array(pairs).T
    for layer in range(hidden):
        m = degree ** (hidden - layer)
        left = (inputs[layer][i] * slopes[layer][k]).sum(1)
        right = f[i] + (m - 1) * f[k]
        nulls = []
        for draw in range(20):
            other = f[stream("a_thm3", "order", "pairs", seed, draw).permutation(n)]
            nulls.append(np.corrcoef(left, other[i] + (m - 1) * f[k])[0, 1])
        columns = {"arm": arm, "case": name, "layer": str(layer), "seed": seed}
        yield {**columns, "quantity": "lem3/correlation", "value": np.corrcoef(left, right)[0, 1]}
        yield {**columns, "quantity": "lem3/null", "value": np.quantile(nulls, 0.975)}
        first = f[stream("a_thm3", "order", "pairs", seed, 0).permutation(n)]
        sides = {arm: right}
        sides |= {"control: outputs of another sample": first[i] + (m - 1) * f[k]} if arm == "claim" else {}
        for arm_of_side, side in sides.items():
            columns |= {"arm": arm_of_side}
            yield {**columns, "quantity": "lem3/error", "value": math.dist(left, side) / np.linalg.norm(side)}
            yield {**columns, "quantity": "lem3/size", "value": np.linalg.norm(left) / np.linalg.norm(side)}


@pytest.fixture(scope="module")
def theorem_3():
    return list(a_thm3.measure(a_thm3.Settings(instances=2, steps=3)))


@pytest.mark.parametrize("name", THEOREM_3)
def test_theorem_3_and_lemma_3_in_training(theorem_3, name):
    measured = [row for row in theorem_3 if row["case"] == name]
    expected = [row for seed in (0, 1) for row in theorem_3_rows(name, seed, 3)]
    assert_same_rows(measured, expected, rel=1e-6, absolute=1e-9)


def test_about_forty_steps_of_a_longer_training_are_measured():
    rows = list(a_thm3.train("ReLU, squared", a_thm3.CASES["ReLU, squared"], 1, 81))
    steps = sorted({row["step"] for row in rows if row["quantity"] == "thm3/measured"})
    assert steps == list(range(0, 81, 2))
    expected = [row for row in theorem_3_rows("ReLU, squared", 0, 81) if row.get("step", 0) % 2 == 0]
    assert_same_rows(rows, expected, rel=1e-5, absolute=1e-8)


def homogeneous(kind, weights, head):
    """The function on which Lemma 3 is measured, for complex arguments too: its derivative is a complex step."""
    first, second = weights

    def plus(z):
        return np.where(np.real(z) > 0, z, 0)

    return {
        "ReLU²": lambda h: head @ plus(first @ h) ** 2,
        "ReLU³": lambda h: head @ plus(first @ h) ** 3,
        "ReLU² twice": lambda h: head @ plus(second @ plus(first @ h) ** 2) ** 2,
        "norms": lambda h: head @ np.sqrt((first @ h) ** 2 + (np.roll(first, 1, 0) @ h) ** 2),
        "degree 1/2": lambda h: head[0] * np.sum((first @ h) ** 2) ** 0.25,
    }[kind]


@pytest.mark.parametrize("kind", ["ReLU²", "ReLU³", "ReLU² twice", "norms", "degree 1/2"])
def test_lemma_3_at_close_points(theorem_3, kind):
    degree = {"ReLU²": 2, "ReLU³": 3, "ReLU² twice": 4, "norms": 1, "degree 1/2": 0.5}[kind]
    expected = []
    for instance in (0, 1):
        draw = stream("a_thm3", "near", kind, instance)
        d, width = int(draw.integers(2, 8)), int(draw.integers(4, 12))
        weights = draw.normal(size=(width, d)), draw.normal(size=(width, width))
        b, direction = draw.normal(size=d), draw.normal(size=d)
        head = np.abs(draw.normal(size=width))
        f = homogeneous(kind, weights, head)
        slope = np.array([np.imag(f(b + 1e-30j * axis)) / 1e-30 for axis in np.eye(d)])
        gelu, gelu_slope = FUNCTIONS["gelu"]
        for arm, function, gradient, m in (
            ("claim", f, slope, degree),
            ("control: m one too many", f, slope, degree + 1),
            ("control: strongly non-homogeneous f", lambda h: head @ gelu(weights[0] @ h),  # noqa: B023
             (head * gelu_slope(weights[0] @ b)) @ weights[0], 1),
        ):  # fmt: skip
            for halving in range(21):
                a = b + 2.0**-halving * np.linalg.norm(b) * direction / np.linalg.norm(direction)
                error = abs(a @ gradient - function(a) - (m - 1) * function(b)) / abs(function(b))
                expected.append({"arm": arm, "case": kind, "seed": instance, "quantity": "lem3/remainder",
                                 "x": 2.0**-halving, "value": error})  # fmt: skip
    measured = [row for row in theorem_3 if (row["case"], row["quantity"]) == (kind, "lem3/remainder")]
    assert_same_rows(measured, expected, rel=1e-6, absolute=1e-12)
