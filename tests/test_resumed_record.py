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
    recorder(network(), tmp_path / "t").write()
    with pytest.raises(ValueError, match="resume=True goes on from its last step; for a new table give another path"):
        recorder(network(), tmp_path / "t")
    for options in ({}, {"accumulate": True, "initial": network()}):
        with pytest.raises(ValueError, match="resume=True needs initial="):
            recorder(network(), tmp_path / "t", resume=True, **options)
