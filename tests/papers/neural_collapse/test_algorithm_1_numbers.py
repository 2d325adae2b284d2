"""What d_alg1 measures: residuals of a layer with planted errors, and the table of a small simulation."""

from itertools import product

import numpy as np
import pytest
import torch
from algorithm_1 import agop, features, jacobians, kernel_gradient, kernel_matrix, layers, unit
from handmade import assert_same_rows
from helpers import norm
from planted_collapse import finding_of

from gramlab import DeepRFM
from gramlab.kernels.deep import DeepLayer
from gramlab.streams import stream
from tasks.papers.neural_collapse.claims import d_alg1 as claim
from tasks.papers.neural_collapse.experiments import d_alg1

RAW, WHOLE, ZEROS = "control: data not normalised", "control: M instead of its root", "control: labels 0 and 1"
OTHER = "control: features of another kernel"
COORDINATES, UNPROJECTED = "control: coordinates normalised", "control: features of the data before the root"
RIDGED = "control: a ridge in the last machine"
KINDS = list(product(("laplace", "gaussian"), ("relu", "fourier")))
BANDWIDTH, WIDTH = 0.5, 20


def points(*name) -> tuple[np.ndarray, np.ndarray]:
    """The 15 points of an instance, from its random stream."""
    draw, y = stream("d_alg1", *name), np.array([0, 1, 2] * 5)
    around, centres = draw.normal(size=(15, 6)), draw.normal(size=(3, 6))
    return 0.5 * around + 0.5 * centres[y], y


def sizes(kernel, x, codes) -> tuple[np.ndarray, float, np.ndarray, float]:
    """M, how large its round-off may be, the dual weights, and the kernel matrix's condition number."""
    K = kernel_matrix(kernel, BANDWIDTH, x)
    alpha = np.linalg.inv(K) @ codes
    terms = 0.0
    for point in x:
        gradients = np.array([kernel_gradient(kernel, BANDWIDTH, point, z) for z in x])
        terms += (gradients**2).sum() * (alpha**2).sum() / len(x)
    S = np.linalg.svd(K, compute_uv=False)
    return agop(kernel, BANDWIDTH, x, alpha), len(x) * S[0] / S[-1] * terms, alpha, S[0] / S[-1]


def rows_of_layer(kernel, before, y, root, weight, shift, data, projected, mapped) -> list[dict]:
    """The residuals of one layer with M^{1/2} = root."""
    x, rows = unit(before), []
    codes = 2.0 * (y[:, None] == np.arange(3)) - 1
    M, size, _, _ = sizes(kernel, x, codes)
    summed = norm(root @ root - len(x) * M) / (len(x) * size)  # the listing's sum over points
    rows.append({"arm": "claim", "quantity": "alg1/agop", "value": summed})
    for arm, inputs, labels in (
        ("corrected", x, codes),
        (RAW, before, codes),
        (ZEROS, x, (y[:, None] == np.arange(3)) + 0.0),
    ):
        other, its_size, _, _ = sizes(kernel, inputs, labels)
        rows.append({"arm": arm, "quantity": "alg1/agop", "value": norm(root @ root - other) / its_size})
    for arm, power in (("claim", 1), (WHOLE, 2)):
        left = x @ np.linalg.matrix_power(root, 2 * power) @ x.T
        rows.append(
            {"arm": arm, "quantity": "alg1/projected", "value": norm(left - x @ M @ x.T) / (norm(x) ** 2 * size)}
        )
    for arm, h in (("claim", projected), (UNPROJECTED, x)):
        z = np.array([[w @ point for w in weight] for point in h])
        expected = np.where(z > 0, z, 0) if shift is None else np.cos(z + shift) * np.sqrt(2 / len(weight))
        allowed = len(weight) * (norm(h) * norm(weight) + norm(mapped))
        rows.append({"arm": arm, "quantity": "alg1/features", "value": norm(mapped - expected) / allowed})
    for arm, h in (("claim", x), (COORDINATES, unit(before.T).T)):
        rows.append({"arm": arm, "quantity": "alg1/normalised", "value": norm(data - h) / norm(h) / x.shape[1]})
    return rows


@pytest.mark.parametrize(("kernel", "feature_map"), KINDS)
def test_residuals_of_a_wrong_layer(kernel, feature_map):
    """Every part of the layer is wrong, so that every residual is far from round-off."""
    draw = np.random.default_rng(len(kernel + feature_map))
    n, d = 9, 4
    before, y = draw.normal(size=(n, d)) + 0.4, np.arange(n) % 3
    half = draw.normal(size=(d, d))
    root, weight = half @ half.T, draw.normal(size=(WIDTH, d))
    shift = None if feature_map == "relu" else draw.uniform(0, 6, size=WIDTH)
    data, projected, mapped = draw.normal(size=(n, d)), draw.normal(size=(n, d)), draw.normal(size=(n, WIDTH))
    codes = 2.0 * (y[:, None] == np.arange(3)) - 1
    tensors = [torch.from_numpy(array) for array in (before, codes, data, projected, mapped)]
    of_features = [None if array is None else torch.from_numpy(array) for array in (weight, shift)]
    layer = DeepLayer(torch.from_numpy(root), *of_features, 0.0, {}, {}, np.zeros(0), 0.0, 0.0)
    measured = list(d_alg1.compared(layer, kernel, *tensors))
    expected = rows_of_layer(kernel, before, y, root, weight, shift, data, projected, mapped)
    assert_same_rows(measured, expected, rel=1e-9, absolute=0)


@pytest.mark.parametrize("kernel", ["laplace", "gaussian"])
def test_written_out_against_closed_gradients(kernel):
    """Also that Algorithm 1 in numpy has the Jacobians of its own kernel machine."""
    x, y = points("a", 0)
    codes = np.where(y[:, None] == np.arange(3), 1.0, -1.0)
    M, size = d_alg1.reference_agop(torch.from_numpy(x), torch.from_numpy(codes), kernel)
    other, other_size, other_alpha, _ = sizes(kernel, x, codes)
    np.testing.assert_allclose(M.numpy(), other, rtol=1e-9, atol=1e-12 * norm(other))
    assert size == pytest.approx(other_size, rel=1e-9)
    # central differences at a point that is no centre
    point, step = x.mean(0), 1e-5
    f = lambda p: kernel_matrix(kernel, BANDWIDTH, np.vstack([p, x]))[0, 1:] @ other_alpha  # noqa: E731
    numerical = np.array([(f(point + step * e) - f(point - step * e)) / (2 * step) for e in np.eye(6)]).T
    derivatives = jacobians(kernel, BANDWIDTH, np.vstack([point, x]), np.vstack([np.zeros(3), other_alpha]))
    np.testing.assert_allclose(derivatives[0], numerical, rtol=1e-6, atol=1e-7 * norm(numerical))


class TooLarge(DeepRFM):
    """Its last dual weights are half as large again as they should be."""

    def fit(self, X, y):
        super().fit(X, y)
        self.dual_coef_ = 1.5 * self.dual_coef_
        return self


@pytest.fixture(scope="module")
def table():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(d_alg1, "DeepRFM", TooLarge)
        return list(d_alg1.measure(d_alg1.Settings(instances=1)))


def rows_of_machine(kernel: str, feature_map: str, instance: int):
    """The residuals of both layers, and of the last dual weights, which are half too large."""
    X, y = points(f"{kernel}, {feature_map}", instance)
    before, options = X, {"kernel": kernel, "bandwidth": BANDWIDTH, "feature_map": feature_map, "width": WIDTH}
    for number, layer in enumerate(layers(X, y, count=2, scale=0.05, seed=instance, **options), 1):
        left, values, right = np.linalg.svd(layer["M"])
        weight, shift = features(feature_map, WIDTH, before.shape[1], 0.05, instance, number - 1)
        rows = rows_of_layer(kernel, before, y, (left * np.sqrt(values)) @ right, weight, shift,
                             layer["data"], layer["agop"], layer["features"])  # fmt: skip
        yield from ({"layer": str(number), **row} for row in rows)
        before = layer["features"]
    codes = 2.0 * (y[:, None] == np.arange(3)) - 1
    _, _, alpha, condition = sizes(kernel, unit(before), codes)
    yield {"arm": "claim", "layer": "last", "quantity": "alg1/dual", "value": 0.5 / (15 * condition)}
    K = kernel_matrix(kernel, BANDWIDTH, unit(before))
    ridged = np.linalg.inv(K + 1e-3 * np.eye(15)) @ codes
    gap = norm(1.5 * alpha - ridged) / norm(ridged)
    yield {"arm": RIDGED, "layer": "last", "quantity": "alg1/dual", "value": gap / (15 * condition)}


def holds(row: dict) -> bool:
    """Whether both sides are equal. In the claim's arm the printed sum and the last layer's weights are not."""
    printed = row["arm"] == "claim" and row["quantity"] != "alg1/agop" and row["layer"] != "last"
    return printed or row["arm"] == "corrected"


def compare(measured, expected, round_off, rel):
    """Controls, the printed sum and the planted error to many digits; what holds to round-off."""
    far, planted = ([row for row in rows if not holds(row)] for rows in (measured, expected))
    near, exact = ([row for row in rows if holds(row)] for rows in (measured, expected))
    assert_same_rows(far, planted, rel=rel, absolute=0)
    assert_same_rows(near, [{**row, "value": 0.0} for row in exact], absolute=8 * round_off)
    assert max(row["value"] for row in near) > round_off / 1000  # the precision is the named one


def test_every_row_of_a_fitted_machine(table):
    expected = [{**row, "case": ", ".join(kind)} for kind in KINDS for row in rows_of_machine(*kind, 0)]
    measured = [row for row in table if row["quantity"] != "alg1/away"]
    for dtype, round_off, rel in (("float64", 2.0**-53, 1e-6), ("float32", 2.0**-24, 1e-2)):
        compare([row for row in measured if row["dtype"] == dtype], expected, round_off, rel)


def test_another_instance_has_other_points_and_features(monkeypatch):
    monkeypatch.setattr(d_alg1, "DeepRFM", TooLarge)
    measured = list(d_alg1.fitted("gaussian", "fourier", torch.float64, 3))
    compare(measured, list(rows_of_machine("gaussian", "fourier", 3)), 2.0**-53, 1e-6)


@pytest.mark.parametrize("feature_map", ["relu", "fourier"])
def test_every_row_of_random_features(table, feature_map):
    """Means over the features drawn from the machine's own stream; expectations in closed form."""
    expected = []
    for instance in range(10):
        X, _ = points(f"drawn {feature_map}", instance)
        a, b = unit(X)[:2]
        draw = stream("DeepRFM", instance, 0)
        if feature_map == "relu":
            W = draw.normal(size=(4000, 6))
            samples = [max(w @ a, 0) * max(w @ b, 0) for w in W]
            angle = np.arctan2(norm(a - b * (a @ b)), a @ b)
            means = {"claim": (np.sin(angle) + (np.pi - angle) * np.cos(angle)) / (2 * np.pi), OTHER: np.cos(angle) / 2}
        else:
            W = 0.5 * draw.standard_cauchy(size=(4000, 6))
            shift = draw.uniform(0, 2 * np.pi, size=4000)
            samples = [2 * np.cos(w @ a + s) * np.cos(w @ b + s) for w, s in zip(W, shift, strict=True)]
            distances = np.abs(a - b).sum(), ((a - b) ** 2).sum()
            means = {"claim": np.exp(-distances[0] / 2), OTHER: np.exp(-distances[1] / 8)}
        error = np.sqrt(np.sum((samples - np.mean(samples)) ** 2) / 3999 / 4000)
        for arm, mean in means.items():
            expected.append({"arm": arm, "case": feature_map, "seed": instance, "quantity": "alg1/away",
                             "value": (np.mean(samples) - mean) / error})  # fmt: skip
    measured = [row for row in table if row["quantity"] == "alg1/away" and row["case"] == feature_map]
    assert {row["dtype"] for row in measured} == {"float64"}
    assert_same_rows(measured, expected, rel=1e-7, absolute=1e-7)


@pytest.mark.parametrize("wrong", ["relu", "fourier"])
def test_the_kernel_of_each_kind_of_features_has_a_statement(wrong):
    """The paper draws W from the Gaussian distribution in one sentence, and for the l1 kernel in another."""
    rows = [{"case": case, "dtype": "float64", "seed": seed, "quantity": "alg1/away", "value": value}
            for case in ("relu", "fourier") for seed, value in enumerate((0.5, -5.0 if case == wrong else -3.0))
           ]  # fmt: skip
    held = {case: finding_of(claim, f"kernel of the {words} features", rows).holds
            for case, words in (("relu", "ReLU"), ("fourier", "Fourier"))}  # fmt: skip
    assert held == {case: case != wrong for case in held}
