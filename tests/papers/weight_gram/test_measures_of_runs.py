"""Every number that paper A's experiments measure on a training run, against plain formulas on runs made by hand."""

import itertools
import math
from itertools import pairwise

import numpy as np
import pytest
from formulas import (
    hidden_states,
    input_jacobians,
    linearity,
    one_hot,
    pearson,
    replaced_labels,
    surrogate,
)
from handmade import assert_same_rows, classes_data, target_data
from runs_by_hand import SINGLE, accuracies, samples

from gramlab.streams import stream
from tasks.papers.weight_gram.experiments import (
    a_fig1,
    a_fig2,
    a_fig4,
    a_fig6,
    a_fig7,
    a_fig8,
    a_fig9,
    a_fig12,
    a_fig13,
)


def by_layer(weights, x, Y, activation="gelu") -> list[dict]:
    """Surrogate, Theorem 4's surrogate ("bounded") and Target Linearity of every hidden state, by its next layer."""
    rows = []
    for layer, h in enumerate(hidden_states(weights, x, activation)[1:-1], start=1):
        W = weights[f"{2 * layer}.weight"]
        size = sum(float((W @ row) @ (W @ row)) for row in h)
        rows.append({"layer": str(layer), "quantity": "surrogate", "value": surrogate(h, W, Y)})
        rows.append({"layer": str(layer), "quantity": "normalised", "value": surrogate(h, W, Y - Y.mean(0)) / size})
        rows.append({"layer": str(layer), "quantity": "target_linearity", "value": linearity(h, Y)})
    return rows


def linearity_alone(rows) -> list[dict]:
    """The rows of Target Linearity."""
    return [row for row in rows if row["quantity"] == "target_linearity"]


RANDOM = "control: random features"
RAW = "surrogate, raw"
# where a network's measurements stand: arms and quantities
AS_PRINTED = {"surrogate": [("claim", "surrogate"), ("claim", RAW)],
              "target_linearity": [("claim", "target_linearity")]}  # fmt: skip
IN_BOTH_FORMS = {**AS_PRINTED, "normalised": [("corrected", "surrogate")]}
CORRECTED = {"surrogate": [("corrected", RAW)], "normalised": [("corrected", "surrogate")],
             "target_linearity": [("corrected", "target_linearity")]}  # fmt: skip
IN_THE_CONTROL = {"surrogate": [(RANDOM, "surrogate"), (RANDOM, RAW)],
                  "normalised": [(f"{RANDOM}, corrected", "surrogate")],
                  "target_linearity": [(RANDOM, "target_linearity")]}  # fmt: skip


def placed(rows, places) -> list[dict]:
    """The measurements of a network in their arms."""
    return [{**row, "arm": arm, "quantity": quantity}
            for row in rows for arm, quantity in places.get(row["quantity"], ())]  # fmt: skip


def random_features(key, seed, epoch, widths) -> dict:
    """Initial weights and biases of a new network, from their named streams."""
    return {
        f"{2 * layer}.{kind}": stream(key, "random features", seed, epoch, "init", f"{2 * layer}.{kind}").uniform(
            -1, 1, shape) / math.sqrt(fan_in)
        for layer, (fan_in, fan_out) in enumerate(pairwise(widths))
        for kind, shape in (("weight", (fan_out, fan_in)), ("bias", (fan_out,)))
    }  # fmt: skip


MOMENTUM = {"text": {}, "momentum": {"momentum": 0.95}}


@pytest.mark.parametrize(
    ("key", "experiment", "hidden", "optimizers"),
    [
        ("a_fig4", a_fig4, [4, 5, 3], {}),
        ("a_fig9", a_fig9, [4, 5, 3], {}),
        ("a_fig4", a_fig4, [7, 8], MOMENTUM),
    ],
    ids=["Figure 4", "Figure 9", "Figure 4 with both momenta"],
)
def test_growth_of_surrogate_and_linearity(handmade, key, experiment, hidden, optimizers):
    """Figures 4 and 9: each epoch's network on its own data set; the control draws a new network at each epoch.

    The corrected arm has the normalised surrogate: of the same networks, or of those trained with the authors' momentum
    where there are any, with their raw surrogate beside it. In this case the networks of the text have the normalised
    surrogate under its own name. After training, the linearity of shuffled labels for the
    networks of the text.
    """
    sets = {"CIFAR-10": classes_data("a", train=11), "CIFAR-100": classes_data("b", train=13, classes=4, factor=0.5)}
    settings = {"sets": [*sets], "model": {"hidden": hidden, "activation": "gelu"}, "epochs": 3, "snapshots": 2}
    settings |= {"optimizer": "adam"} if key == "a_fig9" else {}
    settings |= {"arms": optimizers} if optimizers else {}
    by_hand = handmade(key, settings, sets)
    beside = {**AS_PRINTED, "normalised": [("claim", "surrogate, normalised")]}
    forms = {"text": beside, "momentum": CORRECTED} if optimizers else {"": IN_BOTH_FORMS}
    expected = []
    for (name, data), (optimizer, places) in itertools.product(sets.items(), forms.items()):
        variant, x, Y = f"{name} {optimizer}".strip(), samples(data), one_hot(data.y_train, data.classes)
        for epoch, seed in itertools.product((0, 2, 3), (0, 1)):
            columns = {"case": name, "seed": seed, "step": epoch * math.ceil(len(x) / 3), "x": float(epoch)}
            weights = by_hand.weights(epoch, seed, variant=variant)
            rows = placed(by_layer(weights, x, Y), places)
            if optimizer != "momentum":
                untrained = random_features(key, seed, epoch, (6, *hidden, data.classes))
                rows += placed(by_layer(untrained, x, Y), IN_THE_CONTROL)
            if optimizer != "momentum" and epoch == 3:
                order = stream(key, seed, "shuffled labels").permutation(len(x))
                null = linearity_alone(by_layer(weights, x, Y[order]))
                rows += placed(null, {"target_linearity": [("claim", "null/target_linearity")]})
            expected += [{**columns, **row} for row in rows]

    def shown(row):
        if row["case"].endswith("momentum"):
            return ("corrected",)
        return ("claim", RANDOM) if row["step"] == 0 else ("claim",)

    expected += [{**row, "case": row["case"].partition(" ")[0]} for row in accuracies(by_hand, shown)]
    # the features are float32, and 13 rows of three of them nearly depend on one another: the rounding of another
    # processor moves the linearity by 4e-5
    assert_same_rows(experiment.measure(by_hand.run), expected, rel=SINGLE, absolute=1e-4)


@pytest.mark.parametrize("variants", [("text",), ("text", "momentum")], ids=["one", "two"])
def test_random_labels(handmade, variants):
    """Figure 12: the labels that each network was trained on; controls with redrawn labels and before training.

    The networks trained with the authors' momentum are the corrected arm's.
    """
    data = classes_data(train=14, classes=4)
    settings = {"grid": {"label_noise": [0.0, 0.5, 1.0]}, "epochs": 3, "snapshots": 2}
    by_hand = handmade("a_fig12", {**settings, "variants": {name: MOMENTUM[name] for name in variants}}, data)
    forms = {"text": ("claim", ""), "momentum": ("corrected", ", corrected")}

    def arms(variant, step):
        arm, suffix = forms[variant]
        controls = ["control: other labels", *(["control: untrained"] if step == 0 else [])]
        return [arm, *(control + suffix for control in controls)]

    expected, x = [], samples(data)
    for case, probability in (("label_noise=0", 0.0), ("label_noise=0.5", 0.5), ("label_noise=1", 1.0)):
        for seed in (0, 1):
            trained = replaced_labels(data.y_train, 4, probability, stream, "a_fig12", seed, "label noise")
            redrawn = replaced_labels(data.y_train, 4, 1.0, stream, "a_fig12", seed, "other labels", case)
            assert (trained != redrawn).any()
            for epoch, variant in itertools.product((0, 2, 3), variants):
                for arm in arms(variant, epoch):
                    labels = redrawn if "other labels" in arm else trained
                    columns = {"arm": arm, "case": case, "seed": seed, "step": 5 * epoch, "x": float(epoch)}
                    rows = by_layer(by_hand.weights(epoch, seed, case, variant), x, one_hot(labels, 4))
                    expected += [{**columns, **row} for row in rows if row["quantity"] != "normalised"]
    rows = accuracies(by_hand, lambda row: arms(row["case"].partition(",")[0], row["step"]))
    expected += [{**row, "case": row["case"].partition(",")[2]} for row in rows]
    assert_same_rows(a_fig12.measure(by_hand.run), expected, rel=SINGLE, absolute=1e-5)


def test_grokking(handmade):
    """Figures 13 and 14: the claim has a weight decay, a control has none, the other shuffles the claim's labels.

    Accuracies at the kept epochs only.
    """
    data = classes_data(train=11)
    settings = {"optimizer": "adamw", "grid": {"weight_decay": [0.0, 0.25, 0.75]}, "epochs": 3, "snapshots": 2,
                "model": {"hidden": [4, 5], "activation": "relu"}, "dtype": "float64"}  # fmt: skip
    by_hand = handmade("a_fig13", settings, data)
    x, Y, expected = samples(data), one_hot(data.y_train, 3), []
    decayed = ("claim", "control: shuffled labels")
    arms = {"weight_decay=0": ("control: no weight decay",), "weight_decay=0.25": decayed, "weight_decay=0.75": decayed}
    for case, seed, epoch in itertools.product(arms, (0, 1), (0, 2, 3)):
        weights = by_hand.weights(epoch, seed, case)
        order = stream("a_fig13", seed, "shuffled labels").permutation(len(Y))
        assert (Y[order] != Y).any()
        for arm in arms[case]:
            labels = Y[order] if arm == "control: shuffled labels" else Y
            columns = {"arm": arm, "case": case, "seed": seed, "step": 4 * epoch, "x": float(epoch)}
            expected += [{**columns, **row} for row in linearity_alone(by_layer(weights, x, labels, "relu"))]
    expected += [row for row in accuracies(by_hand, lambda row: arms[row["case"]]) if row["x"] != 1]
    assert_same_rows(a_fig13.measure(by_hand.run), expected)


def test_swiss_roll(handmade):
    """Figure 1: the points less a rate times the summed gradients, as printed and in the authors' script (700)."""
    data = target_data(train=9, shape=(2,), outputs=1)
    settings = {"loss": "mse", "lr": 0.05, "batch": None, "observe": ["virtual_update"], "epochs": 3, "snapshots": 2}
    by_hand = handmade("a_fig1", settings, data)
    X, y, expected = samples(data), data.y_train.numpy(), []
    shuffled = "control: shuffled targets"
    places = {  # by rate and intercept
        (0.05, False): ("{}", ""), (0.05, True): ("{}", ", with intercept"),
        (700.0, False): ("{}", ", at c = 700"), (700.0, True): ("{}, corrected", ""),
        (0.05 * 9, False): ("{}", ", each sample's own loss"),  # its gradient is nine times that of the mean of nine
        (0.05 * 9, True): ("{}", ", each sample's own loss, with intercept"),
    }  # fmt: skip
    for epoch in (0, 2, 3):
        for seed in (0, 1):
            for control, name in (("claim", "virtual_update"), (shuffled, "virtual_update/shuffled")):
                sums = by_hand.sums(name, epoch, seed) if epoch else np.zeros_like(X)
                for (rate, intercept), (arm, suffix) in places.items():
                    arm = "corrected" if (control, arm) == ("claim", "{}, corrected") else arm.format(control)
                    expected.append({"arm": arm, "seed": seed, "step": epoch, "x": rate,
                                     "quantity": f"target_linearity{suffix}",
                                     "value": linearity(X - rate * sums, y, intercept)})  # fmt: skip
        moved = X - 700 * (by_hand.sums("virtual_update", epoch, 0) if epoch else np.zeros_like(X))
        W = by_hand.weights(epoch, 0)["0.weight"]
        columns = {"arm": "claim", "seed": 0, "step": epoch}
        for i, j in ((0, 0), (0, 1), (1, 1)):
            value = sum(W[unit, i] * W[unit, j] for unit in range(len(W)))
            expected.append({**columns, "quantity": f"gram/{i}{j}", "value": value})
        expected += [{**columns, "quantity": f"virtual/{axis}", "x": float(index), "value": moved[index, axis]}
                     for axis in (0, 1) for index in range(9)]  # fmt: skip
    columns = {"arm": "claim", "seed": 0, "step": 0}
    expected += [{**columns, "quantity": f"input/{axis}", "x": float(index), "value": X[index, axis]}
                 for axis in (0, 1) for index in range(9)]  # fmt: skip
    expected += [{**columns, "quantity": "target", "x": float(index), "value": y[index, 0]} for index in range(9)]
    assert_same_rows(a_fig1.measure(by_hand.run), expected, rel=1e-7)


def random_directions(matrix, random):
    """40 matrices with the eigenvalues of a symmetric matrix, from the smallest, in orthonormal directions."""
    spectrum = np.linalg.eigvalsh(matrix)
    spectrum = spectrum[np.abs(spectrum) > 1e-10 * np.abs(spectrum).max()]
    for _ in range(40):
        Q = np.linalg.qr(random.normal(size=(len(matrix), len(spectrum))))[0]
        yield sum(value * np.outer(column, column) for value, column in zip(spectrum, Q.T, strict=True))


def test_virtual_covariance_shift(handmade):
    """Figure 7: correlations of the VCS and the AGOP with the last Gram and its change, the nulls, the remainder."""
    data = classes_data(train=8, shape=(1, 2, 3), factor=0.5)
    by_hand = handmade("a_fig7", {"model": {"hidden": [4], "activation": "gelu"}, "observe": ["virtual_shift"]}, data)
    expected, x = accuracies(by_hand, lambda row: ("claim",)), samples(data)
    for seed in (0, 1):
        weights = by_hand.weights(2, seed)
        W, W0 = weights["0.weight"], by_hand.weights(0, seed)["0.weight"]
        gram = sum(np.outer(row, row) for row in W)
        change = gram - sum(np.outer(row, row) for row in W0)
        jacobians = input_jacobians(weights, x, "gelu")
        agop = sum(np.outer(gradient, gradient) for jacobian in jacobians for gradient in jacobian) / len(x)
        columns = {"seed": seed, "layer": "0", "step": 2 * 3}
        forms = (("diagonal", np.diag), ("whole", np.asarray))
        chance = {(target, part): [*random_directions(matrix, stream("a_fig7", "null", seed, target, part))]
                  for target, matrix in (("gram", gram), ("change", change)) for part, _ in forms}  # fmt: skip
        for arm, name in (("claim", "virtual_shift"), ("control: shuffled labels", "virtual_shift/shuffled")):
            P = by_hand.sums(name, 2, seed)
            vcs = -P - P.T
            for (measure, a), (target, b), (part, of) in itertools.product(
                (("vcs", vcs), ("agop", agop)), (("gram", gram), ("change", change)), forms
            ):
                by_chance = [pearson(of(a), of(matrix)) for matrix in chance[target, part]]
                for kind, value in (("pearson", pearson(of(a), of(b))), ("null", np.quantile(by_chance, 0.975))):
                    quantity = f"{kind}/{measure}_{target}_{part}"
                    expected.append({**columns, "arm": arm, "quantity": quantity, "value": value})
            for part, of in forms:
                remainder = (of(change - vcs) ** 2).sum() / (of(change) ** 2).sum()
                expected.append({**columns, "arm": arm, "quantity": f"{part}/remainder", "value": remainder**0.5})
            if seed == 0 and arm == "claim":
                matrices = {"gram": gram, "agop": agop, "vcs": vcs, "gram_change": change}
                expected += [{**columns, "arm": arm, "quantity": f"diagonal/{quantity}", "x": float(pixel),
                              "value": matrix[pixel, pixel]}
                             for quantity, matrix in matrices.items() for pixel in range(6)]  # fmt: skip
    for epoch in (0, 1, 2):  # of six pixels each is a patch of its own
        weights = by_hand.weights(epoch, 0)
        jacobians = input_jacobians(weights, x, "gelu")
        images = {
            "gram": weights["0.weight"].T @ weights["0.weight"],
            "agop": sum(np.outer(slope, slope) for jacobian in jacobians for slope in jacobian) / len(x),
        }
        if epoch:
            images["vcs"] = -by_hand.sums("virtual_shift", epoch, 0) - by_hand.sums("virtual_shift", epoch, 0).T
        expected += [{"arm": "claim", "seed": 0, "layer": "0", "step": 3 * epoch, "quantity": f"image/{name}",
                      "x": float(entry), "value": value}
                     for name, matrix in images.items() for entry, value in enumerate(matrix.ravel())]  # fmt: skip
    assert_same_rows(a_fig7.measure(by_hand.run), expected, rel=SINGLE, absolute=1e-5)


NTK, EXCHANGED, SHUFFLED, WIDTH_ALONE = (
    "control: NTK-scaled", "control: narrowest and widest exchanged", "control: labels shuffled at the measure",
    "control: lazy by width alone",
)  # fmt: skip
WIDTHS = {"narrowest": 3, "narrow": 4, "widest": 6}
SCALED, IN_NTK_SCALING = ({name: f"{name} {scaling}" for name in WIDTHS} for scaling in ("scaled", "in NTK scaling"))
IN_FIGURE_8 = [  # arm, width shown, the variant measured
    *(("claim", width, name) for name, width in WIDTHS.items()),
    *((arm, width, SCALED[name]) for arm in ("corrected", SHUFFLED) for name, width in WIDTHS.items()),
    (EXCHANGED, 3, SCALED["widest"]), (EXCHANGED, 4, SCALED["narrow"]), (EXCHANGED, 6, SCALED["narrowest"]),
    (NTK, 3, IN_NTK_SCALING["narrowest"]), (NTK, 4, SCALED["narrow"]), (NTK, 6, SCALED["widest"]),
]  # fmt: skip
IN_FIGURE_3 = [  # arm, regime, the variants measured by width
    ("claim", "rich", dict(zip(WIDTHS, WIDTHS, strict=True))), ("claim", "lazy", IN_NTK_SCALING),
    (WIDTH_ALONE, "rich", dict(zip(WIDTHS, WIDTHS, strict=True))), (WIDTH_ALONE, "lazy", SCALED),
]  # fmt: skip


class NetworksByWidth:
    """What Figures 3 and 8 show of the networks of a run made by hand, sample by sample."""

    def __init__(self, by_hand, x, y):
        self.by_hand, self.x, self.y = by_hand, x, y

    def state(self, variant, epoch, seed, labels=None):
        """Features, outputs and y_OLS of the labels; by default of y."""
        *_, H, f = hidden_states(self.by_hand.weights(epoch, seed, variant=variant), self.x, "relu")
        gram, target = 0.01 * np.eye(H.shape[1]), np.zeros(H.shape[1])
        for h, label in zip(H, self.y if labels is None else labels, strict=True):
            gram, target = gram + np.outer(h, h), target + h * label
        return H, self.scale(variant) * f[:, 0], H @ np.linalg.inv(gram) @ target

    @staticmethod
    def scale(variant):
        return 0.4 if variant.endswith(" scaled") else 1.0

    def linearized(self, variant, epoch, seed):
        """Outputs of the network that is linear in the weights: the derivative by each weight times its change."""
        start, stop = (self.by_hand.weights(at, seed, variant=variant) for at in (0, epoch))
        first, second, readout = (start[f"{layer}.weight"] for layer in (0, 2, 4))
        moved = [stop[f"{layer}.weight"] - start[f"{layer}.weight"] for layer in (0, 2, 4)]
        outputs = []
        for x in self.x:
            h = np.maximum(first @ x, 0)
            g = np.maximum(second @ h, 0)
            by_second = readout[0] * (second @ h > 0)
            by_first = (second.T @ by_second) * (first @ x > 0)
            change = sum((np.outer(slope, read) * delta).sum() for slope, read, delta in
                         zip((by_first, by_second, np.ones(1)), (x, h, g), moved, strict=True))  # fmt: skip
            outputs.append(readout[0] @ g + change)
        return self.scale(variant) * np.array(outputs)

    def distances(self, variant, epoch, seed, labels=None) -> dict:
        """The distances and movements at an epoch; with other labels those alone that depend on labels."""
        y = self.y if labels is None else labels
        size = np.linalg.norm(y)
        (H0, f0, ols0), (H, f, ols) = (self.state(variant, at, seed, y) for at in (0, epoch))
        distance, chase, error = (np.linalg.norm(part) / size for part in (y - ols, f - ols, y - f))
        values = {"target/distance": distance, "target/chase": chase, "target/error": error,
                  "target/triangle ratio": error / (distance + chase),
                  "movement/target": np.linalg.norm(ols - ols0) / size}  # fmt: skip
        if labels is None:
            values["movement/features"] = np.linalg.norm(H - H0) / np.linalg.norm(H0)
            if epoch == 2:
                linear = self.linearized(variant, epoch, seed)
                values["movement/linearization"] = np.linalg.norm(f - linear) / np.linalg.norm(f - f0)
        return values

    def plane(self, variant, epoch, seed) -> dict:
        """Outputs and y_OLS over the labels' norm, by Gram-Schmidt: the labels first, then the initial f - y_OLS."""
        (_, f0, ols0), (_, f, ols) = (self.state(variant, at, seed) for at in (0, epoch))
        basis = np.linalg.qr(np.stack([self.y, f0 - ols0], 1))
        directions = basis.Q * np.sign(np.diag(basis.R))
        return {f"plane/{name}/{axis}": point @ directions[:, axis] / np.linalg.norm(self.y)
                for name, point in (("f", f), ("ols", ols)) for axis in (0, 1)}  # fmt: skip


def test_best_linear_predictor_by_width(handmade):
    """Figures 3 and 8: which network each arm shows at which width, and its distances over the labels' norm."""
    data = target_data(train=9, outputs=1)
    variants = {name: {"model": {"hidden": [width, width]}} for name, width in WIDTHS.items()}
    variants |= {SCALED[name]: {"model": {"hidden": [width, width], "output_scale": 0.4}}
                 for name, width in WIDTHS.items()}  # fmt: skip
    variants |= {IN_NTK_SCALING[name]: {"parametrization": "ntk", "model": {"hidden": [width, width]}}
                 for name, width in WIDTHS.items()}  # fmt: skip
    settings = {"model": {"hidden": [3, 3], "activation": "relu", "bias": False}, "loss": "mse", "variants": variants,
                "batch": 4, "epochs": 2}  # fmt: skip
    by_hand = handmade("a_fig8", settings, data)
    networks = NetworksByWidth(by_hand, samples(data), data.y_train[:, 0].numpy())
    expected = []
    shuffled = [networks.y[stream("a_fig8", seed, "shuffled labels").permutation(9)] for seed in (0, 1)]
    assert all((labels != networks.y).any() for labels in shuffled)
    for epoch, seed in itertools.product((0, 1, 2), (0, 1)):
        columns = {"seed": seed, "step": 3 * epoch, "x": float(epoch)}
        for arm, width, variant in IN_FIGURE_8:
            values = networks.distances(variant, epoch, seed, shuffled[seed] if arm == SHUFFLED else None)
            expected += [{**columns, "arm": arm, "case": f"width={width}", "quantity": quantity, "value": value}
                         for quantity, value in values.items()]  # fmt: skip
        for (arm, regime, measured), (name, width) in itertools.product(IN_FIGURE_3, WIDTHS.items()):
            distances = networks.distances(measured[name], epoch, seed)
            values = {kind: distances[f"movement/{kind}"] for kind in ("target", "features", "linearization")
                      if f"movement/{kind}" in distances}  # fmt: skip
            if arm == "claim" and seed == 0 and (regime, name) in (("rich", "narrowest"), ("lazy", "narrow")):
                values |= networks.plane(measured[name], epoch, seed)
            expected += [{**columns, "arm": arm, "case": f"width={width}", "quantity": f"{regime}/{quantity}",
                          "value": value} for quantity, value in values.items()]  # fmt: skip
    assert_same_rows(a_fig8.measure(by_hand.run), expected, rel=SINGLE, absolute=1e-5)


WHITENING_ARMS = {
    "original": {}, "whitened": {"optimizer": "whitened"},
    "complement": {"optimizer": "whitened_complement", "grid": {"lr": [0.1]}},
    "original-momentum": {"momentum": 0.85, "grid": {"lr": [0.1]}},
    "whitened-momentum": {"optimizer": "whitened", "momentum": 0.85, "grid": {"lr": [0.1]}},
    "whitened-ten-steps": {"optimizer": "whitened", "method": "ten-steps", "grid": {"lr": [0.1]}},
}  # fmt: skip


@pytest.mark.parametrize(("key", "experiment"), [("a_fig2", a_fig2), ("a_fig6", a_fig6)])
def test_whitened_against_plain_descent(handmade, key, experiment):
    """Figures 2 and 6: which curves each arm compares, at which learning rates; the gaps and leads of all variants."""
    convolutional = key == "a_fig6"
    shape = (1, 5, 5) if convolutional else (6,)
    arms = {name: arm for name, arm in WHITENING_ARMS.items() if not convolutional or "-" not in name}
    sets = {name: classes_data(name, train=5, shape=shape) for name in ("MNIST", "SVHN")}
    settings = {"sets": [*sets], "arms": arms, "grid": {"lr": [0.01, 0.1]}, "epochs": 8, "snapshots": 8}
    settings |= {"model": {"kind": "cnn", "channels": 2}} if convolutional else {}
    by_hand = handmade(key, settings, sets)
    values = {(row["case"], row["seed"], row["x"], row["quantity"]): row for row in by_hand.history}
    expected, control = [], "control: only the removed part"
    for (case, _, _, quantity), row in values.items():
        for data_set in sets:
            for rate in ("lr=0.01", "lr=0.1"):
                shown = [("claim", "original", "original"), ("claim", "whitened", "whitened")]
                if rate == "lr=0.1":  # the control was trained at this rate alone
                    shown += [(control, "original", "original"), (control, "whitened", "complement")]
                expected += [{**row, "arm": arm, "case": f"{data_set}, {rate}", "quantity": f"{name}/{quantity}"}
                             for arm, name, update in shown if case == f"{data_set} {update},{rate}"]  # fmt: skip
    compared = {"": ("original", "whitened"), ", momentum": ("original-momentum", "whitened-momentum"),
                ", ten steps": ("original", "whitened-ten-steps")}  # fmt: skip
    for suffix, updates in {} if convolutional else compared.items():
        for data_set in sets:
            for seed in (0, 1):
                plain, whitened = ([values[f"{data_set} {update},lr=0.1", seed, float(epoch), "test_accuracy"]["value"]
                                    for epoch in range(9)] for update in updates)  # fmt: skip
                columns = {"arm": "claim", "case": f"{data_set}, lr=0.1", "seed": seed, "step": 16, "x": 8.0}
                expected.append({**columns, "quantity": f"gap{suffix}", "value": whitened[8] - plain[8]})
                expected.append({**columns, "quantity": f"lead{suffix}",
                                 "value": max(whitened[1:6]) - max(plain[1:])})  # fmt: skip
    assert_same_rows(experiment.measure(by_hand.run), expected)
