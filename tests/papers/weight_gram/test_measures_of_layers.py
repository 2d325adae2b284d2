"""Paper A's exact statements on one layer: residuals of controls, remainders and sides, against plain formulas."""

import math

import numpy as np
import pytest
import scipy.linalg
import torch
from handmade import assert_same_rows
from helpers import in_double
from scipy.special import erf

from gramlab.streams import stream
from tasks.papers.weight_gram.experiments import a_prop1, a_tl, a_whiten, architectures
from tasks.papers.weight_gram.experiments.shared.random_networks import (
    Block,
    Case,
    Twice,
    dead_case,
    random_case,
    trained_case,
)
from tasks.papers.weight_gram.experiments.shared.trained_layers import trained_layers

ROUND_OFF = 8 * 2.0**-53


@pytest.fixture(autouse=True)
def drawn_instances_only(monkeypatch):
    """The search for counterexamples has tests of its own."""
    for experiment in (architectures, a_tl, a_prop1, a_whiten):
        monkeypatch.setattr(experiment, "adversaries", lambda: iter(()))


def assert_round_off(rows, **where):
    values = [row["value"] for row in in_double(rows) if all(row[name] == value for name, value in where.items())]
    assert values
    assert max(values) <= ROUND_OFF


# the ridge residual


def tl_instances(count):
    for instance in range(count):
        draw = stream("a_tl", instance)
        n, d, c = int(draw.integers(5, 60)), int(draw.integers(2, 40)), int(draw.integers(1, 4))
        decay, ridge = draw.uniform(0, 2), 10 ** draw.uniform(-2, 2)
        H = draw.normal(size=(n, d)) * np.array([1 / (k + 1) ** decay for k in range(d)])
        H = np.outer(H[:, 0], np.ones(d)) if instance == 3 else H
        Y = draw.normal(size=(n, c))
        Y = Y + draw.normal(size=c)
        yield f"n {n}, d {d}, lambda {ridge:.2g}", H, Y, ridge
        yield f"dead, n {n}", 0 * H, Y, ridge
        for layer in trained_layers(instance):
            yield f"{layer.kind}, {instance}", layer.H.T, layer.Y[:, None], layer.ridge


def ridge_residual(H, Y, ridge):
    """The sum over the left singular vectors u of (lambda / (lambda + s^2))^2 (u^T Y)^2."""
    U, s, _ = np.linalg.svd(H)
    shares = np.full(len(H), 1.0)
    shares[: len(s)] = ridge / (ridge + s**2)
    return sum((share * (u @ Y)) @ (share * (u @ Y)) for share, u in zip(shares, U.T, strict=True))


def test_the_residual_of_target_linearity():
    rows = [row for row in a_tl.measure(a_tl.Settings(instances=4)) if row["quantity"] == "tl/residual"]
    expected = []
    instances = list(tl_instances(4))
    for number, (case, H, Y, ridge) in enumerate(instances):
        left, right = ridge_residual(H, Y, ridge), ridge_residual(H, Y, 1.1 * ridge)
        size = sum(H.shape) * (1 + np.linalg.norm(H, 2) ** 2 / ridge) * (Y**2).sum()
        expected.append({"arm": a_tl.CHANGED, "case": case, "seed": 4 * number // len(instances),
                         "quantity": "tl/residual", "value": abs(left - right) / size})  # fmt: skip
    assert_same_rows(in_double(rows), expected, rel=1e-6, absolute=1e-15, arm=a_tl.CHANGED)
    assert len(expected) == len([row for row in in_double(rows) if row["arm"] == "claim"])
    assert_round_off(rows, arm="claim")
    for _, H, Y, ridge in tl_instances(1):  # both sides themselves
        sides = a_tl._sides(H, Y, ridge, ridge)
        assert sides[:2] == pytest.approx([ridge_residual(H, Y, ridge)] * 2, rel=1e-8)


# Target Linearity and the R^2 of least squares


def regressions(kind, count):
    for instance in range(count):
        draw = stream("a_tl", "least squares", kind, instance)
        d, c = int(draw.integers(1, 9)), int(draw.integers(2, 4))
        n = 3 * d + int(draw.integers(10, 40))
        H = draw.normal(size=(n, d))
        if kind == "ill-conditioned":
            H = H @ np.diag([1 / k**1.5 for k in range(1, d + 1)])
        H = np.where(H > 0, H, 0) if kind in ("ReLU", "one-hot labels") else H + draw.normal(size=(1, d))
        if kind == "one-hot labels":
            yield instance, H, np.array([[float(i % c == j) for j in range(c)] for i in range(n)])
        else:
            slopes, noise, means = draw.normal(size=(d, c)), draw.normal(size=(n, c)), draw.normal(size=(1, c))
            yield instance, H, H @ slopes + noise + means


def linearity_without_an_intercept(H, Y):
    squared_error = ((Y - H @ scipy.linalg.lstsq(H, Y)[0]) ** 2).sum()
    return 1 - squared_error / (Y.var(0).sum() * len(Y))


@pytest.mark.parametrize("kind", a_tl.KINDS)
def test_target_linearity_beside_the_r_squared_of_least_squares(kind):
    """The R^2 is here the variance of the fit with an intercept, by numpy's covariances, over that of the labels."""
    rows = [row for row in a_tl.measure(a_tl.Settings(instances=4))
            if row["quantity"] == "tl0/residual" and row["case"].startswith(kind)]  # fmt: skip
    expected = []
    for instance, H, Y in regressions(kind, 4):
        d = H.shape[1]
        covariance = np.cov(np.hstack([H, Y]).T, bias=True)
        within, across, labels = covariance[:d, :d], covariance[:d, d:], covariance[d:, d:]
        r_squared = np.trace(across.T @ np.linalg.inv(within) @ across) / np.trace(labels)
        h0, y0 = H - H.mean(0), Y - Y.mean(0)
        for arm, h, y in (("claim", H, Y), (a_tl.ONLY_FEATURES, h0, Y), (a_tl.ONLY_LABELS, H, y0)):
            spread = (scipy.linalg.svdvals(H)[0] / scipy.linalg.svdvals(h)[-1]) ** 2
            size = (len(H) + d) * spread * (Y**2).sum() / (np.trace(labels) * len(Y))
            value = abs(linearity_without_an_intercept(h, y) - r_squared) / size
            expected.append({"arm": arm, "case": f"{kind}, {instance}", "seed": instance,
                             "quantity": "tl0/residual", "value": value})  # fmt: skip
    for arm in ("claim", a_tl.ONLY_FEATURES, a_tl.ONLY_LABELS):
        wanted = [row for row in expected if row["arm"] == arm]
        assert len(wanted) == 4
        assert min(row["value"] for row in wanted) > 1e3 * ROUND_OFF
        assert_same_rows(in_double(rows), wanted, rel=1e-6, absolute=1e-15, arm=arm)
    assert len([row for row in in_double(rows) if row["arm"] == "corrected"]) == 4
    assert_round_off(rows, arm="corrected")


def test_a_constant_feature_makes_the_print_true_as_centring_does():
    """And so does a fit without an intercept whose residuals have the mean 0."""
    for _, H, Y in regressions("random", 4):
        with_constant = np.hstack([H, np.ones((len(H), 1))])
        centred = linearity_without_an_intercept(H - H.mean(0), Y - Y.mean(0))
        assert linearity_without_an_intercept(with_constant, Y) == pytest.approx(centred, rel=1e-10)
        residuals = Y - H @ scipy.linalg.lstsq(H, Y)[0]
        shift = np.ones(len(H)) - H @ scipy.linalg.lstsq(H, np.ones(len(H)))[0]  # what H cannot express of a constant
        balanced = Y - np.outer(shift, residuals.sum(0) / shift.sum())  # its residuals have the mean 0
        centred = linearity_without_an_intercept(H - H.mean(0), balanced - balanced.mean(0))
        assert linearity_without_an_intercept(H, balanced) == pytest.approx(centred, rel=1e-10)


# the update of B.1


def whitening_weights(kind, draw):
    small, large = int(draw.integers(2, 8)), int(draw.integers(8, 20))
    shapes = {"wide": (small, large), "tall": (large, small), "low rank, tall": (large, small), "one row": (1, large),
              "one column": (large, 1)}  # fmt: skip
    shape = shapes.get(kind, (small, small))
    W = draw.normal(size=shape)
    G = draw.normal(size=shape) * 10 ** draw.uniform(-1, 1)
    if kind.startswith("low rank"):
        W = np.outer(W[:, 0], draw.normal(size=shape[1]))
    if kind == "weight 0":
        W = np.zeros(shape)
    rate = 10 ** draw.uniform(-3, -1)
    return W, W - {"large step": 10.0, "no gradient": 0.0}.get(kind, rate) * G


def whitening_rows(kind, case, W, T, draw):
    """The controls' rows, by the nuclear norm and the polar factor of scipy, in float64."""
    k, d = W.shape
    rotations = [np.linalg.qr(draw.normal(size=(k, k)))[0] for _ in range(20)]
    near = []
    for power in range(4):
        A = 0.1**power * draw.normal(size=(k, k))
        near.append(np.linalg.inv(np.eye(k) - (A - A.T)) @ (np.eye(k) + (A - A.T)))
    size, nuclear = np.linalg.norm(W) + np.linalg.norm(T), np.linalg.svd(W @ T.T, compute_uv=False).sum()
    least = (W**2).sum() + (T**2).sum() - 2 * nuclear
    factor = scipy.linalg.polar(W @ T.T)[0]
    turnable = kind not in ("one row", "weight 0")
    arms = {"control: a random orthogonal factor": rotations[0] @ T,
            "control: W+ turned by about a hundredth": near[2] @ factor @ T} if turnable else {}  # fmt: skip
    if kind.startswith("low rank"):  # here the factor of W T^T = s u v^T is u v^T alone
        product = W @ T.T
        arms = {name: updated for name, updated in arms.items() if "random" in name}
        arms["control: singular vectors of 0 left out"] = product / np.linalg.norm(product) @ T
    values = np.linalg.svd(W @ T.T, compute_uv=False)[: min(k, d)]
    for arm, updated in arms.items():
        distance = ((updated - W) ** 2).sum()
        others = [*(Q @ T for Q in rotations), *(Q @ updated for Q in near)]
        gap = max(abs(distance - least), distance - min(((other - W) ** 2).sum() for other in others))
        gram = np.linalg.norm(updated.T @ updated - T.T @ T) / np.linalg.norm(T) ** 2
        columns = {"arm": arm, "case": case}
        yield {**columns, "quantity": "whiten/gram", "value": gram / (k + d)}
        yield {**columns, "quantity": "whiten/distance", "value": gap / size**2 / (k + d)}
        if not kind.startswith("low rank") and k <= d:  # a tall W T^T is singular, and scipy's factor is one of many
            error = np.linalg.norm(factor @ T - updated) / (values[0] / values[-1] * np.linalg.norm(T))
            yield {**columns, "quantity": "whiten/newton-schulz", "value": error / (k + d)}


def closest_in_the_constraint(W, G):
    """The D closest to G with W^T D + D^T W = 0: G without its part in the row space of this constraint."""
    k, d = W.shape
    constraint = []
    for i in range(d):
        for j in range(d):
            D = np.zeros((k, d))
            D[:, j] += W[:, i]
            D[:, i] += W[:, j]
            constraint.append(D.ravel())
    A = np.array(constraint)
    return G - (np.linalg.lstsq(A, A @ G.ravel(), rcond=1e-10)[0]).reshape(k, d)


def test_the_update_that_keeps_the_gram_to_first_order(monkeypatch):
    """Section 2's minimiser against least squares over all entries, and the remainders that follow from it."""
    monkeypatch.setattr(a_whiten, "STEP_SEEDS", 0)
    measured = [
        row for row in a_whiten.measure(a_whiten.Settings(instances=2)) if row["quantity"] == "whiten/remainder"
    ]
    expected = []
    for instance in (0, 1):
        weights = {kind: whitening_weights(kind, stream("a_whiten", kind, instance))
                   for kind in ("wide", "square", "tall", "one column", "large step", "low rank", "low rank, tall",
                                "weight 0")}  # fmt: skip
        layers = list(trained_layers(instance))
        weights["trained"] = layers[-2].W, layers[-1].W
        for kind, (W, T) in weights.items():
            G = (W - T) / np.linalg.norm(W - T) * (1 if kind == "weight 0" else np.linalg.norm(W))
            removed = closest_in_the_constraint(W, G)
            assert np.linalg.norm(W.T @ removed + removed.T @ W) < 1e-12 * np.linalg.norm(W) ** 2 + 1e-15
            arms = {"claim": G - removed, a_whiten.ONLY_REMOVED: removed}
            for arm in list(arms)[: 1 if kind == "weight 0" else 2]:
                for gamma in (2.0**-power for power in range(21)):
                    step = W - gamma * G
                    updated = W - gamma * arms[arm]
                    remainder = np.linalg.norm(updated.T @ updated - step.T @ step)
                    expected.append({"arm": arm, "case": f"{kind}, {instance}", "quantity": "whiten/remainder",
                                     "x": gamma, "value": remainder})  # fmt: skip
    assert_same_rows(measured, expected, rel=1e-6, absolute=1e-11)
    assert max(row["value"] for row in expected) > 0.1


def test_the_whitened_update(monkeypatch):
    monkeypatch.setattr(a_whiten, "STEP_SEEDS", 0)  # a test of the differences has these
    rows = [row for row in a_whiten.measure(a_whiten.Settings(instances=2)) if row["quantity"] != "whiten/remainder"]
    assert_round_off([row for row in rows if "no gradient" not in row["case"]], arm="claim")
    expected = []
    for instance in (0, 1):
        for kind in ("wide", "square", "tall", "one row", "one column", "large step", "low rank", "low rank, tall",
                     "weight 0"):  # fmt: skip
            draw = stream("a_whiten", kind, instance)
            W, T = whitening_weights(kind, draw)
            expected += whitening_rows(kind, f"{kind}, {instance}", W, T, draw)
        layers = list(trained_layers(instance))
        draw = stream("a_whiten", "trained", instance)
        expected += whitening_rows("wide", f"trained, {instance}", layers[-2].W, layers[-1].W, draw)
    # in tall weights W+ is unique but its factor is not, so turning the factor before or after T gives other matrices
    shown = {(row["arm"], row["case"], row["quantity"]) for row in expected}
    measured = [row for row in in_double(rows) if (row["arm"], row["case"], row["quantity"]) in shown]
    assert_same_rows(measured, expected, rel=1e-5, absolute=1e-9)
    assert {row["arm"] for row in measured} == {row["arm"] for row in rows} - {"claim", a_whiten.TEN_STEPS}
    for kind in ("square", "large step"):  # ten Newton-Schulz steps, written out
        W, T = whitening_weights(kind, stream("a_whiten", kind, 0))
        X = W @ T.T / np.linalg.norm(W @ T.T)
        for _ in range(10):
            X = X @ (15 * np.eye(len(X)) - 10 * X.T @ X + 3 * X.T @ X @ X.T @ X) / 8
        gram = np.linalg.norm((X @ T).T @ (X @ T) - T.T @ T) / np.linalg.norm(T) ** 2 / sum(W.shape)
        (few,) = [row["value"] for row in in_double(rows) if row["arm"] == a_whiten.TEN_STEPS
                  and row["case"] == f"{kind}, 0" and row["quantity"] == "whiten/gram"]  # fmt: skip
        assert few == pytest.approx(gram, rel=1e-6, abs=1e-14)


# Proposition 1

ELEMENTWISE = {
    "relu": (lambda z: np.maximum(z, 0), lambda z: (z > 0) * 1.0, 1.0),
    "leaky_relu": (lambda z: np.where(z > 0, z, 0.01 * z), lambda z: np.where(z > 0, 1, 0.01), 1.0),
    "tanh": (np.tanh, lambda z: 1 - np.tanh(z) ** 2, 1.0),
    "sigmoid": (lambda z: 1 / (1 + np.exp(-z)), lambda z: 0.25 / np.cosh(z / 2) ** 2, 0.25),
    "softplus": (lambda z: np.logaddexp(0, z), lambda z: 1 / (1 + np.exp(-z)), 1.0),
    "linear": (lambda z: z, np.ones_like, 1.0),
    "z - sin z": (lambda z: z - np.sin(z), lambda z: 1 - np.cos(z), 2.0),
    "gelu": (lambda z: z * (1 + erf(z / 2**0.5)) / 2,
             lambda z: (1 + erf(z / 2**0.5)) / 2 + z * np.exp(-(z**2) / 2) / (2 * math.pi) ** 0.5, 1.129),
    "sin": (np.sin, np.cos, 1.0),
}  # fmt: skip


def proposition_1_sides(name, instance):
    """Both steps of a random layer, by the chain rule, the round-off that is subtracted, and the pre-activations."""
    activation, derivative, _ = ELEMENTWISE[name]
    draw = stream("a_prop1", name, instance)
    inputs, width = int(draw.integers(1, 20)), int(draw.integers(1, 20))
    rate = 10 ** draw.uniform(-3, 2)
    W = draw.normal(size=(width, inputs))
    W = W * 10 ** draw.uniform(-1, 1.5)
    head = draw.normal(size=width)
    head = head * 10 ** draw.uniform(-1, 1)
    h = draw.normal(size=inputs)
    h, target, kind = h / np.sqrt(h @ h), draw.normal(), instance % 10
    if kind == 8:
        W = np.zeros_like(W)
    if kind == 9:
        head = head * (draw.random(width) >= 0.5)

    def slopes(W):
        """Gradients of the loss with respect to the layer's output and weights."""
        output = head @ activation(W @ h)
        if kind % 2:
            at_output = 2 * (np.tanh(output) - target) * (1 - np.tanh(output) ** 2) * head
        else:
            at_output = 2 * (output - target) * head
        return at_output, np.outer(at_output * derivative(W @ h), h)

    for _ in range(50 if kind in (5, 6, 7) else 0):
        step = slopes(W)[1]
        W = W - 0.05 * step / (1 + np.linalg.norm(step))
    at_h, at_W = slopes(W)
    before, after = activation(W @ h), activation((W - rate * at_W) @ h)
    reach = (np.abs(W) + rate * np.abs(at_W)) @ np.abs(h)
    round_off = 8 * 2.0**-53 * (1 + inputs) * (reach + np.abs(before) + np.abs(after))
    return after - before, -rate * at_h, round_off, W @ h


def test_proposition_1():
    expected = []
    for name, (_, _, constant) in ELEMENTWISE.items():
        for instance in range(20):
            actual, virtual, round_off, z = proposition_1_sides(name, instance)
            arms = {"claim": constant, "control: L halved": constant / 2}
            if name in ("gelu", "sin"):
                arms = {f"control: {name}, not monotone": constant}
            for arm, L in arms.items():
                ratios = [0.0]
                for left, right, error in zip(np.abs(actual), L**2 * np.abs(virtual), round_off, strict=True):
                    excess = max(left - error, 0.0)
                    ratios.append(min(excess / right, 1e6) if right > 0 else 1e6 * (excess > 0))
                opposite = sum(
                    abs(a) > error and a * v < 0 for a, v, error in zip(actual, virtual, round_off, strict=True)
                )
                columns = {"arm": arm, "case": name, "seed": instance}
                if (
                    round_off.max() <= 0.01 * np.abs(virtual).max() or not virtual.any()
                ):  # else both sides are round-off
                    expected.append({**columns, "quantity": "prop1/ratio", "value": max(ratios)})
                # a strictly increasing activation that is flat at the pre-activation has the sign 0
                flat = sum((name == "z - sin z") & (z == 0) & (virtual != 0)) if arm == "claim" else 0
                expected.append({**columns, "quantity": "prop1/unequal signs", "value": float(opposite + flat)})
                if arm == "claim":
                    columns["arm"] = "corrected"
                    expected.append({**columns, "quantity": "prop1/unequal signs", "value": float(opposite)})
    rows = list(a_prop1.measure(a_prop1.Settings(instances=20)))
    compared = {(row["arm"], row["case"], row["seed"], row["quantity"]) for row in expected}
    assert len(compared) > 0.95 * len(rows)
    shown = [row for row in rows if (row["arm"], row["case"], row["seed"], row["quantity"]) in compared]
    assert_same_rows(shown, expected, rel=1e-3, absolute=1e-3)
    broken = {row["arm"] for row in rows if row["value"] > 1 and row["quantity"] == "prop1/ratio"}
    assert "control: L halved" in broken
    assert "claim" not in broken
    unequal = {(row["arm"], row["case"]) for row in rows if row["value"] and row["quantity"] == "prop1/unequal signs"}
    assert {case for arm, case in unequal if arm == "claim"} == {"z - sin z"}
    assert "corrected" not in {arm for arm, _ in unequal}


# the identities of one layer


def patches(module, x):
    """The im2col patches (d, N) of a convolution, sliced by hand, images first and then places."""
    (kh, kw), (sh, sw), (ph, pw) = module.kernel_size, module.stride, module.padding
    padded = np.pad(x, ((0, 0), (0, 0), (ph, ph), (pw, pw)))
    columns = []
    for image in padded:
        for top in range(0, padded.shape[2] - kh + 1, sh):
            for left in range(0, padded.shape[3] - kw + 1, sw):
                columns.append(image[:, top : top + kh, left : left + kw].ravel())
    return np.stack(columns, 1)


def sides_of_layers(case, of_loss=True):
    """By layer W, h (d, N) and the gradients of the loss, or of each output, at the layer's own output z (k, N).

    Hooks read the inputs and outputs; gradients at h follow as Wᵀ times those at z.
    """
    captured, layers = {}, {}
    handles = [
        case.model.get_submodule(name).register_forward_hook(
            lambda module, inputs, output, name=name: captured.__setitem__(name, (module, inputs[0], output))
        )
        for name in case.layers
    ]
    outputs = case.model(case.x).flatten(1)
    for handle in handles:
        handle.remove()
    loss = ((outputs - case.y) ** 2).sum() / len(outputs) / case.unit
    for name, (module, x, z) in captured.items():
        of = [loss] if of_loss else [outputs[:, index].sum() for index in range(outputs.shape[1])]
        slopes = [torch.autograd.grad(scalar, z, retain_graph=True)[0].numpy() for scalar in of]
        W = module.weight.detach().numpy().reshape(len(module.weight), -1)
        if isinstance(module, torch.nn.Conv2d):
            h = patches(module, x.detach().numpy())
            slopes = [np.concatenate([image.reshape(len(W), -1) for image in slope], 1) for slope in slopes]
        else:
            h = x.detach().numpy().reshape(-1, W.shape[1]).T
            slopes = [slope.reshape(-1, len(W)).T for slope in slopes]
        layers[name] = (W, h, slopes)
    return layers


def alike(layers, name):
    """The first other layer of the same shapes with another input."""
    W, h, _ = layers[name]
    for other, (V, k, _) in layers.items():
        if other != name and V.shape == W.shape and k.shape == h.shape and not np.array_equal(k, h):
            return other
    return None


def identity_rows(case):
    """Residuals of the controls, and the remainders of (2) and Theorem 1 in closed form."""
    layers = sides_of_layers(case)
    for name, (W, h, (delta,)) in layers.items():
        columns, g, G = {"case": case.name, "layer": name}, W.T @ delta, delta @ h.T
        k, n = delta.shape
        other = alike(layers, name)
        for gamma in [2.0**-power for power in range(9)]:
            square, cross = G.T @ G, g @ h.T
            where = {**columns, "x": gamma}
            plus = np.linalg.norm(gamma**2 * square - 2 * gamma * (cross + cross.T))
            values = {("claim", "eq2"): np.linalg.norm(gamma**2 * square),
                      ("control: minus turned into plus", "eq2"): plus,
                      ("claim", "thm1"): np.linalg.norm(gamma**2 * (square - g @ g.T))}  # fmt: skip
            if other:
                wrong = gamma**2 * (square - g @ g.T) - gamma * (cross + cross.T)
                mixed = layers[other][1]
                wrong = wrong + gamma * (g @ mixed.T + mixed @ g.T)
                values["control: another layer", "thm1"] = np.linalg.norm(wrong)
            yield from ({**where, "arm": arm, "quantity": f"{claim}/remainder", "value": value}
                        for (arm, claim), value in values.items() if value)  # fmt: skip
        if other:
            _, mixed, (slope,) = layers[other]
            size = (k + n) * np.linalg.norm(W) * np.linalg.norm(delta) * np.linalg.norm(h)
            wrong = np.linalg.norm(W.T @ G - W.T @ (slope @ mixed.T))
            where = {**columns, "arm": "control: another layer"}
            yield {**where, "quantity": "eq1/residual", "value": wrong / size if size else wrong}
            stepped, virtual = W - G / 4, mixed - g / 4
            size = sum(np.linalg.norm(part) ** 2 for part in (stepped, W, virtual, mixed)) * (len(W) + h.shape[1])
            wrong = np.linalg.norm(g @ mixed.T + mixed @ g.T - g @ h.T - h @ g.T) / 4
            yield {**where, "quantity": "thm1/residual", "value": wrong / size}


def alignment_rows(case):
    """B's Proposition 2 with the kernel of another layer."""
    layers = sides_of_layers(case, of_loss=False)

    def cosine(a, b):
        return (a * b).sum() / np.linalg.norm(a) / np.linalg.norm(b)

    kernels = {name: sum(delta @ delta.T for delta in slopes) for name, (_, _, slopes) in layers.items()}
    for name, (W, _, _) in layers.items():
        other = next((key for key in kernels if key != name and kernels[key].shape == kernels[name].shape), None)
        agop = W.T @ kernels[name] @ W
        if other and agop.any() and (W.T @ kernels[other] @ W).any():
            gap = abs(cosine(W.T @ W, agop) - cosine(W.T @ W, W.T @ kernels[other] @ W))
            yield {"arm": "control: another layer", "case": case.name, "layer": name, "quantity": "prop2/residual",
                   "value": gap / (len(W) + len(case.x))}  # fmt: skip


@pytest.fixture
def small_architectures(monkeypatch):
    """A block of a transformer and a tied weight, smaller than the standard ones, and no ResNet-18."""
    draw = stream("test", "small architectures")
    numbers = [torch.from_numpy(draw.normal(size=size)) for size in ((2, 3, 4), (2, 12), (5, 6), (5, 6))]
    with torch.random.fork_rng():
        torch.manual_seed(0)
        block, tied = Block(4, 2).double(), Twice(6).double()
    linear = [name for name, module in block.named_modules() if isinstance(module, torch.nn.Linear)]
    cases = [Case("a transformer's block", block, numbers[0], numbers[1], linear),
             Case("a tied weight", tied, numbers[2], numbers[3], ["tied"], tied=True)]  # fmt: skip
    monkeypatch.setattr(architectures, "standard_cases", lambda: cases)


def test_the_identities_of_a_layer(small_architectures):
    rows = list(architectures.measure(architectures.Settings(instances=3)))
    for name in ("eq1", "thm1"):
        assert_round_off(rows, arm="claim", quantity=f"{name}/residual")
    assert_round_off([row for row in rows if row["quantity"] == "prop2/residual"], arm="claim")
    tied = [row for row in in_double(rows) if row["case"] == "a tied weight"]
    assert {(row["arm"], row["quantity"]) for row in tied} == {("control: one use of a tied weight", "eq1/residual")}
    assert min(row["value"] for row in tied) > 1e3 * ROUND_OFF
    assert "a transformer's block" in {row["case"] for row in rows if row["arm"] == "claim"}
    cases = [*(random_case(instance) for instance in range(3)), *(trained_case(instance) for instance in range(3)),
             dead_case()]  # fmt: skip
    expected = [row for case in cases for row in identity_rows(case)]
    expected += [row for case in cases if case.x.ndim == 2 for row in alignment_rows(case)]
    names = {case.name for case in cases}
    measured = [row for row in in_double(rows) if row["case"] in names and row.get("x", 0) in
                (0, *(2.0**-power for power in range(9))) and (row["arm"] != "claim" or "x" in row)]  # fmt: skip
    # a remainder is known up to the round-off of the Gram matrices
    assert_same_rows(measured, expected, rel=1e-4, absolute=1e-10)


def test_the_instances_differ_in_kind_shape_and_weights():
    cases = [random_case(instance) for instance in range(6)]
    assert [case.name.split()[1] for case in cases] == ["mlp", "skip", "cnn"] * 2
    firsts = [float(next(case.model.parameters()).detach().flatten()[0]) for case in cases]
    assert len(set(firsts)) == 6
    for case, before in ((trained_case(instance), random_case(instance)) for instance in range(3)):
        weights, initial = (next(iter(part.model.parameters())) for part in (case, before))
        assert not torch.equal(weights, initial)
        assert torch.equal(case.x, before.x)
