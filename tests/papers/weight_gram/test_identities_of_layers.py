"""The exact identities of paper A on more instances than the quick scale has, in dead layers and along training."""

from types import SimpleNamespace

import pytest
import torch

from gramlab import tables
from tasks.judging.rows import Rows
from tasks.judging.rules import UNIT, order
from tasks.papers.weight_gram.experiments import a_tl, a_whiten
from tasks.papers.weight_gram.experiments.architectures import DTYPES, identities, layers
from tasks.papers.weight_gram.experiments.shared.random_networks import dead_case, random_case, trained_case


def test_float32_holds_the_gradients_of_every_random_network():
    """Cubes of cubes once gave gradients of 1e22, whose products overflow float32 (instance 17)."""
    for instance in range(20):
        for name, layer in layers(random_case(instance), torch.float32).items():
            shift = layer.weight_gradient.T @ layer.weight_gradient - layer.h_gradient @ layer.h_gradient.T
            assert shift.isfinite().all(), (instance, name)
            assert layer.roundoff() < float("inf")


@pytest.mark.parametrize("case", [dead_case(), trained_case(0)], ids=["dead", "trained"])
def test_identities_hold_in_a_dead_layer_and_after_training(case):
    """In a dead layer both sides are 0, and the remainder of 0 has no slope."""
    measured = [row for dtype in DTYPES for row in identities(case, dtype)]
    if case.name == "a dead layer":
        zero = {row["layer"] for row in measured if row["value"] == 0 and row["quantity"] == "eq1/residual"}
        with_remainder = {row["layer"] for row in measured if row["quantity"] == "eq2/remainder"}
        assert {"0", "2", "4"} <= zero
        assert with_remainder == {"5"}
    rows = Rows(tables.table(measured)).where(arm="claim")
    double = rows.where(quantity={"eq1/residual", "thm1/residual"}, dtype="float64")
    assert double.value.max() <= 8 * UNIT["float64"]
    for name in ("eq2", "thm1"):
        assert order(rows.where(quantity=f"{name}/remainder"), 2).holds


@pytest.mark.parametrize(("experiment", "cases"), [
    (a_tl, ["dead, n ", "after 0 steps", "after 300 steps"]), (a_whiten, ["trained, 0"])
], ids=["tl", "whiten"])  # fmt: skip
def test_identities_are_measured_along_training_too(experiment, cases, monkeypatch):
    monkeypatch.setattr(experiment, "adversaries", lambda: iter(()))
    measured = [row for row in experiment.measure(SimpleNamespace(instances=1)) if row["arm"] == "claim"]
    double = [row for row in measured if row["dtype"] == "float64"]
    for case in cases:
        # a remainder of second order is no identity
        residuals = [row["value"] for row in double
                     if row.get("case", "").startswith(case) and not row["quantity"].endswith("remainder")]  # fmt: skip
        assert residuals
        assert max(residuals) <= 8 * UNIT["float64"]
