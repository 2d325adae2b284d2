"""What d_mlp, d_resnet18 and d_vgg11 measure, row by row, on networks whose weights are known."""

import itertools
import math

import numpy as np
import pytest
import torch
from handmade import assert_same_rows, classes_data

from gramlab.nets import build
from gramlab.streams import stream
from tasks.papers.neural_collapse.experiments import d_mlp, d_resnet18, d_vgg11

CLAIM, SHUFFLED, UNTRAINED = "claim", "control: labels shuffled at the measure", "control: before training"
TURNED, NEXT = "control: right singular vectors drawn at random", "control: the AGOP of the next layer"
RANDOM = "control: trained on random labels"
EPOCHS, SEEDS, BATCH = (0, 2, 3), 2, 4  # of epochs 0 to 3 each second is kept, and the last
TRAINED = {"loss": "signed_mse", "batch": BATCH, "epochs": EPOCHS[-1], "snapshots": 2, "seeds": SEEDS}
# the experiment, its network, how the names of the head's weights begin, and the sets with their names in the table
RUNS = {
    "d_mlp": (
        d_mlp, {"kind": "mlp", "hidden": [6, 6, 5], "activation": "relu", "bias": False}, "",
        {"MNIST": (classes_data("digits", 15, shape=(1, 2, 3), factor=0.5), "digits"),
         "SVHN": (classes_data("svhn", 18, shape=(1, 2, 3), factor=0.7), "SVHN")},
    ),
    "d_resnet18": (
        d_resnet18, {"kind": "resnet18", "width": 9, "depth": 3, "channels": 4}, "fc.",
        {"CIFAR-10": (classes_data("digits", 13, shape=(1, 8, 8), factor=0.5), "digits")},
    ),
    "d_vgg11": (
        d_vgg11, {"kind": "vgg11", "width": 8, "depth": 3, "channels": 2}, "head.",
        {"MNIST": (classes_data("mnist", 11, shape=(1, 16, 16), factor=2.0), "MNIST")},
    ),
}  # fmt: skip


@pytest.mark.parametrize("key", RUNS)
def test_every_row(key, handmade):
    experiment, model, head, sets = RUNS[key]
    settings = {"sets": list(sets), "model": model, **TRAINED}
    if key == "d_mlp":
        settings["variants"] = {"MNIST, random labels": {"part": "MNIST", "label_noise": 1.0}}
    by_hand = handmade(key, settings, {name: data for name, (data, _) in sets.items()}, "neural_collapse")
    wanted = []
    for part in by_hand.settings:
        case = sets[by_hand.settings[part].part][1]
        rows = [*rows_of_variant(by_hand, part, head), *losses(by_hand, part)]
        if by_hand.settings[part].label_noise:  # networks that are trained on random labels, of the same data
            rows = [{**row, "arm": RANDOM} for row in rows
                    if row["arm"] == CLAIM and row["quantity"] in ("nfa/mean", "within", "train_loss")]  # fmt: skip
        for row in rows:
            wanted.append({**row, "case": case, "arm": row["arm"] + f", {case}" * (row["arm"] != CLAIM)})
    measured = list(experiment.measure(by_hand.run))
    assert {row["dtype"] for row in measured if row["quantity"] != "train_loss"} == {"float64"}
    # networks compute in float32, and the AGOP's root has the square root of its round-off, 2.4e-4, in each direction;
    # the root of this root, in directions whose eigenvalue is near 0, up to 1.5e-2
    nfa, powers = ("nfa", "nfa/mean", "nfa/null", "null/nfa"), ("nc1/agop", "fall/agop")
    tolerances = dict.fromkeys(nfa, (0, 2e-3)) | dict.fromkeys(powers, (5e-3, 5e-3))
    for relative, absolute in {(3e-4, 3e-4), *tolerances.values()}:
        in_tolerance = [[row for row in rows if tolerances.get(row["quantity"], (3e-4, 3e-4)) == (relative, absolute)]
                        for rows in (measured, wanted)]  # fmt: skip
        assert_same_rows(*in_tolerance, rel=relative, absolute=absolute)


def losses(by_hand, variant):
    """The training losses of the history."""
    for row in by_hand.history:
        if (row["case"], row["quantity"]) == (variant, "train_loss"):
            yield {**row, "arm": CLAIM}


def rows_of_variant(by_hand, variant, head):
    """The rows that the definitions give for every snapshot and seed."""
    data = by_hand.data(variant)
    x, y = data.x_train.numpy() * data.factor, data.y_train.numpy()
    for epoch, seed in itertools.product(EPOCHS, range(SEEDS)):
        network = by_hand.weights(epoch, seed, variant=variant)
        h = inputs_of_head(by_hand.settings[variant].model, head, network, x)
        names = [name for name in network if name.startswith(head)]
        in_order = sorted(names, key=lambda name: int(name.removeprefix(head).split(".")[0]))
        layers = [network[name] for name in in_order]
        shuffled = y[stream(by_hand.key, "shuffled", seed).permutation(len(y))]
        of_claim = {**parts(layers, h, y), **after_agop(layers, h, y), **of_classes(layers, h, y)}
        rows = {(CLAIM, *name): value for name, value in of_claim.items()}
        del rows[CLAIM, "", "train_loss"]  # the history has it
        rows |= {(SHUFFLED, *name): value for name, value in of_classes(layers, h, shuffled).items()
                 if name[1] != "between"}  # fmt: skip
        of_shuffled = {**parts(layers, h, shuffled), **after_agop(layers, h, shuffled)}
        rows |= {(SHUFFLED, *name): value for name, value in of_shuffled.items()
                 if "fall" in name[1] or name[1] == "nc2/output"}  # fmt: skip
        if epoch == EPOCHS[0]:
            rows |= {(UNTRAINED, *name): value for name, value in of_claim.items() if "fall" in name[1]}
        rows |= correlations(layers, h, y, stream(by_hand.key, "null", variant, seed) if epoch == EPOCHS[-1] else None)
        if epoch not in (EPOCHS[0], EPOCHS[-1]):
            del rows[NEXT, "", "nfa/mean"]
        if epoch == EPOCHS[-1]:
            by_chance = chance(layers, h, y, stream(by_hand.key, "classes by chance", variant, seed))
            rows |= {(CLAIM, *name): value for name, value in by_chance.items()}
            rows[SHUFFLED, "", "null/within"] = by_chance["", "null/within"]
        labels = {"seed": seed, "step": epoch * math.ceil(len(y) / BATCH), "x": float(epoch)}
        for (arm, layer, quantity), value in rows.items():
            yield {**labels, "arm": arm, "layer": layer, "quantity": quantity, "value": value}


def inputs_of_head(model, head, network, x) -> np.ndarray:
    """What reaches the head: flat pixels, or the convolutions' output in evaluation."""
    if not head:
        return x.reshape(len(x), -1)
    body = build(model.kind, x.shape[1:], 3, **model.options())  # in float32, as trained
    body.load_state_dict({name: torch.from_numpy(value) for name, value in network.items()})
    setattr(body, head[:-1], torch.nn.Identity())
    with torch.no_grad():
        return body.eval()(torch.from_numpy(x).float()).double().numpy()


def forward(layers, h) -> list[np.ndarray]:
    """The inputs of every layer, (n, d) each."""
    inputs = [h]
    for W in layers[:-1]:
        inputs.append(np.maximum(inputs[-1] @ W.T, 0))
    return inputs


def traces(h, labels) -> tuple[float, float, float]:
    """tr(S_W), tr(S_B) and tr(S_T), summed sample by sample."""
    n, mean, within, between, total = len(h), h.mean(0), 0.0, 0.0, 0.0
    for i in range(n):
        centre = h[labels == labels[i]].mean(0)
        within += ((h[i] - centre) ** 2).sum() / n
        between += ((centre - mean) ** 2).sum() / n
        total += ((h[i] - mean) ** 2).sum() / n
    return within, between, total


def of_classes(layers, h, y) -> dict:
    """By (layer, quantity): the traces of the readout's inputs, the loss and the accuracy."""
    last = forward(layers, h)[-1]
    within, between, total = traces(last, y)
    outputs, signs = last @ layers[-1].T, np.where(y[:, None] == np.arange(3), 1, -1)
    values = {"within": within / total, "between": between / total, "train_loss": ((outputs - signs) ** 2).mean()}
    values["train_accuracy"] = np.mean([np.argmax(row) == label for row, label in zip(outputs, y, strict=True)])
    return {("", name): value for name, value in values.items()}


def parts(layers, h, y) -> dict:
    """By (layer, quantity): NC1 of the input, of S V^T h and of the output, NC2 of the output, and log NC1's falls."""
    inputs, values, falls = forward(layers, h), {}, [0.0, 0.0]
    for number, W in enumerate(layers[:-1], 1):
        _, S, Vt = np.linalg.svd(W)
        places = {"input": inputs[number - 1], "projected": inputs[number - 1] @ Vt[: len(S)].T * S,
                  "output": inputs[number]}  # fmt: skip
        nc1 = {}
        for place, features in places.items():
            within, between, _ = traces(features, y)
            nc1[place] = values[str(number), f"nc1/{place}"] = within / between
        values[str(number), "nc2/output"] = nc2(inputs[number], y)
        falls[0] += np.log(nc1["input"] / nc1["projected"])
        falls[1] += np.log(nc1["projected"] / nc1["output"])
    return values | {("", "fall/projection"): falls[0], ("", "fall/activation"): falls[1]}


def after_agop(layers, h, y) -> dict:
    """By (layer, quantity): NC1 of AGOP^{1/4} times the input, and the sum of the falls of log NC1 there."""
    inputs, values, fall = forward(layers, h), {}, 0.0
    for number in range(1, len(layers)):
        eigenvalues, vectors = np.linalg.eigh(agop(layers, inputs, number - 1))
        power = vectors @ np.diag(np.maximum(eigenvalues, 0) ** 0.25) @ vectors.T
        (within, between, _), (within_after, between_after, _) = (
            traces(features, y) for features in (inputs[number - 1], inputs[number - 1] @ power)
        )
        values[str(number), "nc1/agop"] = within_after / between_after
        fall += np.log(within / between) - np.log(within_after / between_after)
    return values | {("", "fall/agop"): fall}


def nc2(h, y) -> float:
    """The distance of the cosines between class means, around the mean of all, from 1 and −1/(K − 1)."""
    means = np.array([h[y == label].mean(0) - h.mean(0) for label in np.unique(y)])
    K = len(means)
    squares = [(means[i] @ means[j] / np.linalg.norm(means[i]) / np.linalg.norm(means[j])
                - (1 if i == j else -1 / (K - 1))) ** 2 for i in range(K) for j in range(K)]  # fmt: skip
    return sum(squares) ** 0.5


def chance(layers, h, y, draw) -> dict:
    """By (layer, quantity): the 2.5 % quantiles of 40 permutations of the labels, which each place draws anew."""
    inputs, values = forward(layers, h), {}
    for number, W in enumerate(layers[:-1], 1):
        places = {"input": inputs[number - 1], "projected": inputs[number - 1] @ W.T, "output": inputs[number]}
        for place, features in places.items():
            orders = [draw.permutation(len(y)) for _ in range(40)]
            permuted = [traces(features, y[order]) for order in orders]
            nc1 = np.quantile([within / between for within, between, _ in permuted], 0.025)
            values[str(number), f"null/nc1/{place}"] = nc1
    # the quantile lies between two draws; tr(S_W)/tr(S_T) = 1 - 1/(1 + NC1)
    return values | {("", "null/within"): 1 - 1 / (1 + nc1)}


def correlations(layers, h, y, draw) -> dict:
    """By (arm, layer, quantity): the NFA, and with ``draw`` what there is at the end alone."""
    inputs, grams, roots, frames = forward(layers, h), [], [], []
    for number, W in enumerate(layers[:-1], 1):
        eigenvalues, vectors = np.linalg.eigh(agop(layers, inputs, number - 1))
        order = np.argsort(-eigenvalues)[: min(W.shape)]
        grams.append(W.T @ W)
        roots.append(np.sqrt(np.maximum(eigenvalues[order], 0)))
        frames.append((vectors[:, order] * roots[-1]) @ vectors[:, order].T)
    nfa = [np.corrcoef(gram.ravel(), root.ravel())[0, 1] for gram, root in zip(grams, frames, strict=True)]
    rows = {(CLAIM, str(number), "nfa"): value for number, value in enumerate(nfa, 1)}
    rows[CLAIM, "", "nfa/mean"] = np.mean(nfa)
    others = []
    for index, gram in enumerate(grams):
        after = [*range(index + 1, len(grams)), *range(index)]
        alike = [other for other in after if grams[other].shape == gram.shape]
        others += [np.corrcoef(gram.ravel(), frames[alike[0]].ravel())[0, 1]] if alike else []
    rows[NEXT, "", "nfa/mean"] = np.mean(others)
    if draw is None:
        return rows
    null = []
    for _ in range(40):
        null.append([])
        for gram, sizes in zip(grams, roots, strict=True):
            Q = np.linalg.qr(draw.normal(size=(len(gram), len(sizes))))[0]
            null[-1].append(np.corrcoef(gram.ravel(), (Q @ np.diag(sizes) @ Q.T).ravel())[0, 1])
    for number, by_layer in enumerate(np.transpose(null), 1):
        rows[CLAIM, str(number), "null/nfa"] = np.quantile(by_layer, 0.975)
    means = sorted(np.mean(null, axis=1))
    place = 0.975 * 39  # linear interpolation between the order statistics
    rows[CLAIM, "", "nfa/null"] = rows[NEXT, "", "nfa/null"] = means[38] + (place - 38) * (means[39] - means[38])
    turned = [W @ np.linalg.qr(draw.normal(size=(W.shape[1],) * 2))[0] for W in layers[:-1]]
    falls = {**parts([*turned, layers[-1]], h, y), **after_agop([*turned, layers[-1]], h, y)}
    return rows | {(TURNED, *name): value for name, value in falls.items() if "fall" in name[1]}


def agop(layers, inputs, first) -> np.ndarray:
    """(1/n) sum_i J_i^T J_i, J_i the Jacobian of the outputs by the input of layer ``first``, by the chain rule."""
    total = 0.0
    for i in range(len(inputs[0])):
        J = layers[first]
        for number in range(first + 1, len(layers)):
            J = layers[number] @ np.diag((inputs[number][i] > 0).astype(float)) @ J
        total = total + J.T @ J / len(inputs[0])
    return total
