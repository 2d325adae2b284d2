"""What d_deep_rfm measures, row by row, against Algorithm 1 in numpy on real digits and on a tiny MNIST."""

import io
import struct
from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from algorithm_1 import features, layers
from handmade import assert_same_rows
from PIL import Image
from sklearn.datasets import load_digits

from gramlab.streams import stream
from tasks.papers.neural_collapse.experiments import d_deep_rfm

NO_AGOP, SHUFFLED = "control: M = I", "control: fitted to shuffled labels"
LINEAR, TURNED = "control: features without their nonlinearity", "control: M with random eigenvectors"
SHOWN = 4  # of each class in a Gram image
WIDTHS = {"relu": 12, "fourier": 40}
KERNELS = {"cifar10": "laplace", "cifar10-jpeg": "laplace", "mnist": "gaussian", "svhn": "laplace", "digits": "laplace"}


def within_and_between(h: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """tr(S_W) and tr(S_B), times n, point by point."""
    centres, mean = [h[y == label].mean(0) for label in y], h.mean(0)
    return (sum(((point - centre) ** 2).sum() for point, centre in zip(h, centres, strict=True)),
            sum(((centre - mean) ** 2).sum() for centre in centres))  # fmt: skip


def simplex_distance(h: np.ndarray, y: np.ndarray) -> float:
    """||H^T H - Sigma_ETF||_F of the centred and normalised class means."""
    means = np.array([h[y == label].mean(0) - h.mean(0) for label in np.unique(y)])
    means /= np.sqrt((means**2).sum(1, keepdims=True))
    K = len(means)
    return float(np.sqrt(sum((means[a] @ means[b] - (1.0 if a == b else -1 / (K - 1))) ** 2
                             for a, b in product(range(K), repeat=2))))  # fmt: skip


def cosines(h: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, float, float]:
    """The image of the first points of each class, and the means of all pairs within and across classes."""
    h = h - np.mean([h[y == label].mean(0) for label in np.unique(y)], axis=0)
    h = h / np.sqrt((h**2).sum(1, keepdims=True))
    same, other = [], []
    for i, j in product(range(len(h)), repeat=2):
        if i != j:
            (same if y[i] == y[j] else other).append(h[i] @ h[j])
    rows = [i for label in np.unique(y) for i in np.flatnonzero(y == label)[:SHOWN]]
    return h[rows] @ h[rows].T, float(np.mean(same)), float(np.mean(other))


def expected_rows(x, y, case, arm, seed, depth):
    """The rows of one model; its images are those of the first layer, after a third, after two thirds, and the last."""
    _, kernel, feature_map = case.split(", ")
    labels = {"arm": arm, "case": case, "seed": seed}
    fitted_to = stream("d_deep_rfm", "shuffled", seed).permutation(y) if arm == SHUFFLED else y
    model = layers(x, fitted_to, count=depth, kernel=kernel, bandwidth=2.0, feature_map=feature_map,
                   width=WIDTHS[feature_map], scale=0.05, seed=seed, learns=arm != NO_AGOP)  # fmt: skip
    draw = stream("d_deep_rfm", "turned", feature_map, seed)
    for number, layer in enumerate(model, 1):
        if arm == "claim":
            yield from other_maps({**labels, "layer": str(number), "x": float(number)}, layer, y, feature_map, draw)
        if number == depth and arm != NO_AGOP:
            yield from chance({**labels, "layer": str(number), "x": float(number)}, layer, y, feature_map)
        image, within, across = cosines(layer["agop"], y)
        K = len(np.unique(y))
        values = {"ridge": layer["ridge"], "gram/within": within, "gram/across": across,
                  "gram/spread": simplex_distance(layer["agop"], y) / np.sqrt(K * (K - 1))}  # fmt: skip
        for place in ("data", "agop", "features"):
            values[f"nc1/{place}"] = np.divide(*within_and_between(layer[place], y))
            values[f"nc2/{place}"] = simplex_distance(layer[place], y)
        for quantity, value in values.items():
            if (arm, quantity) != (NO_AGOP, "nc1/agop"):
                yield {**labels, "layer": str(number), "x": float(number), "quantity": quantity, "value": value}
        if seed == 0 and arm != SHUFFLED and number in {2: (1, 2), 5: (1, 2, 4, 5)}[depth]:
            for pixel, value in enumerate(image.ravel()):
                yield {**labels, "layer": str(number), "x": float(pixel), "quantity": "gram/image", "value": value}
        if seed == 0 and arm != SHUFFLED:
            shown_labels = np.concatenate([y[y == label][:SHOWN] for label in np.unique(y)])
            pairs = product(np.unique(y), repeat=2)
            for pixel, (a, b) in enumerate(pairs):
                value = image[np.ix_(shown_labels == a, shown_labels == b)].mean()
                yield {**labels, "layer": str(number), "x": float(pixel), "quantity": "image/class means",
                       "value": value}  # fmt: skip


def other_maps(labels, layer, y, feature_map, draw):
    """NC1 after W alone, and after M^{1/2} with random eigenvectors, on the data of one layer of the claim."""
    W, _ = features(
        feature_map, WIDTHS[feature_map], layer["data"].shape[1], 0.05, labels["seed"], int(labels["x"]) - 1
    )
    roots = np.sqrt(np.maximum(np.linalg.eigvalsh(layer["M"]), 0))
    Q = np.linalg.qr(draw.normal(size=(len(roots), len(roots))))[0]
    nc1 = {place: np.divide(*within_and_between(h, y)) for place, h in (
        ("data", layer["data"]), ("agop", layer["agop"]), ("linear", layer["agop"] @ W.T),
        ("turned", layer["data"] @ Q @ np.diag(roots)),
    )}  # fmt: skip
    for arm, quantity, place in (
        (LINEAR, "nc1/agop", "agop"), (LINEAR, "nc1/features", "linear"), (TURNED, "nc1/data", "data"),
        (TURNED, "nc1/agop", "turned"),
    ):  # fmt: skip
        yield {**labels, "arm": arm, "quantity": quantity, "value": nc1[place]}


def chance(labels, layer, y, feature_map):
    """The 2.5 % quantiles of NC1 and NC2 at each place, of 40 permutations of the labels."""
    draw = stream("d_deep_rfm", "classes by chance", feature_map, labels["seed"])
    for place in ("data", "agop", "features"):
        orders = [draw.permutation(len(y)) for _ in range(40)]
        nc1 = [np.divide(*within_and_between(layer[place], y[order])) for order in orders]
        nc2 = [simplex_distance(layer[place], y[order]) for order in orders]
        for name, values in (("nc1", nc1), ("nc2", nc2)):
            yield {**labels, "quantity": f"null/{name}/{place}", "value": np.quantile(values, 0.025)}


def models(source, x, y, seed, depth, fewer=()):
    """The rows of the models of a source, with its kernels in paper D. Without a ridge, all interpolate."""
    for case in (f"{source}, {KERNELS[source]}, relu", f"{source}, laplace, fourier"):
        yield {"arm": "claim", "case": case, "seed": seed, "quantity": "train_accuracy", "value": 1.0}
        for arm in ("claim", NO_AGOP, SHUFFLED):
            yield from expected_rows(x, y, case, arm, seed, depth)
        yield from by_samples(x, y, case, seed, depth, [*(fewer if case.endswith("fourier") else ()), len(x)])


def by_samples(x, y, case, seed, depth, counts):
    """NC1 after the last M^{1/2} of models that are fitted to the first samples."""
    _, kernel, feature_map = case.split(", ")
    for count, arm in product(counts, ("claim", NO_AGOP)):
        *_, last = layers(x[:count], y[:count], count=depth, kernel=kernel, bandwidth=2.0, feature_map=feature_map,
                          width=WIDTHS[feature_map], scale=0.05, seed=seed, learns=arm != NO_AGOP)  # fmt: skip
        row = {"arm": arm, "case": case, "seed": seed, "x": float(count)}
        nc1 = np.divide(*within_and_between(last["agop"], y[:count]))
        yield {**row, "quantity": "nc1/by samples", "value": nc1}
        if arm == "claim" and count < len(x):
            yield {**row, "quantity": "train_accuracy", "value": 1.0}


def test_every_row_of_digits():
    """Each seed has its own images, without repetition, of the training part."""
    images, classes = load_digits(return_X_y=True)
    training = np.ones(len(images), bool)
    for digit in range(10):
        order = stream("digits", digit, "split").permutation(np.flatnonzero(classes == digit))
        training[order[: round(0.2 * len(order))]] = False
    x, y = images[training] / 16, classes[training]
    expected = []
    for seed in range(2):
        rows = stream("d_deep_rfm", "digits", seed).choice(len(x), 22, replace=False)
        expected += list(models("digits", x[rows], y[rows], seed, 5, fewer=[15, 18]))
    settings = d_deep_rfm.Settings(data=["digits"], samples=22, fewer_samples=[15, 18], instances=2, layers=5, **WIDTHS)
    measured = list(d_deep_rfm.measure(settings))
    assert {row["dtype"] for row in measured} == {"float64"}
    # images are kept in float32
    assert_same_rows(measured, expected, rel=1e-5, absolute=1e-6)


def test_every_row_of_a_tiny_mnist(tmp_path, monkeypatch):
    """The first images of the training file; the Gaussian kernel, and its control, for ReLU features."""
    draw = np.random.default_rng(5)
    y = np.array([0, 1, 2, 2, 1, 0, 1, 2, 0, 1, 2, 2, 0], np.uint8)
    raw = tmp_path / "MNIST" / "raw"
    raw.mkdir(parents=True)
    training, test = draw.integers(0, 128, size=(2, len(y), 28, 28)).astype(np.uint8) + 40 * y[:, None, None]
    for part, x in (("train", training), ("t10k", test)):
        for name, values in (("images-idx3", x), ("labels-idx1", y)):
            header = struct.pack(f">I{values.ndim}I", 0x800 + values.ndim, *values.shape)
            (raw / f"{part}-{name}-ubyte").write_bytes(header + values.tobytes())
    monkeypatch.setenv("GRAMLAB_DATA", str(tmp_path))
    pixels = training[:11].reshape(11, -1) / 255
    settings = d_deep_rfm.Settings(data=["mnist"], samples=11, fewer_samples=[], instances=1, layers=2, **WIDTHS)
    measured = list(d_deep_rfm.measure(settings))
    assert_same_rows(measured, list(models("mnist", pixels, y[:11], 0, 2)), rel=1e-5, absolute=1e-6)


def test_seeds_beyond_the_fewer_have_fourier_features_and_their_control_without_agop_alone():
    """On all samples. They change no row of the first seeds, and the settings say how many seeds a series has."""
    sizes = {"data": ["digits"], "samples": 22, "fewer_samples": [15], "instances": 3, "layers": 2, **WIDTHS}
    every_row = list(d_deep_rfm.measure(d_deep_rfm.Settings(**sizes)))
    settings = d_deep_rfm.Settings(**sizes, fewer_instances=2)
    left_out = [
        row
        for row in every_row
        if row["seed"] == 2
        and (
            row["case"].endswith("relu")
            or row["arm"] in (SHUFFLED, LINEAR, TURNED)
            or row["quantity"] == "nc1/by samples"
            or row.get("x") == 15
        )
    ]
    assert list(d_deep_rfm.measure(settings)) == [row for row in every_row if row not in left_out]
    assert settings.seeds() == {2, 3}
    assert d_deep_rfm.Settings(**sizes).seeds() == d_deep_rfm.Settings(**sizes, fewer_instances=9).seeds() == {3}


@pytest.mark.usefixtures("offline")
def test_cases_are_named_for_the_images_that_stand_in(tmp_path, monkeypatch):
    monkeypatch.setenv("GRAMLAB_DATA", str(tmp_path))
    y, folder = np.array([0, 1, 2, 2, 1, 0, 1, 2, 0]), tmp_path / "cifar10-jpeg"
    pixels = np.random.default_rng(6).integers(0, 128, size=(9, 4, 4, 3)) + 40 * y[:, None, None, None]
    folder.mkdir()
    for part in ("train", "test"):
        cells = []
        for image in pixels.astype(np.uint8):
            stream_of_bytes = io.BytesIO()
            Image.fromarray(image).save(stream_of_bytes, "PNG")
            cells.append(stream_of_bytes.getvalue())
        pq.write_table(pa.table({"image": pa.array(cells), "label": pa.array(y)}), folder / f"{part}.parquet")
    settings = d_deep_rfm.Settings(data=["cifar10"], samples=9, fewer_samples=[], instances=1, layers=2, **WIDTHS)
    x = pixels.transpose(0, 3, 1, 2).reshape(9, -1) / 255
    measured = list(d_deep_rfm.measure(settings))
    assert_same_rows(measured, list(models("cifar10-jpeg", x, y, 0, 2)), rel=1e-5, absolute=1e-6)


def test_only_mnist_has_the_gaussian_kernel():
    assert {name for name, kernel in d_deep_rfm.KERNELS.items() if kernel == "gaussian"} == {"mnist"}
