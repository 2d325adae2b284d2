"""Theorems 3 and 4 and Lemma 3 on trained networks: planted tables, and what the experiments build."""

import numpy as np
import pytest
import torch
from helpers import rows

from gramlab.data import DataSet
from gramlab.streams import stream
from tasks.judging.contract import ContractError
from tasks.judging.finding import find
from tasks.judging.verdict import judge
from tasks.papers.weight_gram.claims import a_lem3, a_thm3, a_thm4
from tasks.papers.weight_gram.experiments import a_thm3 as experiment
from tasks.papers.weight_gram.experiments import a_thm4 as interpolating


def statement(claim, name: str):
    """The statement of this name; its rule is judged on planted rows of one arm."""
    return next(statement for statement in claim.STATEMENTS if statement.name == name)


def steps(
    case: str = "ReLU, planted", layer: str = "0", slope: float = 1.0, noise: float = 0.1, seeds: int = 5
) -> list[dict]:
    """Measured and predicted changes whose signs alternate in training."""
    records = []
    for seed in range(seeds):
        draw = stream("test_checks_a_theory", seed, layer)
        predicted = draw.normal(size=30)
        measured = slope * predicted + noise * draw.normal(size=30)
        for side, values in (("measured", measured), ("predicted", predicted)):
            records += [{"case": case, "layer": layer, "seed": seed, "step": step, "quantity": f"thm3/{side}",
                         "value": float(value)} for step, value in enumerate(values)]  # fmt: skip
    return records


@pytest.mark.parametrize(("name", "case"), [("m = 1", "ReLU, planted"), ("m > 1", "ReLU², planted")])
def test_theorem_3(name, case):
    rule = statement(a_thm3, f"change of the surrogate, {name}").rule
    # the other kind of network does not matter; one of both must be the network that the figure shows
    other = [*steps(a_thm3.NETWORK, "1"), *steps("ReLU², other", "1")]
    others = [row for row in other if row["case"].startswith("ReLU²") != case.startswith("ReLU²")]
    if name == "m = 1":
        others += steps(a_thm3.NETWORK, "1")
    assert rule(rows([*others, *steps(case)])).holds
    for wrong in ({"slope": 0.3}, {"slope": 3.0}, {"slope": -1.0}, {"slope": 0.0, "noise": 1.0}):
        assert rule(rows([*others, *steps(case, **wrong)])).holds is False
    # one layer's failure is the network's; the readout is not judged
    assert rule(rows([*others, *steps(case), *steps(case, "2", slope=3.0)])).holds is False
    assert rule(rows([*others, *steps(case), *steps(case, "readout", slope=3.0)])).holds
    # a seed whose two sides have opposite signs takes the interval to the other side
    assert not rule(rows([*others, *steps(case, seeds=2), *(
        {**row, "seed": row["seed"] + 2} for row in steps(case, slope=-1.0, seeds=3))])).holds  # fmt: skip


def test_the_error_of_theorem_3_is_set_against_the_smaller_side():
    """Against the norms written out: sides 2 and 1 in the same direction have an error of 1, opposite ones of 3."""
    two, unit = np.array([2.0, 0.0]), np.array([1.0, 0.0])
    assert a_thm3._log_error(two, unit) == pytest.approx(0)
    assert a_thm3._log_error(unit, two) == pytest.approx(0)
    assert a_thm3._log_error(-two, unit) == pytest.approx(np.log(3))


def aligned(start: float, end: float) -> list[dict]:
    """f^T y by seed and step, on a straight line."""
    return [
        {"case": case, "seed": seed, "step": step, "quantity": "thm3/alignment",
         "value": start + (end - start) * step / 19 + 0.01 * float(stream("aligned", case, seed, step).normal())}
        for case in ("ReLU, planted", "ReLU², planted") for seed in range(5) for step in range(20)
    ]  # fmt: skip


def test_the_alignment_of_theorem_3_is_near_zero_at_first_and_grows_positive():
    rule = statement(a_thm3, "alignment of predictions and labels").rule
    assert rule(rows(aligned(0.0, 1.0))).holds
    assert rule(rows(aligned(0.4, 1.0))).holds  # nearer to 0 than to 1, where f is y
    assert rule(rows(aligned(0.6, 1.6))).holds is False  # it starts far from zero
    assert rule(rows(aligned(-0.6, 1.0))).holds is False
    assert rule(rows(aligned(0.0, -1.0))).holds is False  # it falls
    assert rule(rows(aligned(0.4, 0.0))).holds is False
    assert rule(rows(aligned(-0.4, -0.1))).holds is False  # it rises, and stays negative
    # in half of the seeds it starts far above zero and in the others far below: its mean is near zero, its size is not
    apart = [{**row, "value": row["value"] + (1 if row["seed"] % 2 else -1) * (1 - row["step"] / 19)}
             for row in aligned(0.0, 2.0)]  # fmt: skip
    assert rule(rows(apart)).holds is False


def test_lemma_3():
    near = [
        {"case": kind, "seed": instance, "dtype": "float64", "quantity": "lem3/remainder", "x": x,
         "value": x**2 * (1 + instance)}
        for kind in ("ReLU²", "norms") for instance in range(3) for x in 2.0 ** -np.arange(12)
    ]  # fmt: skip
    rule = statement(a_lem3, "first order").rule
    assert rule(rows(near)).holds
    linear = [{**row, "value": row["x"]} if (row["case"], row["seed"]) == ("norms", 2) else row for row in near]
    assert rule(rows(linear)).holds is False

    def on_samples(error: float, size: float) -> list[dict]:
        return [{"case": "net", "layer": layer, "seed": seed, "quantity": f"lem3/{name}",
                 "value": value * (1 + wobble * seed)}
                for layer in "01" for seed in range(5)
                for name, value, wobble in (("error", error if layer == "1" else 0.1, 0.01),
                                            ("size", size, 0.02))]  # fmt: skip

    rule = statement(a_lem3, "on the training samples").rule
    assert rule(rows(on_samples(0.8, 1.0))).holds
    assert rule(rows(on_samples(1.6, 1.0))).holds is False
    assert rule(rows(on_samples(0.8, 0.4))).holds is False  # larger than the smaller side

    def correlations(correlation: float, null: float) -> list[dict]:
        return [{"case": "net", "layer": "0", "seed": seed, "quantity": f"lem3/{name}",
                 "value": value + 0.01 * seed * wobble}
                for seed in range(5)
                for name, value, wobble in (("correlation", correlation, 1), ("null", null, 0))]  # fmt: skip

    rule = statement(a_lem3, "correlated on the training samples").rule
    assert rule(rows(correlations(0.6, 0.2))).holds
    assert rule(rows(correlations(0.2, 0.6))).holds is False


@pytest.mark.parametrize("case", ["ReLU, squared", "ReLU², squared"])
def test_at_the_readout_the_prediction_is_exact_up_to_the_square_of_the_step(case):
    """There f is linear in h, so the theorem's approximation is exact up to order gamma^2."""
    small = experiment.CASES[case].__class__(**{**vars(experiment.CASES[case]), "rate": 1e-5})
    readout = {row["quantity"]: row["value"] for row in experiment.train(case, small, seeds=1, steps=1)
               if row.get("layer") == "readout" and row["arm"] == "claim"}  # fmt: skip
    assert readout["thm3/measured"] == pytest.approx(readout["thm3/predicted"], rel=1e-3)


def interpolation(
    worst: float = 0.5, growth: float = 2.0, nfa: float = 0.95, fit: float = 0.99, step: float = 1.0
) -> list[dict]:
    """A table of Theorem 4's networks.

    ``worst``, ``growth``, ``nfa`` and ``step`` are those of the ReLU² networks' layer 1.
    """
    layers = ("0", "1", "2", "readout")
    records = []
    for case in interpolating.CASES:
        changed = case.startswith("ReLU²")
        for seed in range(12):
            columns = {"arm": "claim", "case": case, "seed": seed, "experiment": "a_thm4", "scale": "quick"}
            records.append({**columns, "quantity": "thm4/fit", "value": (fit if changed else 0.99) + 1e-4 * seed})
            for index, layer in enumerate(layers):
                rise = (growth if changed else 2.0) ** index
                values = {"thm4/ratio": worst if changed and layer == "1" else 0.1, "thm4/bound": 2.0**index,
                          "thm4/nfa": nfa if changed and layer == "1" else 0.95, "null/nfa": 0.5,
                          "thm4/with readout": 0.1, "thm4/step": step if changed and layer == "1" else 1.0,
                          "thm4/surrogate": rise,
                          "thm4/normalised": 0.12 * rise, "null/normalised": 0.1}  # fmt: skip
                records += [{**columns, "layer": layer, "quantity": quantity, "value": value * (1 + 1e-3 * seed)}
                            for quantity, value in values.items()
                            if (quantity, layer) != ("thm4/ratio", "readout")]  # fmt: skip
    for seed in range(12):
        records += [{"arm": "claim", "case": a_thm4.EVEN, "seed": seed, "layer": layer, "quantity": f"even/{name}",
                     "experiment": "a_thm4", "scale": "quick", "value": value + 1e-3 * seed}
                    for name, value in (("ratio", 0.1), ("step", 1.0)) for layer in ("0", "1", "readout")
                    if (name, layer) != ("ratio", "readout")]  # fmt: skip
    return records


def judged(records: list[dict]) -> dict[str, tuple[str, str]]:
    """By statement the verdict and its reason; every control has surrogates of 0."""
    control = [{**row, "arm": "control: broken", "value": 1e9 + row["seed"] if row["quantity"].endswith("/ratio")
                else 1e-9 / (1 + row["seed"] + ord(row.get("layer", "0")[-1]))}
               for row in records]  # fmt: skip
    finding = find(a_thm4, "A", rows(records + control), "a_thm4", "quick", {12})
    claim = judge({"a_thm4": finding})["a_thm4"]
    return {statement["name"]: (statement["verdict"], statement["reason"]) for statement in claim["statements"]}


def test_theorem_4():
    assert {verdict for verdict, _ in judged(interpolation()).values()} == {"holds"}
    verdict_of = judged(interpolation(worst=1.1))
    assert verdict_of["lower bound, m > 1"] == ("fails", "refuted")
    assert verdict_of["lower bound, m = 1"] == ("holds", "")
    verdict_of = judged(interpolation(growth=0.5))
    assert verdict_of["the surrogate grows with the layer, m > 1"] == ("fails", "refuted")
    assert verdict_of["the normalised surrogate grows with the layer, m > 1"] == ("fails", "refuted")
    assert verdict_of["the surrogate grows with the layer, m = 1"] == ("holds", "")


def test_one_large_bound_does_not_decide_whether_the_bounds_of_theorem_4_grow():
    def grows(factor: float, layer: str, *seeds: int) -> bool | None:
        """The rule's answer if these seeds' bounds of a layer are this many times as large."""
        bounds = [row for row in interpolation() if row["quantity"] == "thm4/bound"]
        for row in bounds:
            row["value"] *= factor if row["seed"] in seeds and row["layer"] == layer else 1
        return statement(a_thm4, "the bounds grow with the layer").rule(rows(bounds)).holds

    assert grows(1e3, "2", 3)  # in the mean of the bounds themselves this seed would hide the rise of the others
    assert not grows(1e3, "0", *range(12))


@pytest.mark.parametrize("step", [0.4, 2.5])
def test_the_step_of_theorem_4_s_proof_is_good_to_a_factor_of_two(step):
    verdict_of = judged(interpolation(step=step))
    assert verdict_of["step of the proof, m > 1"] == ("fails", "refuted")
    assert verdict_of["step of the proof, m = 1"] == ("holds", "")
    assert judged(interpolation(step=1 + (step - 1) / 2))["step of the proof, m > 1"] == ("holds", "")
    needs_ansatz = judged(interpolation(step=step, nfa=0.8))
    assert needs_ansatz["step of the proof, m > 1"] == ("inconclusive", "hypothesis not met")


def test_the_step_of_theorem_4_s_proof_for_the_even_target():
    rule = statement(a_thm4, "step of the proof, m = 1, an even target").rule

    def even(first: float, readout: float) -> list[dict]:
        ratios = {"0": first, "1": 1.0, "readout": readout}
        columns = {"case": a_thm4.EVEN, "quantity": "even/step"}
        return [{**columns, "seed": seed, "layer": layer, "value": ratio * (1 + 0.01 * seed)}
                for layer, ratio in ratios.items() for seed in range(5)]  # fmt: skip

    assert rule(rows(even(1.0, 9.0))).holds  # the readout is not judged
    refuted = rule(rows(even(1e-27, 1.0)))
    assert refuted.holds is False
    assert refuted.measured == "even target: 𝒮 is 0 up to round-off in layer 0, and C_l‖Y‖⁴ is positive"
    assert rule(rows(even(0.4, 1.0))).measured.startswith("even target: the error divided by the smaller")


@pytest.mark.parametrize("missed", [{"nfa": 0.8}, {"fit": 0.9}])
def test_theorem_4_is_not_judged_where_a_hypothesis_is_not_met(missed):
    verdict_of = judged(interpolation(worst=1.1, **missed))
    assert verdict_of["lower bound, m > 1"] == ("inconclusive", "hypothesis not met")
    assert verdict_of["the surrogate grows with the layer, m > 1"] == ("inconclusive", "hypothesis not met")
    assert verdict_of["lower bound, m = 1"] == ("holds", "")


def test_theorem_4_needs_every_seed_and_network():
    table = interpolation()
    with pytest.raises(ContractError, match="seeds"):
        judged([row for row in table if row["seed"] < 11])
    with pytest.raises(ContractError, match="cases"):
        judged([row for row in table if row["case"] != "ReLU², digits"])


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


def test_squared_networks_may_have_more_seeds():
    """The first seeds stay as they are, and no other network gets more."""

    def by_network(table):
        return {tuple(row.get(name) for name in ("arm", "case", "quantity", "layer", "step", "x", "seed")): row["value"]
                for row in experiment.measure(table)}  # fmt: skip

    settings = experiment.Settings(instances=2, squared_instances=3, steps=2)
    few, more = by_network(experiment.Settings(instances=2, steps=2)), by_network(settings)
    assert settings.seeds() == {2, 3}
    assert {name: more[name] for name in few} == pytest.approx(few)
    assert {(case, seed) for _, case, *_, seed in more.keys() - few.keys()} == {
        (case, 2) for case in ("ReLU², squared", "ReLU², logistic")
    }
