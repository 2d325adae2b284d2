"""What `tasks.atlas.judging.verdicts` takes from the table, against numbers computed here from arrays made by hand.

Every number of a table differs from every other, so that a wrong layer, snapshot, target, side, score, null or half of
the cells gives another result.
"""

from itertools import product

import numpy as np
import pandas as pd
import pytest
import torch

from tasks.atlas import table
from tasks.atlas.cells import all_cells
from tasks.atlas.judging.choices import CHOICES, Choice
from tasks.atlas.judging.contest import differs_when_scrambled, half_of, judge
from tasks.atlas.judging.verdicts import (
    CellScores,
    cell_facts,
    contest,
    controls_ahead,
    fitted_exponents,
    judge_all,
    known_answer,
)
from tasks.atlas.laws import LAWS
from tasks.atlas.layer import Layer
from tasks.atlas.measuring.scores import haar

T = {2: 12.706204736432095, 3: 4.302652729911275, 5: 2.7764451051977987}  # Student's 97.5 % quantile, n − 1 degrees
STEPS = (0, 10, 16, 26, 42, 68, 110, 177, 285, 461, 743, 1200)
NUMBERS = [f"{kind}{score}" for kind in ("", "null_", "scrambled_") for score in table.SCORES]
ADAM = "mlp_images_adam_decay"  # no law of its contest has a badge


def by_hand(values):
    """Mean and 95 % interval of a few numbers."""
    values = np.asarray(values)
    half = T[len(values)] * values.std(ddof=1) / len(values) ** 0.5
    return [values.mean(), values.mean() - half, values.mean() + half]


def rows(cell, arrays):
    """The table's rows of ``arrays``: by side, target, step and entrant the numbers (layers, seeds); NaN is no row."""
    controls = {law.name for law in LAWS if law.control}
    return pd.DataFrame(
        {"cell": cell, "seed": seed, "layer": str(depth), "depth": depth, "step": step, "side": side, "target": target,
         "entrant": entrant, "badge": "control" if entrant in controls else "",
         **{name: numbers[name][depth, seed] for name in NUMBERS}}
        for (side, target, step, entrant), numbers in arrays.items()
        for depth, seed in np.argwhere(~np.isnan(numbers["cosine"])).tolist()
    )  # fmt: skip


def numbers(score, null=0.1, scrambled=0.2, **others):
    """All numbers of an entrant; each score, null and copy has the same value unless ``others`` says otherwise."""
    score, null, scrambled = (np.asarray(value, float) for value in (score, null, scrambled))
    kinds = {"": score, "null_": null + 0 * score, "scrambled_": scrambled + 0 * score}
    return {f"{kind}{of}": value for kind, value in kinds.items() for of in table.SCORES} | {
        name: value + 0 * score for name, value in others.items()
    }


def spread(mean, layers=1, seeds=3):
    """Scores (layers, seeds) that vary a little between seeds, in another order for another mean."""
    draw = np.random.default_rng(round(mean * 1e6))
    return mean + np.array([draw.permutation(np.linspace(-0.003, 0.003, seeds)) for _ in range(layers)])


def at_the_end(entrants, side="forward", target="change"):
    """``arrays`` of one snapshot."""
    return {(side, target, STEPS[-1], entrant): of for entrant, of in entrants.items()}


def judged(arrays, cell=ADAM):
    return CellScores(all_cells()[cell], rows(cell, arrays))


@pytest.fixture(scope="module")
def random_cell():
    """Three layers, twelve snapshots, five seeds, and any two numbers different."""
    draw = np.random.default_rng(3)
    arrays = {}
    entrants = ("FACT", "eNFA^1/2", "AGOP^1/2", "AGOP^1/3", "AGOP^1", "random matrix")
    for side, target, step, entrant in product(("forward", "backward"), ("gram", "change"), STEPS, entrants):
        low, high = (0.0, 0.1) if entrant == "random matrix" else (0.4, 0.9)
        of = {name: draw.uniform(low, high, (3, 1)) + draw.uniform(-0.02, 0.02, (3, 5)) for name in table.SCORES}
        of |= {f"{kind}{name}": draw.uniform(0.0, 0.2, (3, 1)) + draw.uniform(-0.02, 0.02, (3, 5))
               for kind in ("null_", "scrambled_") for name in table.SCORES}  # fmt: skip
        arrays[side, target, step, entrant] = of
    return arrays, judged(arrays)


@pytest.mark.parametrize("side", ["forward", "backward"])
def test_each_of_the_216_choices_reads_its_own_numbers(random_cell, side):
    """The leader, the next family and the lead; 285 is the last snapshot but three; layer 1 is before the readout."""
    arrays, cell_scores = random_cell
    winners = set()
    for choice in CHOICES:
        step, layers = (
            {"last": 1200, "two thirds": 285}[choice.snapshot],
            {"mean": [0, 1, 2], "first": [0], "last": [1]},
        )
        power = {"1/2": "1/2", "s": "1/3", "1": "1"}[choice.exponent]
        values = {}
        for law in ("FACT", "eNFA^1/2", f"AGOP^{power}"):
            of = arrays[side, choice.target, step, law]
            score, null = (of[name][layers[choice.layer]].mean(0) for name in (choice.score, f"null_{choice.score}"))
            values[law] = score if choice.contrast == "raw" else (score - null) / (1 - null)
        first, second, _ = sorted(values, key=lambda law: -values[law].mean())
        lead = by_hand(values[first] - values[second])
        verdict = cell_scores.verdict(choice, "1/3", side)
        names = {"AGOP^1/3": "AGOP^s"}
        assert (verdict.law, verdict.runner_up) == (names.get(first, first), names.get(second, second)), choice
        assert verdict.lead == pytest.approx(lead), choice
        assert verdict.winner == ("tie" if lead[1] <= 0 else first.split("^")[0].replace("eNFA", "eNFA^1/2")[:4]), (
            choice
        )
        winners.add(verdict.winner)
    assert winners == {"FACT", "eNFA", "AGOP", "tie"}


@pytest.mark.parametrize("score", table.SCORES)
@pytest.mark.parametrize("bar", ["null", "scrambled", "control"])
def test_a_law_must_exceed_the_null_the_copy_and_the_control_of_the_score_that_is_judged(score, bar):
    """The bar is above the law in one score alone."""
    law = numbers(spread(0.8), **({f"{bar}_{score}": 0.9} if bar != "control" else {}))
    control = numbers(spread(0.1), **({score: 0.9} if bar == "control" else {}))
    cell_scores = judged(at_the_end({"FACT": law, "random matrix": control}))
    assert {other: cell_scores.verdict(Choice(score=other), "1/2").winner for other in table.SCORES} == {
        other: "nobody" if other == score else "FACT" for other in table.SCORES
    }


def test_a_control_is_compared_on_the_layers_that_have_it():
    """In the mean over layers the law scores 0.7; the control exists in the last layer, where the law scores 0.5."""
    law = np.concatenate([spread(0.9), spread(0.5)])
    beaten, beats = (np.concatenate([np.full((1, 3), np.nan), spread(score)]) for score in (0.4, 0.6))
    assert judge({"FACT": law}, {"FACT": 0 * law}, {}, {"random matrix": beaten}).winner == "FACT"
    assert judge({"FACT": law}, {"FACT": 0 * law}, {}, {"random matrix": beats}).winner == "nobody"
    for control, winner in ((beaten, "FACT"), (beats, "nobody")):
        entrants = {"FACT": numbers(law), "another layer's AGOP^1/2": numbers(control)}
        assert contest(judged(at_the_end(entrants)), "forward", "change", "1/2")["winner"] == winner


def test_a_control_without_a_common_layer_is_no_bar():
    law = np.concatenate([spread(0.9), np.full((1, 3), np.nan)])
    control = np.concatenate([np.full((1, 3), np.nan), spread(0.95)])
    assert judge({"FACT": law}, {"FACT": 0 * law}, {}, {"random matrix": control}).winner == "FACT"


def test_laws_compete_on_the_layers_of_which_all_of_them_speak():
    """FACT is 0.95 in the layer of which the eNFA says nothing and 0.6 in the other; there the eNFA is 0.7."""
    fact = np.concatenate([spread(0.95), spread(0.6)])
    enfa = np.concatenate([np.full((1, 3), np.nan), spread(0.7)])
    laws = {"FACT": fact, "eNFA^1/2": enfa}
    verdict = judge(laws, dict.fromkeys(laws, 0 * fact), {}, {})
    assert verdict.winner == "eNFA"
    assert verdict.lead == pytest.approx(by_hand(enfa[1] - fact[1]))
    apart = {"FACT": np.concatenate([spread(0.9), np.full((1, 3), np.nan)]), "eNFA^1/2": enfa}
    assert judge(apart, dict.fromkeys(laws, 0 * fact), {}, {}).winner == "nobody"


def test_a_layer_that_some_seed_lacks_cannot_be_paired():
    score = np.concatenate([spread(0.9), spread(0.5)])
    score[0, 2] = np.nan
    of = contest(
        judged(at_the_end({"FACT": numbers(score), "eNFA^1/2": numbers(spread(0.4, 2))})), "forward", "change", "1/2"
    )
    assert of["entrants"]["FACT"]["layers"] == 1
    assert of["entrants"]["FACT"]["score"] == pytest.approx(by_hand(score[1]))
    assert of["entrants"]["eNFA^1/2"]["layers"] == 2


@pytest.mark.parametrize(("side", "winner", "copy"), [("forward", "nobody", 0.8), ("backward", "FACT", None)])
def test_a_copy_that_cannot_differ_from_the_law_is_no_bar(side, winner, copy):
    entrants = {"symmetric FACT": numbers(np.array([[0.79, 0.8, 0.81]]), scrambled=0.8)}
    of = contest(judged(at_the_end(entrants, side=side)), side, "change", "1/2")
    assert of["winner"] == winner
    assert of["entrants"]["symmetric FACT"]["scrambled"] == (copy if copy is None else pytest.approx(copy))


@pytest.mark.parametrize("side", ["forward", "backward"])
def test_which_laws_do_not_see_the_rotation_of_their_copy(side):
    """Each law's matrix of a random layer, before and after a random rotation of the signals."""
    draw = torch.Generator().manual_seed(0)
    W, W0, h, g = (torch.randn(shape, generator=draw).double() for shape in ((4, 5), (4, 5), (20, 5), (20, 4)))
    layer = Layer(W, W0, h, g, g.mT @ g, 20, weight_decay=0.1, side=side)
    turned = layer.scrambled(haar(4, np.random.default_rng(0)))
    laws = {law.name: (law.matrix(layer), law.matrix(turned)) for law in LAWS if not law.control and not law.of_history}
    seen = {name: not torch.allclose(*pair, rtol=1e-6) for name, pair in laws.items() if pair[0] is not None}
    assert len(seen) >= 8
    assert seen == {name: differs_when_scrambled(name, side) for name in seen}


def test_an_entrants_numbers_are_of_the_last_snapshot_and_its_curve_of_all(random_cell):
    arrays, cell_scores = random_cell
    of = contest(cell_scores, "backward", "gram", "1/3")
    for entrant, row in of["entrants"].items():
        last = {name: value.mean(0) for name, value in arrays["backward", "gram", 1200, entrant].items()}
        assert row["score"] == pytest.approx(by_hand(last["cosine"]))
        assert row["null"] == pytest.approx(last["null_cosine"].mean())
        assert row["scrambled"] == pytest.approx(last["scrambled_cosine"].mean())
        assert row["skill"] == pytest.approx(
            by_hand((last["cosine"] - last["null_cosine"]) / (1 - last["null_cosine"]))
        )
        curve = [[step, arrays["backward", "gram", step, entrant]["cosine"].mean()] for step in STEPS]
        assert np.array(of["curves"][entrant]) == pytest.approx(np.array(curve))
    assert len(of["entrants"]) == 6


@pytest.mark.parametrize(
    ("kernel", "helped"), [((0.5, 0.6, 0.7), True), ((0.1, 0.2, 0.1), False), ((0.2, 0.35, 0.5), None)]
)
def test_facts_are_of_the_last_snapshot_and_features_help_where_the_kernels_error_is_the_larger_one(kernel, helped):
    network = {0: (0.9, 0.95, 0.99), 9: (0.3, 0.35, 0.38)}
    facts = [{"step": step, "seed": seed, "layer": "", "quantity": "test_error", "value": value}
             for step, values in network.items() for seed, value in enumerate(values)]  # fmt: skip
    facts += [{"step": 0, "seed": seed, "layer": "", "quantity": "kernel_test_error", "value": value}
              for seed, value in enumerate(kernel)]  # fmt: skip
    distances = {0: ((5.0, 6.0, 7.0), (8.0, 9.0, 10.0)), 9: ((0.1, 0.2, 0.3), (0.5, 0.6, 0.7))}
    facts += [{"step": step, "seed": seed, "layer": str(layer), "quantity": "stationarity", "value": value}
              for step, layers in distances.items() for layer, values in enumerate(layers)
              for seed, value in enumerate(values)]  # fmt: skip
    of = cell_facts(pd.DataFrame(facts))
    assert of["test_error"] == pytest.approx(1.03 / 3)
    assert of["kernel_test_error"] == pytest.approx(sum(kernel) / 3)
    assert of["gain"] == pytest.approx(by_hand(np.subtract(kernel, network[9])))
    assert of["helped"] is helped
    assert of["stationarity"] == pytest.approx(0.4)
    assert np.array(of["stationarity_curve"]) == pytest.approx(np.array([[0, 7.5], [9, 0.4]]))


GRID = ("mlp_images_adam", "mlp_images_adam_decay", "cnn_images_adam", "cnn_images_adam_decay")
SKILLS = {  # by cell of each half the skills of the AGOP's powers
    0: ({"1/3": 0.8, "1/2": 0.7, "1": 0.5}, {"1/3": 0.7, "1/2": 0.65, "1": 0.6}),
    1: ({"1/3": 0.4, "1/2": 0.6, "1": 0.8}, {"1/3": 0.5, "1/2": 0.55, "1": 0.65}),
}


def halves_and_grid():
    """Four cells whose powers have the skills of SKILLS at the end, for the change; elsewhere 2/3 is the best."""
    halves = half_of(GRID)
    cells = {}
    for half, of_half in SKILLS.items():
        for name, skills in zip((name for name in GRID if halves[name] == half), of_half, strict=True):
            null = 0.5
            arrays = at_the_end({f"AGOP^{power}": numbers(spread(null + (1 - null) * skill, 2), null, 0.0)
                                 for power, skill in (skills | {"2/3": 0.1}).items()})  # fmt: skip
            for target, step, side in (
                ("gram", 1200, "forward"),
                ("change", 0, "forward"),
                ("change", 1200, "backward"),
            ):
                traps = {"1/3": 0.6, "1/2": 0.6, "2/3": 0.95, "1": 0.6}
                arrays |= {(side, target, step, f"AGOP^{power}"): numbers(spread(score, 2), 0.5)
                           for power, score in traps.items()}  # fmt: skip
            cells[name] = arrays
    return halves, cells


def test_the_power_is_fitted_on_one_half_and_judged_on_the_other():
    halves, arrays = halves_and_grid()
    fitted = fitted_exponents({name: judged(of, name) for name, of in arrays.items()}, halves)
    assert fitted["used"] == ["1/3", "1"]
    first, second = fitted["judged"]
    assert (first["power"], second["power"]) == ("1/3", "1")
    assert first["means"] == pytest.approx({"1/3": 0.75, "1/2": 0.675, "1": 0.55, "2/3": 0.1})
    assert second["means"] == pytest.approx({"1/3": 0.45, "1/2": 0.575, "1": 0.725, "2/3": 0.1})
    assert first["gain_over_half"] == pytest.approx(by_hand([0.4 - 0.6, 0.5 - 0.55]))
    assert second["gain_over_half"] == pytest.approx(by_hand([0.5 - 0.7, 0.6 - 0.65]))
    assert first["cells"] == second["cells"] == 2


def test_a_cell_is_judged_by_the_power_of_the_other_half():
    halves, arrays = halves_and_grid()
    scores = pd.concat([rows(name, of) for name, of in arrays.items()])
    facts = pd.DataFrame({"quantity": [], "step": [], "layer": [], "value": [], "case": [], "seed": []})
    result = judge_all({name: all_cells()[name] for name in GRID}, scores, facts)
    assert {name: cell["exponent"] for name, cell in result["cells"].items()} == {
        name: {0: "1", 1: "1/3"}[halves[name]] for name in GRID
    }


def known_cell(name, first, second, gram=None):
    """A cell with a known answer: its first and second layer at the end, and a trap everywhere else."""
    entrants = first.keys() | second.keys()
    step = all_cells()[name].snapshots[-1]
    arrays = {}
    for side, target, at in product(("forward", "backward"), ("gram", "change"), {0, step}):
        is_answer = (side, target, at) == ("forward", "gram", step)
        for entrant in entrants:
            means = (first if is_answer else second)[entrant], second[entrant]
            arrays[side, target, at, entrant] = numbers(np.concatenate([tight(mean) for mean in means]), 0.1, 0.2)
    return known_answer(judged(arrays, name))


def tight(mean):
    """Scores of three seeds that differ by far less than the distance of the mean from 1."""
    return np.array([[mean - 1e-5, mean, mean + 1e-5]])


TRAP = {"AGOP^1/2": 0.99, "AGOP^1/3": 0.3, "AGOP^1/4": 0.4, "eNFA^1/2": 0.995}


@pytest.mark.parametrize(
    ("first", "power", "right"),
    [
        ({"AGOP^1/2": 0.98, "AGOP^1/3": 0.9995, "AGOP^1/4": 0.97, "eNFA^1/2": 0.5}, "AGOP^1/3", True),
        ({"AGOP^1/2": 0.98, "AGOP^1/3": 0.9985, "AGOP^1/4": 0.97, "eNFA^1/2": 0.5}, "AGOP^1/3", False),  # below 0.999
        ({"AGOP^1/2": 0.9998, "AGOP^1/3": 0.9995, "AGOP^1/4": 0.97, "eNFA^1/2": 0.5}, "AGOP^1/2", False),
        ({"AGOP^1/2": 0.98, "AGOP^1/3": 0.9995, "AGOP^1/4": 0.97, "eNFA^1/2": 0.9998}, "eNFA", False),  # wins
        ({"AGOP^1/2": 0.98, "AGOP^1/3": 0.9995, "AGOP^1/4": 0.97, "eNFA^1/2": 0.9995}, "tie", False),
    ],
)
def test_a_balanced_linear_network_needs_the_power_its_score_and_the_contest(first, power, right):
    result = known_cell("known_linear_3", first, TRAP)
    assert (result["found"], result["right"]) == (power, right)
    assert result["scores"] == pytest.approx({name: score for name, score in first.items() if "AGOP" in name})


@pytest.mark.parametrize(
    ("cell", "fact", "right"),
    [
        ("known_separation", 0.9, True),
        ("known_separation", 0.3, False),
        ("known_initialisation", 0.15, True),
        ("known_initialisation", 0.9, False),
    ],
)
def test_the_other_known_answers_are_read_from_the_contest_of_the_first_layer(cell, fact, right):
    first = {"FACT": fact, "AGOP^1/2": 0.15 if cell == "known_initialisation" else 0.5}
    second = {"FACT": 0.4, "AGOP^1/2": 0.8}
    assert known_cell(cell, first, second)["right"] is right


def test_controls_are_read_at_the_last_snapshot_and_on_their_own_layers():
    """By hand: the covariance is ahead for the change alone; the other layer's AGOP in the one layer that has it."""
    nothing = np.full((1, 3), np.nan)
    fact, enfa = np.concatenate([spread(0.9), spread(0.5)]), np.concatenate([spread(0.7), spread(0.55)])
    other, covariance = np.concatenate([nothing, spread(0.6)]), spread(0.8, 2)
    laws = {"FACT": numbers(fact), "eNFA^1/2": numbers(enfa)}
    arrays = {("forward", "change", 0, name): numbers(spread(0.99 if name == "random matrix" else 0.1, 2))
              for name in (*laws, "random matrix", "input covariance")}  # fmt: skip
    arrays |= at_the_end({**laws, "another layer's AGOP^1/2": numbers(other), "input covariance": numbers(covariance),
                          "random matrix": numbers(spread(0.2, 2))})  # fmt: skip
    arrays |= at_the_end({**laws, "input covariance": numbers(spread(0.2, 2))}, target="gram")
    ahead = {(row["target"], row["control"]): row for row in controls_ahead(judged(arrays))}
    assert ahead.keys() == {("change", "input covariance"), ("change", "another layer's AGOP^1/2")}
    of_all, of_one = ahead["change", "input covariance"], ahead["change", "another layer's AGOP^1/2"]
    assert (of_all["best_law"], of_one["best_law"]) == ("FACT", "eNFA^1/2")
    assert of_all["lead"] == pytest.approx(by_hand(covariance.mean(0) - fact.mean(0)))
    assert of_one["lead"] == pytest.approx(by_hand(other[1] - enfa[1]))
