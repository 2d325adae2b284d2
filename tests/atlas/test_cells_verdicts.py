"""The atlas's judging: planted winners, ties and chance; the frozen kernel; the prediction."""

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.tree import DecisionTreeClassifier
from torch import nn

from gramlab.data import DataSet
from gramlab.tables import TableError
from tasks.atlas import table
from tasks.atlas.cells import all_cells
from tasks.atlas.judging import prediction
from tasks.atlas.judging.choices import CHOICES, PRIMARY
from tasks.atlas.judging.contest import NOBODY, TIE, judge
from tasks.atlas.judging.prediction import features, predict, rule_of
from tasks.atlas.judging.verdicts import judge_all
from tasks.atlas.measuring import kernel

SPREAD = np.array([-0.02, -0.01, 0.0, 0.01, 0.02])


def contest(fact=0.9, agop=0.7, scrambled=0.3, control=0.2, **options):
    laws = {"FACT": fact + SPREAD, "AGOP^1/2": agop + SPREAD[::-1]}
    nulls = {name: np.full(5, 0.1) for name in laws}
    return judge(laws, nulls, {name: scrambled + SPREAD[[1, 0, 2, 4, 3]] for name in laws},
                 {"random matrix": control + SPREAD[[2, 1, 0, 4, 3]]}, **options)  # fmt: skip


def test_a_planted_winner_wins_and_a_planted_tie_is_one():
    assert contest().winner == "FACT"
    assert contest(fact=0.7, agop=0.9).winner == "AGOP"
    assert contest(fact=0.71).winner == TIE


@pytest.mark.parametrize("why", [{"scrambled": 0.9}, {"control": 0.95}, {"fact": 0.1, "agop": 0.1, "control": -0.5}])
def test_nobody_wins_by_chance(why):
    assert contest(**why).winner == NOBODY


def test_laws_of_a_family_do_not_compete():
    laws = {"FACT": 0.9 + SPREAD, "symmetric FACT": 0.9 - SPREAD, "AGOP^1/2": 0.5 + SPREAD}
    verdict = judge(laws, {name: np.zeros(5) for name in laws}, {}, {})
    assert (verdict.winner, verdict.runner_up) == ("FACT", "AGOP^1/2")


def test_the_lead_is_paired_by_seed():
    """Seeds differ by far more than the laws do; Student's t of the five differences decides."""
    between = np.array([-0.3, -0.1, 0.0, 0.1, 0.3])
    lead = judge({"FACT": 0.6 + between + SPREAD / 2, "eNFA^1/2": 0.5 + between},
                 {"FACT": np.zeros(5), "eNFA^1/2": np.zeros(5)}, {}, {}).lead  # fmt: skip
    half = 2.7764451051977987 * np.std(SPREAD / 2, ddof=1) / 5**0.5
    assert lead == pytest.approx((0.1, 0.1 - half, 0.1 + half))


def test_the_ranking_may_leave_out_the_nulls():
    laws = {"FACT": 0.8 + SPREAD, "AGOP^1/2": 0.9 + SPREAD[::-1]}
    nulls = {"FACT": np.full(5, 0.1), "AGOP^1/2": np.full(5, 0.85)}
    assert [judge(laws, nulls, {}, {}, contrast).winner for contrast in ("above null", "raw")] == ["FACT", "AGOP"]


def test_a_perfect_law_wins_whatever_its_null():
    laws = {"FACT": np.ones(5), "eNFA^1/2": 0.95 + SPREAD / 10}
    assert judge(laws, {"FACT": np.full(5, 0.8), "eNFA^1/2": np.full(5, 0.7)}, {}, {}).winner == "FACT"


def test_choices_are_all_different_and_hold_the_maps():
    assert len(set(CHOICES)) == len(CHOICES) == 216
    assert PRIMARY in CHOICES


def test_the_frozen_kernel_of_a_linear_model_is_ridge_regression():
    """The tangent kernel of f = Wx is the inner product for each output; leave-one-out by refitting each time."""
    random = np.random.default_rng(0)
    x, W = torch.from_numpy(random.normal(size=(30, 6))), torch.from_numpy(random.normal(size=(6, 2)))
    y = x @ W + 0.5 * torch.from_numpy(random.normal(size=(30, 2)))
    data = DataSet("linear", x[:20], y[:20], x[20:], y[20:])
    model = nn.Linear(6, 2, bias=False).double()
    J = kernel.tangents(model, x)
    torch.testing.assert_close((J.flatten(1) @ J.flatten(1).T) / 2, x @ x.T)
    K, Y, mean = x[:20] @ x[:20].T, y[:20], y[:20].mean(0)

    def left_out(ridge):
        errors = []
        for i in range(20):
            keep = torch.arange(20) != i
            solved = torch.linalg.solve(K[keep][:, keep] + ridge * torch.eye(19), Y[keep] - mean)
            errors.append((K[i, keep] @ solved + mean - Y[i]).square().mean())
        return float(torch.stack(errors).mean())

    unit = float(K.trace()) / 20
    best = min((unit * ridge for ridge in kernel.RIDGES), key=left_out)
    fit = x[20:] @ x[:20].T @ torch.linalg.solve(K + best * torch.eye(20), Y - mean) + mean
    assert kernel.kernel_error(model, data) == pytest.approx(kernel.error_on_test(fit, data), rel=1e-9)
    residual = ((fit - y[20:]) ** 2).mean() / ((y[20:] - y[20:].mean(0)) ** 2).mean()
    assert kernel.error_on_test(fit, data) == pytest.approx(float(residual))


def cells(winner):
    """Forty cells in four groups; the winner is a function of the optimizer and the decay."""
    planted = {}
    for number in range(40):
        optimizer, decay = ("sgd", "adam")[number % 2], (0.0, 0.1)[number // 2 % 2]
        planted[f"c{number:02}"] = {
            "group": f"g{number // 4 % 4}", "optimizer": optimizer, "weight_decay": decay, "facts": {"layers": 3},
            "sides": {"forward": {"change": {"winner": winner(number, optimizer, decay)}}},
        }  # fmt: skip
    return planted


def test_a_planted_rule_is_predicted_and_a_coin_is_not():
    outcome = predict(cells(lambda number, optimizer, decay: "FACT" if optimizer == "adam" and decay else "AGOP"))
    for way in ("halves", "groups"):
        assert outcome[way]["right"] == 40
        assert outcome[way]["most_frequent_right"] == 30
        assert outcome[way]["p"] == pytest.approx(2 * 0.5**10)
    coin = np.random.default_rng(0).integers(2, size=40)
    outcome = predict(cells(lambda number, optimizer, decay: ("FACT", "AGOP")[coin[number]]))
    assert outcome["groups"]["p"] > 0.05


def test_a_split_whose_sides_name_one_winner_is_not_printed():
    """A tree of two levels splits AGOP from AGOP, since the second level has another share of them."""
    x = np.array([[0, 0], [0, 1], [0, 1], [1, 0], [1, 0], [1, 1], [1, 1], [1, 1]] * 2, dtype=float)
    names = np.array(["FACT", "FACT", "FACT", "AGOP", "AGOP", "AGOP", "AGOP", "tie"] * 2)
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(x, names)
    assert tree.get_n_leaves() > 2
    assert rule_of(tree, ["decay", "muon"]) == (
        "|--- decay <= 0.50\n|   |--- FACT\n|--- decay >  0.50\n|   |--- AGOP\n"
    )


def in_halves_by_decay(names):
    return {name: int(number // 2 % 2) for number, name in enumerate(sorted(names))}


def test_halves_and_groups_are_two_answers(monkeypatch):
    """By hand: an optimizer's winner in one half of the cells is the other optimizer's in the other half.

    So a rule that is fitted on one half is wrong everywhere in the other. Each group has cells of both halves: a rule
    that has seen the other groups is right everywhere.
    """
    monkeypatch.setattr(prediction, "half_of", in_halves_by_decay)
    winners = {("sgd", 0.0): "FACT", ("adam", 0.0): "AGOP", ("sgd", 0.1): "AGOP", ("adam", 0.1): "FACT"}
    outcome = predict(cells(lambda number, optimizer, decay: winners[optimizer, decay]))
    assert (outcome["halves"]["right"], outcome["groups"]["right"]) == (0, 40)
    assert outcome["halves"]["most_frequent_right"] == outcome["groups"]["most_frequent_right"] == 20


def rows_of(name, layers, right=("FACT",)):
    """Two snapshots of two seeds of a cell in which FACT is right, or the laws of ``right``."""
    scores = [{"cell": name, "seed": seed, "layer": str(layer), "depth": layer, "step": step, "side": "forward",
             "target": target, "entrant": entrant, "badge": "",
             **{f"{kind}{score}": value for score in table.SCORES for kind, value in
                (("", (0.9 if entrant in right else 0.5) + seed / 100), ("null_", 0.1), ("scrambled_", 0.2))}}
            for seed in range(2) for layer in range(layers) for step in (0, 9) for target in ("gram", "change")
            for entrant in (*right, "AGOP^1/4", "AGOP^1/3", "AGOP^1/2", "AGOP^2/3", "AGOP^1")]  # fmt: skip
    return scores


def test_the_depth_of_a_cell_is_the_number_of_its_measured_layers():
    """Facts of layers are of cells with decay alone; the depth is not."""
    shallow, deep = (all_cells()[name] for name in ("mlp_images_sgd", "transformer_modular_sgd"))
    scores = pd.DataFrame([*rows_of(shallow.name, 3), *rows_of(deep.name, 8)])
    loss = {"quantity": "train_loss", "step": 9, "layer": "", "value": 1.0}
    facts = pd.DataFrame([{**loss, "case": cell.name, "seed": seed} for cell in (shallow, deep) for seed in range(2)])
    judged = judge_all({cell.name: cell for cell in (shallow, deep)}, scores, facts)["cells"]
    assert [judged[cell.name]["facts"]["layers"] for cell in (shallow, deep)] == [3, 8]
    assert [features(judged[cell.name])[-1] for cell in (shallow, deep)] == [3.0, 8.0]


def test_two_names_of_one_matrix_do_not_tie():
    """Without decay accumulated FACT less W₀ᵀW₀ is the sum of the virtual shifts; with decay it is another matrix."""
    names = "virtual shifts", "accumulated FACT"
    without, decayed = (all_cells()[name] for name in ("mlp_images_adam", "mlp_images_adam_decay"))
    scores = pd.DataFrame([*rows_of(without.name, 1, names), *rows_of(decayed.name, 1, names)])
    facts = pd.DataFrame({"quantity": [], "step": [], "layer": [], "value": [], "case": [], "seed": []})
    judged = judge_all({cell.name: cell for cell in (without, decayed)}, scores, facts)["cells"]
    alone, both = (judged[cell.name]["sides"]["forward"]["change"] for cell in (without, decayed))
    assert (alone["winner"], "accumulated FACT" in alone["above_chance"]) == ("virtual shifts", False)
    assert alone["entrants"]["accumulated FACT"]["same_as"] == "virtual shifts"
    assert (both["winner"], {both["law"], both["runner_up"]}) == (TIE, set(names))


def test_a_table_refuses_rows_that_lack_a_score():
    row = dict.fromkeys(table.SCHEMA.names, 0.5) | {"cell": "c", "seed": 0, "layer": "0", "depth": 0, "step": 0,
           "side": "forward", "target": "gram", "entrant": "FACT", "badge": ""}  # fmt: skip
    assert table.from_rows([row]).num_rows == 1
    for broken in ({**row, "cosine": float("nan")}, {**row, "more": 1.0},
                   {name: value for name, value in row.items() if name != "cosine"}):  # fmt: skip
        with pytest.raises(TableError):
            table.from_rows([broken])
