"""The tables of c_tab2, c_tab2_mnist, c_tab2_cifar10, c_fig8 and c_fig11 on runs made by hand, number by number."""

from itertools import product

import numpy as np
import pytest
import torch
from handmade import HandmadeRun, assert_same_rows, classes_data, target_data
from layer_oracle import (
    entry_correlation,
    entry_cosine,
    identity,
    layer_features,
    null_quantile,
    positive_eigenvalues,
    power,
)

from gramlab.streams import stream
from tasks.measuring import resumable
from tasks.papers.fact.experiments import c_decay, c_fig8, c_fig11, c_tab2, c_tab2_cifar10, c_tab2_mnist

TOLERANCE = {"rel": 1e-6, "absolute": 1e-8}  # of central differences
DRAWS = 40  # random matrices of a null
SHUFFLED = "control: shuffled labels"
CORRELATED = ("fact", "symmetric fact", "agop", "root agop", "enfa", "root enfa")


def layers_of(weights, biased=True):
    """[(W, b), ...] of an mlp's parameters by name."""
    names = sorted({name.split(".")[0] for name in weights}, key=int)
    return [(weights[f"{name}.weight"], weights[f"{name}.bias"] if biased else None) for name in names]


def samples(data, count):
    """The first training samples as numbers in float32, as the networks are trained on them, flat; their classes."""
    x = data.x_train[:count].numpy().reshape(count, -1).astype(np.float32) * np.float32(data.factor)
    return x.astype(float), data.y_train[:count].numpy()


def normals(name, gram):
    """The normal matrices of a null, from its stream."""
    draw = stream(*name)
    return [draw.normal(size=(len(gram), positive_eigenvalues(gram))) for _ in range(DRAWS)]


def compared(features, side):
    """The six matrices that a weight's Gram is compared with."""
    fact, agop, enfa = (features[side + name] for name in ("fact", "agop", "enfa"))
    symmetric = power(fact @ fact.T, 0.5)
    return dict(zip(CORRELATED, (fact, symmetric, agop, power(agop, 0.5), enfa, power(enfa, 0.5)), strict=True))


def expected_rows(handmade, variant, seed, epoch, indices):
    """Rows of both arms for some layers of a network, without the column ``case``."""
    settings = handmade.settings[variant]
    count = settings.samples or len(handmade.data(variant).x_train)
    x, classes = samples(handmade.data(variant), count)
    shuffled = stream(handmade.key, "shuffled", seed).permutation(count)
    layers = layers_of(handmade.weights(epoch, seed, variant=variant))
    for arm, index in product(("claim", SHUFFLED), indices):
        targets = np.eye(handmade.data(variant).classes)[classes[shuffled] if arm == SHUFFLED else classes]
        features = layer_features(layers, index, x, targets, settings.weight_decay, np.tanh)
        name = str(2 * index)
        labels = {"arm": arm, "seed": seed, "layer": name, "x": float(epoch),
                  "step": handmade.steps(epoch, variant)}  # fmt: skip
        if arm == "claim":
            decayed = settings.weight_decay * layers[index][0]
            value = np.linalg.norm(features["slope"] + decayed) / np.linalg.norm(decayed)
            yield {**labels, "quantity": "stationarity", "value": value}
        for side in ("", "back_"):
            gram = features[f"{side}gram"]
            drawn = normals((handmade.key, "null", seed, name, side), gram)
            for feature, matrix in compared(features, side).items():
                value = entry_correlation(matrix, gram)
                yield {**labels, "quantity": f"pearson/{side}{feature}", "value": value}
                if epoch == settings.epochs:
                    value = null_quantile(matrix, gram, drawn, entry_correlation)
                    yield {**labels, "quantity": f"null/{side}{feature}", "value": value}


def history_rows(handmade):
    return [{**row, "arm": "claim"} for row in handmade.history]


TABLE_2 = {"model": {"hidden": [5, 4], "activation": "tanh"}, "loss": "mse", "batch": 4, "epochs": 3, "seeds": 3,
           "snapshots": 1, "dtype": "float64", "weight_decay": 0.03}  # fmt: skip


@pytest.mark.parametrize(("experiment", "key"), [
    (c_tab2, "c_tab2"), (c_tab2_mnist, "c_tab2_mnist"), (c_tab2_cifar10, "c_tab2_cifar10"),
])  # fmt: skip
def test_the_first_layer_after_training(experiment, key, tmp_path):
    settings = {**TABLE_2, "variants": {"1K": {"samples": 7}, "2K": {"samples": 10, "weight_decay": 0.2}}}
    data = classes_data(train=11, shape=(1, 2, 3), factor=0.25)
    handmade = HandmadeRun(tmp_path, key, settings, data, paper="fact")
    expected = [{**row, "case": variant} for variant in ("1K", "2K") for seed in range(3)
                for row in expected_rows(handmade, variant, seed, 3, [0])]  # fmt: skip
    assert_same_rows(list(experiment.measure(handmade.run)), [*expected, *history_rows(handmade)], **TOLERANCE)


def test_corrected_variants_are_arms(tmp_path):
    settings = {**TABLE_2, "seeds": 2, "variants": {"1K": {}, "1K corrected": {"weight_decay": 0.2}}}
    handmade = HandmadeRun(tmp_path, "c_tab2", settings, classes_data(train=8), paper="fact")
    arms = {"1K": {"claim": "claim"}, "1K corrected": {"claim": "corrected", SHUFFLED: SHUFFLED}}
    expected = [{**row, "case": "1K", "arm": arms[variant][row["arm"]]} for variant in arms for seed in range(2)
                for row in expected_rows(handmade, variant, seed, 3, [0]) if row["arm"] in arms[variant]]  # fmt: skip
    history = [{**row, "case": "1K", "arm": arms[row["case"]]["claim"]} for row in handmade.history]
    assert_same_rows(list(c_tab2.measure(handmade.run)), [*expected, *history], **TOLERANCE)


def test_all_layers_at_every_kept_epoch(tmp_path, monkeypatch):
    monkeypatch.setattr(resumable, "FOLDER", tmp_path / "parts")
    settings = {
        **TABLE_2,
        "model": {"hidden": [5, 3, 4], "activation": "tanh"},
        "seeds": 2,
        "snapshots": 2,
        "sets": ["MNIST", "CIFAR-10"],
        "variants": {"MNIST": {"weight_decay": 0.2}},
    }
    data = {"MNIST": classes_data("MNIST", train=9, shape=(5,)),
            "CIFAR-10": classes_data("CIFAR-10", train=10, shape=(2, 2, 1), factor=0.5)}  # fmt: skip
    handmade = HandmadeRun(tmp_path, "c_fig8", settings, data, paper="fact")
    expected = [{**row, "case": variant} for variant, seed, epoch in product(data, range(2), (0, 2, 3))
                for row in expected_rows(handmade, variant, seed, epoch, range(4))]  # fmt: skip
    measured = list(c_fig8.measure(handmade.run))
    assert_same_rows(measured, [*expected, *history_rows(handmade)], **TOLERANCE)


def test_features_along_training_by_weight_decay(tmp_path):
    settings = {**TABLE_2, "seeds": 2, "snapshots": 2, "grid": {"weight_decay": [0.1, 0.4]}}
    handmade = HandmadeRun(tmp_path, "c_decay", settings, classes_data(train=9, shape=(1, 2, 3), factor=0.5), "fact")
    x, classes = samples(handmade.data(), 9)
    expected = history_rows(handmade)
    for epoch, decay, seed, arm in product((0, 2, 3), (0.1, 0.4), range(2), ("claim", SHUFFLED)):
        case = f"weight_decay={decay}"
        shuffled = stream("c_decay", "shuffled", seed).permutation(9) if arm == SHUFFLED else np.arange(9)
        layers = layers_of(handmade.weights(epoch, seed, case))
        features = layer_features(layers, 0, x, np.eye(3)[classes[shuffled]], decay, np.tanh)
        images = {"gram": features["gram"], "fact": features["fact"], "root agop": power(features["agop"], 0.5)}
        labels = {"arm": arm, "case": case, "seed": seed, "layer": "0", "step": handmade.steps(epoch)}
        expected += [{**labels, "quantity": f"pearson/{name}", "x": float(epoch),
                      "value": entry_correlation(images[name], images["gram"])}
                     for name in ("fact", "root agop")]  # fmt: skip
        if seed == 0 and arm == "claim":  # of six pixels each is a patch of its own
            expected += [{**labels, "quantity": f"image/{name}", "x": float(entry), "value": value}
                         for name, matrix in images.items() for entry, value in enumerate(matrix.ravel())]  # fmt: skip
    assert_same_rows(list(c_decay.measure(handmade.run)), expected, **TOLERANCE)


def linear_rows(handmade, variant, case, seed):
    """Rows of a deep linear network, whose features have closed forms."""
    decay = {"weight_decay=0.04": 0.04, "weight_decay=0": 0.0}[case]
    arm = "claim" if decay else "control: no weight decay"
    labels = {"arm": arm, "case": variant, "seed": seed, "dtype": "float64"}
    data, depth = handmade.data(variant), int(variant[1:])
    x, targets = data.x_train.numpy(), data.y_train.numpy()
    layers = layers_of(handmade.weights(handmade.settings[variant].epochs, seed, case, variant), biased=False)
    first = layer_features(layers, 0, x, targets, decay or 1.0, identity)
    product_of_layers = np.linalg.multi_dot([W for W, _ in reversed(layers)])
    np.testing.assert_allclose(first["agop"], product_of_layers.T @ product_of_layers, rtol=1e-6, atol=1e-8)
    for exponent in (1.0, 1 / 2, 1 / 3, 1 / 4, 1 / 5):
        value = entry_cosine(power(first["agop"], exponent), first["gram"])
        yield {**labels, "quantity": "cosine/agop", "x": exponent, "value": value}
    yield {**labels, "quantity": "cosine/fact", "value": entry_cosine(first["fact"], first["gram"])}
    drawn = normals((handmade.key, "null", variant, seed), first["gram"])
    for name, matrix in (("fact", first["fact"]), ("agop", power(first["agop"], 1 / depth))):
        value = null_quantile(matrix, first["gram"], drawn, entry_cosine)
        yield {**labels, "quantity": f"null/{name}", "value": value}
    spectra = [np.sqrt(np.linalg.eigvalsh(W @ W.T if len(W) < W.shape[1] else W.T @ W)[::-1][:2]) for W, _ in layers]
    spread = max(max(spectrum[k] for spectrum in spectra) - min(spectrum[k] for spectrum in spectra) for k in range(2))
    yield {**labels, "quantity": "balance", "value": spread / max(spectrum[0] for spectrum in spectra)}
    yield from stationarity_rows(handmade, variant, case, seed, labels)


def stationarity_rows(handmade, variant, case, seed, labels):
    """||∇_W L_λ|| / (λ ||W||) of every layer of a deep linear network, by central differences of the loss."""
    decay = float(case.partition("=")[2])
    if not decay:
        return
    data, weights = handmade.data(variant), list(handmade.weights(2, seed, case, variant).values())
    x, y = data.x_train.numpy() * data.factor, data.y_train.numpy()

    def loss() -> float:
        outputs = x
        for W in weights:
            outputs = outputs @ W.T
        return ((outputs - y) ** 2).mean(1).mean() + decay / 2 * sum((W**2).sum() for W in weights)

    for number, W in enumerate(weights, 1):
        gradient = np.zeros_like(W)
        for place in np.ndindex(W.shape):
            sides = []
            for step in (1e-5, -1e-5):
                W[place] += step
                sides.append(loss())
                W[place] -= step
            gradient[place] = (sides[0] - sides[1]) / 2e-5
        value = np.linalg.norm(gradient) / (decay * np.linalg.norm(W))
        yield {**labels, "layer": str(number), "quantity": "stationarity", "value": value}


def test_deep_linear_networks(tmp_path):
    settings = {"model": {"kind": "deep_linear", "hidden": [6]}, "loss": "mse", "batch": None, "epochs": 2, "seeds": 3,
                "snapshots": 1, "dtype": "float64", "grid": {"weight_decay": [0.04, 0.0]},
                "variants": {"L2": {}, "L3": {"model": {"hidden": [6, 3]}}}}  # fmt: skip
    data = target_data(train=8, shape=(4,), outputs=2)
    handmade = HandmadeRun(tmp_path, "c_fig11", settings, data, paper="fact")
    expected = [row for variant in ("L2", "L3") for case in handmade.cases(variant) for seed in range(3)
                for row in linear_rows(handmade, variant, case, seed)]  # fmt: skip
    measured = list(c_fig11.measure(handmade.run))
    assert_same_rows(measured, [*expected, *history_rows(handmade)], **TOLERANCE)


def test_a_rank_deficient_gram_keeps_its_null_space(tmp_path):
    """The first layer of width 3 on 6 inputs: three eigenvalues of its Gram are 0, and stay 0 in its null."""
    settings = {**TABLE_2, "model": {"hidden": [3], "activation": "tanh"}, "seeds": 1, "variants": {"1K": {}}}
    data = classes_data(train=9)
    handmade = HandmadeRun(tmp_path, "c_tab2", settings, data, paper="fact")
    gram = torch.from_numpy(handmade.weights(3, 0, variant="1K")["0.weight"])
    assert positive_eigenvalues((gram.T @ gram).numpy()) == 3
    expected = [{**row, "case": "1K"} for row in expected_rows(handmade, "1K", 0, 3, [0])]
    assert_same_rows(list(c_tab2.measure(handmade.run)), [*expected, *history_rows(handmade)], **TOLERANCE)
