"""Figures 2 and 7 to 12 of paper D on planted tables: true, and with one part of each false."""

import numpy as np
import pytest
import torch
from planted_collapse import finding_of, planted, verdict
from torch import nn

from gramlab import tables
from gramlab.streams import stream
from tasks.judging.contract import ContractError
from tasks.judging.rows import Rows
from tasks.papers.neural_collapse.claims import d_fig2, d_fig7, d_fig8, d_fig10, d_fig11
from tasks.papers.neural_collapse.claims.shared.trained import interpolates
from tasks.papers.neural_collapse.experiments.shared import collapse

SEEDS = 6
MOSTLY, RELU = "S Vᵀ takes most of the fall", "the ReLU does not lower NC1"
NC2 = "NC2 falls at the last layer above all"
COLLAPSE, LOSS, NFA = "the last features collapse", "the loss falls", "the NFA is not trivial"
RISE, LEVEL = "the NFA arises in training", "level of the NFA on MNIST"
EVERY, RISES = "S Vᵀ takes most of the fall in every layer", "the NFA rises in every layer"
NC1 = {"nc1/input": 1.0, "nc1/projected": 0.4, "nc1/output": 0.5}  # of every layer


def noise(*name) -> float:
    return 1 + 0.02 * float(stream("test_checks_d_networks", *name).normal())


def network(
    arm: str = "claim", case: str = "MNIST", projection: float = 4.0, activation: float = -0.5, within: float = 0.05,
    loss: float = 0.01, before: float = 0.5, nfa: float = 0.8, null: float = 0.4, accuracy: float = 1.0,
    spread: float = 1.0, only: str = "", nc2: tuple[float, ...] = (7.9, 7.5, 7.0, 6.0, 2.0), agop: float = 3.0,
) -> list[dict]:  # fmt: skip
    """Rows before training, twice on the way and at the end."""
    at_the_end = {
        "fall/projection": projection, "fall/activation": activation, "fall/agop": agop, "within": within,
        "train_loss": loss, "nfa/mean": nfa, "train_accuracy": accuracy, "nfa/null": null,
    }  # fmt: skip
    first = {"fall/projection": 0.0, "fall/activation": 0.0, "fall/agop": 0.0, "within": 0.8, "train_loss": 1.0,
             "nfa/mean": before, "train_accuracy": 0.1}  # fmt: skip
    rows = []
    for seed in range(SEEDS):
        for step, share in ((0, 0.0), (3, 0.3), (6, 0.6), (10, 1.0)):
            values = {name: (1 - share) * value + share * at_the_end[name] for name, value in first.items()}
            if step == 10:
                values["nfa/null"] = null
            for layer, last in enumerate(nc2, 1):
                value = (8 + share * (last - 8)) * noise(arm, case, seed, step, "nc2", layer) ** (spread / 4)
                of_layer = {"nc2/output": value, **{name: level * noise(arm, case, seed, step, name, layer)
                                                    for name, level in NC1.items()}}  # fmt: skip
                rows += [{"arm": arm, "case": case, "seed": seed, "step": step, "layer": str(layer),
                          "quantity": name, "value": value} for name, value in of_layer.items()]  # fmt: skip
            for name, value in values.items():
                value = min(value * noise(arm, case, seed, step, name) ** spread, 1.0 if "acc" in name else np.inf)
                value = 1.0 if name == "train_accuracy" and share == accuracy == 1.0 else value
                rows.append({"arm": arm, "case": case, "seed": seed, "step": step, "quantity": name, "value": value})
    return [row for row in rows if row["quantity"].startswith(only)]


def by_layer(at_the_end: dict[str, list[float]], at_first: float = 0.5) -> list[dict]:
    """Rows of each hidden layer before training, where every quantity has one value, and at the end."""
    return [
        {"case": "MNIST", "seed": seed, "step": step, "layer": str(layer), "quantity": quantity,
         "value": (value if step else at_first) * noise("layers", quantity, layer, seed, step) ** 0.5}
        for quantity, values in at_the_end.items()
        for layer, value in enumerate(values, 1)
        for seed in range(SEEDS)
        for step in (0, 10)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("nfa", "null", "answer"),
    [((0.7, 0.8, 0.9), 0.4, True), ((0.3, 0.8, 0.9), 0.4, False), ((0.4, 0.8, 0.9), 0.4, None)],
)
def test_the_nfa_is_above_chance_in_every_layer(nfa, null, answer):
    """A layer below chance is not made good by the others, as in their mean."""
    mean = network(only="nfa/")
    finding = finding_of(d_fig10, NFA, by_layer({"nfa": nfa, "null/nfa": [null] * 3}) + mean)
    assert finding.holds is answer
    if answer:
        words = "from the first layer to the last, the NFA is 0.70, 0.80, 0.9"
        assert words in finding.measured
        assert list(finding.parts["MNIST"].parts) == ["mean", "layer 1", "layer 2", "layer 3"]


@pytest.mark.parametrize(
    ("nfa", "answer"), [((0.7, 0.8, 0.9), True), ((0.3, 0.8, 0.9), False), ((0.5, 0.8, 0.9), None)]
)
def test_the_nfa_rises_in_every_layer(nfa, answer):
    assert finding_of(d_fig10, RISES, by_layer({"nfa": nfa})).holds is answer


@pytest.mark.parametrize(
    ("projected", "output", "answer"),
    [((0.1, 0.01), (0.05, 0.005), True), ((0.1, 0.7), (0.05, 0.1), False), ((0.1, 0.5), (0.05, 0.25), None),
     ((0.1, 1.1), (0.05, 1.3), False)],
)  # fmt: skip
def test_most_of_the_fall_is_that_of_the_projection_in_every_layer(projected, output, answer):
    """The sum over the layers is that of the first here; the second layer decides."""
    rows = by_layer({"nc1/input": [1.0, 1.0], "nc1/projected": projected, "nc1/output": output})
    finding = finding_of(d_fig7, EVERY, rows)
    assert finding.holds is answer
    if answer:
        falls = finding.parts["MNIST"].parts["layer 2"].parts
        assert falls["fall"].statistic == pytest.approx(np.log(200), abs=0.03)
        assert falls["majority"].statistic == pytest.approx(np.log(100) - np.log(2), abs=0.03)


def test_most_of_the_fall_is_that_of_the_projection():
    assert finding_of(d_fig7, MOSTLY, network()).holds
    assert "falls by 3.96 at S Vᵀ and rises by 0.50 at U" in finding_of(d_fig7, MOSTLY, network()).measured
    assert " and by 0.5" in finding_of(d_fig7, MOSTLY, network(activation=0.5)).measured
    assert finding_of(d_fig7, MOSTLY, network(projection=1.0, activation=3.0)).holds is False
    assert finding_of(d_fig7, MOSTLY, network(projection=2.0, activation=2.0)).holds is None
    # most of a rise is not most of a fall
    assert finding_of(d_fig7, MOSTLY, network(projection=-0.2, activation=-1.0)).holds is False


def test_whether_the_relu_lowers_nc1_is_asserted_of_figure_2_alone():
    """An MLP on MNIST, which is in Figure 7, and a ResNet on CIFAR-10, with the paper's data."""
    assert finding_of(d_fig7, RELU, network(activation=-0.5)).holds
    assert finding_of(d_fig7, RELU, network(activation=0.5)).holds is False
    judged = {(claim.ID, scale): (statement.kind, statement.data_sets)
              for claim in (d_fig2, d_fig7, d_fig8) for statement in claim.STATEMENTS if RELU in statement.name
              for scale in ("quick", "paper") if statement.judged_at(scale, reduced=False)}  # fmt: skip
    assert judged == {
        ("D.fig2", "paper"): ("asserted", ("CIFAR-10",)), ("D.fig2", "quick"): ("ours", ("digits",)),
        ("D.fig7", "paper"): ("asserted", ("MNIST",)), ("D.fig7", "quick"): ("ours", ("digits",)),
        ("D.fig8", "paper"): ("ours", ()), ("D.fig8", "quick"): ("ours", ()),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("nc2", "answer"),
    [((3.0, 4.0, 5.0, 5.5, 4.0), True), ((3.0, 4.0, 5.0, 5.5, 6.0), False), ((6.0, 4.0, 4.0, 4.0, 3.0), False),
     ((5.0, 4.0, 4.0, 4.0, 3.0), None)],
)  # fmt: skip
def test_nc2_falls_at_the_last_layer_above_all(nc2, answer):
    assert finding_of(d_fig10, NC2, network(nc2=nc2)).holds is answer


def test_the_verdict_on_figure_2():
    """A ReLU that lowers NC1 refutes Figure 2; no control can break the statement, which says what stands in."""

    def rows(activation: float) -> list[dict]:
        arm = "control: labels shuffled at the measure, CIFAR-10"
        shuffled = network(arm, "CIFAR-10", projection=0.1, activation=0.2, agop=-0.1, only="fall/")
        return network(case="CIFAR-10", activation=activation) + shuffled

    assert verdict(d_fig2, rows(-0.5), SEEDS, "paper")["verdict"] == "holds"
    lowered = verdict(d_fig2, rows(0.5), SEEDS, "paper")
    assert (lowered["verdict"], lowered["reason"], lowered["deciding"]) == ("fails", "refuted", RELU)


def test_every_data_set_must_agree():
    refuted = network(case="CIFAR-10", projection=1.0, activation=3.0)
    assert finding_of(d_fig7, MOSTLY, network() + network(case="CIFAR-10")).holds
    finding = finding_of(d_fig7, MOSTLY, network() + refuted)
    assert finding.holds is False
    assert [(name, part.holds) for name, part in finding.parts.items()] == [("MNIST", True), ("CIFAR-10", False)]


def test_figure_2_is_about_cifar_10_alone():
    refuted = network(case="CIFAR-10", projection=1.0, activation=3.0)
    assert finding_of(d_fig2, MOSTLY, network() + refuted).holds is False
    assert finding_of(d_fig2, MOSTLY, network(projection=1.0, activation=3.0) + network(case="CIFAR-10")).holds
    assert finding_of(d_fig2, MOSTLY, network(case="digits")).holds


@pytest.mark.parametrize(
    ("name", "broken"),
    [(COLLAPSE, {"within": 0.9}), (LOSS, {"loss": 1.3}), (LOSS, {"loss": 0.72}), (RISE, {"before": 0.9}),
     (COLLAPSE, {"within": 0.1}), (RISE, {"before": 0.3, "nfa": 0.45})],
)  # fmt: skip
def test_a_broken_trace_loss_or_nfa_is_refuted(name, broken):
    assert finding_of(d_fig10, name, network()).holds
    assert finding_of(d_fig10, name, network(**broken)).holds is False


def test_a_collapse_leaves_a_tenth_and_the_nfa_ends_above_one_half():
    """Σ_W/Σ_T is 0.8 before training in these tables, so that 0.08 is its limit."""
    assert finding_of(d_fig10, COLLAPSE, network(within=0.07)).holds
    assert finding_of(d_fig10, COLLAPSE, network(within=0.05)).statistic == pytest.approx(0.03, abs=0.005)
    assert finding_of(d_fig10, COLLAPSE, network(within=0.08)).holds is None
    parts = finding_of(d_fig10, RISE, network(before=0.3, nfa=0.45)).parts["MNIST"].parts
    assert parts["rise"].holds
    assert parts["high"].statistic == pytest.approx(-0.05, abs=0.02)


def test_the_loss_of_the_best_constant():
    """Ten classes of one size, labels of ±1: the least squared error over constants, on a grid."""
    labels = np.where(np.arange(10) == 3, 1.0, -1.0)
    losses = [np.mean((labels - constant) ** 2) for constant in np.linspace(-1, 1, 2001)]
    (statement,) = [statement for statement in d_fig10.STATEMENTS if statement.name == LOSS]
    assert f"{min(losses):.2f} (the best constant's loss for ten classes)" in finding_of(d_fig10, LOSS, network()).rule
    assert statement.kind == "asserted"


@pytest.mark.parametrize(("nfa", "spread", "answer"), [(0.9, 1.0, False), (0.74, 0.1, True)])
def test_the_printed_level_is_that_of_one_data_set(nfa, spread, answer):
    rows = network(nfa=nfa, spread=spread) + network(case="SVHN", nfa=0.3)
    assert finding_of(d_fig10, LEVEL, rows).holds is answer
    assert not [statement for statement in d_fig11.STATEMENTS if statement.name == LEVEL]  # CIFAR-10's
    (level,) = [statement for statement in d_fig10.STATEMENTS if statement.name == LEVEL]
    assert [level.judged_at(*case) for case in (("paper", False), ("paper", True), ("quick", False))] == [
        True,
        False,
        False,
    ]
    assert level.why_not_judged(planted(rows, scale="paper"), "paper", reduced=True) == "reduced too far"


def test_an_untrained_network_does_not_pass_for_the_nfa():
    """Its correlation is far above chance, as in a trained one; training must raise it."""
    layers = by_layer({"nfa": [0.8] * 5, "null/nfa": [0.2] * 5}, at_first=0.8)
    assert finding_of(d_fig10, NFA, layers + network(null=0.2, only="nfa/")).holds
    assert not finding_of(d_fig10, RISES, layers).holds
    assert not finding_of(d_fig10, RISE, network(before=0.8, nfa=0.8, null=0.2)).holds
    kinds = {statement.name: statement.kind for statement in d_fig10.STATEMENTS}
    assert (kinds[RISE], kinds[NFA]) == ("asserted", "ours")


def figure_7(**changed) -> list[dict]:
    shuffled = network(
        "control: labels shuffled at the measure, MNIST", projection=0.1, activation=0.2, agop=-0.1, only="fall/"
    )
    return network(**changed) + shuffled


def test_the_verdict_on_figure_7():
    assert verdict(d_fig7, figure_7(), SEEDS)["verdict"] == "holds"
    for changed, reason in (({"accuracy": 0.9}, "reduced too far"), ({"null": 0.9}, "hypothesis not met")):
        unmet = verdict(d_fig7, figure_7(**changed), SEEDS)
        assert (unmet["verdict"], unmet["reason"]) == ("inconclusive", reason)
    refuted = verdict(d_fig7, figure_7(projection=1.0, activation=3.0), SEEDS)
    assert (refuted["verdict"], refuted["reason"]) == ("fails", "refuted")


def test_a_table_without_a_seed_is_refused():
    with pytest.raises(ContractError, match="the settings have 6"):
        verdict(d_fig7, [row for row in figure_7() if row["seed"] or row["quantity"] != "fall/activation"], SEEDS)
    with pytest.raises(ContractError, match="'fall/projection' has 12 rows in the arm claim; the statement needs 20"):
        verdict(d_fig7, [row for row in figure_7() if row["step"] in (0, 10)], SEEDS)


@pytest.mark.parametrize("claim", [d_fig2, d_fig7, d_fig8])
@pytest.mark.parametrize(("fall", "answer"), [(3.0, True), (-3.0, False), (0.0, None)])
def test_the_agop_lowers_nc1(claim, fall, answer):
    """On each data set, at the end of training."""
    good = [row for case in ("CIFAR-10", "MNIST") for row in network(case=case, only="fall/")]
    rows = [row for row in good if row["case"] != "CIFAR-10"] + network(case="CIFAR-10", agop=fall, only="fall/")
    if answer is None:
        for row in rows:
            if (row["case"], row["quantity"]) == ("CIFAR-10", "fall/agop"):
                row["value"] = (-1) ** row["seed"] * 0.1
    assert finding_of(claim, "the AGOP lowers NC1", rows).holds is answer


def test_turned_weights_keep_their_singular_values_and_their_left_singular_vectors():
    torch.manual_seed(0)
    head = nn.Sequential(
        nn.Linear(7, 5, bias=False), nn.ReLU(), nn.Linear(5, 6, bias=False), nn.ReLU(), nn.Linear(6, 3)
    )
    turned = collapse.with_random_right_vectors(head, stream("test_checks_d_networks", "turned"))
    for index in (0, 2):
        W, Q = (part[index].weight.detach().double() for part in (head, turned))
        torch.testing.assert_close(W @ W.mT, Q @ Q.mT, rtol=1e-5, atol=1e-6)
        assert float((W - Q).norm() / W.norm()) > 0.5
    assert torch.equal(turned[4].weight, head[4].weight)  # the readout is no hidden layer


@pytest.mark.parametrize(("runs", "stuck", "met"), [(6, 0, True), (6, 1, False), (38, 3, True), (38, 4, False)])
def test_nine_of_ten_networks_must_interpolate(runs, stuck, met):
    """After training: before it no network fits. On a second data set all do."""
    records = [{"case": case, "seed": seed, "step": step, "quantity": "train_accuracy", "value": value}
               for case, below in (("digits", stuck), ("MNIST", 0)) for seed in range(runs)
               for step, value in ((0, 0.1), (9, 0.76 if seed < below else 0.992))]  # fmt: skip
    finding = interpolates(Rows(tables.table(records)))
    assert finding.holds is met
    assert finding.statistic == (0.992 if met else 0.76)
    assert finding.numbers == {"least training accuracy": 0.76 if stuck else 0.992}
