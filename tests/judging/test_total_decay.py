"""The total decay: what is left of weights whose gradient is 0, and the numbers beside the claims' conditions."""

from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file

from gramlab import tables
from gramlab.data import DataSet
from gramlab.nets import TrainingConfig, fit, mlp
from tasks.judging.decay import total_decay, with_total_decay
from tasks.judging.rows import Rows
from tasks.papers.fact.claims import c_fig8, c_fig11, c_tab2, c_tab2_mnist
from tasks.settings import Train, load

STEPS = 2000  # 50 epochs of 40 batches
SGD = {"optimizer": "sgd", "lr": 0.1, "weight_decay": 1e-3}


def settings(**options) -> Train:
    model = {"kind": "mlp", "hidden": [3], "activation": "relu", "bias": False}
    return Train(data="zeros", model=model, loss="mse", batch=2, epochs=50, seeds=1, snapshots=50, **options)


@pytest.mark.parametrize(
    "options",
    [
        SGD,
        {**SGD, "schedule": "cosine"},
        {**SGD, "momentum": 0.9},
        {**SGD, "momentum": 0.9, "schedule": "cosine"},
        {**SGD, "momentum": 0.9, "schedule": "cosine", "parametrization": "ntk"},
        {**SGD, "optimizer": "adamw", "schedule": "cosine", "lr": 0.01, "weight_decay": 0.1},
    ],
)
def test_weights_without_a_gradient_keep_the_share_of_the_total_decay(options, tmp_path):
    """On inputs that are all 0 a network without biases has no gradient; log(W_0 / W_T) is D up to the stated terms."""
    run = settings(**options)
    data = DataSet("zeros", torch.zeros(80, 4), torch.arange(80) % 2, torch.zeros(2, 4), torch.arange(2), classes=2)
    config = TrainingConfig(loss="mse", batch=2, epochs=50, snapshots=(0, 50), history_every=50, dtype="float64",
                            name=("zeros",), **options)  # fmt: skip
    snapshots, _ = fit(mlp(4, [3], 2, activation="relu", bias=False), data, config, 1, tmp_path)
    first, last = (load_file(snapshots[epoch]) for epoch in (0, 50))
    predicted, momentum = total_decay(run, STEPS), run.momentum
    error = 1 / (STEPS * (1 - momentum)) + run.weight_decay * run.lr / (1 - momentum) ** 2
    for name, W in first.items():
        measured = torch.log(W / last[name])
        torch.testing.assert_close(measured, torch.full_like(W, predicted), rtol=error, atol=0)


@pytest.mark.parametrize(
    "options", [{"optimizer": "adam", "lr": 0.1}, {"optimizer": "whitened", "lr": 0.1, "weight_decay": 0.1}]
)
def test_there_is_none_where_steps_change_their_size(options):
    assert total_decay(settings(**options), STEPS) is None


def test_of_a_grid_it_is_that_of_the_first_values():
    grid = settings(**SGD, grid={"weight_decay": [0.01, 0.0]})
    assert total_decay(grid, 100) == pytest.approx(0.1)


def beside(claim, settings, steps: dict[tuple[str, str, str], int]) -> dict:
    """The total decays by name of the condition and form, of a table with these steps by arm, case and quantity."""
    records = [{"arm": arm, "case": case, "quantity": quantity, "step": step, "value": 0.1}
               for (arm, case, quantity), step in steps.items()]  # fmt: skip
    of_forms = {arm: {} for arm, *_ in steps if not arm.startswith("control")}
    finding = {"hypotheses": [{"name": hypothesis.name, "forms": of_forms} for hypothesis in claim.HYPOTHESES]}
    extended = with_total_decay(finding, claim, Rows(tables.table(records)), settings)
    return {(judged["name"], form): of_form["total decay"] for judged in extended["hypotheses"]
            for form, of_form in judged["forms"].items() if "total decay" in of_form}  # fmt: skip


def test_it_stands_beside_each_case_and_form_of_a_critical_point():
    """The paper's settings; those of C.tab2.MNIST are in the claim's text too: e^-0.79, and corrected e^-7.9."""
    runs = {name: run.by_variant() for name, run in load("paper").train.items() if name in ("c_tab2_mnist", "c_fig11")}
    steps = {(arm, "5K", "stationarity"): 15800 for arm in ("claim", "corrected")}
    decays = beside(c_tab2_mnist, runs["c_tab2_mnist"], steps)
    assert {form: decays["critical point", form] for form in ("claim", "corrected")} == {
        "claim": {"5K": pytest.approx(0.79, abs=0.001)}, "corrected": {"5K": pytest.approx(7.9, abs=0.001)},
    }  # fmt: skip
    # steps stand in the rows of the history alone, whose cases name the grid's value
    steps = {("claim", "L3", "stationarity"): 0, ("claim", "L3,weight_decay=0.01", "train_loss"): 200_000}
    assert beside(c_fig11, runs["c_fig11"], steps) == {("critical point", "claim"): {"L3": pytest.approx(10)}}


def test_the_quick_figures_decay_as_much_as_the_papers():
    quick = load("quick").train["c_fig8"].by_variant()
    decays = beside(c_fig8, quick, {("claim", "digits", "stationarity"): 690 * 45})
    printed = 0.1 / 2 * 200 * 782 * 1e-4 / (1 - 0.9)  # on CIFAR-10
    assert decays["critical point", "claim"]["digits"] == pytest.approx(printed, rel=0.01)


def test_a_case_without_settings_and_other_conditions_have_none():
    runs = load("paper").train["c_tab2"].by_variant()
    decays = beside(c_tab2, runs, {("claim", "9K", "stationarity"): 3200})
    assert not any(decays.values())
    assert all(name.startswith("critical point") for name, _ in decays)
    rows = Rows(tables.table([{"quantity": "stationarity", "value": 0.1}]))
    assert with_total_decay({"hypotheses": []}, SimpleNamespace(), rows, {}) == {"hypotheses": []}
