"""A recorder that resumes its table, and never replaces a table."""

import copy

import pytest
import torch
from recordings import data, network, recorder
from torch.nn import functional as F

from gramlab import tables

torch.set_num_threads(1)


def test_a_resumed_recorder_goes_on_with_the_table(tmp_path):
    """As without the interruption, but for the sums of virtual shifts."""
    x, y = data()

    def train(model, recording, steps):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with recording.attach(optimizer):
            for _ in range(steps):
                optimizer.zero_grad()
                F.cross_entropy(model.eval()(x), y).backward()
                optimizer.step()

    model = network()
    train(model, recorder(model, tmp_path / "whole"), 13)
    model = network()
    initial = copy.deepcopy(model.state_dict())
    train(model, recorder(model, tmp_path / "parts"), 7)
    train(model, recorder(model, tmp_path / "parts", resume=True, initial=initial), 6)

    def kept(name):
        rows = tables.read(tmp_path / name).to_pylist()
        return {(row["step"], row["layer"], row["quantity"]): row["value"] for row in rows
                if "virtual" not in row["quantity"] and row["step"] != 7}  # fmt: skip

    assert {step for step, *_ in kept("parts")} == {0, 5, 10, 13}
    assert kept("parts") == pytest.approx(kept("whole"))


def test_a_table_is_not_lost(tmp_path):
    tables.write(tmp_path / "t", [])
    with pytest.raises(ValueError, match="resume=True goes on from its last step; for a new table give another path"):
        recorder(network(), tmp_path / "t")
    for options in ({}, {"accumulate": True, "initial": network()}):
        with pytest.raises(ValueError, match="resume=True needs initial="):
            recorder(network(), tmp_path / "t", resume=True, **options)


def test_another_runs_table_is_not_resumed(tmp_path):
    """One file would have two runs; a label that was forgotten would name the rest of a run otherwise."""
    model = network()
    recording = recorder(model, tmp_path / "t", experiment="mine", seed=3)
    recording.begin()
    recording.write()
    options = {"resume": True, "initial": model}
    with pytest.raises(
        ValueError, match="has rows of experiment 'mine', not 'run', seed 3, not 0: resume=True goes on"
    ):
        recorder(model, tmp_path / "t", **options)
    assert recorder(model, tmp_path / "t", **options, experiment="mine", seed=3).steps == recording.steps
    tables.write(tmp_path / "other", [{"scale": "quick", "experiment": "run", "quantity": "nfa", "value": 0.5}])
    with pytest.raises(ValueError, match="has rows of scale 'quick', not 'user'"):
        recorder(model, tmp_path / "other", **options)


def test_a_table_without_rows_is_resumed_from_the_start(tmp_path):
    """A training that was interrupted before its first step has such a table."""
    model, (x, y) = network().eval(), data()
    tables.write(tmp_path / "t", [])
    expected = float(F.cross_entropy(model(x), y).detach())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    initial = copy.deepcopy(model)
    with recorder(model, tmp_path / "t", resume=True, initial=initial).attach(optimizer):
        for _ in range(3):
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
    losses = {row["step"]: row["value"] for row in tables.read(tmp_path / "t").to_pylist() if row["quantity"] == "loss"}
    assert losses == pytest.approx({0: expected, 3: float(F.cross_entropy(model(x), y).detach())}, rel=1e-5)
