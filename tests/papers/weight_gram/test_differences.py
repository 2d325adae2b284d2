"""The table of differences from the authors' code: planted tables, and both ways against plain formulas."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.stats
import torch

from gramlab import tables
from gramlab.nets import initialize, mlp
from gramlab.streams import stream
from tasks.papers.weight_gram import differences
from tasks.papers.weight_gram.experiments import a_differences, a_whiten
from tasks.papers.weight_gram.experiments.shared.whitening import whitening


@pytest.fixture
def stage(tmp_path):
    """A stage whose tables are in a temporary folder."""
    return SimpleNamespace(table=lambda key: tmp_path / f"{key}.parquet")


def test_effects_are_paired_by_network_and_factors_where_they_scale(stage):
    assert differences.measured(stage) == []
    rows = [
        {"case": case, "quantity": quantity, "arm": arm, "seed": seed, "value": (1 + seed) * factor}
        for seed in range(3)
        for case, quantity, code_factor in (("classes", "surrogate", 0.1), ("test loss", "test_loss", 2.0))
        for arm, factor in (("printed", 1.0), ("code", code_factor))
    ]
    rows += [{"case": "rate", "quantity": "surrogate", "arm": "code", "seed": seed, "value": 4.0} for seed in range(3)]
    tables.write(stage.table("a_differences"), rows)
    # without a table of a_fig4 there is no row of the rate
    effects = {row["quantity"]: row["effect"] for row in differences.measured(stage)}
    assert effects == {"surrogate": pytest.approx((0.1,) * 3), "test loss": pytest.approx((2.0,) * 3)}
    rows = [
        {"arm": "claim", "case": "CIFAR-10", "layer": layer, "quantity": "surrogate", "step": step, "seed": seed,
         "value": value + seed / 10}
        for seed in range(5)
        for layer, step, value in (("4", 9, 8.0), ("3", 9, 100.0), ("4", 0, 100.0))
    ]  # fmt: skip
    tables.write(stage.table("a_fig4"), rows)
    rate = differences.measured(stage)[0]
    assert rate["means"] == {"printed": pytest.approx(8.2), "code": 4.0}
    logs = np.log(8 + np.arange(5) / 10)  # not paired: the code's values are of other networks
    interval = scipy.stats.ttest_ind(np.log(np.full(3, 4.0)), logs, equal_var=False).confidence_interval(0.95)
    assert rate["effect"] == pytest.approx(tuple(np.exp((np.log(4.0) - logs.mean(), *interval))))


def test_figures_that_measure_both_ways_are_read_from_their_tables(stage):
    """After training, at both ends of each grid, paired by seed: code less text is 0.2 there."""
    rows = [
        {"case": case, "quantity": "target/distance", "arm": arm, "seed": seed, "step": step,
         "value": seed + number + 0.2 * (arm == "corrected") + 50 * (step < 9)}
        for seed in range(3)
        for case, number in (("width=32", 1), ("width=1024", 2), ("width=128", 7))
        for arm in ("claim", "corrected")
        for step in (0, 9)
    ]  # fmt: skip
    tables.write(stage.table("a_fig8"), rows)
    single_seed = {"arm": "claim", "quantity": "target_linearity", "value": 0.0}
    tables.write(stage.table("a_fig1"), [single_seed])  # gives no row
    measured = differences.measured(stage)
    assert [row["where"] for row in measured] == ["Figures 3 and 8, width=32", "Figures 3 and 8, width=1024"]
    assert [row["means"]["printed"] for row in measured] == [2.0, 3.0]
    assert [row["effect"] for row in measured] == [pytest.approx((0.2,) * 3)] * 2


def test_the_momentum_is_compared_at_one_learning_rate(stage):
    """On the digits the networks of Figure 4 without momentum have another rate, so this data set has no row."""
    rows = [
        {
            "case": case,
            "quantity": "train_accuracy",
            "arm": arm,
            "seed": seed,
            "value": 0.5 + 0.1 * (arm == "corrected"),
        }
        for case in ("CIFAR-10", "digits")
        for arm in ("claim", "corrected")
        for seed in range(3)
    ]
    tables.write(stage.table("a_fig4"), rows)
    (row,) = differences.measured(stage)
    assert row["where"] == "Figure 4, with the momentum of the code for Figure 12, CIFAR-10"
    assert row["effect"][0] == pytest.approx(0.1)


def test_each_case_ends_at_its_own_last_step(stage):
    """Data sets differ in their number of samples, and so in their steps."""
    rows = [
        {"case": f"{data}, beta={beta}", "quantity": "target_linearity", "arm": arm, "seed": seed, "step": step,
         "value": seed + beta + (0.5 if arm == "corrected" else 0) + (0 if step == last else 50)}
        for data, last in (("MNIST", 9), ("CIFAR-10", 7))
        for beta in (1, 5)
        for seed in range(3)
        for arm in ("claim", "corrected")
        for step in (0, last)
    ]  # fmt: skip
    tables.write(stage.table("a_fig10"), rows)
    measured = differences.measured(stage)
    cases = [f"{data}, beta={beta}" for data in ("CIFAR-10", "MNIST") for beta in (1, 5)]
    assert [row["where"] for row in measured] == [f"Figure 10, {case}" for case in cases]
    assert [row["means"]["printed"] for row in measured] == [2.0, 6.0] * 2
    assert [row["effect"] for row in measured] == [pytest.approx((0.5,) * 3)] * 4


def test_gap_and_lead_of_the_whitened_update_as_printed_and_by_the_code(stage):
    """Only at the rate with momentum; as printed the gap is 0.1 times the seed; the curves peak at epoch 3."""
    offsets = {"original": 0.3, "whitened": 0.3, "original-momentum": 0.5, "whitened-momentum": 0.3,
               "whitened-ten-steps": 0.4}  # fmt: skip
    curve = [0.99, 0.0, 0.5, 0.7, 0.1, 0.6, 0.65, 0.2]  # by epoch; the value before training does not count
    history = [
        {"case": f"MNIST {update},lr={rate}", "seed": seed, "step": 10 * epoch, "x": float(epoch), "quantity": quantity,
         "value": offset + curve[epoch] + 0.1 * seed * (update == "whitened") + (quantity == "test_loss")}
        for update, offset in offsets.items()
        for rate in (("0.01", "0.1") if update in ("original", "whitened") else ("0.1",))
        for seed in range(3)
        for epoch in reversed(range(8))
        for quantity in ("test_accuracy", "test_loss")
    ]  # fmt: skip
    for row in history:  # the best epoch is the sixth, which is too late for the whitened updates
        row["value"] += row["x"] == 6 and 0.25
    variants = {f"MNIST {update}": SimpleNamespace(cases=["lr=0.1"]) for update in (*offsets, "complement")}
    rows = [*whitening(SimpleNamespace(history=history, variants=variants))]
    comparisons = [row for row in rows if row["quantity"].startswith(("gap", "lead"))]
    assert {(row["arm"], row["case"], row["step"]) for row in comparisons} == {("claim", "MNIST, lr=0.1", 70)}
    tables.write(stage.table("a_fig2"), comparisons)
    measured = differences.measured(stage)
    assert {row["where"] for row in measured} == {"Figure 2, MNIST, lr=0.1"}
    means = [(row["code"][:3], row["means"]["printed"], row["means"]["code"]) for row in measured]
    gaps = [("ten", 0.1, 0.1), ("mom", 0.1, -0.2)]
    best = 0.7 - 0.9  # of the whitened updates less that of the originals
    expected = gaps + [(name, printed + best, code + best) for name, printed, code in gaps]
    assert means == [(name, pytest.approx(printed), pytest.approx(code)) for name, printed, code in expected]
    assert [row["effect"][0] for row in measured] == [pytest.approx(0), pytest.approx(-0.3)] * 2


def test_ten_steps_of_newton_schulz_by_singular_values():
    """The iteration acts on each singular value alone; the layer and its data are those of the experiment."""
    net = mlp(64, [256, 256], 10).double()
    net.load_state_dict(initialize(net, ("a_whiten", "step", 1)))
    draw = stream("a_whiten", "step", "data", 1)
    x, y = torch.from_numpy(draw.normal(size=(64, 64))), torch.from_numpy(draw.integers(0, 10, size=64))
    torch.nn.functional.cross_entropy(net(x), y).backward()
    W = net[2].weight.detach()
    T = W - 0.01 * net[2].weight.grad
    U, S, Vh = torch.linalg.svd(W @ T.mT)
    reached = S / S.square().sum().sqrt()
    for _ in range(10):
        reached = reached * (15 - 10 * reached**2 + 3 * reached**4) / 8
    updated = U @ torch.diag(reached) @ Vh @ T
    error = torch.linalg.norm(updated.mT @ updated - T.mT @ T) / torch.linalg.norm(W.mT @ W - T.mT @ T)
    errors = a_whiten.gram_error(1)
    assert errors["ten steps"] == pytest.approx(float(error), rel=1e-6)
    assert errors["ten steps"] > 1
    assert errors["whole"] < 1e-9


def test_both_ways_on_a_network():
    draw = stream("test_differences")
    x, labels = torch.from_numpy(draw.normal(size=(60, 5))).float(), torch.arange(60) % 3
    model = mlp(5, [16, 12], 3)
    model.load_state_dict(initialize(model, ("test_differences",)))
    Y = torch.nn.functional.one_hot(labels).double()
    values = {(case, quantity): (printed, code) for case, quantity, printed, code in
              a_differences.both_ways(model, x, Y, x, labels, seed=0)}  # fmt: skip
    printed, code = values["classes", "surrogate"]
    assert code == pytest.approx(printed / 3)
    H = model[:-1](x).double().detach().numpy()
    G = H @ (model[-1].weight.T @ model[-1].weight).double().detach().numpy() @ H.T
    centred = (Y - Y.mean(0)).numpy()
    assert values["labels", "surrogate"] == pytest.approx(
        ((Y.numpy().T @ G @ Y.numpy()).trace(), (centred.T @ G @ centred).trace())
    )
    printed, code = values["inverse", "target_linearity"]
    assert printed == pytest.approx(code, abs=1e-3)
    printed, code = values["test loss", "test_loss"]
    assert code == pytest.approx(2 * printed)
    assert all(code <= printed for (case, _), (printed, code) in values.items() if case == "pca")
