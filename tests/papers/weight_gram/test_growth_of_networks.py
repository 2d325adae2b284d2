"""Surrogate and Target Linearity by layer: in the precision of the run, and for a network with a dead layer."""

import numpy as np
import pytest
import torch
from formulas import hidden_states, linearity, one_hot, replaced_labels, surrogate
from handmade import assert_same_rows, classes_data

import gramlab
from gramlab.nets import mlp
from gramlab.streams import stream
from tasks.papers.weight_gram.experiments import a_fig4, a_fig12
from tasks.papers.weight_gram.experiments.shared.growth import by_layer

DOUBLE = 1e-11  # relative error of networks in double precision; in single precision it is 1e-5
IN_DOUBLE = {"dtype": "float64", "epochs": 1, "sets": ["digits"]}


def measures(weights, data, labels) -> list[dict]:
    """Surrogate and Target Linearity of both hidden states, by plain formulas."""
    x, Y = data.x_train.double().numpy() * data.factor, one_hot(labels, data.classes)
    states = hidden_states(weights, x, "gelu")
    return [
        {"layer": str(layer), "quantity": name, "value": value}
        for layer, W in ((1, weights["2.weight"]), (2, weights["4.weight"]))
        for name, value in (
            ("surrogate", surrogate(states[layer], W, Y)),
            ("target_linearity", linearity(states[layer], Y)),
        )
    ]


def test_figure_4_in_double_precision(handmade):
    data = classes_data(train=11, factor=1 / 3)
    written = handmade("a_fig4", {**IN_DOUBLE, "seeds": 2}, {"digits": data})
    expected = [
        {**row, "arm": "claim", "case": "digits", "seed": seed, "step": 4 * epoch, "x": float(epoch)}
        for epoch in (0, 1)
        for seed in (0, 1)
        for row in measures(written.weights(epoch, seed, variant="digits"), data, data.y_train)
    ]
    rows = list(a_fig4.measure(written.run))
    where = {"arm": "claim", "quantity": ("surrogate", "target_linearity")}
    assert_same_rows(rows, expected, rel=DOUBLE, **where)


def test_the_untrained_networks_of_figure_4_in_double_precision(handmade):
    data = classes_data(train=11, factor=1 / 3)
    rows = list(a_fig4.measure(handmade("a_fig4", {**IN_DOUBLE, "seeds": 1}, {"digits": data}).run))
    widths, expected = [(6, 4), (4, 5), (5, 3)], []
    for epoch in (0, 1):
        weights = {}
        for layer, (fan_in, fan_out) in enumerate(widths):
            for kind, shape in (("weight", (fan_out, fan_in)), ("bias", (fan_out,))):
                name = f"{2 * layer}.{kind}"
                random = stream("a_fig4", "random features", 0, epoch, "init", name)
                weights[name] = random.uniform(-1, 1, shape) / np.sqrt(fan_in)
        columns = {"arm": "control: random features", "case": "digits", "step": 4 * epoch, "x": float(epoch)}
        expected += [{**columns, **row} for row in measures(weights, data, data.y_train)]
    where = {"arm": "control: random features", "quantity": ("surrogate", "target_linearity")}
    assert_same_rows(rows, expected, rel=DOUBLE, **where)


def test_figure_12_in_double_precision(handmade):
    data = classes_data(train=14, classes=4, factor=1 / 3)
    settings = {"dtype": "float64", "grid": {"label_noise": [0.5]}, "epochs": 1, "seeds": 1}
    written = handmade("a_fig12", {**settings, "variants": {"text": {}}}, data)
    labels = replaced_labels(data.y_train, 4, 0.5, stream, "a_fig12", 0, "label noise")
    expected = [
        {**row, "arm": "claim", "case": written.cases("text")[0], "step": 5 * epoch, "x": float(epoch)}
        for epoch in (0, 1)
        for row in measures(written.weights(epoch, 0, written.cases("text")[0], "text"), data, labels)
    ]
    where = {"arm": "claim", "quantity": ("surrogate", "target_linearity")}
    assert_same_rows(list(a_fig12.measure(written.run)), expected, rel=DOUBLE, **where)


def test_a_dead_layer_is_an_error_that_names_it():
    model = mlp(6, [4, 5], 3, "relu")
    with torch.no_grad():
        model[2].bias.fill_(-1e3)  # the second hidden state is 0 for every sample
    x, Y = torch.from_numpy(np.random.default_rng(0).normal(size=(9, 6))).float(), torch.eye(3).repeat(3, 1).double()
    rows = by_layer(model, x, Y)
    assert [next(rows)["layer"] for _ in range(3)] == ["1", "1", "1"]
    with pytest.raises(gramlab.Undefined, match=r"layer 2: .* is undefined"):
        next(rows)
