"""The table of B.prop3 and B.prop4, number by number, from the chain rule in numpy and a finer integration."""

import numpy as np
import pytest
from centered_nfa_oracle import assert_same_table
from scipy.special import erf, expit

from gramlab.streams import stream
from tasks.papers.centered_nfa.experiments import b_dynamics

DENSITY = 1 / np.sqrt(2 * np.pi)
ACTIVATIONS = {  # each with its derivative
    "gelu": (lambda t: t * (1 + erf(t / 2**0.5)) / 2,
             lambda t: (1 + erf(t / 2**0.5)) / 2 + t * DENSITY * np.exp(-t * t / 2)),
    "relu": (lambda t: np.maximum(t, 0), lambda t: 1.0 * (t > 0)),
    "leaky_relu": (lambda t: np.where(t > 0, t, t / 100), lambda t: np.where(t > 0, 1, 0.01)),
    "tanh": (np.tanh, lambda t: 1 / np.cosh(t) ** 2),
    "sigmoid": (expit, lambda t: expit(t) * expit(-t)),
    "softplus": (lambda t: np.log1p(np.exp(t)), expit),
    "linear": (lambda t: t, np.ones_like),
    "relu^2": (lambda t: np.maximum(t, 0) ** 2, lambda t: 2 * np.maximum(t, 0)),
    "relu^3": (lambda t: np.maximum(t, 0) ** 3, lambda t: 3 * np.maximum(t, 0) ** 2),
    "quadratic": (lambda t: t * t, lambda t: 2 * t),
    "cosine": (np.cos, lambda t: -np.sin(t)),
}  # fmt: skip
SMOOTH = ("gelu", "tanh", "softplus", "sigmoid", "quadratic")
LOSS_SLOPES = {  # ∂L/∂f
    "squares": lambda f, y: f - y,
    "logistic": lambda f, y: -np.sign(y) * expit(-np.sign(y) * f),
    "Huber": lambda f, y: np.clip(f - y, -1, 1),
    "exponential": lambda f, y: -np.sign(y) * np.exp(-np.sign(y) * f) / len(y),
}


def layers(weights, x, activation):
    """Of the hidden layers the inputs (n, d) and ∂f/∂h (n, k), the last layer's inputs, and the outputs (n,)."""
    phi, derivative = ACTIVATIONS[activation]
    inputs, pre_activations = [x], []
    for W in weights[:-1]:
        pre_activations.append(inputs[-1] @ W.T)
        inputs.append(phi(pre_activations[-1]))
    slopes = [weights[-1] * derivative(pre_activations[-1])]
    for W, h in zip(weights[-2:0:-1], pre_activations[-2::-1], strict=True):
        slopes.insert(0, (slopes[0] @ W) * derivative(h))
    return inputs[:-1], slopes, inputs[-1], (inputs[-1] @ weights[-1].T)[:, 0]


def velocities(weights, x, y, activation, loss):
    """Ẇ of every weight matrix, as sums over samples."""
    inputs, slopes, last_inputs, f = layers(weights, x, activation)
    residuals = LOSS_SLOPES[loss](f, y)
    of_hidden = [-(residuals[:, None] * J).T @ H for J, H in zip(slopes, inputs, strict=True)]
    return [*of_hidden, -(residuals @ last_inputs)[None]]


def sample(claim, instance, activation):
    draw = stream("b_dynamics", claim, instance)
    n, depth = int(draw.integers(4, 20)), 1 + instance % 3
    sizes = [int(draw.integers(3, 12)) for _ in range(depth + 1)]
    weights = [draw.normal(size=(k, d)) / np.sqrt(d) for k, d in zip([*sizes[1:], 1], sizes, strict=True)]
    x, y = draw.normal(size=(n, sizes[0])), draw.normal(size=n)
    weights[-1] = weights[-1] / np.sqrt(np.mean(layers(weights, x, activation)[3] ** 2))
    return weights, x, y


def changes_of_the_flow(start, x, y, activation, time, steps=16):
    """The change of the weights along the gradient flow, by this many Runge-Kutta steps of order 4."""

    def velocity(changes):
        return velocities([W + change for W, change in zip(start, changes, strict=True)], x, y, activation, "squares")

    changes, step = [np.zeros(W.shape) for W in start], time / steps
    for _ in range(steps):
        k1 = velocity(changes)
        k2 = velocity([c + step / 2 * k for c, k in zip(changes, k1, strict=True)])
        k3 = velocity([c + step / 2 * k for c, k in zip(changes, k2, strict=True)])
        k4 = velocity([c + step * k for c, k in zip(changes, k3, strict=True)])
        changes = [
            c + step * (p + 2 * q + 2 * r + s) / 6 for c, p, q, r, s in zip(changes, k1, k2, k3, k4, strict=True)
        ]
    return changes


def rows_of_proposition_3(instance):
    activation = SMOOTH[instance % 5]
    start, x, y = sample("prop3", instance, activation)
    velocity = velocities(start, x, y, activation, "squares")
    unit = min(np.sqrt((W**2).sum() / (v**2).sum()) for W, v in zip(start, velocity, strict=True))
    kernels_at_start = [J.T @ J for J in layers(start, x, activation)[1]]
    rows = []
    for power in range(4, 25):
        t = unit / 2**power
        changes = changes_of_the_flow(start, x, y, activation, t)
        now = [W + change for W, change in zip(start, changes, strict=True)]
        for layer, J in enumerate(layers(now, x, activation)[1]):
            W0, W, V, K0, K = start[layer], now[layer], changes[layer], kernels_at_start[layer], J.T @ J
            # the Taylor polynomials of order 2
            nfm = t * velocity[layer].T @ (t * velocity[layer])
            agop = t * velocity[layer].T @ K0 @ (t * velocity[layer])
            remainders = {
                ("claim", "NFM"): V.T @ V - nfm,
                ("claim", "AGOP"): V.T @ K @ V - agop,
                ("control: uncentered", "NFM"): V.T @ W0 + W0.T @ V + V.T @ V - nfm,
                ("control: uncentered", "AGOP"): W.T @ K @ W - W0.T @ K0 @ W0 - agop,
            }
            rows += [{"arm": arm, "case": f"{instance}: {activation}", "layer": f"{layer}, {name}", "dtype": "float64",
                      "quantity": "prop3/remainder", "x": 2.0**-power, "value": np.sqrt((remainder**2).sum())}
                     for (arm, name), remainder in remainders.items()]  # fmt: skip
    return rows


def rows_of_proposition_4(instance):
    """Of what holds, the residual is 0."""
    activation, loss = sorted(ACTIVATIONS)[instance % 11], list(LOSS_SLOPES)[instance % 4]
    weights, x, y = sample("prop4", instance, activation)
    inputs, slopes, _, f = layers(weights, x, activation)
    residuals, rows = LOSS_SLOPES[loss](f, y), []
    for layer, (J, H) in enumerate(zip(slopes, inputs, strict=True)):
        LH, depth = residuals[:, None] * H, len(slopes)
        W_dot, K = J.T @ LH, J.T @ J
        unit = (K.trace() * (LH**2).sum()) * (len(x) + len(K))
        kernels = {"claim": J @ J.T}
        if depth > 1:
            other = slopes[(layer + 1) % depth]
            kernels["control: kernel of another layer"] = other @ other.T
        for arm, kernel in kernels.items():
            nfm = W_dot.T @ W_dot - LH.T @ kernel @ LH
            agop = W_dot.T @ K @ W_dot - LH.T @ kernel @ kernel @ LH
            for name, residual, scale in (("nfm", nfm, unit), ("agop", agop, unit * K.trace())):
                value = 0.0 if arm == "claim" else np.sqrt((residual**2).sum()) / scale
                rows += [{"arm": arm, "case": f"{instance}: {activation}, {loss}", "layer": str(layer), "dtype": dtype,
                          "quantity": f"prop4/{name}", "value": value} for dtype in ("float64", "float32")]  # fmt: skip
    return rows


def flat_sample(instance):
    """Weights and data of a network whose 𝒦 is a multiple of 𝒦²."""
    activation = ("relu", "quadratic", "relu^2", "cosine")[instance % 4]
    draw = stream("b_dynamics", "perfect", instance)
    k = int(draw.integers(2, 5))
    n = k + int(draw.integers(0, 5))
    x, y = draw.normal(size=(n, 2 * n)), draw.normal(size=n)
    if activation in ("relu", "relu^2"):
        h = draw.uniform(0.5, 1.5, size=(n, k))
        for sample_number in range(n):
            for unit in range(k):
                h[sample_number, unit] *= 1 if sample_number % k == unit else -1
    else:
        h = np.linalg.qr(draw.normal(size=(n, k)))[0]
        h = h if activation == "quadratic" else np.arcsin(h)
    W, signs, size = (np.linalg.pinv(x) @ h).T, draw.choice([-1.0, 1.0], size=k), float(draw.uniform(0.5, 2))
    a = signs * size / np.sqrt((ACTIVATIONS[activation][1](h) ** 2).sum(0))
    return activation, W, a, x, y


def rows_of_perfect_correlation(instance):
    activation, W, a, x, y = flat_sample(instance)
    loss, rows = list(LOSS_SLOPES)[instance // 4 % 4], []
    doubled = np.array([2 * a[0], *a[1:]])
    for arm, outputs in (("claim", a), ("control: unequal output weights", doubled)):
        _, (J,), _, f = layers([W, outputs[None]], x, activation)
        LX = LOSS_SLOPES[loss](f, y)[:, None] * x
        nfm, agop = LX.T @ J @ J.T @ LX, LX.T @ J @ J.T @ J @ J.T @ LX
        residual = agop - np.sqrt((agop**2).sum() / (nfm**2).sum()) * nfm
        size = ((J**2).sum() ** 2) * (LX**2).sum() * (len(x) + len(W))
        value = 0.0 if arm == "claim" else np.sqrt((residual**2).sum()) / size
        rows += [{"arm": arm, "case": f"{instance}: {activation}, {loss}", "dtype": dtype,
                  "quantity": "prop4/perfect", "value": value} for dtype in ("float64", "float32")]  # fmt: skip
    return rows


def test_kernels_are_multiples_of_their_squares_unless_an_output_weight_is_doubled():
    for instance in range(8):
        activation, W, a, x, _ = flat_sample(instance)
        for outputs, flat in ((a, True), (np.array([2 * a[0], *a[1:]]), False)):
            (J,) = layers([W, outputs[None]], x, activation)[1]
            kernel = J @ J.T
            multiple = (kernel @ kernel).trace() / kernel.trace()
            assert np.allclose(kernel @ kernel, multiple * kernel) is flat


INSTANCES = 12  # all activations, depths and losses


@pytest.fixture(scope="module")
def table():
    return list(b_dynamics.measure(b_dynamics.Settings(instances=INSTANCES)))


@pytest.fixture(scope="module")
def remainders():
    return [row for instance in range(INSTANCES) for row in rows_of_proposition_3(instance)]


@pytest.mark.parametrize(("late", "rel"), [(True, 1e-3), (False, 1e-5)])
def test_remainders_of_proposition_3(table, remainders, late, rel):
    """At late times the integration has an error, at early ones round-off."""
    measured = [row for row in table if row["quantity"] == "prop3/remainder"]
    both = ([row for row in rows if (row["x"] > 2.0**-10) is late] for rows in (measured, remainders))
    assert_same_table(*both, rel=rel)


@pytest.mark.parametrize(("dtype", "rel", "abs"), [("float64", 1e-9, 1e-15), ("float32", 1e-2, 1e-6)])
def test_residuals_of_proposition_4(table, dtype, rel, abs):
    expected = [row for instance in range(INSTANCES) for row in rows_of_proposition_4(instance)]
    expected += [row for instance in range(INSTANCES) for row in rows_of_perfect_correlation(instance)]
    measured = [row for row in table if row["quantity"].startswith("prop4/")]
    assert_same_table(*([row for row in rows if row["dtype"] == dtype] for rows in (measured, expected)), rel, abs)


@pytest.mark.parametrize("name", ["nfm", "agop", "perfect"])
def test_both_sides_of_proposition_4_are_computed(table, name):
    """Two computations of a matrix differ by round-off, a matrix and itself do not."""
    values = [row["value"] for row in table
              if (row["arm"], row["dtype"], row["quantity"]) == ("claim", "float32", f"prop4/{name}")]  # fmt: skip
    assert all(values)
