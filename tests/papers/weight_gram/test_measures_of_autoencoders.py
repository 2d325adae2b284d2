"""What the experiments on autoencoders measure, and how the code differs."""

import numpy as np
import pytest
import torch
from formulas import (
    hidden_states,
    linearity,
    one_hot,
    replaced_labels,
    surrogate,
)
from handmade import assert_same_rows, classes_data
from runs_by_hand import SINGLE, accuracies, networks, samples

from gramlab.streams import stream
from tasks.papers.weight_gram.experiments import (
    a_differences,
    a_fig10,
)


def autoencoder(weights, x, noise=None):
    """Logits, and the means of the latents, of an autoencoder with two hidden GELU layers."""

    def layers(prefix, rows):
        named = {name.removeprefix(f"{prefix}."): value for name, value in weights.items() if name.startswith(prefix)}
        return named, rows

    encoder, rows = layers("encoder", x)
    # the last linear layer of hidden_states has no activation, so the layers after the encoder's are appended
    mean = hidden_states({**encoder, "4.weight": weights["mean.weight"], "4.bias": weights["mean.bias"]}, rows, "gelu")
    variance = hidden_states({**encoder, "4.weight": weights["log_variance.weight"],
                              "4.bias": weights["log_variance.bias"]}, rows, "gelu")  # fmt: skip
    z = mean[-1] if noise is None else mean[-1] + noise * np.exp(variance[-1]) ** 0.5
    return decoded_logits(weights, z), mean[-1]


def decoded_logits(weights, z):
    decoder = {name.removeprefix("decoder."): value for name, value in weights.items() if name.startswith("decoder.")}
    return hidden_states(decoder, z, "gelu")[-1]


def sigmoid(logits):
    return 1 / (1 + np.exp(-logits))


def pixel_data(name, train, test):
    """Images of eight bits of nine classes, each in the test set twice, in another order than by class."""
    data = classes_data(name, train=train, test=test, shape=(1, 2, 3), classes=9)
    draw = np.random.default_rng(len(name))
    x, x_test = (torch.from_numpy(draw.integers(0, 256, size=(n, 1, 2, 3)).astype(np.uint8)) for n in (train, test))
    y_test = torch.from_numpy(draw.permutation(np.arange(test) % 9))
    return type(data)(name, x, data.y_train, x_test, y_test, classes=9, factor=1 / 255)


@pytest.fixture
def autoencoders(handmade, monkeypatch):
    """The run of Figure 10 with two data sets, of which the first 11 samples are measured and 6 interpolated."""
    monkeypatch.setattr(a_fig10, "SAMPLES", 11)
    monkeypatch.setattr(a_fig10, "PAIRS", 6)
    sets = {"MNIST": pixel_data("MNIST", 13, 18), "CIFAR-10": pixel_data("CIFAR-10", 12, 19)}
    settings = {"model": {"kind": "vae", "hidden": [4, 5], "latent": 3}, "loss": "vae", "optimizer": "adam",
                "sets": [*sets], "grid": {"beta": [0.1, 5.0]}, "variants": {"CIFAR-10": {"epochs": 3}}}  # fmt: skip
    history = [{"arm": "claim", "case": f"{data_set},beta={beta}", "seed": seed, "step": step, "x": float(step),
                "quantity": quantity, "value": (number + 1) * (seed + 2) * (step + 3.5) * beta}
               for data_set in sets for beta in (0.1, 5) for seed in (0, 1) for step in (0, 1)
               for number, quantity in enumerate(("train_reconstruction", "test_reconstruction", "train_kl"))
               ]  # fmt: skip
    return handmade("a_fig10", settings, sets, history=history)


def test_linearity_and_reconstruction_of_autoencoders(autoencoders):
    """Figure 10: latent means of training samples, reconstructions of test samples with noise, shuffled pairs."""
    by_hand, expected, shuffled = autoencoders, [], "control: shuffled pairs"
    for data_set, weights, columns, _ in networks(by_hand):
        x, test = samples(by_hand.data(data_set))[:11], samples(by_hand.data(data_set), "test")
        name = ("a_fig10", data_set, columns["seed"], "measure")
        orders = {part: stream(*name, part).permutation(len(rows)) for part, rows in (("train", x), ("test", test))}
        z = autoencoder(weights, x)[1]
        for arm, target, intercept in (
            ("claim", x, False),
            ("corrected", x, True),
            (shuffled, x[orders["train"]], True),
        ):
            expected.append({**columns, "arm": arm, "quantity": "target_linearity",
                             "value": linearity(z, target, intercept)})  # fmt: skip
        logits, _ = autoencoder(weights, test, stream(*name, "noise").normal(size=(len(test), 3)))
        p = sigmoid(logits)
        for arm, target in (("claim", test), ("corrected", test), (shuffled, test[orders["test"]])):
            bits = -(target * np.log(p) + (1 - target) * np.log(1 - p))
            expected.append({**columns, "arm": arm, "quantity": "reconstruction", "value": bits.sum() / len(test)})
    expected += [
        {**row, "case": row["case"].replace(",", ", ")} for row in by_hand.history if row["quantity"] != "train_kl"
    ]
    names = ("target_linearity", "reconstruction", "train_reconstruction", "test_reconstruction")
    measured = [*a_fig10.measure(by_hand.run)]
    assert_same_rows(measured, expected, rel=SINGLE, absolute=1e-5, quantity=names)
    others = {row["quantity"] for row in measured} - set(names)
    assert {name.split("/")[0] for name in others} == {"interpolation", "image", "frame", "sharpness"}


def roughness(images, shape):
    """Squared differences of neighbouring pixels over squared deviations from the mean of an image's channel."""
    differences = deviations = 0.0
    for channel in images.reshape(-1, *shape[1:]):
        height, width = channel.shape
        for row in range(height):
            for column in range(width):
                deviations += (channel[row, column] - channel.mean()) ** 2
                if row:
                    differences += (channel[row, column] - channel[row - 1, column]) ** 2
                if column:
                    differences += (channel[row, column] - channel[row, column - 1]) ** 2
    return differences / deviations


def test_sharpness_of_autoencoders(autoencoders):
    """Figure 10: test images from their latent means, after training; the control exchanges the betas of a seed."""
    by_hand, expected = autoencoders, []
    for data_set, weights, columns, last in networks(by_hand):
        if not last:
            continue
        test, seed = samples(by_hand.data(data_set), "test"), columns["seed"]
        value = roughness(sigmoid(autoencoder(weights, test)[0]), (1, 2, 3)) / roughness(test, (1, 2, 3))
        cases = [f"{data_set}, {case}" for case in by_hand.cases(data_set)]
        order = stream("a_fig10", data_set, seed, "other betas").permutation(2)
        permuted = cases[order[cases.index(columns["case"])]]
        for arm, case in (("claim", columns["case"]), ("control: permuted betas", permuted)):
            expected.append({**columns, "arm": arm, "case": case, "quantity": "sharpness", "value": value})
    assert_same_rows(a_fig10.measure(by_hand.run), expected, rel=1e-3, absolute=1e-5, quantity=("sharpness",))


def test_a_blur_lowers_the_sharpness_and_paler_images_keep_it():
    images = torch.from_numpy(np.random.default_rng(3).uniform(size=(5, 2, 8, 8)))
    blurred = torch.nn.functional.avg_pool2d(images, 3, stride=1, padding=1, count_include_pad=False)
    sharp = a_fig10._roughness(images)
    assert a_fig10._roughness(blurred) < 0.7 * sharp
    assert a_fig10._roughness(0.3 * images + 0.5) == pytest.approx(sharp)
    assert a_fig10._roughness(torch.tensor([[[0.0, 1.0], [1.0, 0.0]]])) == 4  # a checkerboard of two by two


class Transitions(torch.nn.Module):
    """An autoencoder whose latent number is the first of two pixels; a function of it is both pixels of the output."""

    def __init__(self, function):
        super().__init__()
        self.encoder, self.function = torch.nn.Identity(), function

    def mean(self, x):
        return x[:, :1]

    def decoder(self, z):
        return self.function(z).clamp(1e-6, 1 - 1e-6).logit().repeat(1, 2)


@pytest.mark.parametrize(
    ("function", "bend"),
    [(lambda z: z, 0.0), (lambda z: (z > 0.49).to(z), 0.5), (lambda z: 4 * z * (1 - z), 1.0)],
    ids=["linear", "sudden", "a detour between equal ends"],
)
def test_the_bend_of_known_transitions(function, bend):
    x = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
    rows = [*a_fig10._interpolation(Transitions(function), x, torch.tensor([1, 0]))]
    (value,) = [row["value"] for row in rows if (row["arm"], row["quantity"]) == ("claim", "interpolation/bend")]
    assert value == pytest.approx(bend, abs=1e-4)


def test_interpolation_by_autoencoders(autoencoders):
    """Figure 5: all pairs of the first samples of MNIST after training; least squares, its half, and other samples."""
    by_hand, expected, shuffled = autoencoders, [], "control: shuffled pairs"
    for data_set, weights, columns, last in networks(by_hand):
        if data_set == "CIFAR-10" or not last:
            continue
        x = samples(by_hand.data(data_set))[:6]
        order = stream("a_fig10", columns["seed"], "other pairs").permutation(6)
        z = autoencoder(weights, x)[1]
        g, other = np.linalg.pinv(z) @ x, np.linalg.pinv(z[order]) @ x
        least = np.mean([np.linalg.norm(z[i] @ g - x[i]) for i in range(6)])
        arms = {"claim": (g, x), "control: half of g": (g / 2, x), shuffled: (other, x[order])}
        expected.append({**columns, "arm": "claim", "quantity": "interpolation/least squares", "x": columns["x"],
                         "value": least})  # fmt: skip
        for arm, (linear, target) in arms.items():
            decoder_errors = []
            for alpha in (0.0, 0.25, 0.5, 0.75, 1.0):
                errors = []
                for i in range(6):
                    for j in range(6):
                        latent, point = (alpha * rows[i] + (1 - alpha) * rows[j] for rows in (z, x))
                        errors.append(np.linalg.norm(latent @ linear - point))
                        decoded = sigmoid(decoded_logits(weights, latent[None]))[0]
                        point = alpha * target[i] + (1 - alpha) * target[j]
                        decoder_errors.append(np.linalg.norm(decoded - point))
                expected.append({**columns, "arm": arm, "quantity": "interpolation/ratio", "x": alpha,
                                 "value": np.mean(errors) / least})  # fmt: skip
            expected.append({**columns, "arm": arm, "quantity": "interpolation/decoder",
                             "value": np.mean(decoder_errors)})  # fmt: skip
        decoded = [sigmoid(decoded_logits(weights, latent[None]))[0] for latent in z]
        for arm, images in (("claim", decoded), (shuffled, [decoded[place] for place in order])):
            bend = sudden = 0.0
            for alpha, step in ((0.25, 0.25), (0.5, 0.5), (0.75, 0.25)):
                for i in range(6):
                    for j in range(6):
                        on_the_way = sigmoid(decoded_logits(weights, (alpha * z[i] + (1 - alpha) * z[j])[None]))[0]
                        bend += np.linalg.norm(on_the_way - alpha * images[i] - (1 - alpha) * images[j])
                        sudden += step * np.linalg.norm(decoded[i] - decoded[j])
            expected.append({**columns, "arm": arm, "quantity": "interpolation/bend", "value": bend / (bend + sudden)})
    names = ("interpolation/ratio", "interpolation/decoder", "interpolation/least squares", "interpolation/bend")
    assert_same_rows(a_fig10.measure(by_hand.run), expected, rel=1e-3, absolute=1e-5, quantity=names)


def test_images_of_autoencoders(autoencoders):
    """Figures 5 and 10: the first test image of each class, and the first 2 that turns into the first 8 on MNIST."""
    by_hand, expected = autoencoders, []
    for data_set, weights, columns, last in networks(by_hand):
        if columns["seed"] or not last:
            continue
        data = by_hand.data(data_set)
        test, labels = samples(data, "test"), data.y_test.tolist()
        first = [test[labels.index(label)] for label in range(9)]
        images = {"image/truth": first[:8], "image/decoded": [sigmoid(autoencoder(weights, image[None])[0])[0]
                                                              for image in first[:8]]}  # fmt: skip
        if data_set == "MNIST":
            latents = {label: autoencoder(weights, first[label][None])[1] for label in (2, 8)}
            shares = [frame / 9 for frame in range(10)]
            images["frame/truth"] = [share * first[8] + (1 - share) * first[2] for share in shares]
            mixed = [share * latents[8] + (1 - share) * latents[2] for share in shares]
            images["frame/decoded"] = [sigmoid(decoded_logits(weights, latent))[0] for latent in mixed]
        expected += [{**columns, "arm": "claim", "quantity": quantity, "layer": str(index), "x": float(place),
                      "value": pixel}
                     for quantity, rows in images.items() for index, image in enumerate(rows)
                     for place, pixel in enumerate(image)]  # fmt: skip
    names = ("image/truth", "image/decoded", "frame/truth", "frame/decoded")
    # values are rounded to eight bits
    assert_same_rows(a_fig10.measure(by_hand.run), expected, rel=0, absolute=0.51 / 255, quantity=names)


def test_differences_from_the_code(handmade):
    """Both ways of each difference on the last networks, at the last hidden layer and, for PCA, the one before."""
    data = classes_data(train=40, test=31, classes=4)
    by_hand = handmade("a_differences", {"model": {"hidden": [9, 8], "activation": "gelu"}}, data)
    x, test, Y, expected = samples(data), samples(data, "test"), one_hot(data.y_train, 4), []
    for seed in (0, 1):
        weights = by_hand.weights(2, seed)
        _, previous, H, _ = hidden_states(weights, x, "gelu")
        W, centred = weights["4.weight"], Y - Y.mean(0)
        S, T = surrogate(H, W, Y), linearity(H, Y)
        Z = previous @ weights["2.weight"].T

        def leading(rows):
            return np.linalg.svd(rows - rows.mean(0))[2][:2].T

        logits = hidden_states(weights, test, "gelu")[-1]
        losses = [np.log(np.exp(row).sum()) - row[label] for row, label in zip(logits, data.y_test, strict=True)]
        noisy = replaced_labels(data.y_test, 4, 0.25, stream, "a_differences", seed, "test labels")
        fitted = H @ np.linalg.pinv(H) @ Y
        per_class = [surrogate(H, W, column) for column in Y.T]
        values = [
            ("labels", "surrogate", S, surrogate(H, W, centred)),
            ("labels", "target_linearity", T, linearity(H, centred)),
            ("classes", "surrogate", S, sum(per_class) / 4),
            ("pca", "surrogate", surrogate(Z, np.eye(8), Y), surrogate(Z @ leading(Z), np.eye(2), Y)),
            ("pca", "target_linearity", T, linearity(H @ leading(H), Y)),
            ("inverse", "target_linearity", T, 1 - ((Y - fitted) ** 2).sum() / ((Y - 1 / 4) ** 2).sum()),
            ("test loss", "test_loss", np.mean(losses), 2 * np.mean(losses)),
            ("test labels", "test_accuracy", np.mean(logits.argmax(1) == data.y_test.numpy()),
             np.mean(logits.argmax(1) == noisy)),
        ]  # fmt: skip
        columns = {"seed": seed, "step": 2 * 14}
        for case, quantity, printed, code in values:
            expected.append({**columns, "arm": "printed", "case": case, "quantity": quantity, "value": printed})
            expected.append({**columns, "arm": "code", "case": case, "quantity": quantity, "value": code})
        expected += [{**columns, "arm": "code", "case": "rate", "quantity": quantity, "value": value}
                     for quantity, value in (("surrogate", S), ("target_linearity", T))]  # fmt: skip
    expected += [{**row, "case": "rate"} for row in accuracies(by_hand, lambda row: ("code",)) if row["x"] == 2]
    measured = [*a_differences.measure(by_hand.run)]
    assert_same_rows([{**row, "x": 0.0} for row in measured], [{**row, "x": 0.0} for row in expected],
                     rel=1e-3, absolute=1e-4)  # fmt: skip
