"""The checks of paper D's network figures against planted tables: true, and with one part of each false."""

import numpy as np
import pytest

from gramlab import tables
from gramlab.streams import stream
from tasks.judging.rules import Rows, equals
from tasks.papers.neural_collapse.claims import d_fig2, d_fig7, d_fig10, d_fig11

SEEDS = range(3)


def noise(*name) -> float:
    return 1 + 0.02 * float(stream("test_checks_d_networks", *name).normal())


def through(projection: float = 4.0, activation: float = 0.5, nfa: float = 0.8, on: str = "MNIST") -> Rows:
    made = [
        {"case": on, "seed": seed, "step": step, "quantity": quantity, "value": value * step * noise(seed, quantity)}
        for seed in SEEDS
        for step in (0, 1)
        for quantity, value in (("fall/projection", projection), ("fall/activation", activation), ("nfa/mean", nfa))
    ]
    return Rows(tables.table(made))


def test_the_share_of_the_fall_is_a_share_of_both():
    found = d_fig7.rule(through())
    assert found.holds
    assert found.numbers["MNIST, share of S V^T"] == pytest.approx(4 / 4.5, abs=0.03)
    assert found.numbers["MNIST, its low"] < 4 / 4.5 < found.numbers["MNIST, its high"]
    assert d_fig7.rule(through(projection=1.0, activation=3.0)).holds is False
    assert d_fig7.rule(through(projection=2.0, activation=2.0)).holds is None
    assert d_fig7.rule(through(projection=-1.0, activation=-0.2)).holds is False  # most of a rise is no fall
    assert d_fig7.rule(through(projection=4.0, activation=-0.5)).holds  # the activation undoes a part
    assert d_fig7.rule(through(nfa=0.5)).holds is False


def both(first: Rows, second: Rows) -> Rows:
    names = tables.SCHEMA.names
    return Rows({name: np.concatenate([getattr(first, name), getattr(second, name)]) for name in names})


def test_every_data_set_is_judged_by_itself():
    good, bad = through(), through(projection=1.0, activation=3.0, on="CIFAR-10")
    assert d_fig7.rule(both(good, through(on="CIFAR-10"))).holds
    found = d_fig7.rule(both(good, bad))
    assert found.holds is False
    assert found.part == "CIFAR-10"
    assert [(name, one.holds) for name, one in found.parts.items()] == [("MNIST", True), ("CIFAR-10", False)]
    # Figure 2 shows the ResNet on CIFAR-10 alone
    assert d_fig2.rule(both(good, bad)).holds is False
    assert d_fig2.rule(both(through(nfa=0.1), through(on="CIFAR-10 (digits)"))).holds


def traces(last: float = 0.05, divisor: float = 1.0, nfa: float = 0.8, null: float = 0.4, loss: float = 0.01,
           scale: str = "quick", on: str = "MNIST", spread: float = 1.0) -> Rows:  # fmt: skip
    made = []
    for seed in SEEDS:
        for step, within, error in ((0, 0.8, 1.0), (1, last * noise(seed, "within"), loss * noise(seed, "loss"))):
            about = {"case": on, "seed": seed, "step": step, "scale": scale}
            made += [
                {**about, "quantity": "within", "value": within},
                {**about, "quantity": "between", "value": divisor * (1 - within)},
                {**about, "quantity": "train_loss", "value": error},
                {**about, "quantity": "nfa/null", "value": null},
            ]
            made += [
                {**about, "layer": str(layer), "quantity": "nfa", "value": nfa * noise(seed, layer) ** spread}
                for layer in range(1, 6)
            ]
    return Rows(tables.table(made))


def test_traces_nfa_and_loss():
    found = d_fig10.rule(traces())
    assert found.holds
    assert found.measured.startswith("MNIST: NFA 0.8")
    assert d_fig10.rule(traces(divisor=10)).parts["MNIST"].part == "sum"  # as the authors' code divides
    for broken in ({"divisor": 10}, {"last": 0.9}, {"nfa": 0.55}, {"null": 0.9}, {"loss": 1.3}):
        assert d_fig10.rule(traces(**broken)).holds is False, broken


def test_at_paper_scale_the_nfa_is_tested_for_the_printed_number():
    assert d_fig10.rule(traces(nfa=0.74)).evidence == "direction"
    for nfa, spread, says in ((0.9, 1.0, ", not equal to the print"), (0.74, 1.0, ", not decided to be equal to the"),
                              (0.74, 0.1, ", equal to the print")):  # fmt: skip
        found = d_fig10.rule(traces(nfa=nfa, scale="paper", spread=spread))
        assert found.holds
        assert says in found.measured
    found = d_fig10.rule(both(traces(nfa=0.74, scale="paper", spread=0.1), traces(scale="paper", on="SVHN")))
    assert found.evidence == "matches print"
    assert "print" not in found.measured.split("SVHN")[1]
    assert "print" not in d_fig11.rule(traces(nfa=0.74, scale="paper")).measured  # a ResNet's is of CIFAR-10


def test_equivalence_has_three_answers():
    assert equals(np.array([0.739, 0.741, 0.74]), 0.74, 0.01).holds is True
    assert equals(np.array([0.839, 0.841, 0.84]), 0.74, 0.01).holds is False
    assert equals(np.array([0.6, 0.75, 0.9]), 0.74, 0.01).holds is None
