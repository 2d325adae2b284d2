"""Theorems 3 and 4, Lemma 3 and Proposition 2 on trained networks: planted tables, and what the experiments build."""

import numpy as np
import pytest
import torch
from planted import residuals, rows

from gramlab.data import DataSet
from gramlab.streams import stream
from tasks.judging.rows import Rows
from tasks.papers.weight_gram.claims import a_lem3, a_prop2, a_thm3, a_thm4
from tasks.papers.weight_gram.experiments import a_thm3 as experiment
from tasks.papers.weight_gram.experiments import a_thm4 as interpolating


def steps(slope: float = 1.0, noise: float = 0.1, layer: str = "0") -> list[dict]:
    """Measured and predicted changes whose signs alternate in training."""
    records = []
    for seed in range(5):
        draw = stream("test_checks_a_theory", seed, layer)
        predicted = draw.normal(size=30)
        measured = slope * predicted + noise * draw.normal(size=30)
        for side, values in (("measured", measured), ("predicted", predicted)):
            records += [{"case": "net", "layer": layer, "seed": seed, "step": step, "quantity": f"thm3/{side}",
                         "value": float(value)} for step, value in enumerate(values)]  # fmt: skip
    return records


def test_theorem_3():
    assert a_thm3.rule(rows(steps())).holds
    assert a_thm3.rule(rows(steps(slope=0.3))).holds is False
    assert a_thm3.rule(rows(steps(slope=3.0))).holds is False
    assert a_thm3.rule(rows(steps(slope=-1.0))).holds is False
    assert not a_thm3.rule(rows(steps(slope=0.0, noise=1.0))).holds
    # one layer's failure is the network's; the readout is not judged
    assert a_thm3.rule(rows([*steps(), *steps(slope=3.0, layer="1")])).holds is False
    assert a_thm3.rule(rows([*steps(), *steps(slope=3.0, layer="readout")])).holds


def test_lemma_3():
    near = [
        {"case": str(case), "dtype": "float64", "quantity": "lem3/remainder", "x": x, "value": x**2 * (1 + case)}
        for case in range(5)
        for x in 2.0 ** -np.arange(12)
    ]
    far = [
        {"case": "net", "layer": "0", "seed": seed, "quantity": f"lem3/{name}", "value": value + 0.01 * seed}
        for seed in range(5)
        for name, value in (("correlation", 0.6), ("null", 0.2), ("error", 0.8))
    ]
    assert a_lem3.rule(rows([*near, *far])).holds
    assert not a_lem3.rule(rows([*({**row, "value": row["x"]} for row in near), *far])).holds
    exchange = {"lem3/correlation": "lem3/null", "lem3/null": "lem3/correlation"}
    swapped = [{**row, "quantity": exchange.get(row["quantity"], row["quantity"])} for row in far]
    assert a_lem3.rule(rows([*near, *swapped])).holds is False


@pytest.mark.parametrize("case", ["ReLU, squared", "ReLU², squared"])
def test_at_the_readout_the_prediction_is_exact_up_to_the_square_of_the_step(case):
    """There f is linear in h, so the theorem's approximation is exact up to order gamma^2."""
    small = experiment.CASES[case].__class__(**{**vars(experiment.CASES[case]), "rate": 1e-5})
    readout = {row["quantity"]: row["value"] for row in experiment.train(case, small, seeds=1, steps=1)
               if row.get("layer") == "readout" and row["arm"] == "claim"}  # fmt: skip
    assert readout["thm3/measured"] == pytest.approx(readout["thm3/predicted"], rel=1e-3)


def interpolation(worst: float = 0.5, growth: float = 2.0) -> Rows:
    records = [
        {"case": case, "layer": layer, "seed": seed, "quantity": f"thm4/{quantity}", "value": value * (1 + 0.01 * seed)}
        for case in ("ReLU", "ReLU²")
        for index, layer in enumerate(("0", "1", "2", "readout"))
        for seed in range(5)
        for quantity, value in (("ratio", worst if layer == "1" else 0.1), ("surrogate", growth**index))
    ]
    return rows(records)


def test_theorem_4():
    assert a_thm4.rule(interpolation()).holds
    assert a_thm4.rule(interpolation(worst=1.1)).holds is False
    assert a_thm4.rule(interpolation(growth=0.5)).holds is False


def test_the_even_target_meets_every_hypothesis_of_theorem_4_and_has_a_surrogate_of_zero():
    """Against autograd: f fits exactly, W^T W is a multiple of the AGOP at every layer, and H_0 Y is 0."""
    model, data = interpolating.even(seed=0)
    x, Y = data.x_train, data.y_train
    assert torch.equal(Y[:, 0], x[:, 0].abs() - x[:, 1].abs())
    assert float(Y.mean()) == pytest.approx(0, abs=1e-15)
    hidden = interpolating.features(model, x)
    slopes = torch.autograd.grad(model[-1](hidden[-1]).sum(), hidden)
    for module, slope, multiple in zip(model[::2], slopes, (2, 2, 1), strict=True):
        torch.testing.assert_close(module.weight.T @ module.weight, multiple * slope.T @ slope / len(x))
    assert float((x.T @ Y).abs().max()) < 1e-12
    values = {(row["quantity"], row.get("layer")): row["value"] for row in interpolating.layers(
        interpolating.Case("even", "relu", 1, 2, "", 0.0, 0.0), model, data, {"seed": 0})}  # fmt: skip
    assert values["thm4/ratio", "0"] > 1e15
    assert values["thm4/ratio", "1"] < 1


def test_orthogonal_labels_are_orthogonal_to_every_layer_and_to_the_constant():
    model = torch.nn.Sequential(torch.nn.Linear(3, 5, bias=False), torch.nn.ReLU(), torch.nn.Linear(5, 4, bias=False),
                                torch.nn.ReLU(), torch.nn.Linear(4, 1, bias=False)).double()  # fmt: skip
    x = torch.from_numpy(stream("test_checks", "unseen").normal(size=(40, 3)))
    y = interpolating.orthogonal(model, DataSet("drawn", x, x[:, :1], x[:0], x[:0, :1]), seed=0).y_train[:, 0]
    first = x @ model[0].weight.T
    for activations in (first, first.relu() @ model[2].weight.T, torch.ones(40, 1)):
        assert float((activations.T.double() @ y).detach().abs().max()) < 1e-10
    assert float(y.std()) == pytest.approx(1)


def test_linear_regions_against_a_sum_of_hinges():
    """One ReLU layer on a line: each unit's zero is a boundary, where the gradient jumps by |head x weight|."""
    model = torch.nn.Sequential(torch.nn.Linear(1, 3, bias=False), torch.nn.ReLU(), torch.nn.Linear(3, 1, bias=False))
    model.double()
    model[0].weight.data = torch.tensor([[1.0], [-2.0], [0.5]]).double()
    model[2].weight.data = torch.tensor([[1.0, 3.0, 4.0]]).double()
    line = torch.linspace(-1, 1, interpolating.SAMPLES, dtype=torch.float64)[:, None]
    crossed, jump = interpolating.linear_regions(model, interpolating.features(model, line), 0, seed=0)
    # all three switch at 0, where the slope goes from -2 * 3 to 1 + 0.5 * 4
    assert crossed == 1
    assert jump == pytest.approx(9.0)


def collapsing(end: float = 1e-3, power: float = 1.0) -> list[dict]:
    """Gap and NC1 along training, and the residuals of the constructed features."""
    return [*residuals("prop2/gram"), *residuals("prop2/residual")] + [
        {"case": "trained", "seed": seed, "x": float(step), "quantity": f"prop2/{name}", "value": value}
        for seed in range(5)
        for step, t in enumerate(np.linspace(0, 1, 9))
        for name, value in (
            ("nc1", float(np.exp(-3 * t + 0.1 * stream("nc1", seed, step).normal()))),
            ("nc2", 0.5),
            ("gap", end * float(np.exp(power * 5 * (1 - t)))),
        )
    ]


def test_proposition_2_on_trained_networks():
    assert a_prop2.rule(rows(collapsing())).holds
    assert a_prop2.rule(rows(collapsing(end=0.1))).holds is False
    assert a_prop2.rule(rows(collapsing(power=-1.0))).holds is False
    # a control of trained networks only: its gap does not depend on NC1
    independent = [{**row, "value": 0.9 + 0.01 * float(stream("gap", row["seed"], row["x"]).normal())}
                   if row["quantity"] == "prop2/gap" else row
                   for row in collapsing() if row["case"] == "trained"]  # fmt: skip
    finding = a_prop2.rule(rows(independent))
    assert finding.holds is False
    assert finding.parts["along_training"].holds is not True
    assert "gram" not in finding.parts
