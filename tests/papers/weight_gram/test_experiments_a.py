"""What experiments draw, at more instances than the quick scale has."""

from types import SimpleNamespace

import pytest
import torch

from gramlab import tables
from tasks.judging.rules import UNIT, Rows, order
from tasks.papers.weight_gram.experiments import a_tl, a_whiten
from tasks.papers.weight_gram.experiments.architectures import _rows, dead_case, layers, random_case, trained_case


def test_float32_holds_the_gradients_of_every_random_network():
    """Cubes of cubes once gave gradients of 1e22, whose products float32 does not hold (instance 17)."""
    for instance in range(20):
        for name, layer in layers(random_case(instance), torch.float32).items():
            shift = layer.weight_gradient.T @ layer.weight_gradient - layer.h_gradient @ layer.h_gradient.T
            assert shift.isfinite().all(), (instance, name)
            assert layer.roundoff() < float("inf")


@pytest.mark.parametrize("case", [dead_case(), trained_case(0)], ids=["dead", "trained"])
def test_identities_hold_in_a_dead_layer_and_after_training(case):
    """A dead layer's sides are 0, and its remainder, which is 0 as well, has no slope."""
    made = [row for dtype in (torch.float64, torch.float32) for row in _rows(case, dtype)]
    if case.name == "a dead layer":
        zero = {row["layer"] for row in made if row["value"] == 0 and row["quantity"] == "eq1/residual"}
        sloped = {row["layer"] for row in made if row["quantity"] == "eq2/remainder"}
        assert {"0", "2", "4"} <= zero
        assert sloped == {"5"}
    rows = Rows(tables.table(made)).where(arm="claim")
    double = rows.where(quantity={"eq1/residual", "thm1/residual"}, dtype="float64")
    assert double.value.max() <= 8 * UNIT["float64"]
    for name in ("eq2", "thm1"):
        assert order(rows.where(quantity=f"{name}/remainder"), 2).holds


@pytest.mark.parametrize(("experiment", "cases"), [
    (a_tl, ["dead, n ", "after 0 steps", "after 300 steps"]), (a_whiten, ["trained, 0"])
], ids=["tl", "whiten"])  # fmt: skip
def test_identities_are_measured_along_training_too(experiment, cases, monkeypatch):
    monkeypatch.setattr(experiment, "adversaries", lambda: iter(()))
    made = [row for row in experiment.measure(SimpleNamespace(instances=1)) if row["arm"] == "claim"]
    for case in cases:
        own = [row["value"] for row in made if row.get("case", "").startswith(case) and row["dtype"] == "float64"]
        assert own
        assert max(own) <= 8 * UNIT["float64"]
